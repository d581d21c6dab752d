/* Optimizers: the update of one element. */
#ifndef ASSAY_KERNELS_BODY_OPTIMIZER_H
#define ASSAY_KERNELS_BODY_OPTIMIZER_H

#include "harness/kernels/body.h"

/* The figures of a step that are equal for all elements, made in double precision before they are rounded. */
struct adam_constants {
    float rate; /* learning rate / (1 - beta1^step) */
    float beta2;
    float beta1_complement; /* 1 - beta1 */
    float beta2_complement;
    float root_factor; /* 1 / sqrt(1 - beta2^step) */
    float epsilon;
    float coupled_decay;  /* added to the gradient, times the parameter (Adam) */
    float decoupled_keep; /* 1 - learning rate * decay: multiplied to the parameter (AdamW) */
};

static inline struct adam_constants adam_constants_of(const struct operation_attributes *attributes)
{
    const double *f = attributes->f;
    double step = (double)attributes->i[1];
    bool decoupled = attributes->i[0] == 1;
    struct adam_constants c;
    c.rate = (float)(f[0] / (1.0 - pow(f[1], step)));
    c.beta2 = (float)f[2];
    c.beta1_complement = (float)(1.0 - f[1]);
    c.beta2_complement = (float)(1.0 - f[2]);
    c.root_factor = (float)(1.0 / sqrt(1.0 - pow(f[2], step)));
    c.epsilon = (float)f[3];
    c.coupled_decay = decoupled ? 0.0f : (float)f[4];
    c.decoupled_keep = decoupled ? (float)(1.0 - f[0] * f[4]) : 1.0f;
    return c;
}

struct adam_element {
    float parameter, m, v;
};

BODY struct adam_element adam_update(struct adam_element e, float grad, struct adam_constants c)
{
    float g = grad + c.coupled_decay * e.parameter;
    e.parameter = e.parameter * c.decoupled_keep;
    e.m = e.m + c.beta1_complement * (g - e.m);
    e.v = c.beta2 * e.v + c.beta2_complement * g * g;
    e.parameter = e.parameter - c.rate * e.m / (sqrtf(e.v) * c.root_factor + c.epsilon);
    return e;
}

struct moments_element {
    float m, v;
};

BODY struct moments_element moments_update(struct moments_element e, float grad, float beta1_complement, float beta2,
                                           float beta2_complement)
{
    e.m = e.m + beta1_complement * (grad - e.m);
    e.v = beta2 * e.v + beta2_complement * grad * grad;
    return e;
}

BODY float apply_update(float parameter, float m, float denominator, float rate)
{
    return parameter - rate * m / denominator;
}

BODY float sgd_update(float parameter, float grad, float rate)
{
    return parameter - rate * grad;
}

struct momentum_element {
    float parameter, buffer;
};

BODY struct momentum_element momentum_update(struct momentum_element e, float grad, float rate, float momentum)
{
    e.buffer = momentum * e.buffer + grad;
    e.parameter = e.parameter - rate * e.buffer;
    return e;
}

/* Whether a gradient is an infinity or NaN: its exponent is all ones. */
BODY bool unscale_finds(float grad)
{
    return (float_bits(grad) & 0x7f800000u) == 0x7f800000u;
}

#endif

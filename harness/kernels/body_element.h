/* Element-wise operations: the arithmetic of one element. A unary operation ignores its second
 * operand. */
#ifndef ASSAY_KERNELS_BODY_ELEMENT_H
#define ASSAY_KERNELS_BODY_ELEMENT_H

#include "harness/kernels/body_function.h"

struct element_parameters {
    float f0, f1;
};

/* X(name, opcode, form): an operation whose attributes change its formula has a row for each form, below ELEMENT_FORMS.
 */
#define ELEMENT_TABLE(X)                                                                                               \
    X(copy, COPY, 0)                                                                                                   \
    X(add, ADD, 0)                                                                                                     \
    X(multiply, MULTIPLY, 0)                                                                                           \
    X(divide, DIVIDE, 0)                                                                                               \
    X(bound, BOUND, 0)                                                                                                 \
    X(within, WITHIN, 0)                                                                                               \
    X(affine, AFFINE, 0)                                                                                               \
    X(absolute, ABSOLUTE, 0)                                                                                           \
    X(clamp, CLAMP, 0)                                                                                                 \
    X(clamp_whole, CLAMP, 1)                                                                                           \
    X(power, POWER, 0)                                                                                                 \
    X(power_two, POWER, 2)                                                                                             \
    X(power_three, POWER, 3)                                                                                           \
    X(square_root, SQUARE_ROOT, 0)                                                                                     \
    X(reciprocal_root, RECIPROCAL_ROOT, 0)                                                                             \
    X(tanh, TANH, 0)                                                                                                   \
    X(cosine, COSINE, 0)                                                                                               \
    X(sine, SINE, 0)                                                                                                   \
    X(gelu_erf, GELU, 0)                                                                                               \
    X(gelu_tanh, GELU, 1)                                                                                              \
    X(silu, SILU, 0)                                                                                                   \
    X(relu, RELU, 0)                                                                                                   \
    X(logistic, SIGMOID, 0)                                                                                            \
    X(tanh_backward, TANH_BACKWARD, 0)                                                                                 \
    X(relu_backward, RELU_BACKWARD, 0)                                                                                 \
    X(gelu_erf_backward, GELU_BACKWARD, 0)                                                                             \
    X(gelu_tanh_backward, GELU_BACKWARD, 1)                                                                            \
    X(silu_backward, SILU_BACKWARD, 0)                                                                                 \
    X(logistic_backward, SIGMOID_BACKWARD, 0)                                                                          \
    X(dropout_backward, DROPOUT_BACKWARD, 0)

enum { ELEMENT_FORMS = 4 };

/* Which form of its operation a call needs. */
static inline int element_form(const struct operation_call *call)
{
    switch (call->opcode) {
    case OPCODE_POWER:
        return call->attributes.f[0] == 2.0 ? 2 : call->attributes.f[0] == 3.0 ? 3 : 0;
    case OPCODE_CLAMP:
    case OPCODE_GELU:
    case OPCODE_GELU_BACKWARD:
        return call->attributes.i[0] == 1 ? 1 : 0;
    default:
        return 0;
    }
}

/* The row of a call, for a switch over ELEMENT_ROW(opcode, form). */
#define ELEMENT_ROW(opcode, form) ((int)OPCODE_##opcode * ELEMENT_FORMS + (form))

static inline int element_row(const struct operation_call *call)
{
    return (int)call->opcode * ELEMENT_FORMS + element_form(call);
}

#define ELEMENT(name) BODY float element_##name(float a, float b, struct element_parameters p)

ELEMENT(copy)
{
    (void)b, (void)p;
    return a;
}

ELEMENT(add)
{
    return a + p.f0 * b;
}

ELEMENT(multiply)
{
    (void)p;
    return a * b;
}

ELEMENT(divide)
{
    (void)p;
    return a / b;
}

ELEMENT(bound)
{
    (void)p;
    return a > b ? b : a < -b ? -b : a;
}

ELEMENT(within)
{
    (void)p;
    return a <= b && a >= -b ? 1.0f : 0.0f;
}

ELEMENT(affine)
{
    (void)b;
    return p.f0 * a + p.f1;
}

ELEMENT(absolute)
{
    (void)b, (void)p;
    return fabsf(a);
}

ELEMENT(clamp)
{
    (void)b;
    float raised = a > p.f0 ? a : p.f0;
    return raised < p.f1 ? raised : p.f1;
}

ELEMENT(clamp_whole)
{
    return element_clamp(rintf(a), b, p);
}

ELEMENT(power)
{
    (void)b;
    return powf(a, p.f0);
}

ELEMENT(power_two)
{
    (void)b, (void)p;
    return a * a;
}

ELEMENT(power_three)
{
    (void)b, (void)p;
    return a * a * a;
}

ELEMENT(square_root)
{
    (void)b, (void)p;
    return sqrtf(a);
}

ELEMENT(reciprocal_root)
{
    (void)b, (void)p;
    return 1.0f / sqrtf(a);
}

ELEMENT(tanh)
{
    (void)b, (void)p;
    return body_tanh(a);
}

ELEMENT(cosine)
{
    (void)b;
    return p.f0 * cosf(a);
}

ELEMENT(sine)
{
    (void)b;
    return p.f0 * sinf(a);
}

ELEMENT(gelu_erf)
{
    (void)b, (void)p;
    return a * body_normal_cumulative(a, body_exponential_falling(-0.5f * a * a));
}

BODY float element_sigmoid(float a)
{
    float e = body_exponential_falling(-fabsf(a));
    return (a < 0.0f ? e : 1.0f) / (1.0f + e);
}

/* (1 + tanh u) / 2 for GELU's u = sqrt(2 / pi) (a + 0.044715 a^3): the sigmoid of 2 u, which does not cancel. */
BODY float gelu_tanh_share(float a)
{
    return element_sigmoid(1.59576912f * (a + 0.044715f * a * a * a));
}

ELEMENT(gelu_tanh)
{
    (void)b, (void)p;
    return a * gelu_tanh_share(a);
}

ELEMENT(logistic)
{
    (void)b, (void)p;
    return element_sigmoid(a);
}

ELEMENT(logistic_backward)
{
    (void)p;
    return a * b * (1.0f - b);
}

ELEMENT(silu)
{
    (void)b, (void)p;
    return a * element_sigmoid(a);
}

ELEMENT(relu)
{
    (void)b, (void)p;
    return a <= 0.0f ? 0.0f : a; /* NaN stays */
}

ELEMENT(tanh_backward)
{
    (void)p;
    return a * (1.0f - b * b);
}

ELEMENT(relu_backward)
{
    (void)p;
    return b <= 0.0f ? 0.0f : a;
}

ELEMENT(gelu_erf_backward)
{
    (void)p;
    float bell = body_exponential_falling(-0.5f * b * b);
    return a * (body_normal_cumulative(b, bell) + 0.398942280f * b * bell);
}

ELEMENT(gelu_tanh_backward)
{
    (void)p;
    float share = gelu_tanh_share(b);
    float slope = 1.59576912f * (1.0f + 0.134145f * b * b);
    return a * (share + b * share * (1.0f - share) * slope);
}

ELEMENT(silu_backward)
{
    (void)p;
    float s = element_sigmoid(b);
    return a * s * (1.0f + b * (1.0f - s));
}

ELEMENT(dropout_backward)
{
    return a * b * p.f0;
}

#undef ELEMENT

#endif

/* Optimizers on the host: one pass over all the tensors of a parameter. */
#include "harness/kernels/body_optimizer.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"

enum { OPTIMIZER_TENSORS = 4 };

/* Spans of one piece of every tensor, in the order of the call, the scaler's flag left out. */
typedef void optimizer_function(const struct operation_call *call, struct span *spans, int64_t count);

/* Tensors of the call without the flag `found`, and how many of them are only read. */
struct optimizer_views {
    const struct tensor *tensors[OPTIMIZER_TENSORS];
    int count;
    int read_only;
};

static struct optimizer_views optimizer_views_of(const struct operation_call *call)
{
    struct optimizer_views views = {.read_only = opcode_input_count(call->opcode)};
    for (int t = 0; t < call->tensor_count; t++) {
        bool flag = t >= views.read_only && t < call->input_count;
        if (!flag) {
            views.tensors[views.count++] = &call->tensors[t];
        }
    }
    return views;
}

bool optimizer_is_held(const struct operation_call *call)
{
    int required = opcode_input_count(call->opcode);
    return call->input_count > required && *(const float *)call->tensors[required].data != 0.0f;
}

static void optimizer_piece(const struct operation_call *call, const struct optimizer_views *views, int64_t first,
                            int64_t count, optimizer_function *function)
{
    float scratch[OPTIMIZER_TENSORS][SPAN_ELEMENTS];
    struct span spans[OPTIMIZER_TENSORS];
    for (int t = 0; t < views->count; t++) {
        spans[t] = span_read(views->tensors[t], first, 1, count, scratch[t]);
    }
    function(call, spans, count);
    for (int t = views->read_only; t < views->count; t++) {
        span_write(spans[t], views->tensors[t], first, 1, count);
    }
}

static const char *optimizer_run(const struct operation_call *call, optimizer_function *function)
{
    if (optimizer_is_held(call)) {
        return NULL;
    }
    struct optimizer_views views = optimizer_views_of(call);
    int64_t elements = tensor_element_count(views.tensors[0]);
    int64_t pieces = (elements + SPAN_ELEMENTS - 1) / SPAN_ELEMENTS;
    HOST_PARALLEL_FOR(elements >= PARALLEL_ELEMENTS)
    for (int64_t piece = 0; piece < pieces; piece++) {
        int64_t first = piece * SPAN_ELEMENTS;
        int64_t count = elements - first < SPAN_ELEMENTS ? elements - first : SPAN_ELEMENTS;
        optimizer_piece(call, &views, first, count, function);
    }
    return NULL;
}

HOST_CLONES
static void adam_loop(const float *grad, float *parameter, float *m, float *v, int64_t count, struct adam_constants c)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        struct adam_element e = {parameter[k], m[k], v[k]};
        e = adam_update(e, grad[k], c);
        parameter[k] = e.parameter;
        m[k] = e.m;
        v[k] = e.v;
    }
}

static void adam_spans(const struct operation_call *call, struct span *spans, int64_t count)
{
    adam_loop(spans[0].data, spans[1].data, spans[2].data, spans[3].data, count, adam_constants_of(&call->attributes));
}

HOST_CLONES
static void adam_moments_spans(const struct operation_call *call, struct span *spans, int64_t count)
{
    const double *f = call->attributes.f;
    float beta1_complement = (float)(1.0 - f[0]);
    float beta2 = (float)f[1];
    float beta2_complement = (float)(1.0 - f[1]);
    const float *grad = spans[0].data;
    float *m = spans[1].data;
    float *v = spans[2].data;
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        struct moments_element e = {m[k], v[k]};
        e = moments_update(e, grad[k], beta1_complement, beta2, beta2_complement);
        m[k] = e.m;
        v[k] = e.v;
    }
}

HOST_CLONES
static void adam_apply_spans(const struct operation_call *call, struct span *spans, int64_t count)
{
    float rate = (float)call->attributes.f[0];
    const float *m = spans[0].data;
    const float *denominator = spans[1].data;
    float *parameter = spans[2].data;
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        parameter[k] = apply_update(parameter[k], m[k], denominator[k], rate);
    }
}

HOST_CLONES
static void sgd_momentum_spans(const struct operation_call *call, struct span *spans, int64_t count)
{
    float rate = (float)call->attributes.f[0];
    float momentum = (float)call->attributes.f[1];
    const float *grad = spans[0].data;
    float *parameter = spans[1].data;
    float *buffer = spans[2].data;
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        struct momentum_element e = {parameter[k], buffer[k]};
        e = momentum_update(e, grad[k], rate, momentum);
        parameter[k] = e.parameter;
        buffer[k] = e.buffer;
    }
}

HOST_CLONES
static void sgd_spans(const struct operation_call *call, struct span *spans, int64_t count)
{
    float rate = (float)call->attributes.f[0];
    const float *grad = spans[0].data;
    float *parameter = spans[1].data;
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        parameter[k] = sgd_update(parameter[k], grad[k], rate);
    }
}

const char *host_adam(const struct operation_call *call)
{
    return optimizer_run(call, adam_spans);
}

const char *host_adam_moments(const struct operation_call *call)
{
    return optimizer_run(call, adam_moments_spans);
}

const char *host_adam_apply(const struct operation_call *call)
{
    return optimizer_run(call, adam_apply_spans);
}

const char *host_sgd_momentum(const struct operation_call *call)
{
    return optimizer_run(call, sgd_momentum_spans);
}

const char *host_sgd(const struct operation_call *call)
{
    return optimizer_run(call, sgd_spans);
}

/* Multiplies in place; whether any element was not finite. */
HOST_CLONES
static int unscale_loop(float *grad, float factor, int64_t count)
{
    int found = 0;
    BODY_SIMD(reduction(| : found))
    for (int64_t k = 0; k < count; k++) {
        found |= unscale_finds(grad[k]) ? 1 : 0;
        grad[k] *= factor;
    }
    return found;
}

static int unscale_piece(const struct tensor *grad, int64_t first, int64_t count, float factor)
{
    float scratch[SPAN_ELEMENTS];
    struct span span = span_read(grad, first, 1, count, scratch);
    int found = unscale_loop(span.data, factor, count);
    span_write(span, grad, first, 1, count);
    return found;
}

const char *host_unscale(const struct operation_call *call)
{
    const struct tensor *grad = &call->tensors[0];
    float factor = (float)call->attributes.f[0];
    int64_t elements = tensor_element_count(grad);
    int64_t pieces = (elements + SPAN_ELEMENTS - 1) / SPAN_ELEMENTS;
    int found = 0;
    HOST_PARALLEL_SUM_FOR(elements >= PARALLEL_ELEMENTS, found)
    for (int64_t piece = 0; piece < pieces; piece++) {
        int64_t first = piece * SPAN_ELEMENTS;
        found +=
            unscale_piece(grad, first, elements - first < SPAN_ELEMENTS ? elements - first : SPAN_ELEMENTS, factor);
    }
    if (found > 0) {
        *(float *)call->tensors[1].data = 1.0f;
    }
    return NULL;
}

/* Element-wise operations on the host: one vectorised loop for each row of ELEMENT_TABLE, driven by a walk. COPY
 * between equal dtypes moves bytes; DROPOUT writes its mask beside the result. */
#include <string.h>

#include "harness/kernels/body_element.h"
#include "harness/kernels/body_random.h"
#include "harness/kernels/call_check.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_walk.h"

typedef void element_function(const float *a, const float *b, float *out, int64_t count, struct element_parameters p);

#define ELEMENT_LOOP(name, opcode, form)                                                                               \
    HOST_CLONES                                                                                                        \
    static void element_loop_##name(const float *a, const float *b, float *out, int64_t count,                         \
                                    struct element_parameters p)                                                       \
    {                                                                                                                  \
        (void)b;                                                                                                       \
        BODY_SIMD()                                                                                                    \
        for (int64_t k = 0; k < count; k++) {                                                                          \
            out[k] = element_##name(a[k], b[k], p);                                                                    \
        }                                                                                                              \
    }
ELEMENT_TABLE(ELEMENT_LOOP)
#undef ELEMENT_LOOP

static element_function *element_loop_for(const struct operation_call *call)
{
    switch (element_row(call)) {
#define ELEMENT_CASE(name, opcode, form)                                                                               \
    case ELEMENT_ROW(opcode, form):                                                                                    \
        return element_loop_##name;
        ELEMENT_TABLE(ELEMENT_CASE)
#undef ELEMENT_CASE
    default:
        return NULL;
    }
}

struct element_job {
    const struct operation_call *call;
    element_function *function;
    struct element_parameters parameters;
};

static void element_piece(void *context, const struct walk *walk, const struct walk_piece *piece)
{
    const struct element_job *job = context;
    const struct tensor *tensors = job->call->tensors;
    int out = job->call->input_count;
    float scratch[3][SPAN_ELEMENTS];
    struct span spans[3];
    for (int t = 0; t < out; t++) {
        spans[t] = span_read(&tensors[t], piece->offset[t], walk_step(walk, t), piece->count, scratch[t]);
    }
    spans[2] = span_target(&tensors[out], piece->offset[out], walk_step(walk, out), scratch[2]);
    job->function(spans[0].data, spans[out - 1].data, spans[2].data, piece->count, job->parameters);
    span_write(spans[2], &tensors[out], piece->offset[out], walk_step(walk, out), piece->count);
}

const char *host_element(const struct operation_call *call)
{
    const struct operation_attributes *attributes = &call->attributes;
    struct element_job job = {
        .call = call,
        .function = element_loop_for(call),
        .parameters = {(float)attributes->f[0], (float)attributes->f[1]},
    };
    if (job.function == NULL) {
        return kernel_unknown;
    }
    struct walk walk = walk_of_call(call);
    host_walk_run(&walk, element_piece, &job);
    return NULL;
}

static void copy_piece(void *context, const struct walk *walk, const struct walk_piece *piece)
{
    const struct operation_call *call = context;
    size_t bytes = (size_t)dtype_bytes(call->tensors[0].dtype);
    char *to = tensor_at(&call->tensors[1], piece->offset[1]);
    const char *from = tensor_at(&call->tensors[0], piece->offset[0]);
    int64_t to_step = walk_step(walk, 1) * (int64_t)bytes;
    int64_t from_step = walk_step(walk, 0) * (int64_t)bytes;
    if (to_step == (int64_t)bytes && from_step == (int64_t)bytes) {
        memcpy(to, from, (size_t)piece->count * bytes);
        return;
    }
    for (int64_t k = 0; k < piece->count; k++) {
        memcpy(to + k * to_step, from + k * from_step, bytes);
    }
}

const char *host_copy(const struct operation_call *call)
{
    if (call->tensors[0].dtype != call->tensors[1].dtype) {
        return host_element(call);
    }
    struct walk walk = walk_of_call(call);
    struct operation_call copy = *call;
    host_walk_run(&walk, copy_piece, &copy);
    return NULL;
}

struct dropout_job {
    const struct tensor *tensors; /* a, out, mask */
    struct random_key key;
    float probability;
    float scale;
};

HOST_CLONES
static void dropout_loop(const struct dropout_job *job, uint64_t first, const float *a, float *out, uint8_t *mask,
                         int count)
{
    struct random_key key = job->key;
    float probability = job->probability;
    float scale = job->scale;
    BODY_SIMD()
    for (int k = 0; k < count; k++) {
        bool kept = dropout_keeps_after(key, first, (uint32_t)k, probability);
        out[k] = kept ? a[k] * scale : 0.0f;
        mask[k] = kept;
    }
}

static void dropout_piece(void *context, const struct walk *walk, const struct walk_piece *piece)
{
    const struct dropout_job *job = context;
    float scratch[2][SPAN_ELEMENTS];
    uint8_t mask[SPAN_ELEMENTS];
    const struct tensor *a = &job->tensors[0], *out = &job->tensors[1];
    struct span from = span_read(a, piece->offset[0], walk_step(walk, 0), piece->count, scratch[0]);
    struct span to = span_target(out, piece->offset[1], walk_step(walk, 1), scratch[1]);
    uint8_t *bytes = tensor_at(&job->tensors[2], piece->offset[2]);
    bool dense = walk_step(walk, 2) == 1;
    dropout_loop(job, (uint64_t)piece->first, from.data, to.data, dense ? bytes : mask, (int)piece->count);
    span_write(to, out, piece->offset[1], walk_step(walk, 1), piece->count);
    for (int64_t k = 0; k < piece->count && !dense; k++) {
        bytes[k * walk_step(walk, 2)] = mask[k];
    }
}

const char *host_dropout(const struct operation_call *call)
{
    float probability = (float)call->attributes.f[0];
    struct dropout_job job = {call->tensors, random_key_of(call->attributes.i[0]), probability,
                              dropout_scale(probability)};
    struct walk walk = walk_of_call(call);
    host_walk_run(&walk, dropout_piece, &job);
    return NULL;
}

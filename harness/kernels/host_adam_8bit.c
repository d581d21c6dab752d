/* 8-bit Adam on the host: a block of 256 elements at a time, its moments decoded into the first-level cache and no
 * further. */
#include "harness/kernels/body_adam_8bit.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"

const char *host_dynamic_map(const struct operation_call *call)
{
    float *map = call->tensors[0].data;
    for (int code = 0; code < MAP_CODES; code++) {
        map[code] = dynamic_map_number(code, call->attributes.i[0] == 1);
    }
    return NULL;
}

struct code_block {
    uint8_t *codes;
    float *scale;
    const float *map;
    float moments[CODE_BLOCK];
};

static void moments_decode(struct code_block *block, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        block->moments[k] = block->map[block->codes[k]] * *block->scale;
    }
}

HOST_CLONES
static void moments_encode(struct code_block *block, int64_t count)
{
    float largest = 0.0f;
    BODY_SIMD(reduction(max : largest))
    for (int64_t k = 0; k < count; k++) {
        float magnitude = fabsf(block->moments[k]);
        largest = magnitude > largest ? magnitude : largest;
    }
    *block->scale = largest;
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        block->codes[k] = moment_code(block->map, block->moments[k], largest);
    }
}

HOST_CLONES
static void update_loop(const float *grad, float *parameter, float *m, float *v, int64_t count,
                        struct adam_constants constants)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        struct adam_element e = {parameter[k], m[k], v[k]};
        e = adam_8bit_update(e, grad[k], constants);
        parameter[k] = e.parameter;
        m[k] = e.m;
        v[k] = e.v;
    }
}

static void block_update(const struct operation_call *call, int64_t number, const struct adam_constants *constants)
{
    const struct tensor *grad = &call->tensors[0], *out = &call->tensors[call->input_count];
    int64_t first = number * CODE_BLOCK;
    int64_t rest = tensor_element_count(grad) - first;
    int64_t count = rest < CODE_BLOCK ? rest : CODE_BLOCK;
    float scratch[2][CODE_BLOCK];
    struct code_block m, v;
    m.codes = (uint8_t *)out[1].data + first;
    v.codes = (uint8_t *)out[2].data + first;
    m.scale = (float *)out[3].data + number;
    v.scale = (float *)out[4].data + number;
    m.map = call->tensors[1].data;
    v.map = call->tensors[2].data;
    moments_decode(&m, count);
    moments_decode(&v, count);
    struct span gradient = span_read(grad, first, 1, count, scratch[0]);
    struct span parameter = span_read(&out[0], first, 1, count, scratch[1]);
    update_loop(gradient.data, parameter.data, m.moments, v.moments, count, *constants);
    span_write(parameter, &out[0], first, 1, count);
    moments_encode(&m, count);
    moments_encode(&v, count);
}

const char *host_adam_8bit(const struct operation_call *call)
{
    if (optimizer_is_held(call)) {
        return NULL;
    }
    struct adam_constants constants = adam_constants_of(&call->attributes);
    int64_t elements = tensor_element_count(&call->tensors[0]);
    int64_t blocks = (elements + CODE_BLOCK - 1) / CODE_BLOCK;
    HOST_PARALLEL_FOR(elements >= PARALLEL_ELEMENTS)
    for (int64_t number = 0; number < blocks; number++) {
        block_update(call, number, &constants);
    }
    return NULL;
}

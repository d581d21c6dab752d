/* Codes of a map on the host: blocks of elements in codes, and back. Not the search of 8-bit Adam, which has many more
 * of them: host_adam_8bit.c. */
#include "harness/kernels/body_quantize.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"

static float block_largest(const struct tensor *a, int64_t first, int64_t count)
{
    float scratch[SPAN_ELEMENTS];
    float largest = 0.0f;
    for (int64_t k = 0; k < count; k += SPAN_ELEMENTS) {
        int64_t piece = count - k < SPAN_ELEMENTS ? count - k : SPAN_ELEMENTS;
        float magnitude = block_magnitude(team_of_one, span_read(a, first + k, 1, piece, scratch), piece);
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}

const char *host_map_quantize(const struct operation_call *call)
{
    const struct tensor *a = &call->tensors[0];
    const float *map = call->tensors[1].data;
    uint8_t *codes = call->tensors[2].data;
    float *scales = call->tensors[3].data;
    int64_t count = tensor_element_count(a), block = call->attributes.i[0];
    int64_t blocks = tensor_element_count(&call->tensors[3]);
    HOST_PARALLEL_FOR(count >= PARALLEL_ELEMENTS)
    for (int64_t b = 0; b < blocks; b++) {
        float scratch[SPAN_ELEMENTS];
        int64_t first = b * block, elements = count - first < block ? count - first : block;
        scales[b] = block_largest(a, first, elements);
        for (int64_t k = 0; k < elements; k += SPAN_ELEMENTS) {
            int64_t piece = elements - k < SPAN_ELEMENTS ? elements - k : SPAN_ELEMENTS;
            map_codes_write(team_of_one, span_read(a, first + k, 1, piece, scratch), piece, map, scales[b],
                            codes + first + k);
        }
    }
    return NULL;
}

const char *host_map_dequantize(const struct operation_call *call)
{
    const uint8_t *codes = call->tensors[0].data;
    const float *scales = call->tensors[1].data, *map = call->tensors[2].data;
    const struct tensor *out = &call->tensors[3];
    int64_t count = tensor_element_count(out), block = call->attributes.i[0];
    HOST_PARALLEL_FOR(count >= PARALLEL_ELEMENTS)
    for (int64_t k = 0; k < count; k++) {
        float_store(out->data, out->dtype, k, map[codes[k]] * scales[k / block]);
    }
    return NULL;
}

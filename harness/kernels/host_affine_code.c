/* Affine codes on the host: extremes of rows, dealt to threads, and codes into and out of shared bytes. */
#include "harness/kernels/body_affine_code.h"
#include "harness/kernels/body_rows.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"

HOST_CLONES
static float piece_highest(struct span a, int64_t count, float sign)
{
    return span_highest(team_of_one, a, count, sign);
}

static float row_highest(const struct tensor *a, int64_t first, int64_t columns, float sign)
{
    float scratch[SPAN_ELEMENTS];
    float highest = -INFINITY;
    for (int64_t at = 0; at < columns; at += SPAN_ELEMENTS) {
        int64_t count = columns - at < SPAN_ELEMENTS ? columns - at : SPAN_ELEMENTS;
        float piece = piece_highest(span_read(a, first + at, 1, count, scratch), count, sign);
        highest = piece > highest ? piece : highest;
    }
    return highest;
}

const char *host_extreme(const struct operation_call *call)
{
    const struct tensor *a = &call->tensors[0], *out = &call->tensors[1];
    float sign = call->attributes.i[0] == 1 ? 1.0f : -1.0f;
    struct rows rows = rows_of(a);
    HOST_PARALLEL_FOR(rows.count * rows.columns >= PARALLEL_ELEMENTS)
    for (int64_t row = 0; row < rows.count; row++) {
        float highest = row_highest(a, row * rows.columns, rows.columns, sign);
        float_store(out->data, out->dtype, row, sign * highest);
    }
    return NULL;
}

const char *host_pack_bits(const struct operation_call *call)
{
    const uint8_t *a = call->tensors[0].data;
    uint8_t *shifted = call->tensors[1].data, *packed = call->tensors[2].data;
    int64_t count = tensor_element_count(&call->tensors[0]);
    int bits = (int)call->attributes.i[0], place = (int)call->attributes.i[1];
    HOST_PARALLEL_FOR(count >= PARALLEL_ELEMENTS)
    for (int64_t k = 0; k < count; k++) {
        shifted[k] = code_placed(a[k], bits, place);
        packed[k] |= shifted[k];
    }
    return NULL;
}

const char *host_unpack_bits(const struct operation_call *call)
{
    const uint8_t *packed = call->tensors[0].data;
    uint8_t *out = call->tensors[1].data;
    int64_t count = tensor_element_count(&call->tensors[0]);
    int bits = (int)call->attributes.i[0];
    HOST_PARALLEL_FOR(count >= PARALLEL_ELEMENTS)
    for (int64_t k = 0; k < count; k++) {
        for (int place = 0; place < 8 / bits; place++) {
            out[place * count + k] = code_at(packed[k], bits, place);
        }
    }
    return NULL;
}

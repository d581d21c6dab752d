/* Quantised storage on the host: codes and scales made, read back, and multiplied with a few rows. Not the products of
 * many rows: those go to a BLAS after DEQUANTIZE, or as int8 (host_matmul.c). */
#include "harness/kernels/body_quantize.h"
#include "harness/kernels/body_rows.h"
#include "harness/kernels/host_nf4.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"

#include <string.h>

HOST_CLONES
static float span_magnitude(struct span span, int64_t count)
{
    return block_magnitude(team_of_one, span, count);
}

/* What block_codes does, in a loop for each dtype. */
HOST_CLONES
static void span_codes(const float *a, int64_t count, enum dtype dtype, float scale, void *codes)
{
    float reciprocal = block_reciprocal(dtype, scale);
    int8_t *integers = codes;
    uint8_t *bytes = codes;
    switch (dtype) {
    case DTYPE_INT8:
        BODY_SIMD()
        for (int64_t k = 0; k < count; k++) {
            integers[k] = int8_code(element_scaled(a[k], DTYPE_INT8, scale, reciprocal));
        }
        break;
    case DTYPE_NF4X2:
        host_nf4_write(a, count, reciprocal, bytes);
        break;
    default:
        BODY_SIMD()
        for (int64_t k = 0; k < count; k++) {
            bytes[k] = float8_code(element_scaled(a[k], DTYPE_FLOAT8_E4M3FN, scale, reciprocal));
        }
    }
}

/* What codes [first, first + count) of a block with this scale are worth. */
HOST_CLONES
static void span_worth(const struct tensor *codes, int64_t first, int64_t count, float scale, float *to)
{
    const void *data = codes->data;
    int64_t k = 0;
    switch (codes->dtype) {
    case DTYPE_INT8:
        BODY_SIMD()
        for (k = 0; k < count; k++) {
            to[k] = code_value(data, DTYPE_INT8, first + k, scale);
        }
        break;
    case DTYPE_NF4X2:
        if (first % 2 != 0 && count > 0) {
            to[k++] = code_value(data, DTYPE_NF4X2, first, scale);
        }
        host_nf4_read((const uint8_t *)data + (first + k) / 2, count - k, scale, to + k);
        break;
    default:
        BODY_SIMD()
        for (k = 0; k < count; k++) {
            to[k] = code_value(data, DTYPE_FLOAT8_E4M3FN, first + k, scale);
        }
    }
}

/* The largest magnitude of elements [first, first + count). */
static float magnitude_of(const struct tensor *a, int64_t first, int64_t count)
{
    float scratch[SPAN_ELEMENTS];
    float largest = 0.0f;
    for (int64_t at = 0; at < count; at += SPAN_ELEMENTS) {
        int64_t piece = count - at < SPAN_ELEMENTS ? count - at : SPAN_ELEMENTS;
        float magnitude = span_magnitude(span_read(a, first + at, 1, piece, scratch), piece);
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}

static void codes_write(const struct tensor *a, int64_t first, int64_t count, const struct tensor *codes, float scale)
{
    float scratch[SPAN_ELEMENTS];
    int per_byte = codes->dtype == DTYPE_NF4X2 ? 2 : 1;
    for (int64_t at = 0; at < count; at += SPAN_ELEMENTS) {
        int64_t piece = count - at < SPAN_ELEMENTS ? count - at : SPAN_ELEMENTS;
        struct span from = span_read(a, first + at, 1, piece, scratch);
        span_codes(from.data, piece, codes->dtype, scale, (char *)codes->data + (first + at) / per_byte);
    }
}

/* One scale for all: the threads share the one block. */
static void whole_quantize(const struct operation_call *call, int64_t count)
{
    enum { PARTS = 64 };
    const struct tensor *a = &call->tensors[0], *codes = &call->tensors[1];
    float magnitudes[PARTS] = {0};
    int64_t part = (count / PARTS / SPAN_ELEMENTS + 1) * SPAN_ELEMENTS;
    HOST_PARALLEL_FOR(count >= PARALLEL_ELEMENTS)
    for (int p = 0; p < PARTS; p++) {
        int64_t left = count - p * part;
        magnitudes[p] = left > 0 ? magnitude_of(a, p * part, left < part ? left : part) : 0.0f;
    }
    float largest = 0.0f;
    for (int p = 0; p < PARTS; p++) {
        largest = magnitudes[p] > largest ? magnitudes[p] : largest;
    }
    float scale = block_scale(codes->dtype, largest);
    *(float *)call->tensors[2].data = scale;
    HOST_PARALLEL_FOR(count >= PARALLEL_ELEMENTS)
    for (int p = 0; p < PARTS; p++) {
        int64_t left = count - p * part;
        if (left > 0) {
            codes_write(a, p * part, left < part ? left : part, codes, scale);
        }
    }
}

const char *host_quantize(const struct operation_call *call)
{
    const struct tensor *a = &call->tensors[0], *codes = &call->tensors[1];
    float *scales = call->tensors[2].data;
    int64_t count = tensor_element_count(a), block = call->attributes.i[0];
    int64_t blocks = tensor_element_count(&call->tensors[2]);
    if (blocks == 1) {
        whole_quantize(call, count);
        return NULL;
    }
    HOST_PARALLEL_FOR(count >= PARALLEL_ELEMENTS)
    for (int64_t b = 0; b < blocks; b++) {
        int64_t elements = count - b * block < block ? count - b * block : block;
        scales[b] = block_scale(codes->dtype, magnitude_of(a, b * block, elements));
        codes_write(a, b * block, elements, codes, scales[b]);
    }
    return NULL;
}

/* Elements [first, first + count) of the quantised tensor, at most SPAN_ELEMENTS, as float32. */
static void codes_read(const struct tensor *codes, const struct block_scales *scales, int64_t first, int64_t count,
                       float *to)
{
    int64_t k = 0;
    while (k < count) {
        int64_t b = (first + k) / scales->length;
        int64_t end = (b + 1) * scales->length - first < count ? (b + 1) * scales->length - first : count;
        span_worth(codes, first + k, end - k, block_scale_at(scales, b), to + k);
        k = end;
    }
}

/* Elements [first, first + count) of the quantised tensor to [at, at + count) of out. */
static void run_dequantize(const struct operation_call *call, int64_t first, int64_t at, int64_t count)
{
    const struct tensor *out = &call->tensors[call->input_count];
    struct block_scales scales = {.scales = call->tensors[1].data, .length = call->attributes.i[0]};
    float scratch[SPAN_ELEMENTS];
    for (int64_t k = 0; k < count; k += SPAN_ELEMENTS) {
        int64_t piece = count - k < SPAN_ELEMENTS ? count - k : SPAN_ELEMENTS;
        struct span to = span_target(out, at + k, 1, scratch);
        codes_read(&call->tensors[0], &scales, first + k, piece, to.data);
        span_write(to, out, at + k, 1, piece);
    }
}

const char *host_dequantize(const struct operation_call *call)
{
    const struct tensor *out = &call->tensors[call->input_count];
    const int64_t *ids = call->input_count == 3 ? call->tensors[2].data : NULL;
    int64_t count = tensor_element_count(out);
    struct rows rows = rows_of(out);
    int64_t length = ids != NULL ? rows.columns : SPAN_ELEMENTS;
    int64_t runs = length > 0 ? (count + length - 1) / length : 0;
    for (int64_t row = 0; ids != NULL && row < rows.count; row++) {
        if (ids[row] < 0 || ids[row] >= call->attributes.i[1]) {
            return "an id is not a row of the quantised table";
        }
    }
    HOST_PARALLEL_FOR(count >= PARALLEL_ELEMENTS)
    for (int64_t run = 0; run < runs; run++) {
        int64_t at = run * length;
        run_dequantize(call, ids != NULL ? ids[run] * length : at, at, count - at < length ? count - at : length);
    }
    return NULL;
}

/* In four sums, so that a multiply-add need not wait for the one before. */
HOST_CLONES
static float span_dot(const float *a, const float *b, int64_t count)
{
    float sum0 = 0.0f, sum1 = 0.0f, sum2 = 0.0f, sum3 = 0.0f;
    int64_t part = count / 4;
    BODY_SIMD(reduction(+ : sum0, sum1, sum2, sum3))
    for (int64_t k = 0; k < part; k++) {
        sum0 += a[k] * b[k];
        sum1 += a[part + k] * b[part + k];
        sum2 += a[2 * part + k] * b[2 * part + k];
        sum3 += a[3 * part + k] * b[3 * part + k];
    }
    for (int64_t k = 4 * part; k < count; k++) {
        sum0 += a[k] * b[k];
    }
    return (sum0 + sum1) + (sum2 + sum3);
}

/* Rows of a that share what is read of the matrix. */
enum { LINEAR_ROWS = 16 };

/* Rows [row, row + rows) of a with row `column` of the matrix. */
static void linear_column(const struct operation_call *call, int64_t row, int rows, int64_t column, int64_t columns,
                          float sums[LINEAR_ROWS])
{
    const struct tensor *codes = &call->tensors[1];
    struct block_scales scales = block_scales_of(call);
    float a[SPAN_ELEMENTS], weight[SPAN_ELEMENTS];
    memset(sums, 0, LINEAR_ROWS * sizeof *sums);
    for (int64_t k = 0; k < columns; k += SPAN_ELEMENTS) {
        int64_t piece = columns - k < SPAN_ELEMENTS ? columns - k : SPAN_ELEMENTS;
        int64_t first = column * columns + k;
        bool plain = scales.codes == NULL && codes->dtype == DTYPE_NF4X2;
        if (rows == 1 && plain && host_nf4_dot_fits(first, scales.length)) {
            struct span from = span_read(&call->tensors[0], row * columns + k, 1, piece, a);
            sums[0] += host_nf4_dot(from.data, codes->data, scales.scales, scales.length, first, piece);
            continue;
        }
        codes_read(codes, &scales, first, piece, weight);
        for (int r = 0; r < rows; r++) {
            struct span from = span_read(&call->tensors[0], (row + r) * columns + k, 1, piece, a);
            sums[r] += span_dot(from.data, weight, piece);
        }
    }
}

const char *host_quantized_linear(const struct operation_call *call)
{
    const struct tensor *out = &call->tensors[call->input_count];
    int biased = linear_bias_index(call);
    const struct tensor *bias = biased >= 0 ? &call->tensors[biased] : NULL;
    struct rows a = rows_of(&call->tensors[0]), to = rows_of(out);
    HOST_PARALLEL_FOR(to.columns * a.columns >= PARALLEL_ELEMENTS)
    for (int64_t column = 0; column < to.columns; column++) {
        float offset = bias != NULL ? float_load(bias->data, bias->dtype, column) : 0.0f;
        for (int64_t row = 0; row < to.count; row += LINEAR_ROWS) {
            float sums[LINEAR_ROWS];
            int rows = (int)(to.count - row < LINEAR_ROWS ? to.count - row : LINEAR_ROWS);
            linear_column(call, row, rows, column, a.columns, sums);
            for (int r = 0; r < rows; r++) {
                float_store(out->data, out->dtype, (row + r) * to.columns + column, sums[r] + offset);
            }
        }
    }
    return NULL;
}

HOST_CLONES
static void sums_worth(const int32_t *sums, float row_scale, const float *column_scales, int64_t count, float *to)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        to[k] = sum_value(sums[k], row_scale, column_scales[k]);
    }
}

const char *host_dequantize_sums(const struct operation_call *call)
{
    const struct tensor *out = &call->tensors[3];
    const int32_t *sums = call->tensors[0].data;
    const float *row_scales = call->tensors[1].data, *column_scales = call->tensors[2].data;
    struct rows rows = rows_of(&call->tensors[0]);
    HOST_PARALLEL_FOR(rows.count * rows.columns >= PARALLEL_ELEMENTS)
    for (int64_t row = 0; row < rows.count; row++) {
        float scratch[SPAN_ELEMENTS];
        for (int64_t k = 0; k < rows.columns; k += SPAN_ELEMENTS) {
            int64_t piece = rows.columns - k < SPAN_ELEMENTS ? rows.columns - k : SPAN_ELEMENTS;
            struct span to = span_target(out, row * rows.columns + k, 1, scratch);
            sums_worth(sums + row * rows.columns + k, row_scales[row], column_scales + k, piece, to.data);
            span_write(to, out, row * rows.columns + k, 1, piece);
        }
    }
    return NULL;
}

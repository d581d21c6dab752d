/* Reference of quantised storage: codes found by trying all of them, in double precision. Where the definition rounds
 * to float32 before it rounds to a code (the scaled element, the middle between two levels), so does the reference: a
 * tie must be the same tie. */
#include <math.h>
#include <stddef.h>

#include "tests/kernels/reference.h"

static const double levels[16] = {-1.0,
                                  -0.6961928009986877,
                                  -0.5250730514526367,
                                  -0.39491748809814453,
                                  -0.28444138169288635,
                                  -0.18477343022823334,
                                  -0.09105003625154495,
                                  0.0,
                                  0.07958029955625534,
                                  0.16093020141124725,
                                  0.24611230194568634,
                                  0.33791524171829224,
                                  0.44070982933044434,
                                  0.5626170039176941,
                                  0.7229568362236023,
                                  1.0};

static int level_nearest(double value)
{
    int best = 0;
    for (int code = 1; code < 16; code++) {
        float midpoint = ((float)levels[code - 1] + (float)levels[code]) / 2.0f;
        best = value > (double)midpoint ? code : best;
    }
    return best;
}

/* Magnitude `code` of float8_e4m3fn, 0 to 126. */
static double float8_magnitude(int code)
{
    return code < 8 ? code * 0x1p-9 : ldexp(8 + code % 8, code / 8 - 10);
}

double reference_float8(double value)
{
    int best = 0;
    for (int code = 1; code < 127; code++) {
        double gain = fabs(fabs(value) - float8_magnitude(best)) - fabs(fabs(value) - float8_magnitude(code));
        best = gain > 0.0 || (gain == 0.0 && code % 2 == 0) ? code : best;
    }
    return copysign(float8_magnitude(best), value);
}

static int code_of(const double *values, int64_t index)
{
    int pair = (int)values[index / 2];
    return index % 2 == 0 ? pair / 16 : pair % 16;
}

static double worth(enum dtype dtype, const double *codes, int64_t index, double scale)
{
    if (dtype == DTYPE_NF4X2) {
        return levels[code_of(codes, index)] * scale;
    }
    return codes[index] * scale / (dtype == DTYPE_INT8 ? 127.0 : 1.0);
}

static void block_quantize(enum dtype dtype, const double *a, int64_t first, int64_t count, double *codes,
                           double *scale)
{
    float magnitude = 0.0f;
    for (int64_t k = first; k < first + count; k++) {
        magnitude = fmaxf(magnitude, (float)fabs(a[k]));
    }
    float unit = dtype == DTYPE_FLOAT8_E4M3FN ? magnitude / 448.0f : magnitude;
    float factor = unit > 0.0f ? (dtype == DTYPE_INT8 ? 127.0f : 1.0f) / unit : 0.0f;
    *scale = (double)unit;
    for (int64_t k = first; k < first + count; k++) {
        bool divided = dtype == DTYPE_FLOAT8_E4M3FN && unit > 0.0f;
        double scaled = (double)(divided ? (float)a[k] / unit : (float)a[k] * factor);
        if (dtype == DTYPE_INT8) {
            codes[k] = nearbyint(scaled);
        } else if (dtype == DTYPE_FLOAT8_E4M3FN) {
            codes[k] = reference_float8(scaled);
        } else {
            /* The low half of a last odd byte stays at code 7, which is 0. */
            codes[k / 2] = k % 2 == 0 ? 16.0 * level_nearest(scaled) + 7.0 : codes[k / 2] - 7.0 + level_nearest(scaled);
        }
    }
}

void reference_quantize(const struct operation_call *call, double *const *values)
{
    int64_t count = tensor_element_count(&call->tensors[0]), block = call->attributes.i[0];
    for (int64_t first = 0; first < count; first += block) {
        block_quantize(call->tensors[1].dtype, values[0], first, count - first < block ? count - first : block,
                       values[1], &values[2][first / block]);
    }
}

void reference_dequantize(const struct operation_call *call, double *const *values)
{
    const struct tensor *out = &call->tensors[call->input_count];
    int64_t columns = out->size[1], block = call->attributes.i[0];
    for (int64_t k = 0; k < tensor_element_count(out); k++) {
        int64_t row = call->input_count == 3 ? (int64_t)values[2][k / columns] : k / columns;
        int64_t at = row * columns + k % columns;
        values[call->input_count][k] = worth(call->tensors[0].dtype, values[0], at, values[1][at / block]);
    }
}

void reference_quantized_linear(const struct operation_call *call, double *const *values)
{
    const struct tensor *a = &call->tensors[0], *out = &call->tensors[call->input_count];
    int64_t columns = a->size[a->rank - 1], outputs = out->size[out->rank - 1], block = call->attributes.i[0];
    for (int64_t k = 0; k < tensor_element_count(out); k++) {
        double sum = call->input_count == 4 ? values[3][k % outputs] : 0.0;
        for (int64_t j = 0; j < columns; j++) {
            int64_t at = k % outputs * columns + j;
            sum += values[0][k / outputs * columns + j] *
                   worth(call->tensors[1].dtype, values[1], at, values[2][at / block]);
        }
        values[call->input_count][k] = sum;
    }
}

void reference_nested_linear(const struct operation_call *call, double *const *values)
{
    const struct tensor *a = &call->tensors[0], *out = &call->tensors[call->input_count];
    int64_t columns = a->size[a->rank - 1], outputs = out->size[out->rank - 1];
    int64_t block = call->attributes.i[0], nested = call->attributes.i[1];
    for (int64_t k = 0; k < tensor_element_count(out); k++) {
        double sum = call->input_count == 7 ? values[6][k % outputs] : 0.0;
        for (int64_t j = 0; j < columns; j++) {
            int64_t at = k % outputs * columns + j, b = at / block;
            double scale = values[4][(int)values[2][b]] * values[3][b / nested] + values[5][0];
            sum += values[0][k / outputs * columns + j] * worth(call->tensors[1].dtype, values[1], at, scale);
        }
        values[call->input_count][k] = sum;
    }
}

void reference_dequantize_sums(const struct operation_call *call, double *const *values)
{
    int64_t columns = call->tensors[0].size[1];
    for (int64_t k = 0; k < tensor_element_count(&call->tensors[0]); k++) {
        values[3][k] = values[0][k] * values[1][k / columns] * values[2][k % columns] / (127.0 * 127.0);
    }
}

void reference_extreme(const struct operation_call *call, double *const *values)
{
    const struct tensor *a = &call->tensors[0];
    bool is_highest = call->attributes.i[0] == 1;
    for (int64_t row = 0; row < a->size[0]; row++) {
        double extreme = is_highest ? -INFINITY : INFINITY;
        for (int64_t k = row * a->size[1]; k < (row + 1) * a->size[1]; k++) {
            extreme = is_highest ? fmax(extreme, values[0][k]) : fmin(extreme, values[0][k]);
        }
        values[1][row] = extreme;
    }
}

void reference_bits(const struct operation_call *call, double *const *values)
{
    int bits = (int)call->attributes.i[0], place = (int)call->attributes.i[1];
    int64_t count = tensor_element_count(&call->tensors[0]);
    for (int64_t k = 0; k < count; k++) {
        unsigned byte = (unsigned)values[0][k];
        if (call->opcode == OPCODE_PACK_BITS) {
            unsigned shifted = byte % (1u << bits) << (bits * place);
            values[1][k] = shifted;
            values[2][k] = (unsigned)values[2][k] | shifted;
            continue;
        }
        for (int j = 0; j < 8 / bits; j++) {
            values[1][j * count + k] = (byte >> (bits * j)) % (1u << bits);
        }
    }
}

/* Reference of 8-bit Adam, and of other codes of a map. The maps are made as bitsandbytes' create_dynamic_map makes
 * them, as a list that is sorted; codes are found by looking at all numbers of a map. */
#include "tests/kernels/reference.h"

#include <math.h>
#include <stdlib.h>

enum { CODES = 256, BLOCK = 256 };

static int number_order(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

void reference_dynamic_map(const struct operation_call *call, double *const *values)
{
    bool is_signed = call->attributes.i[0] == 1;
    double *map = values[0];
    int count = 0;
    for (int decade = 0; decade < 7; decade++) {
        int parts = is_signed ? 1 << decade : 2 << decade;
        double step = 0.9 / parts;
        for (int i = 0; i < parts; i++) {
            double low = 0.1 + i * step;
            map[count] = pow(10.0, decade - 6) * (low + (low + step)) / 2.0;
            count++;
            if (is_signed) {
                map[count] = -map[count - 1];
                count++;
            }
        }
    }
    map[count++] = 0.0;
    map[count++] = 1.0;
    qsort(map, (size_t)count, sizeof *map, number_order);
}

static double code_nearest(const double *map, double x)
{
    int best = 0;
    for (int code = 1; code < CODES; code++) {
        best = fabs(map[code] - x) < fabs(map[best] - x) ? code : best;
    }
    return x < 0.0 && map[best] == 0.0 ? best - 1 : best;
}

/* Moments of one block, in codes and scale, from those of a map in double. */
static void block_encode(const double *map, const double *moments, int64_t count, double *codes, double *scale)
{
    *scale = 0.0;
    for (int64_t k = 0; k < count; k++) {
        *scale = fmax(*scale, fabs(moments[k]));
    }
    for (int64_t k = 0; k < count; k++) {
        codes[k] = code_nearest(map, *scale > 0.0 ? moments[k] / *scale : 0.0);
    }
}

void reference_adam_8bit(const struct operation_call *call, double *const *v)
{
    const double *f = call->attributes.f;
    double step = (double)call->attributes.i[1];
    bool decoupled = call->attributes.i[0] == 1;
    int out = call->input_count;
    int64_t count = tensor_element_count(&call->tensors[0]);
    if (out > 3 && v[3][0] != 0.0) {
        return;
    }
    double moments[2][BLOCK];
    for (int64_t first = 0; first < count; first += BLOCK) {
        int64_t size = count - first < BLOCK ? count - first : BLOCK;
        for (int64_t i = 0; i < size; i++) {
            int64_t k = first + i;
            double m = v[1][(int)v[out + 1][k]] * v[out + 3][first / BLOCK];
            double s = v[2][(int)v[out + 2][k]] * v[out + 4][first / BLOCK];
            double grad = v[0][k] + (decoupled ? 0.0 : f[4] * v[out][k]);
            bool finite = isfinite(v[0][k]);
            moments[0][i] = finite ? f[1] * m + (1.0 - f[1]) * grad : 0.0;
            moments[1][i] = finite ? f[2] * s + (1.0 - f[2]) * grad * grad : 0.0;
            double denominator = sqrt(moments[1][i]) / sqrt(1.0 - pow(f[2], step)) + f[3];
            if (finite) {
                v[out][k] -= decoupled ? f[0] * f[4] * v[out][k] : 0.0;
                v[out][k] -= f[0] / (1.0 - pow(f[1], step)) * moments[0][i] / denominator;
            }
        }
        for (int i = 0; i < 2; i++) {
            block_encode(v[1 + i], moments[i], size, &v[out + 1 + i][first], &v[out + 3 + i][first / BLOCK]);
        }
    }
}

void reference_map_quantize(const struct operation_call *call, double *const *values)
{
    int64_t count = tensor_element_count(&call->tensors[0]), block = call->attributes.i[0];
    const double *map = values[1];
    for (int64_t first = 0; first < count; first += block) {
        int64_t size = count - first < block ? count - first : block;
        double *scale = &values[3][first / block];
        *scale = 0.0;
        for (int64_t k = first; k < first + size; k++) {
            *scale = fmax(*scale, fabs(values[0][k]));
        }
        for (int64_t k = first; k < first + size; k++) {
            /* Rounded where the definition rounds, so that a tie is the same tie. */
            float scaled = *scale > 0.0 ? (float)values[0][k] * (1.0f / (float)*scale) : 0.0f;
            values[2][k] = 0;
            for (int code = 1; code < CODES; code++) {
                values[2][k] = scaled > 0.5f * ((float)map[code - 1] + (float)map[code]) ? code : values[2][k];
            }
        }
    }
}

void reference_map_dequantize(const struct operation_call *call, double *const *values)
{
    for (int64_t k = 0; k < tensor_element_count(&call->tensors[0]); k++) {
        values[3][k] = values[2][(int)values[0][k]] * values[1][k / call->attributes.i[0]];
    }
}

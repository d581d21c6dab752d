/* Float panels: loops over runs of elements. How one element is converted is in kernels/convert.h. */
#include "harness/device/float_panel.h"

#include <string.h>

#include "harness/kernels/convert.h"

void floats_load(float *to, const void *from, enum dtype dtype, int64_t count)
{
    if (dtype == DTYPE_FLOAT32) {
        memcpy(to, from, (size_t)count * sizeof *to);
        return;
    }
    const uint16_t *halves = from;
    if (dtype == DTYPE_FLOAT16) {
#pragma omp simd
        for (int64_t k = 0; k < count; k++) {
            to[k] = float_from_float16(halves[k]);
        }
    } else if (dtype == DTYPE_BFLOAT16) {
#pragma omp simd
        for (int64_t k = 0; k < count; k++) {
            to[k] = float_from_bfloat16(halves[k]);
        }
    } else if (dtype == DTYPE_INT8) {
        const int8_t *codes = from;
#pragma omp simd
        for (int64_t k = 0; k < count; k++) {
            to[k] = (float)codes[k];
        }
    } else {
        for (int64_t k = 0; k < count; k++) {
            to[k] = float_load(from, dtype, k);
        }
    }
}

void floats_load_spaced(float *to, const void *from, enum dtype dtype, int64_t count, int64_t step)
{
    const float *floats = from;
    const uint16_t *halves = from;
    if (step == 1) {
        floats_load(to, from, dtype, count);
    } else if (dtype == DTYPE_FLOAT32 && step == 2) { /* a step that the compiler knows becomes vector code */
#pragma omp simd
        for (int64_t k = 0; k < count; k++) {
            to[k] = floats[k * 2];
        }
    } else if (dtype == DTYPE_FLOAT32) {
        for (int64_t k = 0; k < count; k++) {
            to[k] = floats[k * step];
        }
    } else if (dtype == DTYPE_FLOAT16) {
        for (int64_t k = 0; k < count; k++) {
            to[k] = float_from_float16(halves[k * step]);
        }
    } else {
        for (int64_t k = 0; k < count; k++) {
            to[k] = float_from_bfloat16(halves[k * step]);
        }
    }
}

void floats_store(void *to, enum dtype dtype, const float *from, int64_t count)
{
    if (dtype == DTYPE_FLOAT32) {
        memcpy(to, from, (size_t)count * sizeof *from);
        return;
    }
    uint16_t *halves = to;
    if (dtype == DTYPE_FLOAT16) {
#pragma omp simd
        for (int64_t k = 0; k < count; k++) {
            halves[k] = float_to_float16(from[k]);
        }
    } else {
#pragma omp simd
        for (int64_t k = 0; k < count; k++) {
            halves[k] = float_to_bfloat16(from[k]);
        }
    }
}

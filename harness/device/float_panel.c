/* Float panels: conversion without branches. Conversion of single elements inside row kernels is in kernels/. */
#include "harness/device/float_panel.h"

#include <string.h>

#define FLOAT_INFINITY_BITS 0x7f800000u

static inline float float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t bits_from_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Exponent and mantissa move to their places in float32 and the bias of the exponent (15) becomes 127. A subnormal is
 * counted in units of 2^-24, the last place of 0.5, so no arithmetic is done on subnormal numbers, which is slow. */
static inline float float_from_float16(uint16_t half)
{
    uint32_t magnitude = half & 0x7fffu;
    uint32_t normal = (magnitude << 13) + 0x38000000u;
    uint32_t subnormal = bits_from_float(float_from_bits(0x3f000000u | magnitude) - 0.5f);
    uint32_t special = magnitude << 13 | FLOAT_INFINITY_BITS;
    uint32_t bits = magnitude < 0x0400u ? subnormal : normal;
    bits = magnitude >= 0x7c00u ? special : bits;
    return float_from_bits(bits | (uint32_t)(half & 0x8000u) << 16);
}

static inline uint16_t float16_from_float(float value)
{
    uint32_t bits = bits_from_float(value);
    uint32_t magnitude = bits & 0x7fffffffu;
    /* Normal: half of the last kept place is added, minus one where the kept part is even. */
    uint32_t normal = (magnitude - 0x38000000u + 0x0fffu + (magnitude >> 13 & 1u)) >> 13;
    /* Subnormal: the addition of 0.5 rounds at 2^-24, the last place of a subnormal float16. */
    uint32_t subnormal = bits_from_float(float_from_bits(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
    result = magnitude >= 0x477ff000u ? 0x7c00u : result;        /* 65520 and above: infinity */
    result = magnitude > FLOAT_INFINITY_BITS ? 0x7e00u : result; /* NaN */
    return (uint16_t)(result | (bits >> 16 & 0x8000u));
}

static inline uint16_t bfloat16_from_float(float value)
{
    uint32_t bits = bits_from_float(value);
    uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    uint32_t nan = bits >> 16 | 0x40u;
    return (uint16_t)((bits & 0x7fffffffu) > FLOAT_INFINITY_BITS ? nan : rounded);
}

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
    } else {
#pragma omp simd
        for (int64_t k = 0; k < count; k++) {
            to[k] = float_from_bits((uint32_t)halves[k] << 16);
        }
    }
}

void floats_load_spaced(float *to, const void *from, enum dtype dtype, int64_t count, int64_t step)
{
    const float *floats = from;
    const uint16_t *halves = from;
    if (step == 1) {
        floats_load(to, from, dtype, count);
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
            to[k] = float_from_bits((uint32_t)halves[k * step] << 16);
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
            halves[k] = float16_from_float(from[k]);
        }
    } else {
#pragma omp simd
        for (int64_t k = 0; k < count; k++) {
            halves[k] = bfloat16_from_float(from[k]);
        }
    }
}

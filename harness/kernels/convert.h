/* Conversion between float32 and the storage formats, for host and CUDA: rounded to nearest even, infinities and NaN
 * kept, subnormal numbers kept. Without branches, so that a compiler can do eight or sixteen at once. GPUs have
 * instructions for 16 bits, which give the same numbers; which NaN they give may differ.
 *
 * Worked numbers: 65504 is float16 0x7bff and 65520 rounds to infinity 0x7c00; 2^-24 is float16 0x0001;
 * 1 + 2^-8 is a tie in bfloat16 and goes to the even 1.0 = 0x3f80, 1 + 3 * 2^-8 to 0x3f82. float8_e4m3fn: 448 is 0x7e,
 * 464 is a tie and goes to the even 448, all beyond to NaN 0x7f; 2^-9 is 0x01. */
#ifndef ASSAY_KERNELS_CONVERT_H
#define ASSAY_KERNELS_CONVERT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "harness/kernels/dtype.h"

#ifdef __CUDACC__
#define CONVERT static __host__ __device__ __forceinline__
#else
#define CONVERT static inline __attribute__((always_inline))
#endif

/* The architecture that is compiled for, 0 for the host. */
#ifdef __CUDA_ARCH__
#define CONVERT_ARCHITECTURE __CUDA_ARCH__
#else
#define CONVERT_ARCHITECTURE 0
#endif

CONVERT uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

CONVERT float float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

CONVERT float float_from_bfloat16(uint16_t half)
{
    return float_from_bits((uint32_t)half << 16);
}

CONVERT uint16_t float_to_bfloat16(float value)
{
#if CONVERT_ARCHITECTURE >= 800
    uint16_t half;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
#else
    uint32_t bits = float_bits(value);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    uint32_t nan = (bits >> 16) | 0x40u;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
#endif
}

CONVERT float float_from_float16(uint16_t half)
{
#if CONVERT_ARCHITECTURE > 0
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
    return value;
#else
    uint32_t sign = ((uint32_t)half & 0x8000u) << 16;
    uint32_t magnitude = (uint32_t)half & 0x7fffu;
    /* The exponent's bias goes from 15 to 127. A subnormal is counted in units of 2^-24, the last place of 1/2: float32
     * subnormals, on which processors are slow, never appear. */
    uint32_t normal = (magnitude << 13) + 0x38000000u;
    uint32_t subnormal = float_bits(float_from_bits(0x3f000000u | magnitude) - 0.5f);
    uint32_t finite = magnitude < 0x0400u ? subnormal : normal;
    uint32_t special = 0x7f800000u | (magnitude << 13);
    return float_from_bits(sign | (magnitude >= 0x7c00u ? special : finite));
#endif
}

CONVERT uint16_t float_to_float16(float value)
{
#if CONVERT_ARCHITECTURE > 0
    uint16_t half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
#else
    uint32_t bits = float_bits(value);
    uint32_t sign = (bits >> 16) & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    /* Adding 1/2 leaves a float32 whose last place is 2^-24, the step of float16's subnormals. */
    uint32_t subnormal = float_bits(float_from_bits(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t special = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : 0x7c00u;
    uint32_t small = magnitude < 0x38800000u ? subnormal : normal;
    return (uint16_t)(sign | (magnitude >= 0x47800000u ? special : small));
#endif
}

CONVERT float float_from_float8_e4m3(uint8_t byte)
{
    uint32_t sign = ((uint32_t)byte & 0x80u) << 24;
    uint32_t magnitude = (uint32_t)byte & 0x7fu;
    uint32_t normal = (magnitude << 20) + 0x3c000000u;                /* the exponent's bias goes from 7 to 127 */
    uint32_t subnormal = float_bits((float)magnitude * 0.001953125f); /* units of 2^-9 */
    uint32_t finite = magnitude < 0x08u ? subnormal : normal;
    return float_from_bits(sign | (magnitude == 0x7fu ? 0x7fc00000u : finite));
}

CONVERT uint8_t float_to_float8_e4m3(float value)
{
    uint32_t bits = float_bits(value);
    uint32_t sign = (bits >> 24) & 0x80u;
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t normal = (magnitude + 0x7ffffu + ((magnitude >> 20) & 1u) - 0x3c000000u) >> 20;
    /* Adding 2^14 leaves a float32 whose last place is 2^-9, the step of the subnormals. */
    uint32_t subnormal = float_bits(float_from_bits(magnitude) + 16384.0f) - 0x46800000u;
    uint32_t small = magnitude < 0x3c800000u ? subnormal : normal;
    return (uint8_t)(sign | (magnitude >= 0x43f00000u ? 0x7fu : small));
}

/* dtype_bytes, for host and CUDA. */
CONVERT int64_t element_bytes(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_INT64:
        return 8;
    case DTYPE_FLOAT32:
    case DTYPE_INT32:
        return 4;
    case DTYPE_FLOAT16:
    case DTYPE_BFLOAT16:
        return 2;
    default:
        return 1;
    }
}

/* Element `index` of memory that holds any dtype. bool counts as 0 or 1; of nf4x2 the byte. */
CONVERT float float_load(const void *data, enum dtype dtype, int64_t index)
{
    switch (dtype) {
    case DTYPE_FLOAT32:
        return ((const float *)data)[index];
    case DTYPE_FLOAT16:
        return float_from_float16(((const uint16_t *)data)[index]);
    case DTYPE_BFLOAT16:
        return float_from_bfloat16(((const uint16_t *)data)[index]);
    case DTYPE_INT64:
        return (float)((const int64_t *)data)[index];
    case DTYPE_UINT8:
    case DTYPE_NF4X2:
        return (float)((const uint8_t *)data)[index];
    case DTYPE_INT32:
        return (float)((const int32_t *)data)[index];
    case DTYPE_INT8:
        return (float)((const int8_t *)data)[index];
    case DTYPE_FLOAT8_E4M3FN:
        return float_from_float8_e4m3(((const uint8_t *)data)[index]);
    default:
        return ((const uint8_t *)data)[index] != 0 ? 1.0f : 0.0f;
    }
}

CONVERT void float_store(void *data, enum dtype dtype, int64_t index, float value)
{
    switch (dtype) {
    case DTYPE_FLOAT32:
        ((float *)data)[index] = value;
        break;
    case DTYPE_FLOAT16:
        ((uint16_t *)data)[index] = float_to_float16(value);
        break;
    case DTYPE_BFLOAT16:
        ((uint16_t *)data)[index] = float_to_bfloat16(value);
        break;
    case DTYPE_INT64:
        ((int64_t *)data)[index] = (int64_t)value;
        break;
    case DTYPE_UINT8:
    case DTYPE_NF4X2:
        ((uint8_t *)data)[index] = (uint8_t)value;
        break;
    case DTYPE_INT32:
        ((int32_t *)data)[index] = (int32_t)value;
        break;
    case DTYPE_INT8:
        ((int8_t *)data)[index] = (int8_t)value;
        break;
    case DTYPE_FLOAT8_E4M3FN:
        ((uint8_t *)data)[index] = float_to_float8_e4m3(value);
        break;
    default:
        ((uint8_t *)data)[index] = value != 0.0f;
        break;
    }
}

#endif

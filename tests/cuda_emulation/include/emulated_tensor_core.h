/* Stands in for harness/kernels/tensor_core.h, whose contract it keeps: the same functions without the assembler. A
 * copy that was begun is made at once in some launches, in others only when it is waited for; a line of a matrix is
 * read when its lane arrives; what does not lie on its boundary is a fault. */
#ifndef ASSAY_KERNELS_TENSOR_CORE_H
#define ASSAY_KERNELS_TENSOR_CORE_H

#include <stdint.h>

#include "harness/kernels/convert.h"

enum { TENSOR_CORE_ARCHITECTURE = 80 };

#define TENSOR_CORE_CODE(...) __VA_ARGS__

void emulated_multiply(int line, enum dtype dtype, float *sum, const uint32_t *left, uint32_t right0, uint32_t right1);
void emulated_matrices_load(int line, uint32_t *pairs, const uint16_t *row, bool transposed);
void emulated_copy_begin(void *shared, const void *from, int bytes, bool inside);
void emulated_copies_wait(int left);
void copies_group(void);

template <enum dtype dtype>
inline void tensor_core_multiply(float (&sum)[4], const uint32_t (&left)[4], uint32_t right0, uint32_t right1,
                                 int line = __builtin_LINE())
{
    emulated_multiply(line, dtype, sum, left, right0, right1);
}

template <enum dtype dtype> inline uint32_t pair_of(float low, float high)
{
    bool half = dtype == DTYPE_FLOAT16;
    uint32_t first = half ? float_to_float16(low) : float_to_bfloat16(low);
    return first | (uint32_t)(half ? float_to_float16(high) : float_to_bfloat16(high)) << 16;
}

inline void matrices_load(uint32_t (&pairs)[4], const uint16_t *row, int line = __builtin_LINE())
{
    emulated_matrices_load(line, pairs, row, false);
}

inline void matrices_load_transposed(uint32_t (&pairs)[4], const uint16_t *row, int line = __builtin_LINE())
{
    emulated_matrices_load(line, pairs, row, true);
}

inline void copy_begin_16(void *shared, const void *from, bool inside)
{
    emulated_copy_begin(shared, from, 16, inside);
}

inline void copy_begin_4(void *shared, const void *from, bool inside)
{
    emulated_copy_begin(shared, from, 4, inside);
}

template <int left> inline void copies_wait(void)
{
    emulated_copies_wait(left);
}

inline int64_t value_here(int64_t value)
{
    return value;
}

#endif

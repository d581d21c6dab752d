/* Tensor cores and what feeds them, from sm_80 on: the few instructions of PTX that attention is made of. CUDA only.
 *
 * A warp works as one: every lane calls, with the same shapes. Numbers of 16 bits stand in pairs, the lower column or
 * row in the lower half. With g = lane / 4 and t = lane % 4 a lane holds
 *
 *     of the left factor (16 rows, depth 16)    left[0]: row g, depth 2t and 2t + 1;  left[1]: row g + 8;
 *                                               left[2], left[3]: the same rows, depth 2t + 8 and 2t + 9
 *     of the right factor (depth 16, 8 columns) right[0]: column g, depth 2t and 2t + 1;
 *                                               right[1]: depth 2t + 8, 2t + 9
 *     of the sums (16 rows, 8 columns)          sum[0], sum[1]: row g, columns 2t and 2t + 1;
 *                                               sum[2], sum[3]: row g + 8
 *
 * (PTX ISA, "Matrix Fragments for mma.m16n8k16"). So the sums of two neighbouring products, rounded and paired, are a
 * left factor: attention goes from scores to the next product without leaving the registers.
 *
 * Worked: lane 5 has g = 1, t = 1. Its sum[3] is row 9, column 3: sum over k of left(9, k) * right(k, 3). */
#ifndef ASSAY_KERNELS_TENSOR_CORE_H
#define ASSAY_KERNELS_TENSOR_CORE_H

#include "harness/kernels/body.h"

enum { TENSOR_CORE_ARCHITECTURE = 80 }; /* the first that has all of them */

/* For what a kernel does: nothing on an older architecture, whose assembler does not know the instructions. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define TENSOR_CORE_CODE(...) __VA_ARGS__
#else
#define TENSOR_CORE_CODE(...)
#endif

/* sum += left right. dtype: DTYPE_FLOAT16 or DTYPE_BFLOAT16, of both factors. Products are exact, sums float32. */
template <enum dtype dtype>
BODY void tensor_core_multiply(float (&sum)[4], const uint32_t (&left)[4], uint32_t right0, uint32_t right1)
{
    if (dtype == DTYPE_FLOAT16) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                     "{%0,%1,%2,%3};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right0), "r"(right1));
    } else {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                     "{%0,%1,%2,%3};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right0), "r"(right1));
    }
}

/* Two numbers rounded to nearest even, `low` in the lower half. */
template <enum dtype dtype> BODY uint32_t pair_of(float low, float high)
{
    uint32_t pair;
    if (dtype == DTYPE_FLOAT16) {
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    } else {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    }
    return pair;
}

/* Four matrices of 8 by 8 from shared memory. Lanes 8m to 8m + 7 give the rows of matrix m, 16 bytes each on a boundary
 * of 16. A lane receives of each matrix the pair in row g, columns 2t and 2t + 1. */
BODY void matrices_load(uint32_t (&pairs)[4], const uint16_t *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(pairs[0]), "=r"(pairs[1]), "=r"(pairs[2]), "=r"(pairs[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
}

/* The same of the transposed matrices: rows 2t and 2t + 1 of column g. */
BODY void matrices_load_transposed(uint32_t (&pairs)[4], const uint16_t *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(pairs[0]), "=r"(pairs[1]), "=r"(pairs[2]), "=r"(pairs[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
}

/* Begins to copy 16 bytes from device memory to shared memory, both on a boundary of 16; zeros if not `inside`,
 * and then nothing is read. */
BODY void copy_begin_16(void *shared, const void *from, bool inside)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((uint32_t)__cvta_generic_to_shared(shared)),
                 "l"(from), "r"(inside ? 16 : 0)
                 : "memory");
}

/* The same with 4 bytes. */
BODY void copy_begin_4(void *shared, const void *from, bool inside)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((uint32_t)__cvta_generic_to_shared(shared)),
                 "l"(from), "r"(inside ? 4 : 0)
                 : "memory");
}

/* The value, from where it stands. What is computed from it is computed there: an optimiser that moves it out of a loop
 * fills registers that the sums need. */
BODY int64_t value_here(int64_t value)
{
    asm volatile("" : "+l"(value));
    return value;
}

/* What the lane has begun since the last group is a group, be it empty. */
BODY void copies_group(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits for the lane's own groups, all but the last `left`. Other lanes see the copies after a barrier. */
template <int left> BODY void copies_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}

#endif

/* Reduction scratch: what PyTorch takes for itself while it sums a tensor on a GPU.
 *
 * If each output has many elements to be summed and there are few outputs, several blocks work on one output. Their
 * partial sums go to a buffer, and a counter for each column of blocks tells the last one that it is to add them up.
 * Both are taken behind the result and given back when the kernel has been launched, the counters first. Source:
 * setReduceConfig and gpu_reduce_kernel of ATen/native/cuda/Reduce.cuh, PyTorch 2.11, 4 values a load and 4 bytes a
 * partial sum (8 of int64).
 *
 *   partial sums  4 * outputs * blocks of an output * (1, or if neighbouring elements belong to different outputs:
 *                 block width * outputs that one thread loads together)
 *   counters      4 * columns of blocks
 *
 * Worked: the gradient of a bias, 4,096 rows of 768 in float32 or bfloat16, on a GPU of 132 multiprocessors of 2,048
 * threads: a thread loads 4 outputs, a block is 32 threads wide and 4 high, so 6 columns of blocks; a thread would sum
 * 4,096 / 4 = 1,024 rows, so min(ceil(132 * 16 / 6), 1,024 / 16) = 64 blocks share an output: 4 * 768 * 64 * 32 * 4 =
 * 25,165,824 bytes of partial sums, 24 of counters. Measured: the same (docs/pytorch-findings.md). 128 rows: 32 for
 * each thread, nothing. A tensor of 2^31 bytes and more is halved until its parts are smaller, and each is summed on
 * its own, with scratch of its own: 32,768 rows of 30,522 in float32 take 62,509,056 and 1,908 bytes twice, one pair
 * after the other (measured). Not here: the float32 sums that PyTorch keeps between the parts of a 16-bit
 * tensor, 4 * outputs. */
#ifndef ASSAY_TAPE_REDUCTION_SCRATCH_H
#define ASSAY_TAPE_REDUCTION_SCRATCH_H

#include "harness/kernels/operation.h"
#include "harness/tape/target.h"

/* What is summed: sizes and strides in elements. */
struct reduction {
    enum dtype dtype;
    int rank;
    int64_t offset; /* of the first element in its storage */
    int64_t size[TENSOR_RANK_MAXIMUM], stride[TENSOR_RANK_MAXIMUM];
    bool summed[TENSOR_RANK_MAXIMUM]; /* over this dimension */
    int64_t partial_bytes;            /* of a partial result; 0: as a sum has it */
};

struct reduction_scratch {
    int64_t partial_bytes, counter_bytes; /* both 0: nothing is taken */
    int64_t part_count;                   /* so many times, one after the other; of the largest part */
};

struct reduction_scratch reduction_scratch_of(const struct target *target, const struct reduction *reduction);

#endif

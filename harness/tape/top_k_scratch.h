/* Top-k scratch: what PyTorch takes for itself while torch.topk runs on a GPU.
 *
 * A row of few elements is one block's work, which takes nothing: 64 experts of a router. Where the work is divided
 * among blocks (TensorTopK.cu, should_use_multiblock), each block counts 256 digits of 8 bits, and two scans sum what
 * the blocks of a row have found. Worked, on sm_90 (132 multiprocessors, 6 blocks of 256 threads on each): 64 rows of
 * 151,936 are 48 elements for each thread, 13 blocks for each row, 832 in all; 832 * 256 * 2 = 425,984 bytes of counts
 * (measured). */
#ifndef ASSAY_TAPE_TOP_K_SCRATCH_H
#define ASSAY_TAPE_TOP_K_SCRATCH_H

#include <stdint.h>

#include "harness/tape/target.h"

enum { TOP_K_BUFFERS = 7, TOP_K_COUNTS = 3 /* the largest */ };

/* In the order in which they are taken, all until the end. All 0: nothing is taken. */
struct top_k_scratch {
    int64_t bytes[TOP_K_BUFFERS];
    int64_t scan_bytes; /* taken and given back twice, behind them */
};

/* Of so many rows of so many elements. */
struct top_k_scratch top_k_scratch_of(const struct target *target, int64_t rows, int64_t columns,
                                      int64_t element_bytes);

#endif

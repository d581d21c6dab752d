/* What is decided about a launch before it: how many blocks and lanes. Plain C, so that traffic is counted without
 * CUDA (traffic.h). */
#ifndef ASSAY_KERNELS_PLAN_GRID_H
#define ASSAY_KERNELS_PLAN_GRID_H

#include <stdint.h>

#include "harness/kernels/traffic.h"

enum { LANES = 256, ROW_LANES_MAXIMUM = 1024, BLOCKS_MAXIMUM = 65536 };

/* Blocks for `items` of work when each block takes `each` at a time; loops in the kernels take the rest. */
static inline unsigned grid_blocks(int64_t items, int64_t each)
{
    int64_t blocks = (items + each - 1) / each;
    return (unsigned)(blocks < 1 ? 1 : blocks < BLOCKS_MAXIMUM ? blocks : BLOCKS_MAXIMUM);
}

/* Lanes for a row: a multiple of 32, enough that each has some work. */
static inline unsigned row_lanes(int64_t columns)
{
    return columns <= 32 ? 32 : columns <= 512 ? 128 : columns <= 8192 ? 256 : ROW_LANES_MAXIMUM;
}

/* ---- traffic ---- */

/* A kernel that takes every operand once, in accesses of 16 bytes, with LANES lanes to a block: element_kernel and its
 * like, whose loops have nothing else to count. */
static inline void elements_traffic(const struct operation_call *call, const char *kernel, int64_t elements,
                                    struct traffic *traffic)
{
    struct launch_traffic *launch = traffic_add(traffic, kernel);
    double groups = (double)elements / 8;
    launch->blocks = grid_blocks((elements + 7) / 8, LANES);
    launch->lanes = LANES;
    launch->read_bytes = operands_bytes(call, 0, call->input_count);
    launch->written_bytes = operands_bytes(call, call->input_count, call->tensor_count);
    launch->touched_bytes = launch->read_bytes + launch->written_bytes;
    launch->instructions = 4.0 * (double)elements;
    launch->rounds = groups / (launch->blocks * LANES);
}

#endif

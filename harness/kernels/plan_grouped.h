/* What the kernels of grouped rows move (launch_grouped.cu). Plain C, see traffic.h. */
#ifndef ASSAY_KERNELS_PLAN_GROUPED_H
#define ASSAY_KERNELS_PLAN_GROUPED_H

#include "harness/kernels/plan_grid.h"

/* grouped_matmul_kernel of rows by matrices: a lane for each element; neighbours read a as one, and b side by side if
 * its columns are. */
static inline void grouped_matmul_traffic(const struct operation_call *call, struct traffic *traffic)
{
    const struct tensor *a = &call->tensors[0], *b = &call->tensors[1];
    struct launch_traffic *launch = traffic_add(traffic, "grouped_matmul_kernel");
    double count = (double)tensor_element_count(&call->tensors[3]), depth = (double)a->size[1];
    int64_t bytes = dtype_bytes(b->dtype);
    launch->blocks = grid_blocks((int64_t)count, LANES);
    launch->lanes = LANES;
    launch->read_bytes =
        count / WARP_LANES * depth * (SECTOR_BYTES + request_bytes(WARP_LANES, b->stride[2] * bytes, bytes));
    launch->written_bytes = operands_bytes(call, 3, 4);
    launch->touched_bytes = operands_bytes(call, 0, 4);
    launch->again_bytes = operands_bytes(call, 1, 2);
    launch->instructions = count * depth * 12; /* two loads, each with a choice by dtype */
    launch->rounds = count / launch->blocks / LANES * depth;
    traffic->needed_bytes = launch->touched_bytes;
    traffic->needed_operations = 2 * count * depth;
    traffic->on_cores = bytes == 2;
}

/* sort_ids_kernel: a lane for each group reads all ids twice, its neighbours the same one. group_ends_kernel: likewise,
 * a lane for each id, of which those that have a group search. */
static inline void sort_ids_traffic(const struct operation_call *call, struct traffic *traffic)
{
    struct launch_traffic *launch = traffic_add(traffic, "sort_ids_kernel");
    double count = (double)tensor_element_count(&call->tensors[0]), groups = (double)call->attributes.i[0];
    double warps = (groups + WARP_LANES - 1) / WARP_LANES;
    launch->blocks = grid_blocks((int64_t)groups, LANES);
    launch->lanes = LANES;
    launch->read_bytes = 2 * count * warps * SECTOR_BYTES;
    launch->written_bytes = 2 * count * SECTOR_BYTES;
    launch->touched_bytes = 3 * count * 8;
    launch->again_bytes = count * 8;
    launch->instructions = 2 * count * groups * 4;
    launch->rounds = 2 * count;
    traffic->needed_bytes = launch->touched_bytes;
    traffic->needed_operations = count;
}

#endif

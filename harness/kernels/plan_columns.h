/* How sums are launched, down columns and along rows, and what they move. Plain C, see traffic.h. */
#ifndef ASSAY_KERNELS_PLAN_COLUMNS_H
#define ASSAY_KERNELS_PLAN_COLUMNS_H

#include "harness/kernels/plan_grid.h"

enum { COLUMN_THREADS_MAXIMUM = 1024, COLUMN_LANES_MAXIMUM = 8, COLUMN_BLOCKS_WANTED = 264, ROWS_A_LANE = 4 };

struct column_plan {
    int64_t packets, rows;
    int unit;    /* columns of a packet */
    int lanes;   /* for neighbouring packets: a power of two */
    int threads; /* of a block: a power of two, at least 32 */
    unsigned blocks;
};

/* COLUMN_BLOCKS_WANTED: two for each processor of a large GPU. */
static inline struct column_plan column_plan_of(int64_t columns, int64_t rows, int unit)
{
    struct column_plan plan;
    plan.packets = columns / unit;
    plan.rows = rows;
    plan.unit = unit;
    plan.lanes = unit == 1 ? COLUMN_LANES_MAXIMUM : 2;
    while (plan.lanes < COLUMN_LANES_MAXIMUM && plan.packets / (2 * plan.lanes) >= COLUMN_BLOCKS_WANTED) {
        plan.lanes *= 2;
    }
    plan.threads = 32;
    while (plan.threads < COLUMN_THREADS_MAXIMUM && plan.threads / plan.lanes * ROWS_A_LANE < rows) {
        plan.threads *= 2;
    }
    plan.blocks = grid_blocks(plan.packets, plan.lanes);
    return plan;
}

/* ---- traffic: only where bodies are host code ---- */
#ifndef __CUDACC__

/* columns_sum, as sum_kernel and layernorm_weights_kernel call it: `inputs` matrices of rows by columns are read
 * once. */
static inline void columns_traffic(struct launch_traffic *launch, struct column_plan plan, int inputs, int64_t bytes)
{
    double elements = (double)(plan.packets * plan.unit * plan.rows);
    double columns = (double)(plan.packets * plan.unit);
    launch->blocks = plan.blocks;
    launch->lanes = plan.threads;
    launch->read_bytes =
        elements / (plan.lanes * plan.unit) * inputs * request_bytes(plan.lanes, plan.unit * bytes, plan.unit * bytes);
    launch->written_bytes = columns * sizeof(float);
    launch->touched_bytes = elements * inputs * (double)bytes + launch->written_bytes;
    launch->instructions = elements * 4;
    launch->rounds = (double)plan.rows * plan.lanes / plan.threads / 4; /* the loop is unrolled four times */
}

/* sum_kernel of a dense matrix: down its columns, or all of it to one number, which one block makes. */
static inline void sum_traffic(const struct operation_call *call, struct traffic *traffic)
{
    const struct tensor *a = &call->tensors[0];
    struct launch_traffic *launch = traffic_add(traffic, "sum_kernel");
    int64_t bytes = dtype_bytes(a->dtype), unit = bytes == 4 ? 4 : 8, count = tensor_element_count(a);
    if (tensor_element_count(&call->tensors[1]) > 1) {
        columns_traffic(launch, column_plan_of(a->size[1], a->size[0], (int)unit), 1, bytes);
    } else {
        launch->blocks = 1;
        launch->lanes = row_lanes(count / unit);
        launch->read_bytes = (double)(count * bytes);
        launch->written_bytes = SECTOR_BYTES;
        launch->touched_bytes = launch->read_bytes;
        launch->instructions = (double)count * 4;
        launch->rounds = (double)count / (double)unit / launch->lanes / 4;
    }
    traffic->needed_bytes = operands_bytes(call, 0, call->tensor_count);
    traffic->needed_operations = (double)count;
}

#endif
#endif

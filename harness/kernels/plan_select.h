/* How TOP_K and ARGMAX are launched, and what they move. Plain C, see traffic.h. */
#ifndef ASSAY_KERNELS_PLAN_SELECT_H
#define ASSAY_KERNELS_PLAN_SELECT_H

#include "harness/kernels/body_rows.h"
#include "harness/kernels/plan_grid.h"

/* A block of lanes for each row. */
struct select_plan {
    struct rows rows;
    int64_t picked; /* of each row */
    bool with_values;
    unsigned blocks, lanes;
};

static inline struct select_plan select_plan_of(const struct operation_call *call)
{
    struct select_plan plan;
    plan.rows = rows_of(&call->tensors[0]);
    plan.with_values = call->opcode == OPCODE_TOP_K;
    plan.picked = plan.with_values ? rows_of(&call->tensors[1]).columns : 1;
    plan.blocks = grid_blocks(plan.rows.count, 1);
    plan.lanes = row_lanes(plan.rows.columns);
    return plan;
}

/* top_k_kernel: every picked element is a pass over its row. */
static inline void select_traffic(const struct operation_call *call, struct traffic *traffic)
{
    struct select_plan plan = select_plan_of(call);
    struct launch_traffic *launch = traffic_add(traffic, "top_k_kernel");
    double picked = (double)(plan.rows.count * plan.picked);
    int64_t bytes = dtype_bytes(call->tensors[0].dtype);
    double row_bytes = request_bytes((double)plan.rows.columns, bytes, bytes);
    launch->blocks = plan.blocks;
    launch->lanes = plan.lanes;
    launch->read_bytes = picked * (row_bytes + (plan.with_values ? SECTOR_BYTES : 0));
    launch->written_bytes = picked * SECTOR_BYTES * (plan.with_values ? 2 : 1);
    launch->touched_bytes = operands_bytes(call, 0, call->tensor_count);
    launch->again_bytes = plan.picked > 1 ? plan.blocks * row_bytes : 0;
    launch->instructions = picked * (double)plan.rows.columns * 10;
    launch->rounds = picked / plan.blocks * (double)((plan.rows.columns + plan.lanes - 1) / plan.lanes + 1);
    traffic->needed_bytes = launch->touched_bytes;
    traffic->needed_operations = (double)(plan.rows.count * plan.rows.columns);
}

#endif

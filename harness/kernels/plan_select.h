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

/* If there are rows for every processor, some packets for each lane of a row; else as many lanes as can help. */
enum { SELECT_PACKETS = 8, SELECT_ROWS_MANY = 256 };

/* unit: elements of a packet. */
static inline struct select_plan select_plan_of(const struct operation_call *call, int unit)
{
    struct select_plan plan;
    plan.rows = rows_of(&call->tensors[0]);
    plan.with_values = call->opcode == OPCODE_TOP_K;
    plan.picked = plan.with_values ? rows_of(&call->tensors[1]).columns : 1;
    plan.blocks = grid_blocks(plan.rows.count, 1);
    plan.lanes = row_lanes(plan.rows.columns / unit / (plan.rows.count < SELECT_ROWS_MANY ? 1 : SELECT_PACKETS));
    return plan;
}

/* top_k_kernel: a row once, and for each picked element but the last the packets of the lane that had it, far apart. */
static inline void select_traffic(const struct operation_call *call, struct traffic *traffic)
{
    int64_t bytes = dtype_bytes(call->tensors[0].dtype), unit = bytes == 4 ? 4 : 8;
    struct select_plan plan = select_plan_of(call, (int)unit);
    struct launch_traffic *launch = traffic_add(traffic, "top_k_kernel");
    double picked = (double)(plan.rows.count * plan.picked), again = picked - (double)plan.rows.count;
    double each = (double)((plan.rows.columns / unit + plan.lanes - 1) / plan.lanes); /* packets of a lane */
    launch->blocks = plan.blocks;
    launch->lanes = plan.lanes;
    launch->read_bytes = (double)(plan.rows.count * plan.rows.columns * bytes) + again * each * SECTOR_BYTES;
    launch->written_bytes = picked * SECTOR_BYTES;
    if (plan.with_values) {
        launch->read_bytes += picked * (8 + SECTOR_BYTES);
        launch->written_bytes += picked * (double)bytes;
    }
    launch->touched_bytes = operands_bytes(call, 0, call->tensor_count);
    launch->again_bytes = again > 0 ? plan.blocks * (double)(plan.rows.columns * bytes) : 0;
    launch->instructions = (double)(plan.rows.count * plan.rows.columns) * 8 + picked * plan.lanes * 100;
    launch->rounds = (double)plan.rows.count / plan.blocks * each / 4 + picked / plan.blocks * (2 + each / WARP_LANES);
    traffic->needed_bytes = launch->touched_bytes;
    traffic->needed_operations = (double)(plan.rows.count * plan.rows.columns);
}

#endif

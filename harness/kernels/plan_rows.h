/* How kernels of rows in registers are launched (launch_row.h), and what they move. Plain C, see traffic.h. */
#ifndef ASSAY_KERNELS_PLAN_ROWS_H
#define ASSAY_KERNELS_PLAN_ROWS_H

#include "harness/kernels/body_rows.h"
#include "harness/kernels/plan_grid.h"

enum { ROW_FORM_COUNT = 6, GROUP_ELEMENTS = 8, ROW_PARTS = 4, ROW_TEAM_MAXIMUM = 512, ROW_BLOCK_MINIMUM = 128 };

/* How rows are dealt: teams of `lanes` in blocks of `threads`, and which of the kernels' forms has them. */
struct row_plan {
    int64_t count, columns;
    int lanes, threads;
    unsigned blocks;
    int unit; /* elements of a packet */
    int form; /* index into what ROW_FORMS gives */
};

static inline struct row_plan row_plan_of(struct rows rows, int unit)
{
    struct row_plan plan;
    int kept = GROUP_ELEMENTS * (unit == 1 ? 1 : ROW_PARTS); /* elements of a lane */
    int64_t lanes = (rows.columns + kept - 1) / kept;
    int power = 1;
    while (power < 32 && power < lanes) {
        power *= 2;
    }
    bool whole = lanes <= ROW_TEAM_MAXIMUM;
    plan.unit = unit;
    plan.count = rows.count;
    plan.columns = rows.columns;
    plan.lanes = lanes <= 32 ? power : whole ? (int)(lanes + 31) / 32 * 32 : ROW_TEAM_MAXIMUM;
    plan.threads = plan.lanes <= 32 ? ROW_BLOCK_MINIMUM : plan.lanes;
    plan.blocks = grid_blocks(rows.count, plan.threads / plan.lanes);
    plan.form = (unit == 1 ? 0 : unit == 4 ? 2 : 4) + (whole ? 0 : 1);
    return plan;
}

/* ---- traffic: only where bodies are host code ---- */
#ifndef __CUDACC__

/* What registers hold of a row is read once, the rest at every pass. */
static inline void rows_traffic(const struct operation_call *call, const char *kernel, int passes,
                                struct traffic *traffic)
{
    const struct tensor *a = &call->tensors[0];
    struct launch_traffic *launch = traffic_add(traffic, kernel);
    int64_t bytes = dtype_bytes(a->dtype);
    struct row_plan plan = row_plan_of(rows_of(a), bytes == 4 ? 4 : 8);
    int64_t kept = (int64_t)plan.lanes * GROUP_ELEMENTS * ROW_PARTS;
    double rest = plan.columns > kept ? (double)(plan.columns - kept) : 0;
    double inputs = operands_bytes(call, 0, call->input_count);
    launch->blocks = plan.blocks;
    launch->lanes = plan.threads;
    launch->read_bytes = inputs + inputs * rest / (double)plan.columns * (passes - 1);
    launch->written_bytes = operands_bytes(call, call->input_count, call->tensor_count);
    launch->touched_bytes = inputs + launch->written_bytes;
    launch->again_bytes = rest > 0 ? inputs / (double)plan.count * launch->blocks : 0;
    launch->instructions = (double)(plan.count * plan.columns) * 20;
    launch->rounds = (double)plan.count / launch->blocks * plan.lanes / plan.threads *
                     (1 + passes * rest / (double)plan.lanes / GROUP_ELEMENTS);
    traffic->needed_bytes = launch->touched_bytes;
    traffic->needed_operations = (double)(plan.count * plan.columns) * 5;
}

#endif
#endif

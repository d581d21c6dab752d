/* How sums are launched, down columns and along rows, and what they move. Plain C, see traffic.h. */
#ifndef ASSAY_KERNELS_PLAN_COLUMNS_H
#define ASSAY_KERNELS_PLAN_COLUMNS_H

#include "harness/kernels/plan_grid.h"

enum { COLUMN_THREADS_MAXIMUM = 1024, COLUMN_LANES_MAXIMUM = 8, COLUMN_BLOCKS_WANTED = 264, ROWS_A_LANE = 4 };

struct column_plan {
    int64_t packets, rows;
    int64_t part_rows; /* of these a block sums so many, block y from y * part_rows on */
    int unit;          /* columns of a packet */
    int lanes;         /* for neighbouring packets: a power of two */
    int threads;       /* of a block: a power of two, at least 32 */
    unsigned blocks;
};

static inline int column_threads(int lanes, int64_t rows)
{
    int threads = 32;
    while (threads < COLUMN_THREADS_MAXIMUM && threads / lanes * ROWS_A_LANE < rows) {
        threads *= 2;
    }
    return threads;
}

/* COLUMN_BLOCKS_WANTED: two for each processor of a large GPU. */
static inline struct column_plan column_plan_of(int64_t columns, int64_t rows, int unit)
{
    struct column_plan plan;
    plan.packets = columns / unit;
    plan.rows = plan.part_rows = rows;
    plan.unit = unit;
    plan.lanes = unit == 1 ? COLUMN_LANES_MAXIMUM : 2;
    while (plan.lanes < COLUMN_LANES_MAXIMUM && plan.packets / (2 * plan.lanes) >= COLUMN_BLOCKS_WANTED) {
        plan.lanes *= 2;
    }
    plan.threads = column_threads(plan.lanes, rows);
    plan.blocks = grid_blocks(plan.packets, plan.lanes);
    return plan;
}

/* What is summed for each output is cut into parts if there are few outputs and the call has a workspace for the sums
 * of the parts: float32 [parts, outputs], whose columns a second launch sums. */
struct sum_parts {
    int64_t count;   /* 1: no second launch */
    int64_t packets; /* of each but the last: rows of columns, or packets of a row */
};

enum { PART_ROWS_LEAST = 512, PART_PACKETS_LEAST = 1024 };

/* blocks: without parts; packets: to be summed for each output. As many parts as make COLUMN_BLOCKS_WANTED blocks. */
static inline struct sum_parts sum_parts_of(unsigned blocks, int64_t packets, int64_t part_least, int64_t outputs,
                                            int64_t workspace_bytes)
{
    int64_t room = workspace_bytes / (int64_t)sizeof(float) / outputs;
    int64_t wanted = COLUMN_BLOCKS_WANTED / blocks, most = packets / part_least;
    wanted = wanted < most ? wanted : most;
    wanted = wanted < room ? wanted : room;
    struct sum_parts parts = {1, packets};
    if (wanted > 1) {
        parts.packets = (packets + wanted - 1) / wanted;
        parts.count = (packets + parts.packets - 1) / parts.packets;
    }
    return parts;
}

static inline struct column_plan column_plan_in_parts(struct column_plan plan, struct sum_parts parts)
{
    plan.part_rows = parts.packets;
    plan.threads = column_threads(plan.lanes, parts.packets);
    return plan;
}

/* What the call gives as scratch behind its `required` inputs. */
static inline int64_t workspace_bytes_of(const struct operation_call *call, int required)
{
    return call->input_count > required ? call->tensors[required].size[0] : 0;
}

/* ---- traffic: only where bodies are host code ---- */
#ifndef __CUDACC__

/* What all columns of one matrix move, if a lane has a packet of each row; or whole rows side by side, if those of a
 * block are all there are. */
static inline double columns_read_bytes(struct column_plan plan, int64_t bytes)
{
    double rows = (double)plan.rows, width = (double)(plan.lanes * plan.unit);
    if (plan.packets < plan.lanes) {
        int64_t together = WARP_LANES / plan.lanes;
        return rows / (double)together * request_bytes((double)(together * plan.packets * plan.unit), bytes, bytes);
    }
    return rows * (double)(plan.packets * plan.unit) / width *
           request_bytes(plan.lanes, plan.unit * bytes, plan.unit * bytes);
}

/* columns_sum, as sum_kernel and layernorm_slopes_kernel call it: `inputs` matrices of rows by columns, read once. */
static inline void columns_traffic(struct launch_traffic *launch, struct column_plan plan, int inputs, int64_t bytes)
{
    double elements = (double)(plan.packets * plan.unit * plan.rows);
    double parts = (double)((plan.rows + plan.part_rows - 1) / plan.part_rows);
    double sums = (double)(plan.packets * plan.unit) * parts;
    launch->blocks = plan.blocks * parts;
    launch->lanes = plan.threads;
    launch->read_bytes = inputs * columns_read_bytes(plan, bytes);
    launch->written_bytes = sums * sizeof(float) > SECTOR_BYTES ? sums * sizeof(float) : SECTOR_BYTES;
    launch->touched_bytes = elements * inputs * (double)bytes + launch->written_bytes;
    launch->instructions = elements * 4;
    launch->rounds = (double)plan.part_rows * plan.lanes / plan.threads / 4; /* the loop is unrolled four times */
}

/* A row of a block for each part of one number. */
static inline void sum_row_traffic(struct launch_traffic *launch, struct sum_parts parts, int64_t unit, double read)
{
    launch->blocks = (double)parts.count;
    launch->lanes = row_lanes(parts.packets);
    launch->read_bytes = read;
    launch->written_bytes = (double)parts.count * SECTOR_BYTES;
    launch->touched_bytes = read + (double)parts.count * sizeof(float);
    launch->instructions = (double)(parts.count * parts.packets * unit) * 4;
    launch->rounds = (double)parts.packets / launch->lanes / 4;
}

/* sum_kernel of a dense matrix: down its columns, or all of it to one number. */
static inline void sum_traffic(const struct operation_call *call, struct traffic *traffic)
{
    const struct tensor *a = &call->tensors[0], *out = &call->tensors[call->input_count];
    struct launch_traffic *launch = traffic_add(traffic, "sum_kernel");
    int64_t bytes = dtype_bytes(a->dtype), unit = bytes == 4 ? 4 : 8, count = tensor_element_count(a);
    int64_t outputs = tensor_element_count(out), room = workspace_bytes_of(call, 1);
    struct sum_parts parts;
    if (outputs > 1) {
        struct column_plan columns = column_plan_of(a->size[1], a->size[0], (int)unit);
        parts = sum_parts_of(columns.blocks, columns.rows, PART_ROWS_LEAST, outputs, room);
        columns_traffic(launch, column_plan_in_parts(columns, parts), 1, bytes);
    } else {
        parts = sum_parts_of(1, count / unit, PART_PACKETS_LEAST, 1, room);
        sum_row_traffic(launch, parts, unit, (double)(count * bytes));
    }
    if (parts.count > 1) {
        columns_traffic(traffic_add(traffic, "sum_kernel"),
                        column_plan_of(outputs, parts.count, outputs % 4 == 0 ? 4 : 1), 1, sizeof(float));
    }
    traffic->needed_bytes = (double)(count * bytes) + operand_bytes(out);
    traffic->needed_operations = (double)count;
}

#endif
#endif

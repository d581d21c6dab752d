/* How TOP_K and ARGMAX are launched, and what they move. Plain C, see traffic.h. */
#ifndef ASSAY_KERNELS_PLAN_SELECT_H
#define ASSAY_KERNELS_PLAN_SELECT_H

#include "harness/kernels/body_rows.h"
#include "harness/kernels/plan_grid.h"

/* How a block finds the best of what it looks through: one after the other if they are few (sorted 0), else by sorting
 * so many numbers, a power of two (launch_top_k.cu). */
struct select_block {
    unsigned lanes;
    int sorted;
};

/* A block of lanes for each part of each row; the best of the parts lie in the workspace, 8 bytes each, and a block for
 * each row finds the best of them. One part: the block has the row, and there is no second launch. */
struct select_plan {
    struct rows rows;
    int64_t picked; /* of each row */
    bool with_values;
    int64_t parts, part_packets; /* of a row; packets of a part */
    unsigned blocks;
    struct select_block block, join;
};

/* If there are rows for every processor, some packets for each lane of a row; else as many lanes as can help. A row is
 * cut into parts of PART packets and more, up to BLOCKS in all, of which at most JOINED elements of a row go on. */
enum {
    SELECT_PACKETS = 8,
    SELECT_ROWS_MANY = 256,
    SELECT_PICKS = 8, /* are found one after the other */
    SELECT_SORTED_LEAST = 256,
    SELECT_BLOCKS_WANTED = 264,
    SELECT_PART_LEAST = 512,
    SELECT_JOINED_MOST = 8192,
    RANK_BYTES = 8
};

static inline unsigned power_from(int64_t least)
{
    unsigned power = 32;
    while (power < least) {
        power *= 2;
    }
    return power;
}

/* For one that looks through so many packets. */
static inline struct select_block select_block_of(int64_t packets, int64_t picked)
{
    struct select_block block = {row_lanes(packets), 0};
    if (picked > SELECT_PICKS && picked <= ROW_LANES_MAXIMUM) {
        unsigned wanted = power_from(picked);
        block.lanes = block.lanes < wanted ? wanted : block.lanes;
        wanted = 2 * wanted < SELECT_SORTED_LEAST ? SELECT_SORTED_LEAST : 2 * wanted;
        block.sorted = (int)(wanted < block.lanes ? wanted : block.lanes);
    }
    return block;
}

static inline int64_t select_parts(const struct select_plan *plan, int64_t packets, int64_t workspace_bytes)
{
    int64_t rows = plan->rows.count > 0 ? plan->rows.count : 1;
    int64_t wanted = SELECT_BLOCKS_WANTED / rows, most = packets / SELECT_PART_LEAST;
    int64_t room = workspace_bytes / RANK_BYTES / rows / plan->picked, joined = SELECT_JOINED_MOST / plan->picked;
    wanted = wanted < most ? wanted : most;
    wanted = wanted < room ? wanted : room;
    wanted = wanted < joined ? wanted : joined;
    return wanted > 1 ? wanted : 1;
}

/* unit: elements of a packet. */
static inline struct select_plan select_plan_of(const struct operation_call *call, int unit)
{
    struct select_plan plan;
    int64_t room = call->input_count > 1 ? call->tensors[1].size[0] : 0;
    plan.rows = rows_of(&call->tensors[0]);
    plan.with_values = call->opcode == OPCODE_TOP_K;
    plan.picked = plan.with_values ? rows_of(&call->tensors[call->input_count]).columns : 1;
    int64_t packets = plan.rows.columns / unit, parts = select_parts(&plan, packets, room);
    plan.part_packets = (packets + parts - 1) / parts;
    plan.parts = plan.part_packets > 0 ? (packets + plan.part_packets - 1) / plan.part_packets : 1;
    plan.blocks = grid_blocks(plan.rows.count * plan.parts, 1);
    plan.block =
        select_block_of(plan.part_packets / (plan.rows.count < SELECT_ROWS_MANY ? 1 : SELECT_PACKETS), plan.picked);
    plan.join = select_block_of(plan.parts * plan.picked, plan.picked);
    return plan;
}

/* ---- traffic: only where bodies are host code ---- */
#ifndef __CUDACC__

/* Of `items` blocks' work: `bytes` are read once in packets, `each` by a lane; then those of the lanes that had what is
 * picked, far apart, but of the last if it is picked after the others; if they are sorted, the lanes read together, and
 * no more than all of it. A step of sorting is 12 instructions. */
static inline void select_block_traffic(struct launch_traffic *launch, struct select_block block, double items,
                                        int64_t picked, double bytes, double each)
{
    double again = (double)(block.sorted > 0 ? picked : picked - 1), warps = block.lanes / WARP_LANES, steps = 0;
    for (int size = 2, length = 1; size <= block.sorted; size *= 2, length++) {
        steps += 2 * length;
    }
    double twice_bytes = items * again * each * SECTOR_BYTES;
    launch->lanes = block.lanes;
    launch->read_bytes = bytes + (block.sorted > 0 && twice_bytes > bytes ? bytes : twice_bytes);
    launch->again_bytes = again > 0 ? launch->blocks * bytes / items : 0;
    launch->instructions = items * block.lanes * (block.sorted > 0 ? 12 * steps : 100.0 * (double)picked);
    launch->rounds = items / launch->blocks * (each / 8 + 2);
    launch->rounds += items / launch->blocks * (block.sorted > 0 ? 1 + again / warps : 2.0 * (double)picked) *
                      (each > WARP_LANES ? each / WARP_LANES : 1);
}

static inline void select_results_traffic(const struct select_plan *plan, int64_t bytes, struct launch_traffic *launch)
{
    double picked = (double)(plan->rows.count * plan->picked);
    launch->written_bytes = picked * (plan->block.sorted > 0 ? RANK_BYTES : SECTOR_BYTES);
    if (plan->with_values) {
        launch->read_bytes += picked * (8 + SECTOR_BYTES);
        launch->written_bytes += picked * (double)bytes;
    }
}

/* top_k_kernel and, of parts, top_k_join_kernel. */
static inline void select_traffic(const struct operation_call *call, struct traffic *traffic)
{
    int64_t bytes = dtype_bytes(call->tensors[0].dtype), unit = bytes == 4 ? 4 : 8;
    struct select_plan plan = select_plan_of(call, (int)unit);
    struct launch_traffic *launch = traffic_add(traffic, "top_k_kernel");
    double elements = (double)(plan.rows.count * plan.rows.columns), rows = (double)plan.rows.count;
    double items = rows * (double)plan.parts, joined = items * (double)plan.picked;
    launch->blocks = plan.blocks;
    select_block_traffic(launch, plan.block, items, plan.picked, elements * (double)bytes,
                         (double)((plan.part_packets + plan.block.lanes - 1) / plan.block.lanes));
    launch->instructions += elements * 8;
    traffic->needed_bytes =
        operand_bytes(&call->tensors[0]) + operands_bytes(call, call->input_count, call->tensor_count);
    traffic->needed_operations = elements;
    launch->touched_bytes = traffic->needed_bytes;
    if (plan.parts > 1) {
        launch->written_bytes = joined * (plan.block.sorted > 0 ? RANK_BYTES : SECTOR_BYTES);
        launch = traffic_add(traffic, "top_k_join_kernel");
        launch->blocks = grid_blocks(plan.rows.count, 1);
        select_block_traffic(launch, plan.join, rows, plan.picked, joined * RANK_BYTES,
                             (double)((plan.parts * plan.picked + plan.join.lanes - 1) / plan.join.lanes));
        launch->instructions += joined * 8;
        launch->touched_bytes = joined * RANK_BYTES;
    }
    select_results_traffic(&plan, bytes, launch);
}

#endif
#endif

/* How a copy is launched, and what it moves. Plain C, see traffic.h. */
#ifndef ASSAY_KERNELS_PLAN_COPY_H
#define ASSAY_KERNELS_PLAN_COPY_H

#include <stdbool.h>

#include "harness/kernels/body_walk.h"
#include "harness/kernels/plan_grid.h"

/* A tile has COPY_TILE elements each way; a shorter dimension is not worth one. */
enum { COPY_TILE = 32, COPY_TILE_LEAST = 8 };

/* A copy between tensors whose neighbours lie along different dimensions. */
struct copy_plan {
    bool is_transposed;
    int from, to;                 /* dimensions of the walk along which neighbours lie */
    int64_t from_tiles, to_tiles; /* along each */
    int64_t tiles;                /* in all */
};

/* The dimension along which neighbours lie in a tensor of the walk; -1: none. */
WALK int copy_dimension(const struct walk *walk, int tensor)
{
    int found = -1;
    for (int d = 0; d < walk->rank; d++) {
        found = walk->stride[tensor][d] == 1 ? d : found;
    }
    return found;
}

static inline struct copy_plan copy_plan_of(const struct walk *walk)
{
    struct copy_plan plan = {false, copy_dimension(walk, 0), copy_dimension(walk, 1), 0, 0, 0};
    if (plan.from < 0 || plan.to < 0 || plan.from == plan.to || walk->size[plan.from] < COPY_TILE_LEAST ||
        walk->size[plan.to] < COPY_TILE_LEAST) {
        return plan;
    }
    plan.is_transposed = true;
    plan.from_tiles = (walk->size[plan.from] + COPY_TILE - 1) / COPY_TILE;
    plan.to_tiles = (walk->size[plan.to] + COPY_TILE - 1) / COPY_TILE;
    plan.tiles = plan.from_tiles * plan.to_tiles;
    for (int d = 0; d < walk->rank; d++) {
        plan.tiles *= d == plan.from || d == plan.to ? 1 : walk->size[d];
    }
    return plan;
}

/* ---- traffic: only where bodies are host code ---- */
#ifndef __CUDACC__

/* transpose_kernel of whole tiles, or copy_kernel of neighbours. */
static inline void copy_traffic(const struct operation_call *call, struct traffic *traffic)
{
    struct walk walk = walk_of_call(call);
    struct copy_plan plan = copy_plan_of(&walk);
    elements_traffic(call, plan.is_transposed ? "transpose_kernel" : "copy_kernel",
                     tensor_element_count(&call->tensors[0]), traffic);
    struct launch_traffic *launch = &traffic->launches[traffic->count - 1];
    if (plan.is_transposed) {
        launch->blocks = grid_blocks(plan.tiles, 1);
        launch->shared_bytes = launch->read_bytes + launch->written_bytes;
        launch->rounds = (double)plan.tiles / launch->blocks;
    }
    traffic->needed_bytes = operands_bytes(call, 0, call->tensor_count);
}

#endif

#endif

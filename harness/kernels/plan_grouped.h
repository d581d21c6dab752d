/* How grouped rows are launched, and what their kernels move (launch_grouped*.cu). Plain C, see traffic.h. */
#ifndef ASSAY_KERNELS_PLAN_GROUPED_H
#define ASSAY_KERNELS_PLAN_GROUPED_H

#include "harness/kernels/plan_grid.h"

enum {
    SORTED_GROUPS = 4, /* by one block */
    SORT_LANES = 1024,
    GROUPED_SIDE = 64,       /* rows and columns of a tile in float32 */
    GROUPED_CORE_SIDE = 128, /* on tensor cores */
    GROUPED_TERMS = 32       /* that a tile takes at once */
};

/* Tiles of a product, one above the other: body_grouped_tile.h. */
static inline int64_t grouped_places(const struct operation_call *call, int side)
{
    const struct tensor *a = &call->tensors[0];
    int64_t groups = tensor_element_count(&call->tensors[2]);
    return call->tensors[1].rank == 2 ? groups * ((a->size[0] + side - 1) / side) : a->size[0] / side + groups + 1;
}

/* Whether groups of 8 begin on boundaries of 16 bytes wherever a tile begins, `dimension` being the one that is
 * dense. */
static inline bool grouped_factor_fits(const struct tensor *tensor, int dimension)
{
    bool fits = (uintptr_t)tensor->data % 16 == 0 && tensor->stride[dimension] == 1 && tensor->size[dimension] % 8 == 0;
    for (int d = 0; d < tensor->rank; d++) {
        fits = fits && (d == dimension || tensor->size[d] < 2 || tensor->stride[d] % 8 == 0);
    }
    return fits;
}

/* Whether tensor cores can take it. Terms that are rows of groups begin anywhere, so they must not be what lies side by
 * side. */
static inline bool grouped_factors_fit(const struct operation_call *call)
{
    const struct tensor *a = &call->tensors[0], *b = &call->tensors[1];
    bool numbers = a->dtype == b->dtype && (a->dtype == DTYPE_FLOAT16 || a->dtype == DTYPE_BFLOAT16);
    return numbers &&
           (b->rank == 2 ? grouped_factor_fits(a, 0) && grouped_factor_fits(b, 1)
                         : grouped_factor_fits(a, 1) && (grouped_factor_fits(b, 1) || grouped_factor_fits(b, 2)));
}

/* ---- traffic ---- */

/* The sums of a tile on tensor cores: for 16 terms a warp reads 6 times 512 bytes of shared memory for 16 products. */
static inline void grouped_core_work(struct launch_traffic *launch, double tiles, double depth)
{
    launch->kernel = "core_tiles_kernel";
    launch->shared_bytes = tiles * depth * (LANES / WARP_LANES * 6 * 512 / 16 + 2 * GROUPED_CORE_SIDE * 2);
    launch->core_operations = 2 * tiles * depth * GROUPED_CORE_SIDE * GROUPED_CORE_SIDE;
    launch->instructions = tiles * depth / 16 * LANES * 42;
    launch->rounds = tiles / launch->blocks * depth / GROUPED_TERMS;
}

/* And in float32: a lane has 4 by 4 sums, and reads 4 factors of each side at once. */
static inline void grouped_float_work(struct launch_traffic *launch, double tiles, double depth)
{
    launch->kernel = "tiles_kernel";
    launch->shared_bytes = tiles * depth * (LANES * 32 + 2 * GROUPED_SIDE * 4);
    launch->instructions = tiles * depth * LANES * 24;
    launch->rounds = tiles / launch->blocks * depth / GROUPED_TERMS * 4;
}

/* Of rows by matrices whose columns lie side by side, groups of as many rows each. Every column of tiles reads a anew,
 * every row of tiles its group's matrix. What a lane stores of a row is a quarter of what its neighbours' sectors have,
 * on tensor cores half. */
static inline void grouped_matmul_traffic(const struct operation_call *call, bool has_cores, struct traffic *traffic)
{
    const struct tensor *a = &call->tensors[0], *b = &call->tensors[1];
    struct launch_traffic *launch = traffic_add(traffic, "");
    bool cores = has_cores && grouped_factors_fit(call);
    int side = cores ? GROUPED_CORE_SIDE : GROUPED_SIDE;
    int64_t groups = b->size[0], rows = (a->size[0] + groups - 1) / groups;
    int64_t across = (b->size[2] + side - 1) / side, down = groups * ((rows + side - 1) / side);
    double depth = (double)a->size[1];
    /* 8 terms of a row in one access: of 2 bytes they are half a sector. */
    double a_waste = !cores && dtype_bytes(a->dtype) == 2 ? 2 : 1;
    launch->blocks = grid_blocks(grouped_places(call, side) * across, 1);
    launch->lanes = LANES;
    launch->read_bytes = operand_bytes(a) * a_waste * (double)across +
                         (double)(down * b->size[2]) * depth * (double)dtype_bytes(b->dtype);
    launch->written_bytes = operands_bytes(call, 3, 4) * (cores ? 2 : 4);
    launch->touched_bytes = operands_bytes(call, 0, 4);
    launch->again_bytes = operand_bytes(a) + operand_bytes(b) * side / (double)b->size[2];
    if (cores) {
        grouped_core_work(launch, (double)(across * down), depth);
    } else {
        grouped_float_work(launch, (double)(across * down), depth);
    }
    traffic->needed_bytes = launch->touched_bytes;
    traffic->needed_operations = 2 * (double)tensor_element_count(&call->tensors[3]) * depth;
    traffic->on_cores = dtype_bytes(b->dtype) == 2;
}

/* sort_ids_kernel: a block reads all ids twice, 128 to a step of a warp; of 32 ids those of one group are written side
 * by side, so alone if groups are many. */
static inline void sort_ids_traffic(const struct operation_call *call, struct traffic *traffic)
{
    struct launch_traffic *launch = traffic_add(traffic, "sort_ids_kernel");
    double count = (double)tensor_element_count(&call->tensors[0]);
    launch->blocks = grid_blocks(call->attributes.i[0], SORTED_GROUPS);
    launch->lanes = SORT_LANES;
    launch->read_bytes = 2 * count * 8 * launch->blocks;
    double runs = call->attributes.i[0] < WARP_LANES ? (double)call->attributes.i[0] : WARP_LANES;
    launch->written_bytes = 2 * count / WARP_LANES * runs * request_bytes(WARP_LANES / runs, 8, 8);
    launch->touched_bytes = 3 * count * 8;
    launch->again_bytes = count * 8;
    launch->instructions = count * launch->blocks * (SORTED_GROUPS + 1) * 10;
    launch->rounds = 2 * count / SORT_LANES / 4;
    traffic->needed_bytes = launch->touched_bytes;
    traffic->needed_operations = count;
}

#endif

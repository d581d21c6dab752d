/* How attention without tensor cores is launched, and what every kernel of attention moves. Plain C, see traffic.h. */
#ifndef ASSAY_KERNELS_PLAN_ATTENTION_H
#define ASSAY_KERNELS_PLAN_ATTENTION_H

#include "harness/kernels/body_attention_backward.h"
#include "harness/kernels/plan_grid.h"

/* Shared memory that every architecture from sm_75 on grants a block that asks for it. */
enum { SHARED_BYTES_MAXIMUM = 64 * 1024, TILE_MAXIMUM = 32, TILE_MINIMUM = 2, CUDA_TILE_STEP = 2 };

/* Chooses the largest tiles that fit; returns the bytes of shared memory, 0 if a head is too wide for any. */
static inline size_t attention_tiles_choose(struct attention *attention, bool backward)
{
    bool masked = attention->mask.data != NULL;
    int64_t widest = attention->width > attention->value_width ? attention->width : attention->value_width;
    if (widest > SHARED_BYTES_MAXIMUM) {
        return 0;
    }
    attention->tile_width = (int)((widest + CUDA_TILE_STEP - 1) / CUDA_TILE_STEP) * CUDA_TILE_STEP;
    for (int size = TILE_MAXIMUM; size >= TILE_MINIMUM; size /= 2) {
        int64_t floats = backward ? backward_floats(size, size, attention->tile_width, masked)
                                  : forward_floats(size, size, attention->tile_width, masked);
        if (floats * (int64_t)sizeof(float) <= SHARED_BYTES_MAXIMUM) {
            attention->tile_rows = attention->tile_columns = size;
            return (size_t)floats * sizeof(float);
        }
    }
    return 0;
}

/* The forms on tensor cores, by the width of the tiles: strips of 16 rows of a warp, and lines of a moving tile. */
#define CORE_WIDTH(width)           ((width) <= 64 ? 64 : (width) <= 128 ? 128 : 256)
#define CORE_FORWARD_STRIPS(width)  ((width) == 64 ? 2 : 1)
#define CORE_FORWARD_MOVING(width)  ((width) == 64 ? 32 : (width) == 128 ? 64 : 16)
#define CORE_BACKWARD_MOVING(width) ((width) == 64 ? 64 : (width) == 128 ? 32 : 16)
#define CORE_DECODE_MOVING(width)   ((width) == 64 ? 32 : 16)
#define CORE_DECODE_WARPS(width)    ((width) == 256 ? 4 : 8)
#define CORE_BACKWARD_SWEEPS(width) ((width) == 256 ? 2 : 1) /* of columns: grad k and grad v apart */

/* ---- traffic: only where bodies are host code ---- */
#ifndef __CUDACC__

/* The tiles of one head that a sweep visits: pairs of a tile of rows and one of columns. */
static inline double attention_pairs(const struct attention *attention, int64_t tile_rows, int64_t tile_columns)
{
    double pairs = 0;
    for (int64_t row = 0; row < attention->rows; row += tile_rows) {
        int64_t last = row + tile_rows < attention->rows ? row + tile_rows - 1 : attention->rows - 1;
        int64_t end = columns_end(attention, last);
        pairs += end > 0 ? (double)((end + tile_columns - 1) / tile_columns) : 0.0;
    }
    return pairs;
}

static inline double tiles_of(int64_t count, int64_t tile)
{
    return (double)((count + tile - 1) / tile);
}

/* What one call needs: two products of each score forward, five backward. */
static inline void attention_needs(const struct operation_call *call, const struct attention *attention,
                                   double products, struct traffic *traffic)
{
    double heads = (double)(attention->batches * attention->heads);
    double scores =
        attention->causal ? attention_pairs(attention, 1, 1) : (double)(attention->rows * attention->columns);
    traffic->needed_bytes = operands_bytes(call, 0, call->tensor_count);
    traffic->needed_operations = 2 * products * heads * scores * (double)attention->width;
}

/* tile_load of a tile of `lines` by `length`, whose neighbours in memory are `stride` bytes apart and lie along a line:
 * a request takes as much of a line as a warp has lanes. */
static inline double tile_bytes(double lines, int64_t length, int64_t stride, int64_t bytes)
{
    int64_t along = length < WARP_LANES ? length : WARP_LANES;
    return lines * (double)length / (double)along * request_bytes((double)along, stride, bytes);
}

/* tile_multiply_add: out of rows by columns, `depth` products each. Of the four loads of a lane two are of a row and
 * its neighbour two lines down, in one bank where a line is a multiple of 32 floats and the factor is not
 * transposed. */
static inline void products_add(struct launch_traffic *launch, double times, double rows, double columns, double depth)
{
    double items = rows / 2 * columns / 2;
    launch->shared_bytes += times * items * depth * 4 * 2 * sizeof(float);
    launch->instructions += times * items * depth * 8;
}

/* attention_kernel. */
static inline void attention_tiles_traffic(const struct attention *attention, struct traffic *traffic)
{
    struct launch_traffic *launch = traffic_add(traffic, "attention_kernel");
    int64_t r = attention->tile_rows, c = attention->tile_columns, w = attention->tile_width;
    double heads = (double)(attention->batches * attention->heads), items = heads * tiles_of(attention->rows, r);
    double pairs = heads * attention_pairs(attention, r, c);
    int64_t q = dtype_bytes(attention->q.dtype), k = dtype_bytes(attention->k.dtype);
    launch->blocks = grid_blocks((int64_t)items, 1);
    launch->lanes = LANES;
    launch->read_bytes =
        items * tile_bytes((double)w, r, attention->q.stride[2] * q, q) + pairs * 2 * tile_bytes((double)c, w, k, k);
    if (attention->mask.data != NULL) {
        int64_t mask = dtype_bytes(attention->mask.dtype);
        launch->read_bytes += pairs * tile_bytes((double)c, r, attention->mask.stride[2] * mask, mask);
    }
    launch->written_bytes = items * tile_bytes((double)r, w, q, q) + items * (double)r * sizeof(float);
    launch->again_bytes =
        2.0 * (double)(attention->columns * w * k) * (double)attention->batches * (double)attention->groups;
    products_add(launch, pairs, (double)c, (double)r, (double)w);
    products_add(launch, pairs, (double)r, (double)w, (double)c);
    launch->instructions += pairs * (double)(r * c) * 40;
    launch->rounds = pairs / launch->blocks * (double)(2 * c * w / LANES);
}

/* A sweep of the backward pass, for grad q (rows still) or grad k and grad v. backward_rows is one lane for each
 * row. */
static inline void attention_sweep_traffic(const struct attention *attention, bool rows_still, struct traffic *traffic)
{
    struct launch_traffic *launch =
        traffic_add(traffic, rows_still ? "attention_backward_rows_kernel" : "attention_backward_columns_kernel");
    int64_t r = attention->tile_rows, c = attention->tile_columns, w = attention->tile_width;
    int64_t still = rows_still ? r : c, moving = rows_still ? c : r;
    int64_t q = dtype_bytes(attention->q.dtype), mask = dtype_bytes(attention->mask.dtype);
    double heads = (double)(attention->batches * attention->heads);
    double pairs = heads * attention_pairs(attention, r, c);
    double items = rows_still ? heads * tiles_of(attention->rows, r)
                              : (double)(attention->batches * attention->groups) * tiles_of(attention->columns, c);
    double deltas = rows_still ? items : pairs; /* how often delta is computed of a tile of rows */
    launch->blocks = grid_blocks((int64_t)items, 1);
    launch->lanes = LANES;
    launch->read_bytes = items * 2 * tile_bytes((double)w, still, attention->q.stride[2] * q, q) +
                         pairs * 2 * tile_bytes((double)moving, w, q, q) +
                         deltas * 2 * tile_bytes((double)w, r, attention->q.stride[2] * q, q) +
                         deltas * (double)r * sizeof(float);
    if (attention->mask.data != NULL) {
        launch->read_bytes += pairs * (rows_still ? tile_bytes((double)c, r, attention->mask.stride[2] * mask, mask)
                                                  : tile_bytes((double)r, c, mask, mask));
    }
    launch->written_bytes = items * (rows_still ? 1 : 2) * tile_bytes((double)still, w, q, q);
    launch->again_bytes = 4.0 * (double)(attention->columns * w * q) * heads;
    products_add(launch, pairs * 2, (double)moving, (double)still, (double)w);
    products_add(launch, pairs * (rows_still ? 1 : 2), (double)still, (double)w, (double)moving);
    launch->instructions += pairs * (double)(r * c) * 50;
    launch->rounds = pairs / launch->blocks * (double)(2 * moving * w / LANES) + deltas / launch->blocks * (double)w;
}

/* core_forward_kernel: k and v once for each tile of rows, 16 bytes a lane. */
static inline void attention_core_traffic(const struct attention *attention, struct traffic *traffic)
{
    struct launch_traffic *launch = traffic_add(traffic, "core_forward_kernel");
    int width = CORE_WIDTH(attention->width);
    int64_t still = 64 * CORE_FORWARD_STRIPS(width), moving = CORE_FORWARD_MOVING(width);
    double heads = (double)(attention->batches * attention->heads), items = heads * tiles_of(attention->rows, still);
    double pairs = heads * attention_pairs(attention, still, moving), line = 2.0 * (double)attention->width;
    launch->blocks = grid_blocks((int64_t)items, 1);
    launch->lanes = 128;
    launch->read_bytes = heads * (double)attention->rows * line + pairs * (double)(2 * moving) * line;
    launch->written_bytes = heads * (double)attention->rows * (line + sizeof(float));
    launch->again_bytes = 2.0 * (double)(attention->batches * attention->groups * attention->columns) * line;
    launch->core_operations = pairs * 4.0 * (double)(still * moving * width);
    launch->instructions = pairs * (double)(still * moving) * 12;
    launch->shared_bytes = pairs * (double)(moving * width * 2) * 2 * 4;
    launch->rounds = pairs / launch->blocks / 2;
}

/* core_deltas_kernel, core_columns_kernel, core_rows_kernel. */
static inline void attention_core_sweep_traffic(const struct attention *attention, bool rows_still,
                                                struct traffic *traffic)
{
    struct launch_traffic *launch = traffic_add(traffic, rows_still ? "core_rows_kernel" : "core_columns_kernel");
    int width = CORE_WIDTH(attention->width);
    int64_t still = 64, moving = CORE_BACKWARD_MOVING(width);
    double heads = (double)(attention->batches * attention->heads), line = 2.0 * (double)attention->width;
    double sweeps = rows_still ? 1 : CORE_BACKWARD_SWEEPS(width);
    double pairs =
        sweeps * heads * attention_pairs(attention, rows_still ? still : moving, rows_still ? moving : still);
    double items = rows_still ? heads * tiles_of(attention->rows, still)
                              : (double)(attention->batches * attention->groups) * tiles_of(attention->columns, still);
    launch->blocks = grid_blocks((int64_t)items, 1);
    launch->lanes = 128;
    launch->read_bytes = sweeps * items * (double)(2 * still) * line + pairs * (double)(2 * moving) * (line + 4);
    launch->written_bytes = items * (double)still * line * (rows_still ? 1 : 2);
    launch->again_bytes = 2.0 * heads * (double)attention->rows * line;
    launch->core_operations =
        pairs * (rows_still ? 6.0 : 8.0 / (sweeps > 1 ? 8.0 / 6.0 : 1)) * (double)(still * moving * width);
    launch->instructions = pairs * (double)(still * moving) * 16;
    launch->shared_bytes = pairs * (double)(moving * width * 2) * 4 * 4;
    launch->rounds = pairs / launch->blocks;
}

/* decode_kernel and core_decode_kernel: k and v once for each tile of the heads that share them. rows: of a tile. */
static inline void attention_decode_traffic(const struct attention *attention, bool on_cores, struct traffic *traffic)
{
    struct launch_traffic *launch = traffic_add(traffic, on_cores ? "core_decode_kernel" : "decode_kernel");
    int64_t rows = on_cores ? 16 : attention->rows == 1 ? 1 : 8, bytes = dtype_bytes(attention->k.dtype);
    double items = (double)(attention->batches * attention->heads) * tiles_of(attention->rows, rows);
    double line = (double)(attention->width * bytes), columns = (double)attention->columns;
    int width = CORE_WIDTH(attention->width);
    launch->blocks = grid_blocks((int64_t)items, 1);
    launch->lanes = on_cores ? 32 * CORE_DECODE_WARPS(width) : LANES;
    launch->read_bytes = items * (columns * 2 * line + (double)rows * line);
    launch->written_bytes = (double)(attention->batches * attention->heads * attention->rows) * line;
    launch->again_bytes = items * columns * 2 * line;
    if (on_cores) {
        launch->core_operations = items * 4.0 * 16 * columns * width;
        launch->rounds = items / launch->blocks * columns / (CORE_DECODE_WARPS(width) * CORE_DECODE_MOVING(width));
    } else {
        launch->instructions = items * columns * (double)rows * (double)attention->width * 3;
        launch->rounds =
            items / launch->blocks * columns * (double)(CORE_WIDTH(attention->width) / 8) / (LANES * 4) * 2;
    }
}

/* cores: whether the device has them for 16 bits (sm_80 on). */
static inline void attention_traffic(const struct operation_call *call, bool cores, struct traffic *traffic)
{
    struct attention attention;
    attention_read(&attention, call);
    attention_needs(call, &attention, 2, traffic);
    attention_pack(&attention);
    traffic->on_cores = cores && dtype_bytes(attention.q.dtype) == 2;
    if (attention.queries == 1) {
        attention_decode_traffic(&attention, traffic->on_cores, traffic);
    } else if (traffic->on_cores) {
        attention_core_traffic(&attention, traffic);
    } else {
        attention_tiles_choose(&attention, false);
        attention_tiles_traffic(&attention, traffic);
    }
    traffic->launches[0].touched_bytes = traffic->needed_bytes;
}

static inline void attention_backward_traffic(const struct operation_call *call, bool cores, struct traffic *traffic)
{
    struct attention attention;
    attention_read(&attention, call);
    attention_needs(call, &attention, 5, traffic);
    traffic->on_cores = cores && dtype_bytes(attention.q.dtype) == 2;
    if (traffic->on_cores) {
        struct launch_traffic *deltas = traffic_add(traffic, "core_deltas_kernel");
        double rows = (double)(attention.batches * attention.heads * attention.rows);
        deltas->read_bytes = rows * 4 * (double)attention.width;
        deltas->written_bytes = deltas->touched_bytes = rows * 4;
        deltas->blocks = rows / 32;
        attention_core_sweep_traffic(&attention, false, traffic);
        attention_core_sweep_traffic(&attention, true, traffic);
    } else {
        attention_tiles_choose(&attention, true);
        attention_sweep_traffic(&attention, true, traffic);
        attention_sweep_traffic(&attention, false, traffic);
    }
    for (int k = 0; k < traffic->count; k++) {
        traffic->launches[k].touched_bytes = traffic->needed_bytes;
    }
}

/* bias_gradient_kernel: a lane for each score; its two products read q and grad as its neighbours do, and k and v each
 * from a line of its own. delta is computed for each score anew. */
static inline void attention_bias_traffic(const struct operation_call *call, struct traffic *traffic)
{
    struct attention attention;
    attention_read(&attention, call);
    attention_needs(call, &attention, 2, traffic);
    struct launch_traffic *launch = traffic_add(traffic, "bias_gradient_kernel");
    double scores = (double)(attention.batches * attention.heads * attention.rows * attention.columns);
    double seen = (double)(attention.batches * attention.heads) * attention_pairs(&attention, 1, 1);
    int64_t k = dtype_bytes(attention.k.dtype), v = dtype_bytes(attention.v.dtype);
    int64_t mask = dtype_bytes(attention.mask.dtype);
    double along = (double)(attention.width * SECTOR_BYTES) +
                   (double)attention.width * request_bytes(WARP_LANES, attention.k.stride[2] * k, k) +
                   (double)(attention.value_width * SECTOR_BYTES) +
                   (double)attention.value_width * request_bytes(WARP_LANES, attention.v.stride[2] * v, v);
    launch->blocks = grid_blocks((int64_t)scores, LANES);
    launch->lanes = LANES;
    launch->read_bytes =
        scores / WARP_LANES * (double)(2 * attention.value_width * SECTOR_BYTES) +
        seen / WARP_LANES * (along + request_bytes(WARP_LANES, attention.mask.stride[3] * mask, mask) + SECTOR_BYTES);
    launch->written_bytes = operands_bytes(call, call->input_count, call->tensor_count);
    launch->touched_bytes = traffic->needed_bytes;
    launch->again_bytes = 2.0 * (double)(attention.columns * attention.width * k);
    launch->instructions = scores * (double)attention.value_width * 5 + seen * (double)(2 * attention.width) * 5;
    launch->rounds = scores / (launch->blocks * LANES) * (double)(attention.width + 2 * attention.value_width);
}

#endif
#endif

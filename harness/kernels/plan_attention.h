/* How attention without tensor cores is launched, and what every kernel of attention moves. Plain C, see traffic.h. */
#ifndef ASSAY_KERNELS_PLAN_ATTENTION_H
#define ASSAY_KERNELS_PLAN_ATTENTION_H

#include "harness/kernels/body_attention_backward.h"
#include "harness/kernels/plan_grid.h"

/* Shared memory that every architecture from sm_75 on grants a block that asks for it. */
enum { SHARED_BYTES_MINIMUM = 64 * 1024, CUDA_TILE_STEP = 4, TILE_LANES_MINIMUM = 64 };

enum tiles_of_kind { TILES_FORWARD, TILES_BACKWARD, TILES_BIAS };

static inline int64_t tiles_floats(enum tiles_of_kind kind, int64_t rows, int64_t columns, int64_t width, bool masked)
{
    return kind == TILES_FORWARD    ? forward_floats((int)rows, (int)columns, (int)width, masked)
           : kind == TILES_BACKWARD ? backward_floats((int)rows, (int)columns, (int)width, masked)
                                    : 2 * (rows + columns) * width + 3 * rows * columns + 2 * rows;
}

/* What a device grants a block of shared memory, and how many blocks it can run side by side at least. */
struct tile_room {
    int shared_bytes, processors;
};

/* Whether as many blocks as processors have tiles of so many rows, in any sweep. */
static inline bool tiles_are_many(const struct attention *attention, enum tiles_of_kind kind, int64_t rows,
                                  int64_t columns, int processors)
{
    int64_t by_rows = attention->batches * attention->heads * ((attention->rows + rows - 1) / rows);
    int64_t by_columns = attention->batches * attention->groups * ((attention->columns + columns - 1) / columns);
    return by_rows >= processors && (kind != TILES_BACKWARD || by_columns >= processors);
}

/* Chooses the largest tiles that fit; returns the bytes of shared memory, 0 if a head is too wide for any. Each
 * factor is read once for each tile of the other side; beyond 64 lines nothing else gains. Below 32 lines more
 * blocks do not make up for the lanes that are idle. */
static inline size_t attention_tiles_choose(struct attention *attention, enum tiles_of_kind kind, struct tile_room room)
{
    enum { EFFICIENT = 32 };
    static const struct {
        int rows, columns;
    } sizes[] = {{64, 64}, {64, 32}, {32, 32}, {32, 16}, {16, 16}, {8, 8}, {4, 4}, {2, 2}};
    int64_t widest = attention->width > attention->value_width ? attention->width : attention->value_width;
    if (widest > room.shared_bytes) {
        return 0;
    }
    attention->tile_width = (int)((widest + CUDA_TILE_STEP - 1) / CUDA_TILE_STEP) * CUDA_TILE_STEP;
    for (int k = 0; k < (int)(sizeof sizes / sizeof sizes[0]); k++) {
        int rows = sizes[k].rows, columns = sizes[k].columns;
        int64_t floats = tiles_floats(kind, rows, columns, attention->tile_width, attention->mask.data != NULL);
        bool many = rows <= EFFICIENT || tiles_are_many(attention, kind, rows, columns, room.processors);
        if (many && floats * (int64_t)sizeof(float) <= room.shared_bytes) {
            attention->tile_rows = rows;
            attention->tile_columns = columns;
            return (size_t)floats * sizeof(float);
        }
    }
    return 0;
}

/* Lanes of a block: one for each square of scores. */
static inline int attention_lanes(const struct attention *attention)
{
    int squares = attention->tile_rows * attention->tile_columns / (CUDA_TILE_STEP * CUDA_TILE_STEP);
    return squares > TILE_LANES_MINIMUM ? squares : TILE_LANES_MINIMUM;
}

/* The forms on tensor cores, by the width of the tiles: strips of 16 rows of a warp, and lines of a moving tile. */
#define CORE_WIDTH(width)           ((width) <= 64 ? 64 : (width) <= 128 ? 128 : 256)
#define CORE_FORWARD_STRIPS(width)  ((width) == 64 ? 2 : 1)
#define CORE_FORWARD_MOVING(width)  ((width) == 64 ? 32 : (width) == 128 ? 64 : 16)
#define CORE_BACKWARD_MOVING(width) ((width) == 64 ? 64 : (width) == 128 ? 32 : 16)
#define CORE_DECODE_MOVING(width)   ((width) == 64 ? 32 : 16)
#define CORE_DECODE_WARPS(width)    ((width) == 256 ? 4 : 8)
#define CORE_JOIN_LANES             64 /* two rows to a block, so that there are blocks for many multiprocessors */
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
    if (attention->parts.count > 0) {
        traffic->needed_bytes -= operands_bytes(call, 3, 5); /* scratch */
    }
    traffic->needed_operations = 2 * products * heads * scores * (double)attention->width;
}

/* tile_load of a tile whose lines lie side by side in memory; tile_load_turned of one whose columns do: two packets of
 * one of them are what a lane and its neighbour take, at least a sector. */
static inline double lines_bytes(int64_t lines, int64_t length, int64_t bytes)
{
    return (double)(lines * length * bytes);
}

static inline double turned_bytes(int64_t lines, int64_t length, int64_t bytes)
{
    return (double)(lines * length) / (2 * CUDA_TILE_STEP) *
           request_bytes(2, CUDA_TILE_STEP * bytes, CUDA_TILE_STEP * bytes);
}

/* tile_multiply_add: out of rows by columns, `depth` products each. A lane takes a square of them, and 16 bytes of each
 * factor for a row or column of the square. */
static inline void products_add(struct launch_traffic *launch, double times, double rows, double columns, double depth)
{
    double squares = rows * columns / (CUDA_TILE_STEP * CUDA_TILE_STEP);
    launch->shared_bytes += times * squares * depth * 2 * CUDA_TILE_STEP * sizeof(float);
    launch->instructions += times * squares * depth * (CUDA_TILE_STEP * CUDA_TILE_STEP + 2);
}

/* What is done with scores between products: read and written twice, a few instructions each, by lanes of which so many
 * ask for one bank. */
static inline void scores_add(struct launch_traffic *launch, double scores, double instructions, double conflicts)
{
    launch->instructions += scores * instructions;
    launch->shared_bytes += scores * 4 * sizeof(float) * conflicts;
}

/* attention_kernel. */
static inline void attention_tiles_traffic(const struct attention *attention, struct traffic *traffic)
{
    struct launch_traffic *launch = traffic_add(traffic, "attention_kernel");
    int64_t r = attention->tile_rows, c = attention->tile_columns, w = attention->tile_width;
    double heads = (double)(attention->batches * attention->heads), items = heads * tiles_of(attention->rows, r);
    double pairs = heads * attention_pairs(attention, r, c);
    int64_t q = dtype_bytes(attention->q.dtype), lanes = attention_lanes(attention);
    launch->blocks = grid_blocks((int64_t)items, 1);
    launch->lanes = (double)lanes;
    launch->read_bytes = items * turned_bytes(w, r, q) + pairs * 2 * lines_bytes(c, w, q);
    if (attention->mask.data != NULL) {
        launch->read_bytes += pairs * turned_bytes(c, r, dtype_bytes(attention->mask.dtype));
    }
    launch->written_bytes = items * (lines_bytes(r, w, q) + (double)r * sizeof(float));
    launch->again_bytes = 2.0 * (double)(attention->columns * w * q * attention->batches * attention->groups);
    products_add(launch, pairs, (double)c, (double)r, (double)w);
    products_add(launch, pairs, (double)r, (double)w, (double)c);
    scores_add(launch, pairs * (double)(r * c), 40, lanes > r ? (double)lanes / (double)r : 1);
    launch->rounds = pairs / launch->blocks * (double)(2 * c * w / CUDA_TILE_STEP / lanes);
}

/* A sweep of the backward pass, for grad q (rows still) or grad k and grad v. delta is computed for every pair of tiles
 * in the latter. */
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
    double deltas = rows_still ? items : pairs;
    launch->blocks = grid_blocks((int64_t)items, 1);
    launch->lanes = attention_lanes(attention);
    launch->read_bytes = items * 2 * turned_bytes(w, still, q) + pairs * 2 * lines_bytes(moving, w, q) +
                         deltas * (2 * lines_bytes(r, w, q) + (double)r * sizeof(float));
    if (attention->mask.data != NULL) {
        launch->read_bytes += pairs * (rows_still ? turned_bytes(c, r, mask) : lines_bytes(r, c, mask));
    }
    launch->written_bytes = items * (rows_still ? 1 : 2) * lines_bytes(still, w, q);
    launch->again_bytes = 4.0 * (double)(attention->columns * w * q) * heads;
    products_add(launch, pairs * 2, (double)moving, (double)still, (double)w);
    products_add(launch, pairs * (rows_still ? 1 : 2), (double)still, (double)w, (double)moving);
    scores_add(launch, pairs * (double)(r * c), 50, 1);
    launch->rounds = pairs / launch->blocks * (double)(2 * moving * w / CUDA_TILE_STEP) / launch->lanes +
                     deltas / launch->blocks * (double)(r * w / WARP_LANES) / (launch->lanes / WARP_LANES);
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

/* core_decode_kernel leaves parts instead of out, and core_join_kernel reads them: a warp each part of a row, and its
 * log-sum-exp three times. */
static inline void attention_parts_traffic(const struct attention *attention, struct traffic *traffic)
{
    struct launch_traffic *decode = &traffic->launches[0], *join = traffic_add(traffic, "core_join_kernel");
    double rows = (double)(attention->batches * attention->heads * attention->rows), parts = attention->parts.count;
    double width = (double)attention->width, crews = WARP_LANES / (CORE_WIDTH(attention->width) / 8.0);
    decode->blocks = grid_blocks((int64_t)decode->blocks * attention->parts.count, 1);
    decode->read_bytes += (parts - 1) * rows * width * dtype_bytes(attention->q.dtype);
    decode->written_bytes = parts * rows * (width * sizeof(float) + SECTOR_BYTES);
    decode->rounds /= parts;
    join->blocks = grid_blocks((int64_t)rows, CORE_JOIN_LANES / WARP_LANES);
    join->lanes = CORE_JOIN_LANES;
    join->read_bytes = parts * rows * (width * sizeof(float) + 3 * SECTOR_BYTES);
    join->written_bytes = rows * width * dtype_bytes(attention->q.dtype);
    join->touched_bytes = parts * rows * (width + 1) * sizeof(float) + join->written_bytes;
    join->instructions = parts * rows * (width + WARP_LANES * 8);
    join->rounds = 2 + parts / crews / 4;
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
    launch->read_bytes =
        items * columns * 2 * line + (double)(attention->batches * attention->heads * attention->rows) * line;
    launch->written_bytes = (double)(attention->batches * attention->heads * attention->rows) * line;
    launch->again_bytes = items * columns * 2 * line;
    if (on_cores) {
        launch->core_operations = items * 4.0 * 16 * columns * width;
        launch->rounds = items / launch->blocks * columns / (CORE_DECODE_WARPS(width) * CORE_DECODE_MOVING(width));
        if (attention->parts.count > 1) {
            attention_parts_traffic(attention, traffic);
        }
    } else {
        launch->instructions = items * columns * (double)rows * (double)attention->width * 3;
        launch->rounds =
            items / launch->blocks * columns * (double)(CORE_WIDTH(attention->width) / 8) / (LANES * 4) * 2;
    }
}

/* cores: whether the device has them for 16 bits (sm_80 on). */
static inline void attention_traffic(const struct operation_call *call, bool cores, struct tile_room room,
                                     struct traffic *traffic)
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
        attention_tiles_choose(&attention, TILES_FORWARD, room);
        attention_tiles_traffic(&attention, traffic);
    }
    traffic->launches[0].touched_bytes = traffic->needed_bytes;
}

static inline void attention_backward_traffic(const struct operation_call *call, bool cores, struct tile_room room,
                                              struct traffic *traffic)
{
    struct attention attention;
    attention_read(&attention, call);
    attention_needs(call, &attention, 5, traffic);
    traffic->on_cores = cores && dtype_bytes(attention.q.dtype) == 2;
    if (traffic->on_cores) {
        struct launch_traffic *deltas = traffic_add(traffic, "core_deltas_kernel");
        double rows = (double)(attention.batches * attention.heads * attention.rows);
        deltas->read_bytes = rows * 4 * (double)attention.width;
        deltas->written_bytes = rows * SECTOR_BYTES; /* by one lane of several */
        deltas->blocks = grid_blocks((int64_t)rows, 32);
        deltas->lanes = LANES;
        attention_core_sweep_traffic(&attention, false, traffic);
        attention_core_sweep_traffic(&attention, true, traffic);
    } else {
        attention_tiles_choose(&attention, TILES_BACKWARD, room);
        attention_sweep_traffic(&attention, true, traffic);
        attention_sweep_traffic(&attention, false, traffic);
    }
    for (int k = 0; k < traffic->count; k++) {
        traffic->launches[k].touched_bytes = traffic->needed_bytes;
    }
}

/* bias_gradient_kernel: a block has the rows, and k and v pass by. */
static inline void attention_bias_traffic(const struct operation_call *call, struct tile_room room,
                                          struct traffic *traffic)
{
    struct attention attention;
    attention_read(&attention, call);
    attention_needs(call, &attention, 2, traffic);
    attention_tiles_choose(&attention, TILES_BIAS, room);
    struct launch_traffic *launch = traffic_add(traffic, "bias_gradient_kernel");
    int64_t r = attention.tile_rows, c = attention.tile_columns, w = attention.tile_width;
    int64_t q = dtype_bytes(attention.q.dtype);
    double heads = (double)(attention.batches * attention.heads), items = heads * tiles_of(attention.rows, r);
    double pairs = heads * attention_pairs(&attention, r, c);
    launch->blocks = grid_blocks((int64_t)items, 1);
    launch->lanes = attention_lanes(&attention);
    launch->read_bytes = items * (4 * lines_bytes(r, w, q) + (double)r * sizeof(float)) +
                         pairs * (2 * turned_bytes(w, c, q) + lines_bytes(r, c, dtype_bytes(attention.mask.dtype)));
    launch->written_bytes = operands_bytes(call, call->input_count, call->tensor_count);
    launch->touched_bytes = traffic->needed_bytes;
    launch->again_bytes = 2.0 * (double)(attention.columns * w * q * attention.batches * attention.groups);
    products_add(launch, pairs * 2, (double)r, (double)c, (double)w);
    scores_add(launch, pairs * (double)(r * c), 40, 1);
    launch->rounds = pairs / launch->blocks * (double)(2 * c * w / CUDA_TILE_STEP) / launch->lanes;
}

#endif
#endif

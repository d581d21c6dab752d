/* Decoding on tensor cores: few rows of a head against all its columns. The time is that of reading k and v, so the
 * warps of a block do not share the rows but the columns: of n warps each takes every n-th tile, into memory of its
 * own, waits for no other, and has the next tile of k and of v on the way while it computes. At the end the block joins
 * what its warps have, in the order of the warps.
 *
 * The rows are the heads that read the same k and v, see attention_pack. If batch and heads of k and v are few, so are
 * the blocks, unless the call brings memory for parts: then a block has the columns of one part, leaves there what it
 * has found, and core_join makes one of all parts of a row, in their order. */
#ifndef ASSAY_KERNELS_BODY_ATTENTION_CORE_DECODE_H
#define ASSAY_KERNELS_BODY_ATTENTION_CORE_DECODE_H

#include "harness/kernels/body_attention_core_forward.h"

/* The rows, two moving tiles for each warp, and of each warp's rows the largest score and the sum. A warp's sums of out
 * take the place of its moving tiles: 16 rows in 4 bytes are two tiles of 16 lines in 2 bytes. */
template <typename form> constexpr int core_decode_bytes(void)
{
    static_assert(form::apart && form::strips == 1 && form::moving >= 16, "sums stand where the moving tiles stood");
    return (form::still + form::warps * 2 * form::moving) * form::width * 2 + form::warps * 2 * form::still * 4;
}

template <typename form> BODY uint16_t *core_warp_tile(uint16_t *shared, int warp, int which)
{
    return shared + (form::still + (2 * warp + which) * form::moving) * form::width;
}

template <typename form> BODY float *core_warp_sums(uint16_t *shared, int warp, int line, int group)
{
    float *sums = (float *)(void *)core_warp_tile<form>(shared, warp, 0);
    return sums + line * form::width + ((group ^ (line & 7)) << 3);
}

/* The largest score of a line; after it, for each line, the sum. */
template <typename form> BODY float *core_warp_rows(uint16_t *shared, int warp)
{
    return (float *)(void *)core_warp_tile<form>(shared, form::warps, 0) + warp * 2 * form::still;
}

/* Begins to copy a warp's tile of k or v, as a group, an empty one beyond the last tile. */
template <typename form>
BODY void core_decode_fetch(const struct attention *attention, struct attention_place place, int tile, int tiles,
                            const struct tensor *from, uint16_t *to)
{
    int64_t group = place.head / (attention->heads / attention->groups);
    if (tile < tiles) {
        core_fetch<form, form::moving, 32>(to, head_rows(from, place.batch, group, (int64_t)tile * form::moving),
                                           core_depth(attention));
    }
    copies_group();
}

/* Tiles [first, end) of columns. */
struct core_tiles {
    int first, end;
};

/* Those of one part, of all parts as many but of the last; without parts all of them. */
template <typename form>
BODY struct core_tiles core_decode_tiles(const struct attention *attention, struct attention_place place, int part)
{
    int64_t last = place.row + form::still - 1;
    int64_t end = columns_end(attention, last < attention->rows ? last : attention->rows - 1);
    int count = end > 0 ? (int)((end + form::moving - 1) / form::moving) : 0;
    int parts = attention->parts.count > 0 ? attention->parts.count : 1, each = (count + parts - 1) / parts;
    struct core_tiles tiles = {part * each, (part + 1) * each};
    tiles.end = tiles.end < count ? tiles.end : count;
    return tiles;
}

/* What the block's rows have of the tiles of one warp. */
template <typename form>
BODY void core_decode_sweep(const struct attention *attention, struct attention_place place, int part, uint16_t *shared,
                            struct core_results<form> &out, struct core_rows<form> &rows)
{
    struct core_tiles of_part = core_decode_tiles<form>(attention, place, part);
    int depth = core_depth(attention), warp = (int)threadIdx.x >> 5, tile = of_part.first + warp, tiles = of_part.end;
    uint16_t *k = core_warp_tile<form>(shared, warp, 0), *v = core_warp_tile<form>(shared, warp, 1);
    core_fetch<form, form::still>(shared, head_rows(&attention->q, place.batch, place.head, place.row), depth);
    copies_group();
    core_decode_fetch<form>(attention, place, tile, tiles, &attention->k, k);
    core_decode_fetch<form>(attention, place, tile, tiles, &attention->v, v);
    copies_wait<2>();
    __syncthreads(); /* the rows of q are there */
    for (; tile < tiles; tile += form::warps) {
        struct core_scores<form> scores;
        place.column = (int64_t)tile * form::moving;
        copies_wait<1>();
        __syncwarp(); /* k is there */
        core_clear<form>(scores);
        core_multiply<form>(scores, shared, k, depth);
        __syncwarp(); /* no lane reads k any more */
        core_decode_fetch<form>(attention, place, tile + form::warps, tiles, &attention->k, k);
        core_softmax<form>(scores, out, rows, core_pair_of<form, true>(attention, place));
        copies_wait<1>();
        __syncwarp(); /* v is there */
        core_accumulate<form>(out, scores, v, depth);
        __syncwarp(); /* nor v */
        core_decode_fetch<form>(attention, place, tile + form::warps, tiles, &attention->v, v);
    }
}

/* What a warp has goes to shared memory. */
template <typename form>
BODY void core_decode_leave(const struct core_results<form> &out, const struct core_rows<form> &rows, uint16_t *shared)
{
    int lane = core_lane(), warp = (int)threadIdx.x >> 5;
    float *line_rows = core_warp_rows<form>(shared, warp);
    __syncwarp();
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int line = 8 * half + (lane >> 2);
        float sum = core_row_sum(rows.sum[0][half]);
        if ((lane & 3) == 0) {
            line_rows[line] = rows.maximum[0][half];
            line_rows[form::still + line] = sum;
        }
#pragma unroll
        for (int n = 0; n < form::width / 8; n++) {
            float *to = core_warp_sums<form>(shared, warp, line, n) + 2 * (lane & 3);
            to[0] = out.at[0][n][2 * half];
            to[1] = out.at[0][n][2 * half + 1];
        }
    }
}

/* What the warps have of one row, joined: the factor that each warp's sums of out are to be multiplied by, and lse. */
template <typename form> struct core_joined {
    float factor[form::warps];
    float lse;
};

template <typename form> BODY struct core_joined<form> core_decode_join(uint16_t *shared, int line, float keep_scale) {
    struct core_joined<form> joined;
    float maximum = -INFINITY, sum = 0.0f;
#pragma unroll
    for (int w = 0; w < form::warps; w++) {
        float own = core_warp_rows<form>(shared, w)[line];
        maximum = own > maximum ? own : maximum;
    }
    float base = maximum == -INFINITY ? 0.0f : maximum;
#pragma unroll
    for (int w = 0; w < form::warps; w++) {
        joined.factor[w] = core_exponential(core_warp_rows<form>(shared, w)[line] - base);
        sum += core_warp_rows<form>(shared, w)[form::still + line] * joined.factor[w];
    }
    joined.lse = sum == 0.0f ? INFINITY : maximum + logf(sum);
    float scale = sum == 0.0f ? 0.0f : keep_scale / sum;
#pragma unroll
    for (int w = 0; w < form::warps; w++) {
        joined.factor[w] *= scale;
    }
    return joined;
}

/* Where a row of a part has its log-sum-exp; its out is as many rows into the memory of outs. */
BODY int64_t
core_part_row(const struct attention *attention, struct attention_place place, int part)
{
    return ((part * attention->batches + place.batch) * attention->heads + place.head) * attention->rows + place.row;
}

/* 16 bytes of a row of a part. */
struct alignas(16) core_quad {
    float at[4];
};

/* Where the first 4 of 8 numbers of a part's row lie; the other 4 lie core_part_step further. The lanes of a warp have
 * groups beside each other, so their first halves fill whole sectors, and so do the second ones. */
BODY struct core_quad *core_part_out(const struct attention *attention, int64_t row, int group)
{
    return (struct core_quad *)(void *)(attention->parts.out + row * attention->parts.width) + group;
}

BODY int64_t core_part_step(const struct attention *attention)
{
    return attention->width / 8;
}

/* 8 numbers of a row of a part, with the first also what the row's log-sum-exp is. */
BODY void core_part_leave(const struct attention *attention, int64_t row, int group, const float (&numbers)[8],
                          float lse)
{
    struct core_quad low = {numbers[0], numbers[1], numbers[2], numbers[3]};
    struct core_quad high = {numbers[4], numbers[5], numbers[6], numbers[7]};
    struct core_quad *to = core_part_out(attention, row, group);
    to[0] = low;
    to[core_part_step(attention)] = high;
    if (group == 0) {
        attention->parts.lse[row] = lse == INFINITY ? -INFINITY : lse;
    }
}

/* 8 numbers of a row of out. */
template <enum dtype dtype> BODY void core_group_store(uint16_t *to, const float (&numbers)[8])
{
    struct core_group result;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        result.pair[k] = pair_of<dtype>(numbers[2 * k], numbers[2 * k + 1]);
    }
    *(struct core_group *)(void *)to = result;
}

/* out and lse of the block's rows, or what the part has of them, 8 numbers of one row at a time. */
template <typename form>
BODY void core_decode_store(const struct attention *attention, struct attention_place place, int part, uint16_t *shared)
{
    constexpr int groups = form::width / 8;
    struct tile_source to = head_rows(&attention->out, place.batch, place.head, place.row);
    for (int item = (int)threadIdx.x; item < form::still * groups; item += form::lanes) {
        int line = item / groups, group = item % groups;
        if (line >= to.rows || group * 8 >= to.columns) {
            continue;
        }
        struct core_joined<form> joined = core_decode_join<form>(shared, line, attention->keep_scale);
        float sums[8] = {};
#pragma unroll
        for (int w = 0; w < form::warps; w++) {
            const float *part = core_warp_sums<form>(shared, w, line, group);
#pragma unroll
            for (int k = 0; k < 8; k++) {
                sums[k] += part[k] * joined.factor[w];
            }
        }
        struct attention_place at = {place.batch, place.head, place.row + line, 0};
        if (attention->parts.count > 0) {
            core_part_leave(attention, core_part_row(attention, at, part), group, sums, joined.lse);
            continue;
        }
        core_group_store<form::dtype>((uint16_t *)(void *)to.data + line * to.row_stride + group * 8, sums);
        if (group == 0) {
            lse_write(attention, at, joined.lse);
        }
    }
}

/* Some rows of one head, against the columns of one part if there are parts. shared: core_decode_bytes, on a boundary
 * of 16. */
template <typename form>
BODY void core_decode(const struct attention *attention, struct attention_place place, int part, uint16_t *shared)
{
    struct core_results<form> out;
    struct core_rows<form> rows;
    core_clear<form>(out);
    core_rows_begin<form>(rows);
    core_decode_sweep<form>(attention, place, part, shared, out, rows);
    core_decode_leave<form>(out, rows, shared);
    __syncthreads();
    core_decode_store<form>(attention, place, part, shared);
    __syncthreads(); /* before the next rows overwrite q */
}

/* A number of each lane, and the largest or the sum of a warp's. */
BODY float core_warp_largest(float own)
{
    for (int step = 1; step < 32; step <<= 1) {
        float other = __shfl_xor_sync(0xffffffffu, own, step);
        own = other > own ? other : own;
    }
    return own;
}

BODY float core_warp_sum(float own)
{
    for (int step = 1; step < 32; step <<= 1) {
        own += __shfl_xor_sync(0xffffffffu, own, step);
    }
    return own;
}

/* The log-sum-exp of a row over all parts, of which each lane of the warp reads some; +infinity if the row sees
 * nothing. */
BODY float core_parts_lse(const struct attention *attention, struct attention_place place)
{
    float maximum = -INFINITY, sum = 0.0f;
    for (int part = core_lane(); part < attention->parts.count; part += 32) {
        float lse = attention->parts.lse[core_part_row(attention, place, part)];
        maximum = lse > maximum ? lse : maximum;
    }
    maximum = core_warp_largest(maximum);
    float base = maximum == -INFINITY ? 0.0f : maximum;
    for (int part = core_lane(); part < attention->parts.count; part += 32) {
        sum += core_exponential(attention->parts.lse[core_part_row(attention, place, part)] - base);
    }
    sum = core_warp_sum(sum);
    return sum == 0.0f ? INFINITY : maximum + logf(sum);
}

/* 8 numbers of a part of a row, by the share that the part has of the row's sum. */
BODY void core_part_add(const struct attention *attention, int64_t row, int group, float lse, float (&sums)[8])
{
    float share = core_exponential(attention->parts.lse[row] - lse);
    const struct core_quad *from = core_part_out(attention, row, group);
    struct core_quad low = from[0], high = from[core_part_step(attention)];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        sums[k] += low.at[k] * share;
        sums[4 + k] += high.at[k] * share;
    }
}

/* One row of out, of all its parts, by a warp: a lane takes 8 numbers, and where a row has fewer than a warp has lanes
 * for, crews of lanes take every other part. */
template <enum dtype dtype> BODY void core_join(const struct attention *attention, struct attention_place place)
{
    float lse = core_parts_lse(attention, place), sums[8] = {};
    int lanes = 1, lane = core_lane();
    while (lanes < 32 && lanes * 8 < attention->width) {
        lanes *= 2;
    }
    int group = lane & (lanes - 1), crew = lane / lanes;
    bool inside = group * 8 < attention->width;
#pragma unroll 4
    for (int part = crew; part < attention->parts.count; part += 32 / lanes) {
        if (inside && lse != INFINITY) {
            core_part_add(attention, core_part_row(attention, place, part), group, lse, sums);
        }
    }
    for (int step = lanes; step < 32; step <<= 1) {
#pragma unroll
        for (int k = 0; k < 8; k++) {
            sums[k] += __shfl_xor_sync(0xffffffffu, sums[k], step);
        }
    }
    struct tile_source to = head_rows(&attention->out, place.batch, place.head, place.row);
    if (crew == 0 && inside) {
        core_group_store<dtype>((uint16_t *)(void *)to.data + group * 8, sums);
    }
    if (lane == 0) {
        lse_write(attention, place, lse);
    }
}

#endif

/* Decoding on tensor cores: few rows of a head against all its columns. The time is that of reading k and v, so the
 * warps of a block do not share the rows but the columns: of n warps each takes every n-th tile, into memory of its
 * own, waits for no other, and has the next tile of k and of v on the way while it computes. At the end the block joins
 * what its warps have, in the order of the warps.
 *
 * The rows are the heads that read the same k and v, see attention_pack. A head's columns stay in one block: what
 * several would have to join through is scratch, and the cases account for none in decoding. If batch and heads of k
 * and v are few, so are the blocks. */
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

/* What the block's rows have of the tiles of one warp. */
template <typename form>
BODY void core_decode_sweep(const struct attention *attention, struct attention_place place, uint16_t *shared,
                            struct core_results<form> &out, struct core_rows<form> &rows)
{
    int depth = core_depth(attention), tile = (int)threadIdx.x >> 5;
    uint16_t *k = core_warp_tile<form>(shared, tile, 0), *v = core_warp_tile<form>(shared, tile, 1);
    int64_t last = place.row + form::still - 1;
    int64_t end = columns_end(attention, last < attention->rows ? last : attention->rows - 1);
    int tiles = end > 0 ? (int)((end + form::moving - 1) / form::moving) : 0;
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

/* out and lse of the block's rows, 8 numbers of one row at a time. */
template <typename form>
BODY void core_decode_store(const struct attention *attention, struct attention_place place, uint16_t *shared)
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
        struct core_group result;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            result.pair[k] = pair_of<form::dtype>(sums[2 * k], sums[2 * k + 1]);
        }
        *(struct core_group *)(void *)((uint16_t *)(void *)to.data + line * to.row_stride + group * 8) = result;
        if (group == 0) {
            struct attention_place at = {place.batch, place.head, place.row + line, 0};
            lse_write(attention, at, joined.lse);
        }
    }
}

/* Some rows of one head. shared: core_decode_bytes, on a boundary of 16. */
template <typename form>
BODY void core_decode(const struct attention *attention, struct attention_place place, uint16_t *shared)
{
    struct core_results<form> out;
    struct core_rows<form> rows;
    core_clear<form>(out);
    core_rows_begin<form>(rows);
    core_decode_sweep<form>(attention, place, shared, out, rows);
    core_decode_leave<form>(out, rows, shared);
    __syncthreads();
    core_decode_store<form>(attention, place, shared);
    __syncthreads(); /* before the next rows overwrite q */
}

#endif

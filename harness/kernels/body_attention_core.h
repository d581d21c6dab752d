/* Attention on tensor cores: what forward and backward share. The formulas are those of body_attention.h; the division
 * of work is that of FlashAttention-2: a warp keeps strips of 16 rows of its scores in registers from the first product
 * to the last, and only the factors pass through shared memory.
 *
 * Of the two sides of a score one is `still` (it belongs to the block: rows of q in the forward and for grad q, rows of
 * k for grad k and grad v) and one is `moving` (the block walks over it). A tile has a line of `width` numbers of 16
 * bits for each row of its head, zeros where the head is narrower or ends; groups of 8 are exchanged within a line so
 * that 8 lines' groups of one column lie in different banks.
 *
 * Rounding: products are exact and sums are float32; probabilities and the gradients of scores are rounded to the dtype
 * of the inputs before the second product, before they are scaled. */
#ifndef ASSAY_KERNELS_BODY_ATTENTION_CORE_H
#define ASSAY_KERNELS_BODY_ATTENTION_CORE_H

#include "harness/kernels/body_attention.h"
#include "harness/kernels/tensor_core.h"

enum { CORE_WARPS = 4, CORE_LANES = 32 * CORE_WARPS, CORE_WIDTH_MAXIMUM = 256 };

/* One form of a kernel, fixed when it is compiled. Either each warp has lines of the still tile for itself and all walk
 * over the same moving tiles; or (`apart`) all have the same still lines and each walks over moving tiles of its
 * own. */
template <enum dtype dtype_, int width_, int strips_, int moving_, int warps_ = CORE_WARPS, bool apart_ = false>
struct core_form {
    static constexpr enum dtype dtype = dtype_;
    static constexpr int width = width_;   /* of the tiles: 64, 128 or 256 */
    static constexpr int strips = strips_; /* of 16 rows, for each warp */
    static constexpr int moving = moving_; /* lines of a moving tile, a multiple of 16 */
    static constexpr int warps = warps_, lanes = 32 * warps_;
    static constexpr bool apart = apart_;
    static constexpr int still = (apart_ ? 1 : warps_) * 16 * strips_; /* lines of a still tile */
};

/* Sums of a warp's strips against a moving tile: scores; and against the width: results. */
template <typename form> struct core_scores {
    float at[form::strips][form::moving / 8][4];
};

template <typename form> struct core_results {
    float at[form::strips][form::width / 8][4];
};

/* 16 bytes, moved as one. */
struct alignas(16) core_group {
    uint32_t pair[4];
};

BODY int core_lane(void)
{
    return (int)threadIdx.x & 31;
}

/* What is derived from it is derived anew for each pair of tiles. */
BODY int core_lane_here(void)
{
    return (int)value_here(core_lane());
}

template <typename form> BODY int core_first_line(void)
{
    return form::apart ? 0 : ((int)threadIdx.x >> 5) * 16 * form::strips;
}

/* Group `group` of 8 numbers in a line of a tile. */
template <typename form> BODY uint16_t *core_group_at(uint16_t *tile, int line, int group)
{
    return tile + line * form::width + ((group ^ (line & 7)) << 3);
}

/* The width in steps of a product. */
BODY int core_depth(const struct attention *attention)
{
    return ((int)attention->width + 15) & ~15;
}

/* Begins to copy `lines` rows of a head, with the lanes of the block or of one warp. What lies beyond the depth is
 * never read. */
template <typename form, int lines, int lanes = form::lanes>
BODY void core_fetch(uint16_t *tile, struct tile_source from, int depth)
{
    constexpr int groups = form::width / 8;
    const uint16_t *data = (const uint16_t *)from.data;
    int64_t row_stride = value_here(from.row_stride);
    /* Wide results leave no registers for places that are kept from tile to tile. */
    int lane = lanes == 32 ? core_lane() : (int)threadIdx.x;
    int first = form::width > 128 || form::apart ? (int)value_here(lane) : lane;
#pragma unroll
    for (int k = 0; k < (lines * groups + lanes - 1) / lanes; k++) {
        int item = k * lanes + first;
        int line = item / groups, group = item % groups;
        if (group * 8 < depth && (lines * groups % lanes == 0 || line < lines)) {
            bool inside = line < from.rows && group * 8 < from.columns;
            copy_begin_16(core_group_at<form>(tile, line, group), inside ? data + line * row_stride + group * 8 : data,
                          inside);
        }
    }
}

template <typename form> BODY void core_clear(struct core_scores<form> &scores)
{
#pragma unroll
    for (int k = 0; k < form::strips * (form::moving / 8) * 4; k++) {
        (&scores.at[0][0][0])[k] = 0.0f;
    }
}

template <typename form> BODY void core_clear(struct core_results<form> &results)
{
#pragma unroll
    for (int k = 0; k < form::strips * (form::width / 8) * 4; k++) {
        (&results.at[0][0][0])[k] = 0.0f;
    }
}

/* scores += still moving^T: the warp's strips of the still tile against every line of the moving one. */
template <typename form>
BODY void core_multiply(struct core_scores<form> &scores, uint16_t *still, uint16_t *moving, int depth)
{
    int lane = core_lane_here(), first = core_first_line<form>();
#pragma unroll
    for (int k = 0; k < form::width; k += 16) {
        if (k >= depth) {
            continue;
        }
        uint32_t left[form::strips][4];
#pragma unroll
        for (int s = 0; s < form::strips; s++) {
            matrices_load(left[s], core_group_at<form>(still, first + 16 * s + (lane & 15), k / 8 + (lane >> 4)));
        }
#pragma unroll
        for (int n = 0; n < form::moving; n += 16) {
            uint32_t right[4];
            int line = n + (lane & 7) + (lane >> 4) * 8;
            matrices_load(right, core_group_at<form>(moving, line, k / 8 + (lane >> 3 & 1)));
#pragma unroll
            for (int s = 0; s < form::strips; s++) {
                tensor_core_multiply<form::dtype>(scores.at[s][n / 8], left[s], right[0], right[1]);
                tensor_core_multiply<form::dtype>(scores.at[s][n / 8 + 1], left[s], right[2], right[3]);
            }
        }
    }
}

/* results += weights moving, the weights rounded to 16 bits. */
template <typename form>
BODY void core_accumulate(struct core_results<form> &results, const struct core_scores<form> &weights, uint16_t *moving,
                          int depth)
{
    int lane = core_lane_here();
#pragma unroll
    for (int k = 0; k < form::moving; k += 16) {
        uint32_t left[form::strips][4];
#pragma unroll
        for (int s = 0; s < form::strips; s++) {
            const float(&low)[4] = weights.at[s][k / 8], (&high)[4] = weights.at[s][k / 8 + 1];
            left[s][0] = pair_of<form::dtype>(low[0], low[1]);
            left[s][1] = pair_of<form::dtype>(low[2], low[3]);
            left[s][2] = pair_of<form::dtype>(high[0], high[1]);
            left[s][3] = pair_of<form::dtype>(high[2], high[3]);
        }
#pragma unroll
        for (int n = 0; n < form::width; n += 16) {
            if (n >= depth) {
                continue;
            }
            uint32_t right[4];
            matrices_load_transposed(right, core_group_at<form>(moving, k + (lane & 15), n / 8 + (lane >> 4)));
#pragma unroll
            for (int s = 0; s < form::strips; s++) {
                tensor_core_multiply<form::dtype>(results.at[s][n / 8], left[s], right[0], right[1]);
                tensor_core_multiply<form::dtype>(results.at[s][n / 8 + 1], left[s], right[2], right[3]);
            }
        }
    }
}

/* Stores the warp's strips, times a factor for each strip and half; `tile` is a still tile that no other warp reads the
 * warp's lines of. */
template <typename form>
BODY void core_store(const struct core_results<form> &results, const float (&factor)[form::strips][2], uint16_t *tile,
                     struct tile_source to)
{
    constexpr int groups = form::width / 8;
    int lane = core_lane(), first = core_first_line<form>();
    __syncwarp();
#pragma unroll
    for (int s = 0; s < form::strips; s++) {
#pragma unroll
        for (int n = 0; n < groups; n++) {
            const float(&sum)[4] = results.at[s][n];
#pragma unroll
            for (int half = 0; half < 2; half++) {
                uint16_t *group = core_group_at<form>(tile, first + 16 * s + 8 * half + (lane >> 2), n);
                ((uint32_t *)(void *)group)[lane & 3] =
                    pair_of<form::dtype>(sum[2 * half] * factor[s][half], sum[2 * half + 1] * factor[s][half]);
            }
        }
    }
    __syncwarp();
    for (int item = lane; item < form::strips * 16 * groups; item += 32) {
        int line = first + item / groups, group = item % groups;
        if (line < to.rows && group * 8 < to.columns) {
            uint16_t *place = (uint16_t *)(void *)to.data + line * to.row_stride + group * 8;
            *(struct core_group *)(void *)place =
                *(const struct core_group *)(const void *)core_group_at<form>(tile, line, group);
        }
    }
}

/* e^x as a power of two: 2 units in the last place, 0 for -infinity. */
BODY float core_exponential(float x)
{
    return exp2f(x * 1.44269504f);
}

/* Where the elements of something that has one for each score stand: of line i of the still tile and line j of the
 * moving one at start + i * still_step + j * moving_step. */
struct core_view {
    int64_t start, still_step, moving_step;
};

BODY struct core_view core_view_of(int64_t start, int64_t row_step, int64_t column_step, bool rows_still)
{
    struct core_view view = {start, rows_still ? row_step : column_step, rows_still ? column_step : row_step};
    return view;
}

BODY int64_t core_at(const struct core_view &view, int i, int j)
{
    return view.start + i * view.still_step + j * view.moving_step;
}

BODY struct core_view core_view_here(const struct core_view &view)
{
    struct core_view here = {value_here(view.start), value_here(view.still_step), value_here(view.moving_step)};
    return here;
}

/* A pair of tiles: what makes scores out of their products. place: the first row and column. */
struct core_pair {
    const struct attention *attention;
    struct attention_place place;
    struct core_view mask;
    bool whole; /* no score of the pair is hidden */
};

template <typename form, bool rows_still>
BODY struct core_pair core_pair_of(const struct attention *attention, struct attention_place place)
{
    const struct tensor *mask = &attention->mask;
    int64_t mask_start = place.batch * mask->stride[0] + (mask->size[1] == 1 ? 0 : place.head) * mask->stride[1] +
                         place.row * mask->stride[2] + place.column * mask->stride[3];
    int row_count = rows_still ? form::still : form::moving, column_count = rows_still ? form::moving : form::still;
    struct core_pair pair;
    pair.attention = attention;
    pair.place = place;
    pair.mask = core_view_of(mask_start, mask->stride[2], mask->stride[3], rows_still);
    pair.whole =
        place.row + row_count <= attention->rows && place.column + column_count <= columns_end(attention, place.row);
    return pair;
}

/* The lines [low, high) of the moving tile whose scores with a line of the still tile are seen. */
struct core_interval {
    int low, high;
};

template <typename form, bool rows_still>
BODY struct core_interval core_interval_of(const struct core_pair &pair, int still_line)
{
    const struct attention *attention = pair.attention;
    int64_t low = 0, high;
    if (rows_still) {
        int64_t row = pair.place.row + still_line;
        high = row < attention->rows ? columns_end(attention, row) - pair.place.column : 0;
    } else {
        int64_t column = pair.place.column + still_line;
        low = attention->causal ? column - (attention->columns - attention->rows) - pair.place.row : 0;
        high = column < attention->columns ? attention->rows - pair.place.row : 0;
    }
    struct core_interval interval;
    interval.low = (int)(low < 0 ? 0 : low < form::moving ? low : form::moving);
    interval.high = (int)(high < 0 ? 0 : high < form::moving ? high : form::moving);
    return interval;
}

/* Calls work(s, n, k, i, j) for each sum[k] that the lane has of a pair: of line i and line j, in tile n of strip s. */
template <typename form, typename function> BODY void core_each(function work)
{
    int i = core_first_line<form>() + (core_lane() >> 2), j = 2 * (core_lane() & 3);
#pragma unroll
    for (int s = 0; s < form::strips; s++) {
#pragma unroll
        for (int n = 0; n < form::moving / 8; n++) {
#pragma unroll
            for (int k = 0; k < 4; k++) {
                work(s, n, k, i + 16 * s + (k >> 1) * 8, j + 8 * n + (k & 1));
            }
        }
    }
}

/* Products become scores: scaled, -infinity if hidden, else with the mask added. */
template <typename form, bool rows_still>
BODY void core_scores_finish(struct core_scores<form> &scores, const struct core_pair &pair)
{
    const struct attention *attention = pair.attention;
    float scale = attention->scale;
    core_each<form>([&](int s, int n, int k, int, int) { scores.at[s][n][k] *= scale; });
    if (pair.whole && attention->mask.data == NULL) {
        return;
    }
    struct core_interval seen[form::strips][2];
#pragma unroll
    for (int s = 0; s < form::strips; s++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int line = core_first_line<form>() + 16 * s + 8 * half + (core_lane_here() >> 2);
            seen[s][half] = core_interval_of<form, rows_still>(pair, line);
        }
    }
    if (attention->mask.data != NULL) {
        struct core_view mask = core_view_here(pair.mask);
        core_each<form>([&](int s, int n, int k, int i, int j) {
            if (j >= seen[s][k >> 1].low && j < seen[s][k >> 1].high) {
                scores.at[s][n][k] += float_load(attention->mask.data, attention->mask.dtype, core_at(mask, i, j));
            }
        });
    }
    if (!pair.whole) {
        core_each<form>([&](int s, int n, int k, int, int j) {
            bool visible = j >= seen[s][k >> 1].low && j < seen[s][k >> 1].high;
            scores.at[s][n][k] = visible ? scores.at[s][n][k] : -INFINITY;
        });
    }
}

/* The decisions of dropout for a pair: anew for each, so that they hold no registers beyond it. */
struct core_dropout {
    int64_t start, row_step; /* counter of score (0, 0), and from row to row */
    struct random_key key;
    float probability;
};

BODY struct core_dropout core_dropout_of(const struct core_pair &pair)
{
    const struct attention *attention = pair.attention;
    struct core_dropout dropout;
    dropout.start = (int64_t)score_counter(attention, pair.place, pair.place.row, pair.place.column);
    dropout.row_step = attention->columns;
    dropout.key = random_key_of(value_here(attention->seed));
    dropout.probability = attention->probability;
    return dropout;
}

template <bool rows_still> BODY bool core_score_is_kept(const struct core_dropout &dropout, int i, int j)
{
    int64_t row = rows_still ? i : j, column = rows_still ? j : i;
    int64_t counter = value_here(dropout.start) + row * value_here(dropout.row_step) + column;
    return dropout_keeps(dropout.key, (uint64_t)counter, dropout.probability);
}

#endif

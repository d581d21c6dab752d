/* The forward of attention on tensor cores: a block walks over the columns that its rows of one head may see, with the
 * largest score and the sum of each row corrected as it goes. While scores are multiplied the tile of v arrives, while
 * their probabilities are multiplied with v the next tile of k. */
#ifndef ASSAY_KERNELS_BODY_ATTENTION_CORE_FORWARD_H
#define ASSAY_KERNELS_BODY_ATTENTION_CORE_FORWARD_H

#include "harness/kernels/body_attention_core.h"

template <typename form> constexpr int core_forward_bytes(void)
{
    return (form::still + 2 * form::moving) * form::width * 2;
}

/* Of the rows that a lane has a part of. The sums are of the lane's own columns until the end. */
template <typename form> struct core_rows {
    float maximum[form::strips][2], sum[form::strips][2];
};

/* The largest of the four lanes that share a row. */
BODY float core_row_maximum(float value)
{
    for (int step = 1; step < 4; step <<= 1) {
        float other = __shfl_xor_sync(0xffffffffu, value, step);
        value = other > value ? other : value;
    }
    return value;
}

BODY float core_row_sum(float value)
{
    for (int step = 1; step < 4; step <<= 1) {
        value += __shfl_xor_sync(0xffffffffu, value, step);
    }
    return value;
}

/* The row's scores become probabilities relative to the largest so far; what was summed before shrinks to that. */
template <typename form>
BODY void core_row_softmax(struct core_scores<form> &scores, struct core_results<form> &out,
                           struct core_rows<form> &rows, int s, int half)
{
    float maximum = rows.maximum[s][half], sum = 0.0f;
#pragma unroll
    for (int n = 0; n < form::moving / 8; n++) {
#pragma unroll
        for (int k = 2 * half; k < 2 * half + 2; k++) {
            maximum = scores.at[s][n][k] > maximum ? scores.at[s][n][k] : maximum;
        }
    }
    maximum = core_row_maximum(maximum);
    float base = maximum == -INFINITY ? 0.0f : maximum;
    float factor = core_exponential(rows.maximum[s][half] - base);
#pragma unroll
    for (int n = 0; n < form::moving / 8; n++) {
#pragma unroll
        for (int k = 2 * half; k < 2 * half + 2; k++) {
            scores.at[s][n][k] = core_exponential(scores.at[s][n][k] - base);
            sum += scores.at[s][n][k];
        }
    }
    rows.maximum[s][half] = maximum;
    rows.sum[s][half] = rows.sum[s][half] * factor + sum;
#pragma unroll
    for (int n = 0; n < form::width / 8; n++) {
        out.at[s][n][2 * half] *= factor;
        out.at[s][n][2 * half + 1] *= factor;
    }
}

/* One tile of columns of every row of the warp: products become the probabilities that dropout leaves. */
template <typename form>
BODY void core_softmax(struct core_scores<form> &scores, struct core_results<form> &out, struct core_rows<form> &rows,
                       const struct core_pair &pair)
{
    core_scores_finish<form, true>(scores, pair);
#pragma unroll
    for (int s = 0; s < form::strips; s++) {
        core_row_softmax<form>(scores, out, rows, s, 0);
        core_row_softmax<form>(scores, out, rows, s, 1);
    }
    if (pair.attention->probability > 0.0f) {
        struct core_dropout dropout = core_dropout_of(pair);
        core_each<form>([&](int s, int n, int k, int i, int j) {
            scores.at[s][n][k] = core_score_is_kept<true>(dropout, i, j) ? scores.at[s][n][k] : 0.0f;
        });
    }
}

/* out and lse of the warp's rows. */
template <typename form>
BODY void core_forward_store(const struct attention *attention, struct attention_place place,
                             const struct core_results<form> &out, const struct core_rows<form> &rows, uint16_t *tile)
{
    int lane = core_lane();
    float factor[form::strips][2];
#pragma unroll
    for (int s = 0; s < form::strips; s++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int64_t row = place.row + core_first_line<form>() + 16 * s + 8 * half + (lane >> 2);
            float sum = core_row_sum(rows.sum[s][half]);
            factor[s][half] = sum == 0.0f ? 0.0f : attention->keep_scale / sum;
            if ((lane & 3) == 0 && row < attention->rows) {
                struct attention_place at = {place.batch, place.head, row, 0};
                lse_write(attention, at, sum == 0.0f ? INFINITY : rows.maximum[s][half] + logf(sum));
            }
        }
    }
    core_store<form>(out, factor, tile, head_rows(&attention->out, place.batch, place.head, place.row));
}

template <typename form> BODY void core_rows_begin(struct core_rows<form> &rows)
{
#pragma unroll
    for (int s = 0; s < form::strips; s++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            rows.maximum[s][half] = -INFINITY;
            rows.sum[s][half] = 0.0f;
        }
    }
}

/* One block of rows of one head. shared: core_forward_bytes, on a boundary of 16. */
template <typename form>
BODY void core_forward(const struct attention *attention, struct attention_place place, uint16_t *shared)
{
    uint16_t *q = shared, *k = q + form::still * form::width, *v = k + form::moving * form::width;
    struct core_results<form> out;
    struct core_rows<form> rows;
    int depth = core_depth(attention);
    int64_t group = place.head / (attention->heads / attention->groups), last = place.row + form::still - 1;
    int64_t end = columns_end(attention, last < attention->rows ? last : attention->rows - 1);
    int tiles = end > 0 ? (int)((end + form::moving - 1) / form::moving) : 0;
    core_clear<form>(out);
    core_rows_begin<form>(rows);
    if (tiles > 0) {
        core_fetch<form, form::still>(q, head_rows(&attention->q, place.batch, place.head, place.row), depth);
        core_fetch<form, form::moving>(k, head_rows(&attention->k, place.batch, group, 0), depth);
        copies_group();
    }
    for (int tile = 0; tile < tiles; tile++) {
        struct core_scores<form> scores;
        place.column = (int64_t)tile * form::moving;
        copies_wait<0>();
        __syncthreads(); /* k is there, and nobody reads the last v any more */
        core_fetch<form, form::moving>(v, head_rows(&attention->v, place.batch, group, place.column), depth);
        copies_group();
        core_clear<form>(scores);
        core_multiply<form>(scores, q, k, depth);
        copies_wait<0>();
        __syncthreads(); /* v is there, and nobody reads k any more */
        if (tile + 1 < tiles) {
            core_fetch<form, form::moving>(k, head_rows(&attention->k, place.batch, group, place.column + form::moving),
                                           depth);
            copies_group();
        }
        core_softmax<form>(scores, out, rows, core_pair_of<form, true>(attention, place));
        core_accumulate<form>(out, scores, v, depth);
    }
    core_forward_store<form>(attention, place, out, rows, q);
    __syncthreads(); /* before the next block of rows overwrites q */
}

#endif

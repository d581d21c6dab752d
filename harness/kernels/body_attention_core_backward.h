/* The backward of attention on tensor cores: the two sweeps of body_attention_backward.h, both of one text. For grad q
 * rows are still and columns move, for grad k and grad v it is the other way round and the scores stand transposed.
 * Every sum has one writer, so that the result does not depend on the order of blocks. If the sums of grad k and grad v
 * are too many for the registers of one block, each has a sweep of its own.
 *
 * delta_i = grad_i out_i is computed once, before the sweeps, and kept in the first four bytes of row i of grad q: the
 * sweep over columns reads it there, and the sweep over rows, the last, reads it before it writes the row. */
#ifndef ASSAY_KERNELS_BODY_ATTENTION_CORE_BACKWARD_H
#define ASSAY_KERNELS_BODY_ATTENTION_CORE_BACKWARD_H

#include "harness/kernels/body_attention_core.h"

/* Two still tiles, two stages of two moving ones, and of the rows that move two stages of lse and delta. */
template <typename form> constexpr int core_backward_bytes(void)
{
    return (2 * form::still + 4 * form::moving) * form::width * 2 + 4 * form::moving * 4;
}

enum { DELTA_LANES = 8 }; /* of a warp for each row */

/* What a sweep makes. */
enum core_goal { CORE_GRAD_Q, CORE_GRAD_K_AND_V, CORE_GRAD_K, CORE_GRAD_V };

BODY float *core_delta_at(const struct attention *attention, int64_t batch, int64_t head, int64_t row)
{
    return (float *)(void *)head_rows(&attention->grad_q, batch, head, row).data;
}

template <enum dtype dtype> BODY float core_half(uint32_t pair, int shift)
{
    uint16_t bits = (uint16_t)(pair >> shift);
    return dtype == DTYPE_FLOAT16 ? float_from_float16(bits) : float_from_bfloat16(bits);
}

/* The products of 8 numbers of 16 bits, summed. */
template <enum dtype dtype> BODY float core_group_product(const uint16_t *a, const uint16_t *b)
{
    struct core_group left = *(const struct core_group *)(const void *)a;
    struct core_group right = *(const struct core_group *)(const void *)b;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        sum += core_half<dtype>(left.pair[k], 0) * core_half<dtype>(right.pair[k], 0);
        sum += core_half<dtype>(left.pair[k], 16) * core_half<dtype>(right.pair[k], 16);
    }
    return sum;
}

/* delta of every row of every head, dealt to the warps of the grid. */
template <enum dtype dtype> BODY void core_deltas(const struct attention *attention)
{
    int64_t count = attention->batches * attention->heads * attention->rows;
    int lane = core_lane() % DELTA_LANES;
    int64_t warp_row = (thread_first() - core_lane()) / DELTA_LANES, step = thread_step() / DELTA_LANES;
    for (; warp_row < count; warp_row += step) {
        int64_t index = warp_row + core_lane() / DELTA_LANES;
        int64_t row = index % attention->rows, head_index = index / attention->rows;
        int64_t head = head_index % attention->heads, batch = head_index / attention->heads;
        float sum = 0.0f;
        if (index < count) {
            const uint16_t *grad = (const uint16_t *)head_rows(&attention->grad, batch, head, row).data;
            const uint16_t *out = (const uint16_t *)head_rows(&attention->out, batch, head, row).data;
            for (int k = lane * 8; k < attention->width; k += DELTA_LANES * 8) {
                sum += core_group_product<dtype>(grad + k, out + k);
            }
        }
        for (int other = 1; other < DELTA_LANES; other <<= 1) {
            sum += __shfl_xor_sync(0xffffffffu, sum, other);
        }
        if (index < count && lane == 0) {
            *core_delta_at(attention, batch, head, row) = sum;
        }
    }
}

/* The tiles of one block, in shared memory one behind the other: two still ones (q and grad, or k and v), then for each
 * of two stages two moving ones (k and v, or q and grad), then lse and delta of the rows that move in each stage. */
template <typename form> BODY uint16_t *core_still_tile(uint16_t *shared, int which)
{
    return shared + which * form::still * form::width;
}

template <typename form> BODY uint16_t *core_moving_tile(uint16_t *shared, int stage, int which)
{
    return shared + (2 * form::still + (2 * stage + which) * form::moving) * form::width;
}

template <typename form> BODY float *core_moving_rows(uint16_t *shared, int stage)
{
    return (float *)(void *)(shared + (2 * form::still + 4 * form::moving) * form::width) + 2 * stage * form::moving;
}

/* The way of a block over what moves: tiles from tile `first` on, of one head after another. */
struct core_sweep {
    int first, tiles_each, steps;
};

/* rows_still: over the columns that the block's rows may see. Otherwise over the rows that see any of its columns, of
 * all heads of the group. */
template <typename form, bool rows_still>
BODY struct core_sweep core_sweep_of(const struct attention *attention, struct attention_place place)
{
    struct core_sweep sweep = {0, 0, 0};
    int64_t end = attention->rows, heads = attention->heads / attention->groups;
    if (rows_still) {
        int64_t last = place.row + form::still - 1;
        end = columns_end(attention, last < attention->rows ? last : attention->rows - 1);
        heads = 1;
    } else if (attention->causal) {
        int64_t row = place.column - (attention->columns - attention->rows);
        sweep.first = row > 0 ? (int)(row / form::moving) : 0;
    }
    int64_t tiles = (end + form::moving - 1) / form::moving;
    sweep.tiles_each = tiles > sweep.first ? (int)tiles - sweep.first : 0;
    sweep.steps = sweep.tiles_each * (int)heads;
    return sweep;
}

template <typename form, bool rows_still>
BODY struct attention_place core_sweep_place(const struct attention *attention, struct attention_place place,
                                             struct core_sweep sweep, int step)
{
    int64_t at = (int64_t)(sweep.first + step % sweep.tiles_each) * form::moving;
    if (rows_still) {
        place.column = at;
    } else {
        place.row = at;
        place.head = place.head * (attention->heads / attention->groups) + step / sweep.tiles_each;
    }
    return place;
}

/* Begins to copy what moves in one step. */
template <typename form, bool rows_still>
BODY void core_stage_fetch(const struct attention *attention, struct attention_place place, uint16_t *shared, int stage,
                           int depth)
{
    const struct tensor *first = rows_still ? &attention->k : &attention->q;
    const struct tensor *second = rows_still ? &attention->v : &attention->grad;
    int64_t head = rows_still ? place.head / (attention->heads / attention->groups) : place.head;
    int64_t line = rows_still ? place.column : place.row;
    core_fetch<form, form::moving>(core_moving_tile<form>(shared, stage, 0), head_rows(first, place.batch, head, line),
                                   depth);
    core_fetch<form, form::moving>(core_moving_tile<form>(shared, stage, 1), head_rows(second, place.batch, head, line),
                                   depth);
    if (rows_still) {
        return;
    }
    float *rows = core_moving_rows<form>(shared, stage);
    const float *lse =
        (const float *)attention->lse.data + (place.batch * attention->heads + place.head) * attention->lse.size[2];
    for (int k = (int)threadIdx.x; k < form::moving; k += CORE_LANES) {
        bool inside = place.row + k < attention->rows;
        int64_t row = inside ? place.row + k : 0;
        copy_begin_4(rows + k, lse + row, inside);
        copy_begin_4(rows + form::moving + k, core_delta_at(attention, place.batch, place.head, row), inside);
    }
}

/* Begins to copy the still tiles. */
template <typename form, bool rows_still>
BODY void core_still_fetch(const struct attention *attention, struct attention_place place, uint16_t *shared, int depth)
{
    const struct tensor *first = rows_still ? &attention->q : &attention->k;
    const struct tensor *second = rows_still ? &attention->grad : &attention->v;
    int64_t line = rows_still ? place.row : place.column;
    core_fetch<form, form::still>(core_still_tile<form>(shared, 0), head_rows(first, place.batch, place.head, line),
                                  depth);
    core_fetch<form, form::still>(core_still_tile<form>(shared, 1), head_rows(second, place.batch, place.head, line),
                                  depth);
}

/* lse and delta of a row. */
struct core_row {
    float lse, delta;
};

/* Scores become kept probabilities and their slopes' products become slopes, both before scaling. still: of the lane's
 * lines, if rows are still; moving: lse, then delta, of the moving lines, if rows move. In between the sign of a
 * probability says whether it is dropped. */
template <typename form, bool rows_still>
BODY void core_gradients(struct core_scores<form> &scores, struct core_scores<form> &slopes,
                         const struct core_row (&still)[form::strips][2], const float *moving,
                         const struct core_pair &pair)
{
    float keep_scale = pair.attention->keep_scale;
    core_each<form>([&](int s, int n, int k, int, int j) {
        float &score = scores.at[s][n][k];
        score = core_exponential(score - (rows_still ? still[s][k >> 1].lse : moving[j]));
    });
    if (pair.attention->probability > 0.0f) {
        struct core_dropout dropout = core_dropout_of(pair);
        core_each<form>([&](int s, int n, int k, int i, int j) {
            float &score = scores.at[s][n][k];
            score = core_score_is_kept<rows_still>(dropout, i, j) ? score : -score;
        });
    }
    core_each<form>([&](int s, int n, int k, int, int j) {
        float &score = scores.at[s][n][k], &slope = slopes.at[s][n][k];
        float delta = rows_still ? still[s][k >> 1].delta : moving[form::moving + j];
        slope = fabsf(score) * ((score > 0.0f ? slope * keep_scale : 0.0f) - delta);
        score = score < 0.0f ? 0.0f : score;
    });
}

/* lse and delta of the rows that are still; +infinity beyond the last, so that their probabilities are 0. */
template <typename form>
BODY void core_still_rows(const struct attention *attention, struct attention_place place,
                          struct core_row (&rows)[form::strips][2])
{
    const float *lse =
        (const float *)attention->lse.data + (place.batch * attention->heads + place.head) * attention->lse.size[2];
#pragma unroll
    for (int s = 0; s < form::strips; s++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int64_t row = place.row + core_first_line<form>() + 16 * s + 8 * half + (core_lane() >> 2);
            bool inside = row < attention->rows;
            rows[s][half].lse = inside ? lse[row] : INFINITY;
            rows[s][half].delta = inside ? *core_delta_at(attention, place.batch, place.head, row) : 0.0f;
        }
    }
}

/* Writes what a block has summed: grad q, or grad k and grad v. */
template <typename form, enum core_goal goal>
BODY void core_backward_store(const struct attention *attention, struct attention_place place,
                              const struct core_results<form> &first, const struct core_results<form> &second,
                              uint16_t *shared)
{
    constexpr bool rows_still = goal == CORE_GRAD_Q;
    float scale[form::strips][2], keep_scale[form::strips][2];
#pragma unroll
    for (int k = 0; k < form::strips * 2; k++) {
        scale[k / 2][k % 2] = attention->scale;
        keep_scale[k / 2][k % 2] = attention->keep_scale;
    }
    const struct tensor *to = rows_still ? &attention->grad_q : &attention->grad_k;
    int64_t line = rows_still ? place.row : place.column;
    if (goal != CORE_GRAD_V) {
        core_store<form>(first, scale, core_still_tile<form>(shared, 0), head_rows(to, place.batch, place.head, line));
    }
    if (goal == CORE_GRAD_K_AND_V || goal == CORE_GRAD_V) {
        core_store<form>(second, keep_scale, core_still_tile<form>(shared, 1),
                         head_rows(&attention->grad_v, place.batch, place.head, line));
    }
}

/* What one pair of tiles adds to the results. */
template <typename form, enum core_goal goal>
BODY void core_backward_step(const struct attention *attention, struct attention_place place,
                             const struct core_row (&rows)[form::strips][2], struct core_results<form> &first,
                             struct core_results<form> &second, uint16_t *shared, int stage)
{
    constexpr bool rows_still = goal == CORE_GRAD_Q;
    int depth = core_depth(attention);
    uint16_t *moving[2] = {core_moving_tile<form>(shared, stage, 0), core_moving_tile<form>(shared, stage, 1)};
    struct core_scores<form> scores, slopes;
    struct core_pair pair = core_pair_of<form, rows_still>(attention, place);
    core_clear<form>(scores);
    core_multiply<form>(scores, core_still_tile<form>(shared, 0), moving[0], depth);
    core_scores_finish<form, rows_still>(scores, pair);
    core_clear<form>(slopes);
    if (goal != CORE_GRAD_V) {
        core_multiply<form>(slopes, core_still_tile<form>(shared, 1), moving[1], depth);
    }
    core_gradients<form, rows_still>(scores, slopes, rows, core_moving_rows<form>(shared, stage), pair);
    if (goal != CORE_GRAD_V) {
        core_accumulate<form>(first, slopes, moving[0], depth);
    }
    if (goal == CORE_GRAD_K_AND_V || goal == CORE_GRAD_V) {
        core_accumulate<form>(second, scores, moving[1], depth);
    }
}

/* One block of rows of one head: grad q; or one block of columns of one head of k and v (place.head): grad k and grad
 * v, summed over the heads of q that read it. shared: core_backward_bytes, on a boundary of 16. */
template <typename form, enum core_goal goal>
BODY void core_backward(const struct attention *attention, struct attention_place place, uint16_t *shared)
{
    constexpr bool rows_still = goal == CORE_GRAD_Q;
    struct core_sweep sweep = core_sweep_of<form, rows_still>(attention, place);
    struct core_results<form> first, second;
    struct core_row rows[form::strips][2] = {};
    int depth = core_depth(attention);
    core_clear<form>(first);
    core_clear<form>(second);
    if (rows_still) {
        core_still_rows<form>(attention, place, rows);
    }
    if (sweep.steps > 0) {
        core_still_fetch<form, rows_still>(attention, place, shared, depth);
        core_stage_fetch<form, rows_still>(attention, core_sweep_place<form, rows_still>(attention, place, sweep, 0),
                                           shared, 0, depth);
    }
    copies_group();
    for (int step = 0; step < sweep.steps; step++) {
        int stage = step & 1;
        if (step + 1 < sweep.steps) {
            core_stage_fetch<form, rows_still>(attention,
                                               core_sweep_place<form, rows_still>(attention, place, sweep, step + 1),
                                               shared, 1 - stage, depth);
        }
        copies_group();
        copies_wait<1>();
        __syncthreads(); /* every lane's part of this stage is there */
        core_backward_step<form, goal>(attention, core_sweep_place<form, rows_still>(attention, place, sweep, step),
                                       rows, first, second, shared, stage);
        __syncthreads(); /* before the next but one stage overwrites this one */
    }
    core_backward_store<form, goal>(attention, place, first, second, shared);
    __syncthreads();
}

#endif

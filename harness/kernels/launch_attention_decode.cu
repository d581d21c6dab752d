/* Attention of one query, as in decoding, without tensor cores: float32 throughout. What takes the time is reading k
 * and v, so no column is read twice, and all lanes of a block read: a column belongs to a crew, as many lanes of a warp
 * as it has groups of 8 numbers, and the crews of all warps take columns in turn. Each crew keeps the largest score,
 * the sum and its lanes' part of out in registers; at the end the block joins them in a fixed order.
 *
 * The rows of a head are the heads that read the same k and v, see attention_pack. */
#include "harness/kernels/launch_attention.h"
#include "harness/kernels/launch_group.h"
#include "harness/kernels/tensor_core.h"

/* DECODE_TOGETHER: columns that a crew takes at a time, so that that many reads are under way. */
enum { DECODE_WARPS = LANES / 32, DECODE_TOGETHER = 4, DECODE_WIDTH = 32 * GROUP, DECODE_ROWS = 8 };

/* What a block shares. part: of one row, what each warp has summed. */
template <int rows> struct decode_shared {
    float q[rows * DECODE_WIDTH];
    float part[DECODE_WARPS][DECODE_WIDTH];
    float maximum[DECODE_WARPS][rows], sum[DECODE_WARPS][rows];
};

/* Where a lane stands: in which crew of the block, and which lane of it. */
struct crew {
    int index, count; /* among the block's crews */
    int lane, lanes;
};

/* The columns that the block takes together: of the rows from place.row on, `rows` of which there are, crew by crew
 * those from `first` on. */
struct decode_round {
    struct attention_place place;
    struct crew crew;
    int64_t first;
    int rows;
};

template <int rows> struct decode_state {
    float maximum[rows], sum[rows];
    float out[rows][GROUP];
};

/* Of the columns that a crew takes together: scores, then probabilities. */
template <int rows> struct decode_scores {
    float at[rows][DECODE_TOGETHER];
};

BODY struct crew crew_of(const struct attention *attention)
{
    struct crew crew;
    crew.lanes = 1;
    while (crew.lanes < 32 && crew.lanes * GROUP < attention->width) {
        crew.lanes *= 2;
    }
    crew.lane = (int)threadIdx.x & (crew.lanes - 1);
    crew.index = (int)threadIdx.x / crew.lanes;
    crew.count = LANES / crew.lanes;
    return crew;
}

/* Half of a lane's group of q's row `row` in shared memory: halves apart, so that neighbouring lanes read side by
 * side. */
template <int rows> BODY float *decode_q_at(struct decode_shared<rows> *shared, int row, int group, int half)
{
    return shared->q + row * DECODE_WIDTH + half * (DECODE_WIDTH / 2) + group * (GROUP / 2);
}

template <int rows>
BODY void decode_q_load(struct decode_shared<rows> *shared, const struct attention *attention,
                        struct attention_place place)
{
    struct tile_source from = head_rows(&attention->q, place.batch, place.head, place.row);
    for (int item = (int)threadIdx.x; item < rows * DECODE_WIDTH; item += LANES) {
        int row = item / DECODE_WIDTH, column = item % DECODE_WIDTH;
        bool inside = row < from.rows && column < from.columns;
        decode_q_at(shared, row, column / GROUP, column % GROUP / (GROUP / 2))[column % (GROUP / 2)] =
            inside ? float_load(from.data, from.dtype, row * from.row_stride + column) : 0.0f;
    }
}

/* The column that a crew takes as number u. */
BODY int64_t round_column(const struct decode_round &round, int u)
{
    return round.first + u * round.crew.count + round.crew.index;
}

/* The lane's group of each column that its crew takes; zeros beyond the last column and the width. */
BODY void round_load(const struct decode_round &round, const struct tensor *tensor,
                     struct element_group (&groups)[DECODE_TOGETHER])
{
    int64_t start =
        round.place.batch * tensor->stride[0] + round.place.head * tensor->stride[1] + round.crew.lane * GROUP;
    bool inside = round.crew.lane * GROUP < tensor->size[3];
#pragma unroll
    for (int u = 0; u < DECODE_TOGETHER; u++) {
        int64_t column = round_column(round, u);
        groups[u] = {};
        if (inside && column < tensor->size[2]) {
            groups[u] = group_get(tensor, start + column * tensor->stride[2]);
        }
    }
}

/* The products of the rows with a crew's columns, summed over the lanes of the crew. */
template <int rows>
BODY void round_products(const struct decode_round &round, const struct attention *attention,
                         struct decode_shared<rows> *shared, struct decode_scores<rows> &scores)
{
    struct element_group k[DECODE_TOGETHER];
    round_load(round, &attention->k, k);
    int lane = (int)value_here(round.crew.lane); /* q stays in shared memory from round to round */
#pragma unroll
    for (int r = 0; r < rows; r++) {
        const float *low = decode_q_at(shared, r, lane, 0), *high = low + DECODE_WIDTH / 2;
#pragma unroll
        for (int u = 0; u < DECODE_TOGETHER; u++) {
            float sum = 0.0f;
#pragma unroll
            for (int n = 0; n < GROUP / 2; n++) {
                sum += low[n] * k[u].at[n] + high[n] * k[u].at[GROUP / 2 + n];
            }
            scores.at[r][u] = sum;
        }
    }
    for (int step = 1; step < round.crew.lanes; step <<= 1) {
#pragma unroll
        for (int n = 0; n < rows * DECODE_TOGETHER; n++) {
            float &score = scores.at[n / DECODE_TOGETHER][n % DECODE_TOGETHER];
            score += __shfl_xor_sync(0xffffffffu, score, step);
        }
    }
}

/* One row's products become scores, -infinity beyond the last column; returns the largest of them and `maximum`. */
template <int rows>
BODY float round_scores(const struct decode_round &round, const struct attention *attention, int r, float maximum,
                        struct decode_scores<rows> &scores)
{
    const struct tensor *mask = &attention->mask;
    int64_t head = mask->size[1] == 1 ? 0 : round.place.head;
    int64_t start =
        round.place.batch * mask->stride[0] + head * mask->stride[1] + (round.place.row + r) * mask->stride[2];
#pragma unroll
    for (int u = 0; u < DECODE_TOGETHER; u++) {
        int64_t column = round_column(round, u);
        float x = -INFINITY;
        if (column < attention->columns) {
            float added = 0.0f;
            if (mask->data != NULL) {
                packet_get<DTYPE_COUNT, 1>(mask, start + column * mask->stride[3], &added);
            }
            x = scores.at[r][u] * attention->scale + added;
        }
        scores.at[r][u] = x;
        maximum = x > maximum ? x : maximum;
    }
    return maximum;
}

/* One row's scores become probabilities relative to the largest so far; what was summed before shrinks to that. */
template <int rows>
BODY void round_softmax(const struct decode_round &round, const struct attention *attention, int r,
                        struct decode_scores<rows> &scores, struct decode_state<rows> &state)
{
    float maximum = round_scores<rows>(round, attention, r, state.maximum[r], scores), sum = 0.0f;
    float base = maximum == -INFINITY ? 0.0f : maximum;
    float factor = body_exponential_falling(state.maximum[r] - base);
#pragma unroll
    for (int u = 0; u < DECODE_TOGETHER; u++) {
        scores.at[r][u] = body_exponential_falling(scores.at[r][u] - base);
        sum += scores.at[r][u];
    }
    state.maximum[r] = maximum;
    state.sum[r] = state.sum[r] * factor + sum;
#pragma unroll
    for (int n = 0; n < GROUP; n++) {
        state.out[r][n] *= factor;
    }
}

/* The decisions are made in a loop and kept as bits: unrolled they would be most of the code. */
template <int rows>
BODY void round_drop(const struct decode_round &round, const struct attention *attention,
                     struct decode_scores<rows> &scores)
{
    static_assert(rows * DECODE_TOGETHER <= 32, "a bit for each score");
    struct random_key key = random_key_of(attention->seed);
    uint32_t kept = 0;
#pragma unroll 1
    for (int n = 0; n < rows * DECODE_TOGETHER; n++) {
        uint64_t counter = score_counter(attention, round.place, round.place.row + n / DECODE_TOGETHER,
                                         round_column(round, n % DECODE_TOGETHER));
        kept |= (uint32_t)dropout_keeps(key, counter, attention->probability) << n;
    }
#pragma unroll
    for (int n = 0; n < rows * DECODE_TOGETHER; n++) {
        float &score = scores.at[n / DECODE_TOGETHER][n % DECODE_TOGETHER];
        score = (kept >> n & 1u) != 0 ? score : 0.0f;
    }
}

/* out += probabilities times v. */
template <int rows>
BODY void round_accumulate(const struct decode_round &round, const struct attention *attention,
                           const struct decode_scores<rows> &scores, struct decode_state<rows> &state)
{
    struct element_group v[DECODE_TOGETHER];
    round_load(round, &attention->v, v);
#pragma unroll
    for (int r = 0; r < rows; r++) {
#pragma unroll
        for (int n = 0; n < DECODE_TOGETHER * GROUP; n++) {
            state.out[r][n % GROUP] += scores.at[r][n / GROUP] * v[n / GROUP].at[n % GROUP];
        }
    }
}

/* What the crews of each warp have becomes what the warp has, in every crew of it. */
template <int rows> BODY void decode_join_crews(struct crew crew, struct decode_state<rows> &state)
{
#pragma unroll
    for (int r = 0; r < rows; r++) {
        float maximum = state.maximum[r];
        for (int step = crew.lanes; step < 32; step <<= 1) {
            float other = __shfl_xor_sync(0xffffffffu, maximum, step);
            maximum = other > maximum ? other : maximum;
        }
        float factor = body_exponential_falling(state.maximum[r] - (maximum == -INFINITY ? 0.0f : maximum));
        state.maximum[r] = maximum;
        state.sum[r] *= factor;
        for (int step = crew.lanes; step < 32; step <<= 1) {
            state.sum[r] += __shfl_xor_sync(0xffffffffu, state.sum[r], step);
        }
#pragma unroll
        for (int n = 0; n < GROUP; n++) {
            state.out[r][n] *= factor;
            for (int step = crew.lanes; step < 32; step <<= 1) {
                state.out[r][n] += __shfl_xor_sync(0xffffffffu, state.out[r][n], step);
            }
        }
    }
}

/* What the warps have of one row, joined. */
struct decode_joined {
    float maximum, sum;
};

template <int rows> BODY struct decode_joined decode_join_warps(const struct decode_shared<rows> *shared, int r)
{
    struct decode_joined joined = {-INFINITY, 0.0f};
    for (int w = 0; w < DECODE_WARPS; w++) {
        joined.maximum = shared->maximum[w][r] > joined.maximum ? shared->maximum[w][r] : joined.maximum;
    }
    float base = joined.maximum == -INFINITY ? 0.0f : joined.maximum;
    for (int w = 0; w < DECODE_WARPS; w++) {
        joined.sum += shared->sum[w][r] * body_exponential_falling(shared->maximum[w][r] - base);
    }
    return joined;
}

/* out and lse of one row; a lane takes one column of the width. */
template <int rows>
BODY void decode_store(const struct attention *attention, const struct decode_round &round,
                       const struct decode_shared<rows> *shared, int r)
{
    struct tile_source to = head_rows(&attention->out, round.place.batch, round.place.head, round.place.row + r);
    struct decode_joined joined = decode_join_warps<rows>(shared, r);
    float base = joined.maximum == -INFINITY ? 0.0f : joined.maximum;
    int column = (int)threadIdx.x;
    if (column < to.columns) {
        float scale = joined.sum == 0.0f ? 0.0f : attention->keep_scale / joined.sum, sum = 0.0f;
        for (int w = 0; w < DECODE_WARPS; w++) {
            sum += shared->part[w][column] * body_exponential_falling(shared->maximum[w][r] - base);
        }
        float_store((void *)to.data, to.dtype, column, sum * scale);
    }
    if (column == 0) {
        struct attention_place at = {round.place.batch, round.place.head, round.place.row + r, 0};
        lse_write(attention, at, joined.sum == 0.0f ? INFINITY : joined.maximum + logf(joined.sum));
    }
}

/* What the warps have goes through shared memory to out and lse, one row after another. */
template <int rows>
BODY void decode_end(const struct attention *attention, const struct decode_round &round,
                     struct decode_shared<rows> *shared, struct decode_state<rows> &state)
{
    int warp = (int)threadIdx.x >> 5, lane = (int)threadIdx.x & 31;
    decode_join_crews<rows>(round.crew, state);
#pragma unroll
    for (int r = 0; r < rows; r++) {
        __syncthreads(); /* nobody reads the last row's part any more */
#pragma unroll
        for (int n = 0; n < GROUP; n++) {
            if (lane < round.crew.lanes) {
                shared->part[warp][lane * GROUP + n] = state.out[r][n];
            }
        }
        if (lane == 0) {
            shared->maximum[warp][r] = state.maximum[r];
            shared->sum[warp][r] = state.sum[r];
        }
        __syncthreads();
        if (r < round.rows) {
            decode_store<rows>(attention, round, shared, r);
        }
    }
}

/* The block's rows against every column. */
template <int rows>
BODY void decode_rows(const struct attention *attention, struct decode_round round, struct decode_shared<rows> *shared)
{
    struct decode_state<rows> state = {
    };
#pragma unroll
    for (int r = 0; r < rows; r++) {
        state.maximum[r] = -INFINITY;
    }
    __syncthreads(); /* nobody reads what was shared for the last rows any more */
    decode_q_load<rows>(shared, attention, round.place);
    __syncthreads();
    for (; round.first < attention->columns; round.first += round.crew.count * DECODE_TOGETHER) {
        struct decode_scores<rows> scores;
        round_products<rows>(round, attention, shared, scores);
#pragma unroll
        for (int r = 0; r < rows; r++) {
            if (r < round.rows) {
                round_softmax<rows>(round, attention, r, scores, state);
            }
        }
        if (attention->probability > 0.0f) {
            round_drop<rows>(round, attention, scores);
        }
        round_accumulate<rows>(round, attention, scores, state);
    }
    decode_end<rows>(attention, round, shared, state);
}

template <int rows>
static __global__ void __launch_bounds__(LANES) decode_kernel(const __grid_constant__ struct attention attention)
{
    __shared__ struct decode_shared<rows> shared;
    int64_t count = row_tile_count(&attention);
    lse_pad(&attention);
    for (int64_t item = blockIdx.x; item < count; item += gridDim.x) {
        struct attention_place place = row_tile_place(&attention, item);
        int64_t left = attention.rows - place.row;
        struct decode_round round = {place, crew_of(&attention), 0, left < rows ? (int)left : rows};
        decode_rows<rows>(&attention, round, &shared);
    }
}

/* Whether every row begins where a group may and is whole groups. */
static bool rows_are_groups(const struct tensor *tensor)
{
    bool fit = dtype_is_packed(tensor->dtype) && group_begins(tensor) && tensor->size[3] % GROUP == 0;
    for (int d = 0; d < 3; d++) {
        fit = fit && (tensor->size[d] < 2 || tensor->stride[d] % GROUP == 0);
    }
    return fit;
}

bool attention_fits_decode(const struct attention *attention)
{
    return attention->queries == 1 && attention->width <= DECODE_WIDTH && attention->value_width == attention->width &&
           rows_are_groups(&attention->k) && rows_are_groups(&attention->v) &&
           (attention->mask.data == NULL || dtype_is_packed(attention->mask.dtype));
}

const char *attention_decode(struct attention *attention, cudaStream_t stream)
{
    attention->tile_rows = attention->rows == 1 ? 1 : DECODE_ROWS;
    unsigned blocks = grid_blocks(row_tile_count(attention), 1);
    void (*kernel)(const struct attention) = attention->rows == 1 ? decode_kernel<1> : decode_kernel<DECODE_ROWS>;
    kernel<<<blocks, LANES, 0, stream>>>(*attention);
    return launch_result();
}

/* Attention without stored scores, forward and backward: the algorithm of FlashAttention-2 (Dao 2023, arXiv:2307.08691,
 * algorithms 1 and 2), with the backward in two sweeps, one for grad q and one for grad k and grad v, so that
 * every sum has one writer and one order.
 *
 * For one head: x_ij = scale q_i k_j + mask_ij, p_ij = e^(x_ij - lse_i), out_i = sum_j p_ij z_ij v_j, where z is the
 * dropout factor. With d_ij = z_ij (grad_i v_j) and delta_i = grad_i out_i the gradient of a score is
 * p_ij (d_ij - delta_i). A row in which everything is masked has lse +infinity, so that all its p are 0. */
#ifndef ASSAY_KERNELS_BODY_ATTENTION_H
#define ASSAY_KERNELS_BODY_ATTENTION_H

#include "harness/kernels/body_random.h"
#include "harness/kernels/body_tile.h"

/* Memory of a call whose columns may be divided, in rows as attention_pack leaves them: the log-sum-exp of each row in
 * each part, -infinity if it sees nothing there, and its out, `width` numbers apart. */
struct attention_parts {
    float *lse, *out;
    int64_t width;
    int count; /* 0: there is none */
};

/* What a call says, and the size of its tiles. */
struct attention {
    struct tensor q, k, v, out, lse, mask, grad; /* mask.data is NULL if there is none; grad in backward only */
    struct tensor grad_q, grad_k, grad_v;
    int64_t batches, heads, groups; /* groups: heads of k and v */
    int64_t rows, columns;          /* S, T */
    int64_t width, value_width;     /* D, E */
    int64_t queries;                /* S of the call: rows, unless heads are packed */
    int64_t lse_head, lse_row;      /* elements of lse from head to head and from row to row; 0: it is not wanted */
    float scale, probability, keep_scale;
    int64_t seed;
    struct attention_parts parts;
    bool causal;
    int tile_rows, tile_columns, tile_width; /* multiples of TILE_STEP; tile_width >= both widths */
};

static inline bool attention_is_forward(enum opcode opcode)
{
    return opcode == OPCODE_ATTENTION || opcode == OPCODE_ATTENTION_IN_PARTS;
}

static inline void attention_read(struct attention *attention, const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    bool gradient_of_bias = call->opcode == OPCODE_ATTENTION_BIAS_GRADIENT;
    bool backward = !attention_is_forward(call->opcode), in_parts = call->opcode == OPCODE_ATTENTION_IN_PARTS;
    int first = backward ? 1 : 0;
    int base = backward ? 6 : 3;
    int outs = call->input_count;
    memset(attention, 0, sizeof *attention);
    attention->q = t[first];
    attention->k = t[first + 1];
    attention->v = t[first + 2];
    if (in_parts) {
        attention->parts.lse = (float *)t[3].data;
        attention->parts.out = (float *)t[4].data;
        attention->parts.width = t[4].size[4];
        attention->parts.count = (int)t[4].size[0];
    } else if (call->input_count > base) {
        attention->mask = t[base];
    }
    attention->out = backward ? t[4] : t[outs];
    attention->lse = backward ? t[5] : t[outs + 1];
    if (backward) {
        attention->grad = t[0];
    }
    if (backward && !gradient_of_bias) {
        attention->grad_q = t[outs];
        attention->grad_k = t[outs + 1];
        attention->grad_v = t[outs + 2];
    }
    attention->batches = attention->q.size[0];
    attention->heads = attention->q.size[1];
    attention->groups = attention->k.size[1];
    attention->rows = attention->q.size[2];
    attention->columns = attention->k.size[2];
    attention->width = attention->q.size[3];
    attention->value_width = attention->v.size[3];
    attention->queries = attention->rows;
    attention->lse_head = attention->lse.size[2];
    attention->lse_row = 1;
    attention->scale = (float)call->attributes.f[0];
    attention->probability = (float)call->attributes.f[1];
    attention->keep_scale = attention->probability < 1.0f ? 1.0f / (1.0f - attention->probability) : 0.0f;
    attention->causal = call->attributes.i[0] == 1;
    attention->seed = call->attributes.i[1];
}

/* The wider of keys and values: tiles are as wide, with zeros beyond what the narrower one has. */
BODY_COUNT int64_t attention_widest(const struct attention *attention)
{
    return attention->width > attention->value_width ? attention->width : attention->value_width;
}

/* The heads of [B, a, 1, D] that read the same head of k and v as the rows of one: [B, groups, a / groups, D]. */
static inline void heads_pack(struct tensor *tensor, int64_t groups)
{
    int64_t each = tensor->size[1] / groups;
    tensor->size[1] = groups;
    tensor->size[2] = each;
    tensor->stride[2] = tensor->stride[1];
    tensor->stride[1] *= each;
}

/* Forward only. If each head has one row, as in decoding, those that read the same k and v become rows of one head,
 * so that k and v are read once for all of them. Nothing else changes: the one row sees every column, causal or not,
 * and the scores are counted in the same order. */
static inline void attention_pack(struct attention *attention)
{
    struct tensor *mask = &attention->mask;
    int64_t each = attention->heads / attention->groups;
    if (attention->rows != 1 || each == 1) {
        return;
    }
    heads_pack(&attention->q, attention->groups);
    heads_pack(&attention->out, attention->groups);
    if (mask->data != NULL && mask->size[1] == 1) {
        mask->size[2] = each;
        mask->stride[2] = 0;
    } else if (mask->data != NULL) {
        heads_pack(mask, attention->groups);
    }
    attention->heads = attention->groups;
    attention->rows = each;
    attention->causal = false;
    attention->lse_row = attention->lse_head;
    attention->lse_head *= each;
}

/* A piece of one head: rows from row on against columns from column on. */
struct attention_place {
    int64_t batch, head;
    int64_t row, column;
};

/* How many tiles of rows there are over all heads, and where one of them lies; likewise of columns, over all groups. */
BODY_COUNT int64_t row_tile_count(const struct attention *attention)
{
    int64_t blocks = (attention->rows + attention->tile_rows - 1) / attention->tile_rows;
    return attention->batches * attention->heads * blocks;
}

BODY struct attention_place row_tile_place(const struct attention *attention, int64_t item)
{
    int64_t blocks = (attention->rows + attention->tile_rows - 1) / attention->tile_rows;
    int64_t head = item / blocks;
    struct attention_place place = {head / attention->heads, head % attention->heads,
                                    item % blocks * attention->tile_rows, 0};
    return place;
}

BODY_COUNT int64_t column_tile_count(const struct attention *attention)
{
    int64_t blocks = (attention->columns + attention->tile_columns - 1) / attention->tile_columns;
    return attention->batches * attention->groups * blocks;
}

BODY struct attention_place column_tile_place(const struct attention *attention, int64_t item)
{
    int64_t blocks = (attention->columns + attention->tile_columns - 1) / attention->tile_columns;
    int64_t group = item / blocks;
    struct attention_place place = {group / attention->groups, group % attention->groups, 0,
                                    item % blocks * attention->tile_columns};
    return place;
}

/* Rows [row, ..) of one head of q, out, grad or grad q; of the head's group if the tensor is k or v. */
BODY struct tile_source head_rows(const struct tensor *tensor, int64_t batch, int64_t head, int64_t row)
{
    struct tile_source source;
    int64_t index = batch * tensor->stride[0] + head * tensor->stride[1] + row * tensor->stride[2];
    source.data = element_address(tensor->data, tensor->dtype, index);
    source.dtype = tensor->dtype;
    source.row_stride = tensor->stride[2];
    source.column_stride = 1;
    source.rows = tensor->size[2] - row;
    source.columns = tensor->size[3];
    return source;
}

BODY struct tile_source source_transposed(struct tile_source source)
{
    struct tile_source transposed = source;
    transposed.row_stride = source.column_stride;
    transposed.column_stride = source.row_stride;
    transposed.rows = source.columns;
    transposed.columns = source.rows;
    return transposed;
}

/* The mask's rows by columns from the place on. */
BODY struct tile_source mask_at(const struct attention *attention, struct attention_place place)
{
    const struct tensor *mask = &attention->mask;
    int64_t head = mask->size[1] == 1 ? 0 : place.head;
    int64_t index = place.batch * mask->stride[0] + head * mask->stride[1] + place.row * mask->stride[2] +
                    place.column * mask->stride[3];
    struct tile_source source;
    source.data = element_address(mask->data, mask->dtype, index);
    source.dtype = mask->dtype;
    source.row_stride = mask->stride[2];
    source.column_stride = mask->stride[3];
    source.rows = mask->size[2] - place.row;
    source.columns = mask->size[3] - place.column;
    return source;
}

BODY float *lse_at(const struct attention *attention, int64_t batch, int64_t head, int64_t row)
{
    int64_t index = (batch * attention->heads + head) * attention->lse_head + row * attention->lse_row;
    return (float *)attention->lse.data + index;
}

/* Nothing if the call has no room for it. */
BODY void lse_write(const struct attention *attention, struct attention_place place, float value)
{
    if (attention->lse_head > 0) {
        *lse_at(attention, place.batch, place.head, place.row) = value;
    }
}

/* The end of the columns that row `row` may look at. */
BODY int64_t columns_end(const struct attention *attention, int64_t row)
{
    int64_t end = attention->columns;
    int64_t causal_end = row + (attention->columns - attention->rows) + 1;
    return attention->causal && causal_end < end ? causal_end : end;
}

/* The first of a tile's rows that may look at the tile's column j; tile_rows if none may. */
BODY int first_row_of(const struct attention *attention, struct attention_place place, int j)
{
    int64_t column = place.column + j;
    int64_t first = attention->causal ? column - (attention->columns - attention->rows) - place.row : 0;
    first = first < 0 ? 0 : first;
    return column < attention->columns && first < attention->tile_rows ? (int)first : attention->tile_rows;
}

/* The counter of the dropout decision for one score. */
BODY uint64_t score_counter(const struct attention *attention, struct attention_place place, int64_t row,
                            int64_t column)
{
    uint64_t head = (uint64_t)(place.batch * attention->heads + place.head);
    return (head * (uint64_t)attention->rows + (uint64_t)row) * (uint64_t)attention->columns + (uint64_t)column;
}

/* Of the score `offset` places after the one whose counter is `first`. A tile reaches over less than 2^32 scores, see
 * attention_check. */
BODY float dropout_factor(const struct attention *attention, struct random_key key, uint64_t first, uint32_t offset)
{
    return dropout_keeps_after(key, first, offset, attention->probability) ? attention->keep_scale : 0.0f;
}

/* ---- forward ---- */

/* The tiles of one block of rows. Scores stand with a line for each column of the matrix, so that neighbours in memory
 * are rows, which do not depend on each other. */
struct forward_tiles {
    struct tile q_transposed; /* width by rows */
    struct tile k, v;         /* columns by width */
    struct tile scores, mask; /* columns by rows */
    struct tile out;          /* rows by width */
    /* For each row: the largest score, the sum of probabilities, what they were too large by, and zeros. */
    float *maximum, *sum, *factor, *zero;
};

static inline int64_t forward_floats(int tile_rows, int tile_columns, int tile_width, bool masked)
{
    int64_t r = tile_rows, c = tile_columns, w = tile_width;
    return 2 * r * w + 2 * c * w + (masked ? 2 : 1) * c * r + 4 * r;
}

BODY struct forward_tiles forward_tiles_of(const struct attention *attention, float *scratch)
{
    int r = attention->tile_rows, c = attention->tile_columns, w = attention->tile_width;
    struct forward_tiles tiles;
    tiles.q_transposed.at = scratch, tiles.q_transposed.rows = w, tiles.q_transposed.columns = r;
    tiles.out.at = tiles.q_transposed.at + r * w, tiles.out.rows = r, tiles.out.columns = w;
    tiles.k.at = tiles.out.at + r * w, tiles.k.rows = c, tiles.k.columns = w;
    tiles.v.at = tiles.k.at + c * w, tiles.v.rows = c, tiles.v.columns = w;
    tiles.scores.at = tiles.v.at + c * w, tiles.scores.rows = c, tiles.scores.columns = r;
    tiles.maximum = tiles.scores.at + c * r;
    tiles.sum = tiles.maximum + r;
    tiles.factor = tiles.sum + r;
    tiles.zero = tiles.factor + r;
    tiles.mask.at = tiles.zero + r, tiles.mask.rows = c, tiles.mask.columns = r;
    return tiles;
}

/* Products become scores; the rows' maxima grow, and what was summed before is to be multiplied by factor. */
BODY void forward_scores(struct team team, const struct attention *attention, struct attention_place place,
                         struct forward_tiles tiles)
{
    int rows = tiles.scores.columns;
    bool masked = attention->mask.data != NULL;
    float scale = attention->scale;
    struct team_share share = team_share_of(team, rows);
    for (int group = share.first * TEAM_GROUP; group < rows; group += share.step * TEAM_GROUP) {
        float before[TEAM_GROUP], maximum[TEAM_GROUP];
        BODY_SIMD()
        for (int i = 0; i < TEAM_GROUP; i++) {
            before[i] = share.part == 0 ? tiles.maximum[group + i] : -INFINITY;
            maximum[i] = before[i];
        }
        for (int j = share.part; j < tiles.scores.rows; j += share.parts) {
            float *line = tiles.scores.at + j * rows + group;
            const float *mask = (masked ? tiles.mask.at + j * rows : tiles.zero) + group;
            int first = first_row_of(attention, place, j) - group;
            BODY_SIMD()
            for (int i = 0; i < TEAM_GROUP; i++) {
                float x = line[i] * scale + mask[i];
                x = i >= first ? x : -INFINITY;
                line[i] = x;
                maximum[i] = x > maximum[i] ? x : maximum[i];
            }
        }
        BODY_SIMD()
        for (int i = 0; i < TEAM_GROUP; i++) {
            maximum[i] = share_maximum(share, maximum[i]);
            float base = maximum[i] == -INFINITY ? 0.0f : maximum[i];
            if (share.part == 0) {
                tiles.factor[group + i] = body_exponential_falling(before[i] - base);
                tiles.maximum[group + i] = maximum[i];
            }
        }
    }
}

/* Scores become probabilities relative to the rows' maxima, and after they are summed, dropout is applied. `dropping`
 * is a constant where it is called: vectorised code would otherwise make random numbers that nobody needs. */
BODY void forward_probabilities(struct team team, const struct attention *attention, struct attention_place place,
                                struct random_key key, struct forward_tiles tiles, bool dropping)
{
    int rows = tiles.scores.columns;
    uint32_t step = (uint32_t)attention->columns;
    struct team_share share = team_share_of(team, rows);
    for (int group = share.first * TEAM_GROUP; group < rows; group += share.step * TEAM_GROUP) {
        float base[TEAM_GROUP], sum[TEAM_GROUP];
        BODY_SIMD()
        for (int i = 0; i < TEAM_GROUP; i++) {
            float maximum = tiles.maximum[group + i];
            base[i] = maximum == -INFINITY ? 0.0f : maximum;
            sum[i] = share.part == 0 ? tiles.sum[group + i] * tiles.factor[group + i] : 0.0f;
        }
        for (int j = share.part; j < tiles.scores.rows; j += share.parts) {
            float *line = tiles.scores.at + j * rows + group;
            uint64_t counter = score_counter(attention, place, place.row + group, place.column + j);
            BODY_SIMD()
            for (int i = 0; i < TEAM_GROUP; i++) {
                float p = body_exponential_falling(line[i] - base[i]);
                sum[i] += p;
                line[i] = dropping ? p * dropout_factor(attention, key, counter, (uint32_t)i * step) : p;
            }
        }
        BODY_SIMD()
        for (int i = 0; i < TEAM_GROUP; i++) {
            sum[i] = share_sum(share, sum[i]);
            if (share.part == 0) {
                tiles.sum[group + i] = sum[i];
            }
        }
    }
}

BODY void forward_column_block(struct team team, const struct attention *attention, struct attention_place place,
                               struct random_key key, struct forward_tiles tiles)
{
    int64_t group = place.head / (attention->heads / attention->groups);
    tile_load(team, tiles.k, head_rows(&attention->k, place.batch, group, place.column));
    tile_load(team, tiles.v, head_rows(&attention->v, place.batch, group, place.column));
    if (attention->mask.data != NULL) {
        tile_load(team, tiles.mask, source_transposed(mask_at(attention, place)));
    }
    tile_clear(team, tiles.scores);
    team_wait(team);
    tile_multiply_add(team, tiles.scores, tile_factor_of(tiles.k), tiles.q_transposed);
    team_wait(team);
    forward_scores(team, attention, place, tiles);
    team_wait(team);
    if (attention->probability > 0.0f) {
        forward_probabilities(team, attention, place, key, tiles, true);
    } else {
        forward_probabilities(team, attention, place, key, tiles, false);
    }
    team_wait(team);
    tile_scale_rows(team, tiles.out, tiles.factor);
    team_wait(team);
    tile_multiply_add(team, tiles.out, tile_factor_transposed(tiles.scores), tiles.v);
    team_wait(team);
}

/* One block of rows of one head: out and lse. */
BODY void attention_forward(struct team team, const struct attention *attention, struct attention_place place,
                            float *scratch)
{
    struct forward_tiles tiles = forward_tiles_of(attention, scratch);
    struct random_key key = random_key_of(attention->seed);
    tile_load(team, tiles.q_transposed,
              source_transposed(head_rows(&attention->q, place.batch, place.head, place.row)));
    tile_clear(team, tiles.out);
    for (int i = team.lane; i < attention->tile_rows; i += team.lanes) {
        tiles.maximum[i] = -INFINITY;
        tiles.sum[i] = 0.0f;
        tiles.zero[i] = 0.0f;
    }
    team_wait(team);
    int64_t last = place.row + attention->tile_rows - 1;
    last = last < attention->rows ? last : attention->rows - 1;
    int64_t end = columns_end(attention, last);
    for (place.column = 0; place.column < end; place.column += attention->tile_columns) {
        forward_column_block(team, attention, place, key, tiles);
    }
    for (int i = team.lane; i < attention->tile_rows; i += team.lanes) {
        tiles.factor[i] = tiles.sum[i] == 0.0f ? 0.0f : 1.0f / tiles.sum[i];
    }
    team_wait(team);
    tile_scale_rows(team, tiles.out, tiles.factor);
    team_wait(team);
    tile_store(team, tiles.out, head_rows(&attention->out, place.batch, place.head, place.row));
    for (int i = team.lane; i < attention->tile_rows; i += team.lanes) {
        if (place.row + i < attention->rows) {
            float sum = tiles.sum[i];
            struct attention_place row = {place.batch, place.head, place.row + i, 0};
            lse_write(attention, row, sum == 0.0f ? INFINITY : tiles.maximum[i] + logf(sum));
        }
    }
    team_wait(team);
}

#endif

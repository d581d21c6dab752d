/* The backward of attention: see body_attention.h for the formulas.
 *
 * Two sweeps make the scores again from q, k and lse. In the sweep for grad q the tile of scores has a line for each
 * column of the matrix, in the sweep for grad k and grad v one for each row; a lane takes neighbours along a line. */
#ifndef ASSAY_KERNELS_BODY_ATTENTION_BACKWARD_H
#define ASSAY_KERNELS_BODY_ATTENTION_BACKWARD_H

#include "harness/kernels/body_attention.h"

/* What both sweeps have. `still` are the tiles that stay for the whole sweep, `moving` those that change. */
struct backward_tiles {
    struct tile still_transposed[2]; /* width by still: q and grad, or k and v */
    struct tile moving[2];           /* moving by width: k and v, or q and grad */
    struct tile result[2];           /* still by width: grad q, or grad k and grad v */
    struct tile scores, slopes;      /* moving by still */
    struct tile mask;
    float *lse, *delta; /* for each row */
};

static inline int64_t backward_floats(int tile_rows, int tile_columns, int tile_width, bool masked)
{
    int64_t r = tile_rows, c = tile_columns, w = tile_width;
    int64_t larger = r > c ? r : c;
    return 6 * larger * w + (masked ? 3 : 2) * c * r + 2 * r;
}

BODY struct tile tile_take(float **scratch, int rows, int columns)
{
    struct tile tile = {*scratch, rows, columns};
    *scratch += rows * columns;
    return tile;
}

BODY struct backward_tiles backward_tiles_of(const struct attention *attention, float *scratch, bool rows_still)
{
    int still = rows_still ? attention->tile_rows : attention->tile_columns;
    int moving = rows_still ? attention->tile_columns : attention->tile_rows;
    int width = attention->tile_width;
    struct backward_tiles tiles;
    for (int t = 0; t < 2; t++) {
        tiles.still_transposed[t] = tile_take(&scratch, width, still);
        tiles.moving[t] = tile_take(&scratch, moving, width);
        tiles.result[t] = tile_take(&scratch, still, width);
    }
    tiles.scores = tile_take(&scratch, moving, still);
    tiles.slopes = tile_take(&scratch, moving, still);
    tiles.lse = tile_take(&scratch, 1, attention->tile_rows).at;
    tiles.delta = tile_take(&scratch, 1, attention->tile_rows).at;
    tiles.mask.at = scratch, tiles.mask.rows = moving, tiles.mask.columns = still;
    return tiles;
}

/* lse and delta of a tile's rows; +infinity and 0 beyond the last row. */
BODY void backward_rows(struct team team, const struct attention *attention, struct attention_place place,
                        struct backward_tiles tiles)
{
    int64_t head_index = place.batch * attention->heads + place.head;
    const float *lse = (const float *)attention->lse.data + head_index * attention->lse.size[2];
    rows_multiply(team, head_rows(&attention->grad, place.batch, place.head, place.row),
                  head_rows(&attention->out, place.batch, place.head, place.row), attention->tile_rows, tiles.delta);
    for (int i = team.lane; i < attention->tile_rows; i += team.lanes) {
        tiles.lse[i] = place.row + i < attention->rows ? lse[place.row + i] : INFINITY;
    }
}

/* The score's probability with dropout, and the gradient of the score. */
struct score_gradient {
    float kept, slope;
};

BODY struct score_gradient score_gradient_of(float score, float product, float lse, float delta, float dropout,
                                             float scale)
{
    float p = body_exponential_falling(score - lse);
    struct score_gradient gradient = {p * dropout, p * (product * dropout - delta) * scale};
    return gradient;
}

/* Scores and products become kept probabilities and slopes; a line for each column of the matrix. `dropping` is a
 * constant where it is called: vectorised code would otherwise make random numbers that nobody needs. */
BODY void backward_lines_of_columns(struct team team, const struct attention *attention, struct attention_place place,
                                    struct random_key key, struct backward_tiles tiles, bool dropping)
{
    struct team_lines lines = team_lines_of(team);
    int rows = tiles.scores.columns;
    float scale = attention->scale;
    bool masked = attention->mask.data != NULL;
    for (int j = lines.first; j < tiles.scores.rows; j += lines.step) {
        float *scores = tiles.scores.at + j * rows;
        float *slopes = tiles.slopes.at + j * rows;
        const float *mask = tiles.mask.at + j * rows;
        int first = first_row_of(attention, place, j);
        uint64_t counter = score_counter(attention, place, place.row, place.column + j);
        uint32_t step = (uint32_t)attention->columns;
        BODY_SIMD()
        for (int i = lines.lane; i < rows; i += lines.lanes) {
            float x = scores[i] * scale + (masked ? mask[i] : 0.0f);
            x = i >= first ? x : -INFINITY;
            float dropout = 1.0f;
            if (dropping) {
                dropout = dropout_factor(attention, key, counter, (uint32_t)i * step);
            }
            struct score_gradient gradient =
                score_gradient_of(x, slopes[i], tiles.lse[i], tiles.delta[i], dropout, scale);
            scores[i] = gradient.kept;
            slopes[i] = gradient.slope;
        }
    }
}

/* The same with a line for each row of the matrix. */
BODY void backward_lines_of_rows(struct team team, const struct attention *attention, struct attention_place place,
                                 struct random_key key, struct backward_tiles tiles, bool dropping)
{
    struct team_lines lines = team_lines_of(team);
    int columns = tiles.scores.columns;
    float scale = attention->scale;
    bool masked = attention->mask.data != NULL;
    for (int i = lines.first; i < tiles.scores.rows; i += lines.step) {
        float *scores = tiles.scores.at + i * columns;
        float *slopes = tiles.slopes.at + i * columns;
        const float *mask = tiles.mask.at + i * columns;
        float lse = tiles.lse[i], delta = tiles.delta[i];
        int64_t seen = columns_end(attention, place.row + i) - place.column;
        uint64_t counter = score_counter(attention, place, place.row + i, place.column);
        BODY_SIMD()
        for (int j = lines.lane; j < columns; j += lines.lanes) {
            float x = scores[j] * scale + (masked ? mask[j] : 0.0f);
            x = j < seen ? x : -INFINITY;
            float dropout = 1.0f;
            if (dropping) {
                dropout = dropout_factor(attention, key, counter, (uint32_t)j);
            }
            struct score_gradient gradient = score_gradient_of(x, slopes[j], lse, delta, dropout, scale);
            scores[j] = gradient.kept;
            slopes[j] = gradient.slope;
        }
    }
}

/* Scores and products of a pair of tiles, before scale and mask. */
BODY void backward_products(struct team team, struct backward_tiles tiles)
{
    tile_clear(team, tiles.scores);
    tile_clear(team, tiles.slopes);
    team_wait(team);
    tile_multiply_add(team, tiles.scores, tile_factor_of(tiles.moving[0]), tiles.still_transposed[0]);
    tile_multiply_add(team, tiles.slopes, tile_factor_of(tiles.moving[1]), tiles.still_transposed[1]);
    team_wait(team);
}

/* One block of rows of one head: grad q. */
BODY void attention_backward_rows(struct team team, const struct attention *attention, struct attention_place place,
                                  float *scratch)
{
    struct backward_tiles tiles = backward_tiles_of(attention, scratch, true);
    struct random_key key = random_key_of(attention->seed);
    int64_t group = place.head / (attention->heads / attention->groups);
    tile_load(team, tiles.still_transposed[0],
              source_transposed(head_rows(&attention->q, place.batch, place.head, place.row)));
    tile_load(team, tiles.still_transposed[1],
              source_transposed(head_rows(&attention->grad, place.batch, place.head, place.row)));
    backward_rows(team, attention, place, tiles);
    tile_clear(team, tiles.result[0]);
    int64_t last = place.row + attention->tile_rows - 1;
    int64_t end = columns_end(attention, last < attention->rows ? last : attention->rows - 1);
    for (place.column = 0; place.column < end; place.column += attention->tile_columns) {
        tile_load(team, tiles.moving[0], head_rows(&attention->k, place.batch, group, place.column));
        tile_load(team, tiles.moving[1], head_rows(&attention->v, place.batch, group, place.column));
        if (attention->mask.data != NULL) {
            tile_load(team, tiles.mask, source_transposed(mask_at(attention, place)));
        }
        backward_products(team, tiles);
        if (attention->probability > 0.0f) {
            backward_lines_of_columns(team, attention, place, key, tiles, true);
        } else {
            backward_lines_of_columns(team, attention, place, key, tiles, false);
        }
        team_wait(team);
        tile_multiply_add(team, tiles.result[0], tile_factor_transposed(tiles.slopes), tiles.moving[0]);
        team_wait(team);
    }
    team_wait(team);
    tile_store(team, tiles.result[0], head_rows(&attention->grad_q, place.batch, place.head, place.row));
    team_wait(team);
}

/* q and grad of one block of rows of one head. */
BODY void backward_row_load(struct team team, const struct attention *attention, struct attention_place place,
                            struct backward_tiles tiles)
{
    tile_load(team, tiles.moving[0], head_rows(&attention->q, place.batch, place.head, place.row));
    tile_load(team, tiles.moving[1], head_rows(&attention->grad, place.batch, place.head, place.row));
}

/* What one block of rows of one head, with its lse and delta, adds to the results of a block of columns. The slopes are
 * left in their tile. */
BODY void backward_row_add(struct team team, const struct attention *attention, struct attention_place place,
                           struct random_key key, struct backward_tiles tiles)
{
    if (attention->mask.data != NULL) {
        tile_load(team, tiles.mask, mask_at(attention, place));
    }
    backward_products(team, tiles);
    if (attention->probability > 0.0f) {
        backward_lines_of_rows(team, attention, place, key, tiles, true);
    } else {
        backward_lines_of_rows(team, attention, place, key, tiles, false);
    }
    team_wait(team);
    tile_multiply_add(team, tiles.result[0], tile_factor_transposed(tiles.slopes), tiles.moving[0]);
    tile_multiply_add(team, tiles.result[1], tile_factor_transposed(tiles.scores), tiles.moving[1]);
    team_wait(team);
}

/* k and v of a block of columns, and results of zero. */
BODY void backward_columns_begin(struct team team, const struct attention *attention, struct attention_place place,
                                 struct backward_tiles tiles)
{
    struct tile_source k = head_rows(&attention->k, place.batch, place.head, place.column);
    struct tile_source v = head_rows(&attention->v, place.batch, place.head, place.column);
    tile_load(team, tiles.still_transposed[0], source_transposed(k));
    tile_load(team, tiles.still_transposed[1], source_transposed(v));
    tile_clear(team, tiles.result[0]);
    tile_clear(team, tiles.result[1]);
    team_wait(team);
}

BODY void backward_columns_end(struct team team, const struct attention *attention, struct attention_place place,
                               struct backward_tiles tiles)
{
    tile_store(team, tiles.result[0], head_rows(&attention->grad_k, place.batch, place.head, place.column));
    tile_store(team, tiles.result[1], head_rows(&attention->grad_v, place.batch, place.head, place.column));
    team_wait(team);
}

/* Whether any row of the block that begins with `row` looks at columns from `column` on. */
BODY bool row_block_meets(const struct attention *attention, int64_t row, int64_t column)
{
    int64_t last = row + attention->tile_rows - 1;
    return columns_end(attention, last < attention->rows ? last : attention->rows - 1) > column;
}

/* One block of columns of one head of k and v: grad k and grad v, summed over the heads of q that read it. */
BODY void attention_backward_columns(struct team team, const struct attention *attention, int64_t batch, int64_t group,
                                     int64_t column, float *scratch)
{
    struct backward_tiles tiles = backward_tiles_of(attention, scratch, false);
    struct random_key key = random_key_of(attention->seed);
    int64_t heads_each = attention->heads / attention->groups;
    struct attention_place columns = {batch, group, 0, column};
    backward_columns_begin(team, attention, columns, tiles);
    for (int64_t head = group * heads_each; head < (group + 1) * heads_each; head++) {
        for (int64_t row = 0; row < attention->rows; row += attention->tile_rows) {
            if (row_block_meets(attention, row, column)) {
                struct attention_place place = {batch, head, row, column};
                backward_row_load(team, attention, place, tiles);
                backward_rows(team, attention, place, tiles);
                backward_row_add(team, attention, place, key, tiles);
            }
        }
    }
    backward_columns_end(team, attention, columns, tiles);
}

#endif

/* Biases of attention that are learned: which number of a table stands for a distance, and the gradient of what was
 * added to the scores.
 *
 * T5's buckets (Raffel et al. 2020, arXiv:1910.10683; _relative_position_bucket of transformers): of n buckets, halved
 * if both directions count, the first half are distances 0, 1, ..., e - 1; distance d >= e is in bucket
 * e + floor(log(d / e) / log(farthest / e) * (n - e)), at most n - 1. Counted in float64 with 2^-20 added, so that
 * powers fall on the same side on every machine: 32 buckets in both directions and 128: e = 8, and distance 16 is in
 * bucket 8 + log(2) / log(16) * 8 = 10.
 *
 * The gradient of a bias is that of its score, p_ij (d_ij - delta_i): see body_attention.h. On CUDA a block keeps some
 * rows of q and grad and walks over the columns; on the host it is a plain loop. */
#ifndef ASSAY_KERNELS_BODY_ATTENTION_BIAS_H
#define ASSAY_KERNELS_BODY_ATTENTION_BIAS_H

#include "harness/kernels/body_attention_backward.h"

struct bucket_shape {
    int64_t rows, columns;
    int64_t first; /* position of row 0 among the columns */
    int64_t buckets, exact;
    double step; /* (buckets - exact) / log(farthest / exact) */
    bool both;
};

static inline struct bucket_shape bucket_shape_of(const struct operation_call *call)
{
    const struct tensor *out = &call->tensors[0];
    const int64_t *i = call->attributes.i;
    struct bucket_shape shape;
    shape.rows = out->size[0];
    shape.columns = out->size[1];
    shape.first = i[0];
    shape.both = i[3] == 1;
    shape.buckets = shape.both ? i[1] / 2 : i[1];
    shape.exact = shape.buckets / 2;
    shape.step = (double)(shape.buckets - shape.exact) / log((double)i[2] / (double)shape.exact);
    return shape;
}

BODY int64_t position_bucket(int64_t row, int64_t column, struct bucket_shape shape)
{
    int64_t distance = shape.first + row - column;
    int64_t base = shape.both && distance < 0 ? shape.buckets : 0;
    if (distance < 0) {
        distance = shape.both ? -distance : 0;
    }
    if (distance < shape.exact) {
        return base + distance;
    }
    double beyond = log((double)distance / (double)shape.exact) * shape.step + 0x1p-20;
    int64_t bucket = shape.exact + (int64_t)beyond;
    return base + (bucket < shape.buckets ? bucket : shape.buckets - 1);
}

/* The gradient of one score before scale, which is that of its bias. product: of the rows of grad and v. */
BODY float bias_gradient_of(const struct attention *attention, struct attention_place place, struct random_key key,
                            float score, float product, float lse, float delta)
{
    float kept = attention->probability > 0.0f
                     ? dropout_factor(attention, key, score_counter(attention, place, place.row, place.column), 0)
                     : 1.0f;
    return score_gradient_of(score, product, lse, delta, kept, 1.0f).slope;
}

#ifdef __CUDACC__

/* The tiles of one block of rows; scores and products stand with a line for each row. */
struct bias_tiles {
    struct tile q, grad;                    /* rows by width */
    struct tile k_transposed, v_transposed; /* width by columns */
    struct tile scores, products, mask;     /* rows by columns */
    float *lse, *delta;
};

BODY struct bias_tiles bias_tiles_of(const struct attention *attention, float *scratch)
{
    int r = attention->tile_rows, c = attention->tile_columns, w = attention->tile_width;
    struct bias_tiles tiles;
    tiles.q = tile_take(&scratch, r, w);
    tiles.grad = tile_take(&scratch, r, w);
    tiles.k_transposed = tile_take(&scratch, w, c);
    tiles.v_transposed = tile_take(&scratch, w, c);
    tiles.scores = tile_take(&scratch, r, c);
    tiles.products = tile_take(&scratch, r, c);
    tiles.mask = tile_take(&scratch, r, c);
    tiles.lse = tile_take(&scratch, 1, r).at;
    tiles.delta = tile_take(&scratch, 1, r).at;
    return tiles;
}

/* Scores and products of a pair of tiles, and the mask. */
BODY void bias_products(struct team team, const struct attention *attention, struct attention_place place,
                        struct bias_tiles tiles)
{
    int64_t group = place.head / (attention->heads / attention->groups);
    tile_load(team, tiles.k_transposed, source_transposed(head_rows(&attention->k, place.batch, group, place.column)));
    tile_load(team, tiles.v_transposed, source_transposed(head_rows(&attention->v, place.batch, group, place.column)));
    tile_load(team, tiles.mask, mask_at(attention, place));
    tile_clear(team, tiles.scores);
    tile_clear(team, tiles.products);
    team_wait(team);
    tile_multiply_add(team, tiles.scores, tile_factor_of(tiles.q), tiles.k_transposed);
    tile_multiply_add(team, tiles.products, tile_factor_of(tiles.grad), tiles.v_transposed);
    team_wait(team);
}

/* The gradients of a pair of tiles go to out; 0 where a row may not look. computed: whether any may. */
BODY void bias_store(struct team team, const struct attention *attention, struct attention_place place,
                     struct random_key key, struct bias_tiles tiles, const struct tensor *out, bool computed)
{
    struct team_lines lines = team_lines_of(team);
    int64_t first = place.batch * out->stride[0] + place.head * out->stride[1];
    for (int i = lines.first; i < attention->tile_rows && place.row + i < attention->rows; i += lines.step) {
        int64_t end = columns_end(attention, place.row + i);
        for (int j = lines.lane; j < attention->tile_columns && place.column + j < attention->columns;
             j += lines.lanes) {
            struct attention_place at = {place.batch, place.head, place.row + i, place.column + j};
            float gradient = 0.0f;
            if (computed && at.column < end) {
                int k = i * attention->tile_columns + j;
                gradient =
                    bias_gradient_of(attention, at, key, tiles.scores.at[k] * attention->scale + tiles.mask.at[k],
                                     tiles.products.at[k], tiles.lse[i], tiles.delta[i]);
            }
            float_store(out->data, out->dtype, first + at.row * out->stride[2] + at.column * out->stride[3], gradient);
        }
    }
}

/* One block of rows of one head. */
BODY void attention_bias_rows(struct team team, const struct attention *attention, struct attention_place place,
                              const struct tensor *out, float *scratch)
{
    struct bias_tiles tiles = bias_tiles_of(attention, scratch);
    struct random_key key = random_key_of(attention->seed);
    struct tile_source grad = head_rows(&attention->grad, place.batch, place.head, place.row);
    tile_load(team, tiles.q, head_rows(&attention->q, place.batch, place.head, place.row));
    tile_load(team, tiles.grad, grad);
    rows_multiply(team, grad, head_rows(&attention->out, place.batch, place.head, place.row), attention->tile_rows,
                  tiles.delta);
    for (int i = team.lane; i < attention->tile_rows; i += team.lanes) {
        bool inside = place.row + i < attention->rows;
        tiles.lse[i] = inside ? *lse_at(attention, place.batch, place.head, place.row + i) : INFINITY;
    }
    int64_t last = place.row + attention->tile_rows - 1;
    int64_t end = columns_end(attention, last < attention->rows ? last : attention->rows - 1);
    for (; place.column < attention->columns; place.column += attention->tile_columns) {
        bool computed = place.column < end;
        if (computed) {
            bias_products(team, attention, place, tiles);
        }
        bias_store(team, attention, place, key, tiles, out, computed);
        team_wait(team);
    }
}

#else

/* sum_k a[k] b[k] over `count` elements that lie side by side. */
BODY float bias_product(struct tile_source a, struct tile_source b, int64_t count)
{
    float sum = 0.0f;
    for (int64_t k = 0; k < count; k++) {
        sum += float_load(a.data, a.dtype, k) * float_load(b.data, b.dtype, k);
    }
    return sum;
}

/* grad_i out_i of the place's row. */
BODY float bias_delta(const struct attention *attention, struct attention_place place)
{
    return bias_product(head_rows(&attention->grad, place.batch, place.head, place.row),
                        head_rows(&attention->out, place.batch, place.head, place.row), attention->out.size[3]);
}

/* The gradient of one score before scale, which is that of its bias. */
BODY float bias_gradient(const struct attention *attention, struct attention_place place, struct random_key key,
                         float delta)
{
    int64_t group = place.head / (attention->heads / attention->groups);
    if (place.column >= columns_end(attention, place.row)) {
        return 0.0f;
    }
    float score = bias_product(head_rows(&attention->q, place.batch, place.head, place.row),
                               head_rows(&attention->k, place.batch, group, place.column), attention->q.size[3]);
    float product = bias_product(head_rows(&attention->grad, place.batch, place.head, place.row),
                                 head_rows(&attention->v, place.batch, group, place.column), attention->v.size[3]);
    struct tile_source mask = mask_at(attention, place);
    score = score * attention->scale + float_load(mask.data, mask.dtype, 0);
    return bias_gradient_of(attention, place, key, score, product,
                            *lse_at(attention, place.batch, place.head, place.row), delta);
}

#endif

#endif

/* Biases of attention that are learned: which number of a table stands for a distance, and the gradient of what was
 * added to the scores.
 *
 * T5's buckets (Raffel et al. 2020, arXiv:1910.10683; _relative_position_bucket of transformers): of n buckets, halved
 * if both directions count, the first half are distances 0, 1, ..., e - 1; distance d >= e is in bucket
 * e + floor(log(d / e) / log(farthest / e) * (n - e)), at most n - 1. Counted in float64 with 2^-20 added, so that
 * powers fall on the same side on every machine: 32 buckets in both directions and 128: e = 8, and distance 16 is in
 * bucket 8 + log(2) / log(16) * 8 = 10.
 *
 * The gradient of a bias is that of its score, p_ij (d_ij - delta_i): see body_attention.h. */
#ifndef ASSAY_KERNELS_BODY_ATTENTION_BIAS_H
#define ASSAY_KERNELS_BODY_ATTENTION_BIAS_H

#include "harness/kernels/body_attention.h"

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
    float p = body_exponential_falling(score - *lse_at(attention, place.batch, place.head, place.row));
    float kept = attention->probability > 0.0f
                     ? dropout_factor(attention, key, score_counter(attention, place, place.row, place.column), 0)
                     : 1.0f;
    return p * (product * kept - delta);
}

#endif

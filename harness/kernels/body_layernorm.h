/* Layer normalisation of one row and its backward. */
#ifndef ASSAY_KERNELS_BODY_LAYERNORM_H
#define ASSAY_KERNELS_BODY_LAYERNORM_H

#include "harness/kernels/body.h"

struct row_moments {
    float mean;
    float reciprocal_deviation;
};

/* In two passes: the difference of squares would cancel. The variance is the biased one. */
BODY struct row_moments row_moments_of(struct team team, struct span a, int64_t columns, float epsilon)
{
    float sum = 0.0f;
    BODY_SIMD(reduction(+ : sum))
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        sum += span_get(a, k);
    }
    struct row_moments moments;
    moments.mean = team_sum(team, sum) / (float)columns;
    float mean = moments.mean;
    float squares = 0.0f;
    BODY_SIMD(reduction(+ : squares))
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        float difference = span_get(a, k) - mean;
        squares += difference * difference;
    }
    moments.reciprocal_deviation = 1.0f / sqrtf(team_sum(team, squares) / (float)columns + epsilon);
    return moments;
}

BODY struct row_moments layernorm_row(struct team team, struct span a, struct span weight, struct span bias,
                                      struct span out, int64_t columns, float epsilon)
{
    struct row_moments moments = row_moments_of(team, a, columns, epsilon);
    float mean = moments.mean;
    float reciprocal = moments.reciprocal_deviation;
    BODY_SIMD()
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        span_set(out, k, (span_get(a, k) - mean) * reciprocal * span_get(weight, k) + span_get(bias, k));
    }
    return moments;
}

/* With x the normalised row and g = grad weight: reciprocal (g - mean(g) - x mean(g x)). */
BODY void layernorm_backward_row(struct team team, struct span grad, struct span a, struct row_moments moments,
                                 struct span weight, struct span out, int64_t columns)
{
    float mean = moments.mean;
    float reciprocal = moments.reciprocal_deviation;
    float sum = 0.0f;
    float product = 0.0f;
    BODY_SIMD(reduction(+ : sum, product))
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        float g = span_get(grad, k) * span_get(weight, k);
        sum += g;
        product += g * ((span_get(a, k) - mean) * reciprocal);
    }
    sum = team_sum(team, sum) / (float)columns;
    product = team_sum(team, product) / (float)columns;
    BODY_SIMD()
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        float g = span_get(grad, k) * span_get(weight, k);
        float x = (span_get(a, k) - mean) * reciprocal;
        span_set(out, k, reciprocal * (g - sum - x * product));
    }
}

#endif

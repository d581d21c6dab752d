/* Layer normalisation of one row and its backward. */
#ifndef ASSAY_KERNELS_BODY_LAYERNORM_H
#define ASSAY_KERNELS_BODY_LAYERNORM_H

#include "harness/kernels/body_moments.h"

struct row_moments {
    float mean;
    float reciprocal_deviation;
};

/* In two passes: the difference of squares would cancel. The variance is the biased one. */
ROW_BODY struct row_moments row_moments_of(struct team team, ROW a, int64_t columns, float epsilon)
{
    struct row_moments moments;
    float sum = 0.0f, squares = 0.0f;
    ROW_EACH(a, place, { sum = group_sum(row_get(a, place), sum); });
    moments.mean = team_sum(team, sum) / (float)columns;
    ROW_EACH(a, place, { squares = group_squares(row_get(a, place), moments.mean, squares); });
    moments.reciprocal_deviation = 1.0f / sqrtf(team_sum(team, squares) / (float)columns + epsilon);
    return moments;
}

GROUP_BODY void group_normalize(GROUP x, GROUP weight, GROUP bias, GROUP *y, struct row_moments moments)
{
    float mean = moments.mean;
    float reciprocal = moments.reciprocal_deviation;
    GROUP_SIMD()
    for (int64_t k = 0; k < GROUP_SIZE(x); k++) {
        y->at[k] = (x.at[k] - mean) * reciprocal * weight.at[k] + bias.at[k];
    }
}

ROW_BODY struct row_moments layernorm_row(struct team team, ROW a, MEMORY_ROW weight, MEMORY_ROW bias, MEMORY_ROW out,
                                          int64_t columns, float epsilon)
{
    struct row_moments moments = row_moments_of(team, a, columns, epsilon);
    ROW_EACH(a, place, {
        GROUP y = row_target(out, place);
        group_normalize(row_get(a, place), row_get(weight, place), row_get(bias, place), &y, moments);
        row_set(out, place, y);
    });
    return moments;
}

/* With g = grad weight and x the normalised row. */
struct row_gradient_sums {
    float g, g_x;
};

GROUP_BODY struct row_gradient_sums group_gradient_sums(GROUP grad, GROUP weight, GROUP a, struct row_moments moments,
                                                        struct row_gradient_sums sums)
{
    float mean = moments.mean;
    float reciprocal = moments.reciprocal_deviation;
    float sum = sums.g;
    float product = sums.g_x;
    GROUP_SIMD(reduction(+ : sum, product))
    for (int64_t k = 0; k < GROUP_SIZE(grad); k++) {
        float g = grad.at[k] * weight.at[k];
        float x = (a.at[k] - mean) * reciprocal;
        if (group_has(grad, k)) {
            sum += g;
            product += g * x;
        }
    }
    sums.g = sum;
    sums.g_x = product;
    return sums;
}

GROUP_BODY void group_gradient(GROUP grad, GROUP weight, GROUP a, GROUP *y, struct row_moments moments,
                               struct row_gradient_sums means)
{
    float mean = moments.mean;
    float reciprocal = moments.reciprocal_deviation;
    GROUP_SIMD()
    for (int64_t k = 0; k < GROUP_SIZE(grad); k++) {
        float g = grad.at[k] * weight.at[k];
        float x = (a.at[k] - mean) * reciprocal;
        y->at[k] = reciprocal * (g - means.g - x * means.g_x);
    }
}

/* reciprocal (g - mean(g) - x mean(g x)) */
ROW_BODY void layernorm_backward_row(struct team team, ROW grad, ROW a, struct row_moments moments, MEMORY_ROW weight,
                                     MEMORY_ROW out, int64_t columns)
{
    struct row_gradient_sums sums = {0.0f, 0.0f};
    ROW_EACH(a, place, {
        sums = group_gradient_sums(row_get(grad, place), row_get(weight, place), row_get(a, place), moments, sums);
    });
    sums.g = team_sum(team, sums.g) / (float)columns;
    sums.g_x = team_sum(team, sums.g_x) / (float)columns;
    ROW_EACH(a, place, {
        GROUP y = row_target(out, place);
        group_gradient(row_get(grad, place), row_get(weight, place), row_get(a, place), &y, moments, sums);
        row_set(out, place, y);
    });
}

#endif

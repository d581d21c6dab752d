/* Softmax and log-softmax of one row, and their backward. a and out may be the same memory: every element is read
 * before it is written by the same lane. */
#ifndef ASSAY_KERNELS_BODY_SOFTMAX_H
#define ASSAY_KERNELS_BODY_SOFTMAX_H

#include "harness/kernels/body_function.h"
#include "harness/kernels/body_row.h"

/* Both halves at a time: one chain of maxima would wait for itself. */
GROUP_BODY float group_maximum(GROUP x, float maximum)
{
    int64_t size = GROUP_SIZE(x), half = size / 2;
    float low = maximum;
    if (half * 2 < size) {
        low = x.at[size - 1] > low ? x.at[size - 1] : low;
    }
    float high = low;
    GROUP_SIMD(reduction(max : low, high))
    for (int64_t k = 0; k < half; k++) {
        float first = group_has(x, k) ? x.at[k] : low;
        float second = group_has(x, k + half) ? x.at[k + half] : high;
        low = first > low ? first : low;
        high = second > high ? second : high;
    }
    return low > high ? low : high;
}

ROW_BODY float row_maximum(struct team team, ROW a)
{
    float maximum = -INFINITY;
    ROW_EACH(a, place, { maximum = group_maximum(row_get(a, place), maximum); });
    return team_maximum(team, maximum);
}

/* What is left in y on the way to the result. */
enum row_step { ROW_EXPONENTIALS, ROW_DIFFERENCES };

/* sum + the sum of e^(x - maximum). */
GROUP_BODY float group_exponentials(GROUP x, GROUP *y, float maximum, enum row_step step, float sum)
{
    GROUP_SIMD(reduction(+ : sum))
    for (int64_t k = 0; k < GROUP_SIZE(x); k++) {
        float difference = x.at[k] - maximum;
        float e = body_exponential_falling(difference);
        if (group_has(x, k)) {
            sum += e;
        }
        y->at[k] = step == ROW_EXPONENTIALS ? e : difference;
    }
    return sum;
}

/* The sum over the row. The terms, or their logarithms, are kept in out. */
ROW_BODY float row_exponentials(struct team team, ROW a, ROW out, float maximum, enum row_step step)
{
    float sum = 0.0f;
    ROW_EACH(a, place, {
        GROUP y = row_target(out, place);
        sum = group_exponentials(row_get(a, place), &y, maximum, step, sum);
        row_keep(out, place, y);
    });
    return team_sum(team, sum);
}

/* y = factor * y + shift */
GROUP_BODY void group_affine(GROUP *y, float factor, float shift)
{
    GROUP_SIMD()
    for (int64_t k = 0; k < GROUP_SIZE(*y); k++) {
        y->at[k] = factor * y->at[k] + shift;
    }
}

/* out = factor * (what row_exponentials left) + shift; if it could not be kept it is made again. */
ROW_BODY void row_finish(ROW a, ROW out, float maximum, enum row_step step, float factor, float shift)
{
    ROW_EACH(a, place, {
        GROUP y = row_kept(out, place);
        if (!row_keeps(place)) {
            (void)group_exponentials(row_get(a, place), &y, maximum, step, 0.0f);
        }
        group_affine(&y, factor, shift);
        row_set(out, place, y);
    });
}

ROW_BODY void softmax_row(struct team team, ROW a, ROW out)
{
    float maximum = row_maximum(team, a);
    float factor = 1.0f / row_exponentials(team, a, out, maximum, ROW_EXPONENTIALS);
    row_finish(a, out, maximum, ROW_EXPONENTIALS, factor, 0.0f);
}

ROW_BODY void log_softmax_row(struct team team, ROW a, ROW out)
{
    float maximum = row_maximum(team, a);
    float logarithm = logf(row_exponentials(team, a, out, maximum, ROW_DIFFERENCES));
    row_finish(a, out, maximum, ROW_DIFFERENCES, 1.0f, -logarithm);
}

/* sum + the sum of grad, times result if `products`. */
GROUP_BODY float group_products(GROUP grad, GROUP result, bool products, float sum)
{
    GROUP_SIMD(reduction(+ : sum))
    for (int64_t k = 0; k < GROUP_SIZE(grad); k++) {
        if (group_has(grad, k)) {
            sum += products ? grad.at[k] * result.at[k] : grad.at[k];
        }
    }
    return sum;
}

ROW_BODY float row_products(struct team team, ROW grad, ROW result, bool products)
{
    float sum = 0.0f;
    ROW_EACH(grad, place, { sum = group_products(row_get(grad, place), row_get(result, place), products, sum); });
    return team_sum(team, sum);
}

GROUP_BODY void group_softmax_backward(GROUP grad, GROUP result, GROUP *y, float sum)
{
    GROUP_SIMD()
    for (int64_t k = 0; k < GROUP_SIZE(grad); k++) {
        y->at[k] = result.at[k] * (grad.at[k] - sum);
    }
}

/* result (grad - sum(grad result)) */
ROW_BODY void softmax_backward_row(struct team team, ROW grad, ROW result, MEMORY_ROW out)
{
    float sum = row_products(team, grad, result, true);
    ROW_EACH(grad, place, {
        GROUP y = row_target(out, place);
        group_softmax_backward(row_get(grad, place), row_get(result, place), &y, sum);
        row_set(out, place, y);
    });
}

GROUP_BODY void group_log_softmax_backward(GROUP grad, GROUP result, GROUP *y, float sum)
{
    GROUP_SIMD()
    for (int64_t k = 0; k < GROUP_SIZE(grad); k++) {
        y->at[k] = grad.at[k] - body_exponential_falling(result.at[k]) * sum;
    }
}

/* grad - e^result sum(grad) */
ROW_BODY void log_softmax_backward_row(struct team team, ROW grad, ROW result, MEMORY_ROW out)
{
    float sum = row_products(team, grad, result, false);
    ROW_EACH(grad, place, {
        GROUP y = row_target(out, place);
        group_log_softmax_backward(row_get(grad, place), row_get(result, place), &y, sum);
        row_set(out, place, y);
    });
}

#endif

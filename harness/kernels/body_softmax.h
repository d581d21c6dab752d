/* Softmax and log-softmax of one row, and their backward. a and out may be the same memory: every element is read
 * before it is written by the same lane. */
#ifndef ASSAY_KERNELS_BODY_SOFTMAX_H
#define ASSAY_KERNELS_BODY_SOFTMAX_H

#include "harness/kernels/body_function.h"

/* Both halves at a time: one chain of maxima would wait for itself. */
BODY float row_maximum(struct team team, struct span a, int64_t columns)
{
    int64_t half = columns / 2;
    float low = columns > 0 ? span_get(a, columns - 1) : -INFINITY;
    float high = low;
    BODY_SIMD(reduction(max : low, high))
    for (int64_t k = team.lane; k < half; k += team.lanes) {
        float first = span_get(a, k), second = span_get(a, k + half);
        low = first > low ? first : low;
        high = second > high ? second : high;
    }
    return team_maximum(team, low > high ? low : high);
}

/* What is left in out on the way to the result. */
enum row_step { ROW_EXPONENTIALS, ROW_DIFFERENCES };

/* The sum of e^(a - maximum). Where spans keep floats, the terms or their logarithms are left in out: they need not be
 * made again, and the memory of out arrives while there is something to compute. */
BODY float row_exponentials(struct team team, struct span a, struct span out, float maximum, enum row_step step,
                            int64_t columns)
{
    float sum = 0.0f;
    BODY_SIMD(reduction(+ : sum))
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        float difference = span_get(a, k) - maximum;
        float e = body_exponential_falling(difference);
        sum += e;
        if (SPAN_KEEPS_FLOATS) {
            span_set(out, k, step == ROW_EXPONENTIALS ? e : difference);
        }
    }
    return team_sum(team, sum);
}

BODY void softmax_row(struct team team, struct span a, struct span out, int64_t columns)
{
    float maximum = row_maximum(team, a, columns);
    float factor = 1.0f / row_exponentials(team, a, out, maximum, ROW_EXPONENTIALS, columns);
    BODY_SIMD()
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        float e = SPAN_KEEPS_FLOATS ? span_get(out, k) : body_exponential_falling(span_get(a, k) - maximum);
        span_set(out, k, e * factor);
    }
}

BODY void log_softmax_row(struct team team, struct span a, struct span out, int64_t columns)
{
    float maximum = row_maximum(team, a, columns);
    float logarithm = logf(row_exponentials(team, a, out, maximum, ROW_DIFFERENCES, columns));
    BODY_SIMD()
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        float difference = SPAN_KEEPS_FLOATS ? span_get(out, k) : span_get(a, k) - maximum;
        span_set(out, k, difference - logarithm);
    }
}

/* result (grad - sum(grad result)) */
BODY void softmax_backward_row(struct team team, struct span grad, struct span result, struct span out, int64_t columns)
{
    float sum = 0.0f;
    BODY_SIMD(reduction(+ : sum))
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        sum += span_get(grad, k) * span_get(result, k);
    }
    sum = team_sum(team, sum);
    BODY_SIMD()
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        span_set(out, k, span_get(result, k) * (span_get(grad, k) - sum));
    }
}

/* grad - e^result sum(grad) */
BODY void log_softmax_backward_row(struct team team, struct span grad, struct span result, struct span out,
                                   int64_t columns)
{
    float sum = 0.0f;
    BODY_SIMD(reduction(+ : sum))
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        sum += span_get(grad, k);
    }
    sum = team_sum(team, sum);
    BODY_SIMD()
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        span_set(out, k, span_get(grad, k) - body_exponential_falling(span_get(result, k)) * sum);
    }
}

#endif

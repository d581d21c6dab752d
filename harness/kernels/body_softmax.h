/* Softmax and log-softmax of one row, and their backward. a and out may be the same memory: every element is read
 * before it is written by the same lane. */
#ifndef ASSAY_KERNELS_BODY_SOFTMAX_H
#define ASSAY_KERNELS_BODY_SOFTMAX_H

#include "harness/kernels/body_function.h"

BODY float row_maximum(struct team team, struct span a, int64_t columns)
{
    float maximum = -INFINITY;
    BODY_SIMD(reduction(max : maximum))
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        float value = span_get(a, k);
        maximum = value > maximum ? value : maximum;
    }
    return team_maximum(team, maximum);
}

BODY void softmax_row(struct team team, struct span a, struct span out, int64_t columns)
{
    float maximum = row_maximum(team, a, columns);
    float sum = 0.0f;
    BODY_SIMD(reduction(+ : sum))
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        sum += body_exponential(span_get(a, k) - maximum);
    }
    float factor = 1.0f / team_sum(team, sum);
    BODY_SIMD()
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        span_set(out, k, body_exponential(span_get(a, k) - maximum) * factor);
    }
}

BODY void log_softmax_row(struct team team, struct span a, struct span out, int64_t columns)
{
    float maximum = row_maximum(team, a, columns);
    float sum = 0.0f;
    BODY_SIMD(reduction(+ : sum))
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        sum += body_exponential(span_get(a, k) - maximum);
    }
    float logarithm = logf(team_sum(team, sum));
    BODY_SIMD()
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        span_set(out, k, span_get(a, k) - maximum - logarithm);
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
        span_set(out, k, span_get(grad, k) - body_exponential(span_get(result, k)) * sum);
    }
}

#endif

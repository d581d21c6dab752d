/* Cross entropy of one row of logits, which become the gradient of its loss. */
#ifndef ASSAY_KERNELS_BODY_CROSS_ENTROPY_H
#define ASSAY_KERNELS_BODY_CROSS_ENTROPY_H

#include "harness/kernels/body_softmax.h"

/* share * (log sum e^logits - logits[target]); logits = share * (softmax - 1 at the target), rounded once. 0 <= target <
 * columns. The lanes read the target's logit before any writes: row_maximum waits for them all. */
BODY float cross_entropy_row(struct team team, struct span logits, int64_t target, float share, int64_t columns)
{
    float chosen = span_get(logits, target);
    float maximum = row_maximum(team, logits, columns);
    float sum = row_exponentials(team, logits, logits, maximum, ROW_EXPONENTIALS, columns);
    float factor = 1.0f / sum;
    BODY_SIMD()
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        float e = SPAN_KEEPS_FLOATS ? span_get(logits, k) : body_exponential_falling(span_get(logits, k) - maximum);
        float hit = k == target ? 1.0f : 0.0f;
        span_set(logits, k, (e * factor - hit) * share);
    }
    return (maximum - chosen + logf(sum)) * share;
}

#endif

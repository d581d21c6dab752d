/* Cross entropy of one row of logits, which become the gradient of its loss. */
#ifndef ASSAY_KERNELS_BODY_CROSS_ENTROPY_H
#define ASSAY_KERNELS_BODY_CROSS_ENTROPY_H

#include "harness/kernels/body_softmax.h"

/* share * (log sum e^row - row[target]); row = share * (softmax - 1 at the target), rounded once. memory: where the row
 * lies. A team without a row has one without columns and target -1, and its result means nothing.
 *
 * The target's logit is read before any lane writes, and its gradient written after all have: it is made from float32,
 * because softmax - 1 cancels. */
ROW_BODY float cross_entropy_row(struct team team, struct span memory, ROW row, int64_t target, float share)
{
    float chosen = target >= 0 ? span_get(memory, target) : 0.0f;
    team_wait(team);
    float maximum = row_maximum(team, row);
    float sum = row_exponentials(team, row, row, maximum, ROW_EXPONENTIALS);
    row_finish(row, row, maximum, ROW_EXPONENTIALS, share / sum, 0.0f);
    team_wait(team);
    if (target >= 0 && team.lane == 0) {
        span_set(memory, target, (body_exponential_falling(chosen - maximum) / sum - 1.0f) * share);
    }
    return (maximum - chosen + logf(sum)) * share;
}

#endif

/* Sum: which dimensions are summed and which are kept. */
#ifndef ASSAY_KERNELS_BODY_SUM_H
#define ASSAY_KERNELS_BODY_SUM_H

#include "harness/kernels/body_walk.h"

struct sum_plan {
    struct walk kept;   /* outputs: tensor 0 steps through a, tensor 1 through out */
    struct walk summed; /* what belongs to one output: tensor 0 steps through a */
};

/* a and out, the first and the last tensor of the call, agree in rank; each size of out is that of a or 1. */
WALK struct sum_plan sum_plan_of(const struct operation_call *call)
{
    const struct tensor *a = &call->tensors[0], *out = &call->tensors[call->input_count];
    struct tensor kept[2], summed;
    kept[0] = *a;
    kept[1] = *out;
    summed = *a;
    for (int d = 0; d < a->rank; d++) {
        bool is_kept = out->size[d] == a->size[d];
        kept[0].size[d] = kept[1].size[d] = is_kept ? a->size[d] : 1;
        summed.size[d] = is_kept ? 1 : a->size[d];
    }
    struct sum_plan plan;
    plan.kept = walk_of(kept, 2);
    plan.summed = walk_of(&summed, 1);
    return plan;
}

/* Whether neighbours in the memory of a belong to different outputs. */
WALK bool sum_plan_is_columns(const struct sum_plan *plan)
{
    const struct walk *kept = &plan->kept;
    return kept->line_length > 1 && kept->stride[0][kept->rank - 1] == 1;
}

#endif

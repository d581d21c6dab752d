/* Workload fit: whether a model can do what a workload says. */
#ifndef ASSAY_WORKLOAD_WORKLOAD_FIT_H
#define ASSAY_WORKLOAD_WORKLOAD_FIT_H

#include "harness/case/workload.h"
#include "models/config/config.h"

/* STATUS_INVALID, reason and remedy, if it cannot. repeats: of a generation steps are told once
 * (workload_tape_brief). */
enum status_code workload_fit_check(const struct config *config, const struct workload *workload, bool repeats,
                                    struct status *error);

/* How many tokens a sequence of the workload has at its longest, if that is more than the positions that a model of
 * any length (rotary, ALiBi) was made for; else 0. It runs all the same. */
int64_t workload_tokens_beyond(const struct config *config, const struct workload *workload);

#endif

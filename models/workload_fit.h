/* Workload fit: whether a model can do what a workload says. */
#ifndef ASSAY_MODELS_WORKLOAD_FIT_H
#define ASSAY_MODELS_WORKLOAD_FIT_H

#include "models/config.h"
#include "models/workload.h"

/* STATUS_INVALID, reason and remedy, where it cannot. repeats: of a generation steps are told once (workload_tape_brief). */
enum status_code workload_fit_check(const struct config *config, const struct workload *workload, bool repeats,
                                    struct status *error);

#endif

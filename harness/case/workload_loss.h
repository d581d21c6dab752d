/* Workload loss: what contradicts a loss in chunks, or classes that are not transformers', in other fields of a
 * case. */
#ifndef ASSAY_CASE_WORKLOAD_LOSS_H
#define ASSAY_CASE_WORKLOAD_LOSS_H

#include "harness/case/workload.h"

/* STATUS_INVALID with the remedy. Nothing is said of modes that take no loss. */
enum status_code workload_loss_check(const struct workload *workload, struct status *error);

#endif

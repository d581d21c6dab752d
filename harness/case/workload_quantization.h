/* Workload, quantised weights: which of their fields go together, for workload_check. */
#ifndef ASSAY_CASE_WORKLOAD_QUANTIZATION_H
#define ASSAY_CASE_WORKLOAD_QUANTIZATION_H

#include "harness/case/workload.h"

/* STATUS_INVALID names the field and the remedy. */
enum status_code workload_quantization_check(const struct workload *workload, struct status *error);

#endif

/* Case work: how much there is to do for a case, by its tape, and how long that takes roughly. For who divides cases
 * among machines: it touches no device, takes about a millisecond a case, and says the same on every machine.
 *
 * Worked number: a product of [128, 768] with [768, 3072] in float32 is 2 * 128 * 3072 * 768 = 603,979,776 operations
 * and touches (128 * 768 + 768 * 3072 + 128 * 3072) * 4 = 11,403,264 bytes. */
#ifndef ASSAY_RUN_CASE_WORK_H
#define ASSAY_RUN_CASE_WORK_H

#include <stdint.h>

#include "harness/base/status.h"
#include "harness/case/workload.h"
#include "harness/device/device_spec.h"
#include "harness/tape/target.h"
#include "models/config/config.h"
#include "models/skeleton/skeleton.h"

/* Of one attempt. Sums that do not fit are INT64_MAX. */
struct case_work {
    int64_t operation_count; /* additions and multiplications of products, convolutions and attention */
    int64_t touched_bytes;   /* of what all operations read and write, each look at a tensor counted */
};

/* By the tape of the workload on one device: what a placement or a checkpoint adds is not counted, and a batch that is
 * looked for counts as the first one that is tried. Errors are those of workload_tape. */
enum status_code case_work_of(const struct config *config, const struct skeleton *skeleton,
                              const struct workload *workload, const struct target *target, struct case_work *work,
                              struct status *error);

/* Roughly the milliseconds of one attempt: a process and its device, the operations, the bytes; >= 1. auto counts as a
 * GPU. The rates are fitted to results/reference (docs/decisions/0031); a balance needs their ratio alone. */
int64_t case_work_ms(const struct case_work *work, enum device_kind kind);

#endif

/* Run inside: what a run knows while it lasts. Of run.c, which begins and ends it, and run_workers.c, which makes its
 * attempts; not for anybody else. */
#ifndef ASSAY_RUN_RUN_INSIDE_H
#define ASSAY_RUN_RUN_INSIDE_H

#include "harness/run/device_claim.h"
#include "harness/run/external_estimates.h"
#include "harness/run/gpu_lanes.h"
#include "harness/run/resumption.h"
#include "harness/run/run.h"
#include "harness/run/run_signals.h"
#include "harness/run/worker.h"

struct run {
    const struct run_options *options;
    struct run_options own; /* these, with the lanes of the run */
    struct gpu_lanes lanes; /* of --device cuda:all; none: the workers are alike */
    int worker_count;
    struct record_writer *writer;
    struct worker *workers;
    int next_case, next_attempt; /* what is to be started next */
    int next_number;             /* of that attempt among all of the run */
    int done;
    bool *failed; /* by case of the suite: an attempt at it failed or could not be measured */
    int failed_count;
    struct resumption resumption; /* of the run that goes on; all zero: this one begins */
    struct outcome outcome;       /* of the attempts that have ended */
    struct run_signals signals;
    struct device_claim claim;
    struct external_estimates external;
    struct run_result result;
    struct status *error;
};

/* Makes every attempt that is not made yet, until all have ended, a signal comes, so many cases have failed as the
 * options allow, or a record cannot be written. Fills done, outcome and result. STATUS_IO, STATUS_OUT_OF_MEMORY. */
enum status_code run_attempts_make(struct run *run);

#endif

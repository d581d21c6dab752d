/* Run check: what can be told of the options of a run before anything is asked or written. Internal to harness/run. */
#ifndef ASSAY_RUN_RUN_CHECK_H
#define ASSAY_RUN_RUN_CHECK_H

#include "harness/run/run.h"

/* STATUS_INVALID with the cause and the remedy. *total: the attempts that the run is to make, at least 1. */
enum status_code run_options_check(const struct run_options *options, int *total, struct status *error);

#endif

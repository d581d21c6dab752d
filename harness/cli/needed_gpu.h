/* Needed GPU: --need-gpu, for a job that is to fail if its GPU is gone, and not to measure something else instead. */
#ifndef ASSAY_CLI_NEEDED_GPU_H
#define ASSAY_CLI_NEEDED_GPU_H

#include "harness/base/status.h"
#include "harness/run/run.h"

/* Whether each case that is chosen stands on GPUs that open, or are only taken by another run. STATUS_INVALID:
 * run->device is not a GPU. STATUS_NO_GPU: one does not open, with the reason; or the suite says that a case stands on
 * something else, with its place. Each GPU is opened in a process of its own. */
enum status_code needed_gpu_check(const struct run_options *run, struct status *error);

#endif

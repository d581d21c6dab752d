/* Needed GPU: --need-gpu, for a job that is to fail where its GPU is gone, and not to measure the host instead. */
#ifndef ASSAY_CLI_NEEDED_GPU_H
#define ASSAY_CLI_NEEDED_GPU_H

#include "harness/base/status.h"

/* Whether the GPU that device stands for (NULL or "auto": the first) opens, or is only taken by another run. device is
 * a spec of device_open. STATUS_INVALID: it is no GPU. STATUS_NO_GPU: it does not open, with the reason. Opens it in a
 * process of its own. */
enum status_code needed_gpu_check(const char *device, const char *lock_folder, struct status *error);

#endif

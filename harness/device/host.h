/* The host device: memory really mapped and touched, mathematics really done.
 *
 * Segments are anonymous mappings whose pages are written once, so that RSS counts them, and unmapped when given back.
 * process_bytes is RSS; device figures are not valid, because the machine's memory is everybody's. Rows are computed by
 * harness/kernels, products by OpenBLAS, both on all cores that OpenMP gives this process. Opening it loads OpenBLAS
 * and takes all scratch memory, so that both are part of the baseline (the stage "context"). One thread at a time may
 * call a device. */
#ifndef ASSAY_DEVICE_HOST_H
#define ASSAY_DEVICE_HOST_H

#include <stdint.h>

#include "harness/base/status.h"
#include "harness/device/device.h"

/* bound_bytes: the most that segments may hold together; 0: what the machine has available. STATUS_UNAVAILABLE if
 * OpenBLAS is not installed. */
enum status_code host_open(int64_t bound_bytes, struct device **device, struct status *error);

/* As device_identify; never fails. */
enum status_code host_identify(int64_t bound_bytes, struct device_identity *identity, struct status *error);

#endif

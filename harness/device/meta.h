/* The meta device: a device without memory or arithmetic, on which a replay is a prediction.
 *
 * Segments have distinct addresses that must not be followed. Nothing is stored: copy_from_host and run do nothing,
 * copy_to_host is STATUS_INTERNAL. No reading is valid, but what a bound leaves free. */
#ifndef ASSAY_DEVICE_META_H
#define ASSAY_DEVICE_META_H

#include <stdint.h>

#include "harness/base/status.h"
#include "harness/device/device.h"

/* bound_bytes: the most that segments may hold together; 0: no bound (total_bytes 0). A segment beyond it is
 * STATUS_OUT_OF_MEMORY, as on a device of that many bytes. STATUS_OUT_OF_MEMORY also if the host cannot hold the few
 * bytes of the device itself. */
enum status_code meta_open(int64_t bound_bytes, struct device **device, struct status *error);

/* Only for devices made by meta_open with a bound: the most bytes that segments held together, and the least bound
 * under which the first of the segments that were refused would have been granted (0: none was refused). From one to
 * just below the other every bound has the same done and refused. */
int64_t meta_held_peak_bytes(const struct device *device);
int64_t meta_refused_bytes(const struct device *device);

#endif

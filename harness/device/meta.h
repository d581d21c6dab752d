/* The meta device: a device without memory or arithmetic, on which a replay is a prediction.
 *
 * Segments have distinct addresses that must not be followed. Nothing is stored: copy_from_host and run do nothing,
 * copy_to_host is STATUS_INTERNAL. No reading is valid. Memory is unbounded (total_bytes 0). */
#ifndef ASSAY_DEVICE_META_H
#define ASSAY_DEVICE_META_H

#include "harness/base/status.h"
#include "harness/device/device.h"

/* STATUS_OUT_OF_MEMORY where the host cannot hold the few bytes of the device itself. */
enum status_code meta_open(struct device **device, struct status *error);

#endif

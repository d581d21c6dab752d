/* The bound shim: a device around a device that gives no more than a budget, whatever the inner one has.
 *
 * Segments count with the bytes that were asked for, on every kind of device alike: no pages of the kernel, no granules
 * of a driver, no context. So a replay on a bounded GPU, on the bounded host and on bounded meta is refused at the same
 * request. */
#ifndef ASSAY_DEVICE_BOUNDED_H
#define ASSAY_DEVICE_BOUNDED_H

#include <stdint.h>

#include "harness/base/status.h"
#include "harness/device/device.h"

/* bytes >= 0: the most that segments may hold together; 0 gives none. The wrapped device owns inner and closes it; on
 * failure inner still belongs to the caller. A segment beyond the bound does not reach inner and is
 * STATUS_OUT_OF_MEMORY; its text has what was wanted and allowed, and what, as "the budget of 0". what outlives the
 * device. total_bytes is the bound, and a reading's free_bytes what is left of it. */
enum status_code device_bound_wrap(struct device *inner, int64_t bytes, const char *what, struct device **wrapped,
                                   struct status *error);

#endif

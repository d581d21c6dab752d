/* The fault shim: a device around a device that fails one call, so that every error path can be walked.
 *
 * Calls are counted from 1: properties, segment_alloc, segment_free, run, copy_to_host, copy_from_host, synchronize,
 * read_memory and reset_peak, in the order in which they come; close is not counted. The call that fails does not reach
 * the inner device and answers STATUS_DEVICE, or STATUS_OUT_OF_MEMORY for segment_alloc. One exception: a segment_free
 * that fails does give the segment back, so that a leak seen afterwards is the caller's. */
#ifndef ASSAY_DEVICE_FAULT_H
#define ASSAY_DEVICE_FAULT_H

#include <stdint.h>

#include "harness/base/status.h"
#include "harness/device/device.h"

/* failing_call 0: none fails, calls are only counted. The wrapped device owns inner and closes it; on failure inner
 * still belongs to the caller. */
enum status_code device_fault_wrap(struct device *inner, int64_t failing_call, struct device **wrapped,
                                   struct status *error);

/* Only for devices made by device_fault_wrap: every call of this name ("segment_alloc", "synchronize", an opcode's)
 * answers this code and this text, as a driver or a library would. Texts are borrowed. */
void device_fault_say(struct device *wrapped, const char *call, enum status_code code, const char *text);

/* Only for devices made by device_fault_wrap: calls so far, the failed one included; segments taken, not given back. */
int64_t device_fault_call_count(const struct device *wrapped);
int64_t device_fault_segment_count(const struct device *wrapped);

#endif

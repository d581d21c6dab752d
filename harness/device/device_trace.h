/* The trace shim: a device around a device that tells what was asked and answered, one line a call.
 *
 *     properties -> ok
 *     segment_alloc 2097152 -> ok, segment 0
 *     run FILL -> float32 [2, 3] -> ok
 *     copy_to_host segment 0 + 512, 4 -> ok
 *     segment_free segment 0, 2097152 -> ok
 *     segment_alloc 4398046511104 -> out of memory
 *
 * Segments are numbered in the order in which they were taken and no address is written, so that the traces of the same
 * work on two devices are the same text. */
#ifndef ASSAY_DEVICE_DEVICE_TRACE_H
#define ASSAY_DEVICE_DEVICE_TRACE_H

#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/device/device.h"

/* Receives each line, without a newline; the line is valid during the call only. */
typedef void (*device_trace_line)(void *context, const char *line);

/* The wrapped device owns inner and closes it; on failure inner still belongs to the caller. */
enum status_code device_trace_wrap(struct device *inner, device_trace_line line, void *context, struct device **wrapped,
                                   struct status *error);

/* A device_trace_line whose context is a `struct text`: appends the line and a newline. */
void device_trace_to_text(void *text, const char *line);

#endif

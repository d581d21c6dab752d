/* Passing device: hands every call on to another device. A shim (bounded.h, fault.h, device_trace.h) begins with one
 * and puts calls of its own into its table. A call that is added to the device table is passed on here, for all
 * shims. */
#ifndef ASSAY_DEVICE_PASSING_DEVICE_H
#define ASSAY_DEVICE_PASSING_DEVICE_H

#include "harness/device/device.h"

struct passing_device {
    struct device base; /* its table is the one below: it is neither copied nor moved */
    struct device *inner;
    struct device_table table;
};

/* Fills passing, so that everything is inner's and what is optional is there if inner has it. kind: a static text.
 * close closes inner and frees passing; a shim that is not malloc's, or holds more, puts its own in place of it. */
void passing_device_open(struct passing_device *passing, struct device *inner, const char *kind);

/* What a device passes on to; it begins with a struct passing_device. */
struct device *passing_device_inner(const struct device *device);

#endif

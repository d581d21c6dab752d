/* A device around a device whose kernels are wrong in one way: what the conformance test must find. */
#ifndef ASSAY_TESTS_CONFORMANCE_CORRUPTING_DEVICE_H
#define ASSAY_TESTS_CONFORMANCE_CORRUPTING_DEVICE_H

#include "harness/device/device.h"

enum corruption {
    CORRUPTION_NONE,
    CORRUPTION_ELEMENT,   /* the largest element of the first output is off by 3 % (a whole number by 1) */
    CORRUPTION_UNWRITTEN, /* the last element of the last output is as it was before */
    CORRUPTION_BEYOND,    /* the byte behind the last output is written */
    CORRUPTION_INPUT,     /* a byte of the first input is written */
    CORRUPTION_ROUNDED,   /* float32 outputs are rounded to bfloat16 */
    CORRUPTION_COUNT
};

const char *corruption_name(enum corruption corruption);

/* The wrapped device owns inner and closes it; on failure inner still belongs to the caller. Tensors must be dense
 * where elements are corrupted; others are left as they are. */
enum status_code device_corrupt_wrap(struct device *inner, enum corruption corruption, struct device **wrapped,
                                     struct status *error);

#endif

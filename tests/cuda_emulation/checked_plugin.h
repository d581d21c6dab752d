/* The plug-in that looks at every access of a kernel (tests/cuda_emulation/checked), instead of the one beside it.
 * Holds no test. */
#ifndef ASSAY_TESTS_CUDA_EMULATION_CHECKED_PLUGIN_H
#define ASSAY_TESTS_CUDA_EMULATION_CHECKED_PLUGIN_H

#include "harness/device/device.h"

/* Opens spec of it, and takes a segment there. Fails the running test where it cannot. */
void checked_device_open(const char *spec, struct device **device);
void checked_open(const char *spec, int64_t bytes, struct device **device, unsigned char **segment);
void checked_close(struct device *device, unsigned char *segment, int64_t bytes);

#endif

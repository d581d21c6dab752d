/* Staging: memory of the host through which bytes go to a device or come from it.
 *
 * It is the device's own kind of it (pinned, of CUDA) if there is one, and plain memory if there is none or the
 * host pins no more: a copy from plain memory does the same, slower, as PyTorch's from pageable memory does. is_pinned
 * says which it is. */
#ifndef ASSAY_DEVICE_STAGING_H
#define ASSAY_DEVICE_STAGING_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/device/device.h"

/* All zero holds nothing. */
struct staging {
    void *memory; /* aligned as malloc aligns */
    int64_t bytes;
    struct device *device; /* whose memory it is; NULL: plain */
    bool is_pinned;
};

/* device: borrowed, outlives the staging; NULL: plain memory. bytes > 0. STATUS_OUT_OF_MEMORY if the host has no
 * plain memory either; other errors of the device, such as a lost context. */
enum status_code staging_take(struct device *device, int64_t bytes, struct staging *staging, struct status *error);

/* All zero is accepted, and what is left. Errors of the device. */
enum status_code staging_give_back(struct staging *staging, struct status *error);

#endif

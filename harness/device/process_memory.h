/* Process memory: what the kernel counts for this process, and whether the machine swaps. Internal to
 * harness/device. */
#ifndef ASSAY_DEVICE_PROCESS_MEMORY_H
#define ASSAY_DEVICE_PROCESS_MEMORY_H

#include "harness/device/device.h"

/* root of all of these: "" for this machine; tests have a folder with a proc of their own. */

/* Resident bytes, exact to the page. */
bool process_resident_read(const char *root, int64_t *bytes);

/* The highest of them since the last reset, or since the process began. */
bool process_resident_peak_read(const char *root, int64_t *bytes);

/* False if the kernel does not allow it. */
bool process_resident_peak_reset(const char *root);

/* swap and swapped_out of *disturbance; not valid where the kernel does not tell. */
void process_swap_read(const char *root, int64_t page_bytes, struct device_disturbance *disturbance);

/* Lowers *bytes to what the limits of this process (ulimit -v and -d) let it map still. False, and *bytes says nothing,
 * if that cannot be told. */
bool process_limits_apply(const char *root, int64_t *bytes);

#endif

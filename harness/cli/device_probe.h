/* Device probe: a device asked and opened in a child, because that starts its driver, loads its libraries, takes memory
 * of it and may hang. */
#ifndef ASSAY_CLI_DEVICE_PROBE_H
#define ASSAY_CLI_DEVICE_PROBE_H

#include <stdbool.h>

#include "harness/device/device.h"

enum { DEVICE_PROBE_SECONDS = 60 };

enum probe_end {
    PROBE_ANSWERED,
    PROBE_LATE,   /* it was ended after DEVICE_PROBE_SECONDS */
    PROBE_CRASHED /* or could not be started */
};

struct device_probe {
    enum probe_end end;
    struct status identified; /* code STATUS_OK: identity is known */
    struct device_identity identity;
    bool is_taken;        /* another run has the GPU, which was therefore not opened; opened says who */
    struct status opened; /* code STATUS_OK: it opened, and properties are known */
    struct device_properties properties;
};

/* Of a GPU, its lock is held while it is open (run/device_lock.h), and cuDNN is not asked. lock_folder: NULL: the usual
 * one. */
void device_probe(const char *spec, const char *lock_folder, struct device_probe *probe);

/* The device identified with its cuDNN, in a child of its own: a cuDNN that is not whole may end the process. */
void device_probe_cudnn(const char *spec, struct device_probe *probe);

#endif

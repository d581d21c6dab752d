/* Device: where a tape is replayed. One const table of functions for each kind; to observe or break one, wrap it.
 *
 * Kinds: "meta" (nothing is allocated or computed), "host" (memory mapped and touched, OpenBLAS, row kernels), "cuda:N"
 * (a plug-in, opened on demand). A device that was not built or finds no driver answers open with STATUS_UNAVAILABLE
 * and one sentence with the remedy. */
#ifndef ASSAY_DEVICE_DEVICE_H
#define ASSAY_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/kernels/operation.h"

struct device; /* each kind begins its own struct with a `struct device` */

struct device_properties {
    char kind[16];       /* "meta", "host", "cuda" */
    char name[128];      /* "NVIDIA H200", the CPU's model name */
    char target[16];     /* the row of tape/target.h that describes it: "sm_90", "host" */
    char pci_bus_id[32]; /* "" where there is none */
    char uuid[48];
    char driver[32], runtime[32];
    int64_t total_bytes; /* memory the device has (or is bounded to); 0: unbounded (meta) */
    bool computes;       /* false for meta: run does nothing and memory must not be looked at */
};

/* What the driver or the kernel counts. A figure that could not be taken is not valid, and never 0. */
struct device_reading {
    bool device_valid; /* used on the whole device (cudaMemGetInfo total - free) */
    int64_t device_bytes;
    bool process_valid; /* used by this process (NVML; host: RSS) */
    int64_t process_bytes;
    bool process_peak_valid; /* host: highest RSS since the last reset; cuda: not valid */
    int64_t process_peak_bytes;
};

struct device_table {
    const char *kind;
    /* Required. */
    void (*close)(struct device *device);
    enum status_code (*properties)(struct device *device, struct device_properties *properties, struct status *error);
    enum status_code (*segment_alloc)(struct device *device, int64_t bytes, void **address, struct status *error);
    enum status_code (*segment_free)(struct device *device, void *address, int64_t bytes, struct status *error);
    enum status_code (*run)(struct device *device, const struct operation_call *call, struct status *error);
    enum status_code (*copy_to_host)(struct device *device, void *host, const void *address, int64_t bytes,
                                     struct status *error);
    enum status_code (*copy_from_host)(struct device *device, void *address, const void *host, int64_t bytes,
                                       struct status *error);
    enum status_code (*synchronize)(struct device *device, struct status *error);
    enum status_code (*read_memory)(struct device *device, struct device_reading *reading, struct status *error);
    /* Optional; NULL: nothing to do. Starts a new peak for process_peak_bytes. */
    enum status_code (*reset_peak)(struct device *device, struct status *error);
};

struct device {
    const struct device_table *table;
};

/* Opens "auto", "meta", "host", "host:mem=512MiB", "cuda", "cuda:1". "auto" is the first GPU that opens, else the host.
 * A GPU must be opened only in the process that measures. */
enum status_code device_open(const char *spec, struct device **device, struct status *error);
void device_close(struct device *device); /* NULL is accepted */

/* STATUS_INVALID for a spec that is not of the forms above; touches no device. */
enum status_code device_spec_check(const char *spec, struct status *error);

#endif

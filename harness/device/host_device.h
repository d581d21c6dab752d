/* What the files of the host device share. Only host*.c include this. */
#ifndef ASSAY_DEVICE_HOST_DEVICE_H
#define ASSAY_DEVICE_HOST_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/device/cgroup.h"
#include "harness/device/device.h"
#include "harness/device/openblas.h"
#include "harness/device/product_plan.h"

/* Scratch of one thread: four areas of PANEL_FLOATS floats (1 MiB each), for panels of a, of b, for sums, and for a
 * part of an image. */
enum { PANEL_SIDE = 512, PANEL_FLOATS = PANEL_SIDE * PANEL_SIDE };

struct host_panels {
    float a[PANEL_FLOATS];
    float b[PANEL_FLOATS];
    float sums[PANEL_FLOATS];
    float image[PANEL_FLOATS];
};

struct host_device {
    struct device base;
    int64_t bound_bytes; /* 0: none */
    int64_t total_bytes; /* MemTotal, or the bound */
    int64_t page_bytes;
    int64_t held_bytes; /* by segments, in whole pages */
    bool peak_valid;    /* false once a reset of the peak has failed */
    bool library_valid; /* resident bytes that OpenBLAS, its buffers and the threads took while it was opened */
    int64_t library_bytes;
    struct cgroup cgroup;
    int thread_count;
    struct host_panels *scratch; /* [thread_count] */
    struct openblas openblas;
};

/* -- host_memory.c */
enum status_code host_segment_alloc(struct device *device, int64_t bytes, void **address, struct status *error);
enum status_code host_segment_free(struct device *device, void *address, int64_t bytes, struct status *error);
enum status_code host_read_memory(struct device *device, struct device_reading *reading, struct status *error);
/* False: unknown. */
bool host_free_read(const struct host_device *host, int64_t *bytes);
enum status_code host_reset_peak(struct device *device, struct status *error);
/* Writes one byte of every page. */
void pages_touch(void *address, int64_t bytes, int64_t page_bytes, int thread_count);

/* -- host_matmul.c, host_convolution.c: 0 <= thread_index() < thread_count inside a parallel region */
enum status_code host_matmul(struct host_device *host, const struct operation_call *call, struct status *error);
/* A product that is planned already; STATUS_OVERFLOW (without a text) if a side is beyond 2^31 - 1. */
enum status_code host_matmul_planned(const struct host_device *host, const struct matmul_plan *plan);
enum status_code host_convolution(struct host_device *host, const struct operation_call *call, struct status *error);
int thread_index(void);

#endif

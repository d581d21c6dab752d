/* Model devices: the peaks that vendors publish, one device for each class of architecture. Nothing was measured. */
#ifndef ASSAY_TESTS_BENCH_MODEL_DEVICE_H
#define ASSAY_TESTS_BENCH_MODEL_DEVICE_H

#include <stdbool.h>

#include "harness/kernels/traffic.h"

struct model_device {
    const char *architecture; /* "sm_90" */
    const char *name;
    int processors;
    double clock_hz;            /* boost */
    double memory_bytes_second; /* peak of device memory */
    double cache_bytes;         /* of the second level */
    double float_operations;    /* float32 a second, a multiply-add is two */
    double core_operations;     /* a second, 16 bits with sums in float32, dense */
    int shared_block_bytes;     /* what a block may ask for */
    bool has_cores;             /* of the form that our code for tensor cores needs */
    const char *source;
};

extern const struct model_device model_devices[];
extern const int model_device_count;

/* NULL for a name that is not in the table. */
const struct model_device *model_device_find(const char *architecture);

/* What holds a launch back, and for how long at least. */
enum model_bound { BOUND_MEMORY, BOUND_CACHE, BOUND_SHARED, BOUND_INSTRUCTIONS, BOUND_CORES, BOUND_WAITING };
extern const char *const model_bound_names[];

/* Seconds that the launches of a call take if nothing but the peaks held them back. *bound: what the longest of them
 * waits for. */
double model_seconds(const struct model_device *device, const struct traffic *traffic, enum model_bound *bound);
/* Seconds for what the operation needs, at the peaks of the whole device. */
double model_least_seconds(const struct model_device *device, const struct traffic *traffic);
/* Bytes that the launches ask of device memory. */
double model_moved_bytes(const struct traffic *traffic);
/* The processors of the device that have a block of the launch that takes longest. */
double model_processors(const struct model_device *device, const struct traffic *traffic);

#endif

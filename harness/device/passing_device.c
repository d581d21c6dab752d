/* Passing device: one function for each call. Not a shim: it changes and counts nothing. */
#include "harness/device/passing_device.h"

#include <stdlib.h>

struct device *passing_device_inner(const struct device *device)
{
    return ((const struct passing_device *)device)->inner;
}

static void passing_close(struct device *device)
{
    device_close(passing_device_inner(device));
    free(device);
}

static enum status_code passing_properties(struct device *device, struct device_properties *properties,
                                           struct status *error)
{
    struct device *inner = passing_device_inner(device);
    return inner->table->properties(inner, properties, error);
}

static enum status_code passing_segment_alloc(struct device *device, int64_t bytes, void **address,
                                              struct status *error)
{
    struct device *inner = passing_device_inner(device);
    return inner->table->segment_alloc(inner, bytes, address, error);
}

static enum status_code passing_segment_free(struct device *device, void *address, int64_t bytes, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    return inner->table->segment_free(inner, address, bytes, error);
}

static enum status_code passing_run(struct device *device, const struct operation_call *call, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    return inner->table->run(inner, call, error);
}

static enum status_code passing_copy_to_host(struct device *device, void *host, const void *address, int64_t bytes,
                                             struct status *error)
{
    struct device *inner = passing_device_inner(device);
    return inner->table->copy_to_host(inner, host, address, bytes, error);
}

static enum status_code passing_copy_from_host(struct device *device, void *address, const void *host, int64_t bytes,
                                               struct status *error)
{
    struct device *inner = passing_device_inner(device);
    return inner->table->copy_from_host(inner, address, host, bytes, error);
}

static enum status_code passing_synchronize(struct device *device, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    return inner->table->synchronize(inner, error);
}

static enum status_code passing_read_memory(struct device *device, struct device_reading *reading, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    return inner->table->read_memory(inner, reading, error);
}

static enum status_code passing_reset_peak(struct device *device, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    return inner->table->reset_peak(inner, error);
}

static enum status_code passing_staging_alloc(struct device *device, int64_t bytes, void **memory, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    return inner->table->staging_alloc(inner, bytes, memory, error);
}

static enum status_code passing_staging_free(struct device *device, void *memory, int64_t bytes, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    return inner->table->staging_free(inner, memory, bytes, error);
}

static void passing_convolutions(const struct device *device, struct device_convolutions *told)
{
    const struct device *inner = passing_device_inner(device);
    inner->table->convolutions(inner, told);
}

void passing_device_open(struct passing_device *passing, struct device *inner, const char *kind)
{
    passing->inner = inner;
    passing->base.table = &passing->table;
    passing->table = (struct device_table){
        .kind = kind,
        .close = passing_close,
        .properties = passing_properties,
        .segment_alloc = passing_segment_alloc,
        .segment_free = passing_segment_free,
        .run = passing_run,
        .copy_to_host = passing_copy_to_host,
        .copy_from_host = passing_copy_from_host,
        .synchronize = passing_synchronize,
        .read_memory = passing_read_memory,
        .reset_peak = inner->table->reset_peak != NULL ? passing_reset_peak : NULL,
        .staging_alloc = inner->table->staging_alloc != NULL ? passing_staging_alloc : NULL,
        .staging_free = inner->table->staging_free != NULL ? passing_staging_free : NULL,
        .convolutions = inner->table->convolutions != NULL ? passing_convolutions : NULL,
    };
}

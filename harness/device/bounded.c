/* The bound shim: counting segments. Everything else is the inner device's. */
#include "harness/device/bounded.h"

#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/size.h"

struct bounded_device {
    struct device base;
    struct device *inner;
    const char *what;
    int64_t bound_bytes, held_bytes;
};

static struct bounded_device *bounded_of(struct device *device)
{
    return (struct bounded_device *)device;
}

static struct device *inner_of(struct device *device)
{
    return bounded_of(device)->inner;
}

static void bounded_close(struct device *device)
{
    device_close(inner_of(device));
    free(device);
}

static enum status_code bounded_properties(struct device *device, struct device_properties *properties,
                                           struct status *error)
{
    struct device *inner = inner_of(device);
    enum status_code code = inner->table->properties(inner, properties, error);
    if (code == STATUS_OK) {
        properties->total_bytes = bounded_of(device)->bound_bytes;
    }
    return code;
}

static enum status_code bounded_segment_alloc(struct device *device, int64_t bytes, void **address,
                                              struct status *error)
{
    struct bounded_device *bounded = bounded_of(device);
    if (bytes > bounded->bound_bytes - bounded->held_bytes) {
        char wanted[SIZE_TEXT_BYTES], bound[SIZE_TEXT_BYTES];
        return status_set(error, STATUS_OUT_OF_MEMORY, "a segment of %s is beyond %s, %s (%" PRId64 " bytes)",
                          size_format(bytes, wanted), bounded->what, size_format(bounded->bound_bytes, bound),
                          bounded->bound_bytes);
    }
    enum status_code code = bounded->inner->table->segment_alloc(bounded->inner, bytes, address, error);
    bounded->held_bytes += code == STATUS_OK ? bytes : 0;
    return code;
}

static enum status_code bounded_segment_free(struct device *device, void *address, int64_t bytes, struct status *error)
{
    struct bounded_device *bounded = bounded_of(device);
    enum status_code code = bounded->inner->table->segment_free(bounded->inner, address, bytes, error);
    bounded->held_bytes -= code == STATUS_OK ? bytes : 0;
    return code;
}

static enum status_code bounded_run(struct device *device, const struct operation_call *call, struct status *error)
{
    struct device *inner = inner_of(device);
    return inner->table->run(inner, call, error);
}

static enum status_code bounded_copy_to_host(struct device *device, void *host, const void *address, int64_t bytes,
                                             struct status *error)
{
    struct device *inner = inner_of(device);
    return inner->table->copy_to_host(inner, host, address, bytes, error);
}

static enum status_code bounded_copy_from_host(struct device *device, void *address, const void *host, int64_t bytes,
                                               struct status *error)
{
    struct device *inner = inner_of(device);
    return inner->table->copy_from_host(inner, address, host, bytes, error);
}

static enum status_code bounded_synchronize(struct device *device, struct status *error)
{
    struct device *inner = inner_of(device);
    return inner->table->synchronize(inner, error);
}

static enum status_code bounded_read_memory(struct device *device, struct device_reading *reading, struct status *error)
{
    const struct bounded_device *bounded = bounded_of(device);
    enum status_code code = bounded->inner->table->read_memory(bounded->inner, reading, error);
    int64_t left_bytes = bounded->bound_bytes - bounded->held_bytes;
    if (code == STATUS_OK && (!reading->free_valid || reading->free_bytes > left_bytes)) {
        reading->free_valid = true;
        reading->free_bytes = left_bytes;
    }
    return code;
}

static enum status_code bounded_reset_peak(struct device *device, struct status *error)
{
    struct device *inner = inner_of(device);
    return inner->table->reset_peak != NULL ? inner->table->reset_peak(inner, error) : STATUS_OK;
}

enum status_code device_bound_wrap(struct device *inner, int64_t bytes, const char *what, struct device **wrapped,
                                   struct status *error)
{
    static const struct device_table table = {
        .kind = "bounded",
        .close = bounded_close,
        .properties = bounded_properties,
        .segment_alloc = bounded_segment_alloc,
        .segment_free = bounded_segment_free,
        .run = bounded_run,
        .copy_to_host = bounded_copy_to_host,
        .copy_from_host = bounded_copy_from_host,
        .synchronize = bounded_synchronize,
        .read_memory = bounded_read_memory,
        .reset_peak = bounded_reset_peak,
    };
    struct bounded_device *bounded = calloc(1, sizeof *bounded);
    if (bounded == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a bounded device");
    }
    *bounded = (struct bounded_device){.base.table = &table, .inner = inner, .what = what, .bound_bytes = bytes};
    *wrapped = &bounded->base;
    return STATUS_OK;
}

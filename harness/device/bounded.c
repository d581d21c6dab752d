/* The bound shim: counting segments. */
#include "harness/device/bounded.h"

#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/size.h"
#include "harness/device/passing_device.h"

struct bounded_device {
    struct passing_device passing;
    const char *what;
    int64_t bound_bytes, held_bytes;
};

static struct bounded_device *bounded_of(struct device *device)
{
    return (struct bounded_device *)device;
}

static enum status_code bounded_properties(struct device *device, struct device_properties *properties,
                                           struct status *error)
{
    struct device *inner = passing_device_inner(device);
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
    struct device *inner = passing_device_inner(device);
    if (bytes > bounded->bound_bytes - bounded->held_bytes) {
        char wanted[SIZE_TEXT_BYTES], bound[SIZE_TEXT_BYTES];
        return status_set(error, STATUS_OUT_OF_MEMORY, "a segment of %s is beyond %s, %s (%" PRId64 " bytes)",
                          size_format(bytes, wanted), bounded->what, size_format(bounded->bound_bytes, bound),
                          bounded->bound_bytes);
    }
    enum status_code code = inner->table->segment_alloc(inner, bytes, address, error);
    bounded->held_bytes += code == STATUS_OK ? bytes : 0;
    return code;
}

static enum status_code bounded_segment_free(struct device *device, void *address, int64_t bytes, struct status *error)
{
    struct bounded_device *bounded = bounded_of(device);
    struct device *inner = passing_device_inner(device);
    enum status_code code = inner->table->segment_free(inner, address, bytes, error);
    bounded->held_bytes -= code == STATUS_OK ? bytes : 0;
    return code;
}

static enum status_code bounded_read_memory(struct device *device, struct device_reading *reading, struct status *error)
{
    const struct bounded_device *bounded = bounded_of(device);
    struct device *inner = passing_device_inner(device);
    enum status_code code = inner->table->read_memory(inner, reading, error);
    int64_t left_bytes = bounded->bound_bytes - bounded->held_bytes;
    if (code == STATUS_OK && (!reading->free_valid || reading->free_bytes > left_bytes)) {
        reading->free_valid = true;
        reading->free_bytes = left_bytes;
    }
    return code;
}

enum status_code device_bound_wrap(struct device *inner, int64_t bytes, const char *what, struct device **wrapped,
                                   struct status *error)
{
    struct bounded_device *bounded = calloc(1, sizeof *bounded);
    if (bounded == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a bounded device");
    }
    bounded->what = what;
    bounded->bound_bytes = bytes;
    passing_device_open(&bounded->passing, inner, "bounded");
    bounded->passing.table.properties = bounded_properties;
    bounded->passing.table.segment_alloc = bounded_segment_alloc;
    bounded->passing.table.segment_free = bounded_segment_free;
    bounded->passing.table.read_memory = bounded_read_memory;
    *wrapped = &bounded->passing.base;
    return STATUS_OK;
}

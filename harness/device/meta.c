/* The meta device: addresses are counted, never mapped. A bound counts bytes alone: no driver's pages, no context. No
 * simulation of any device's speed. */
#include "harness/device/meta.h"

#include <stdlib.h>

#include "harness/base/size.h"
#include "harness/device/refusal.h"

/* Addresses lie in the upper half of 64 bits, where no user memory of Linux is: following one faults at once.
 * Segments are spaced as CUDA spaces them, so that block addresses inside segments keep their alignment. */
#define META_ADDRESS_BASE UINT64_C(0x8000000000000000)
enum { META_ALIGNMENT_BYTES = 2 * 1024 * 1024 };

struct meta_device {
    struct device base;
    int64_t next_offset; /* of the next segment from META_ADDRESS_BASE */
    int64_t held_count, held_bytes;
    int64_t bound_bytes;     /* 0: none */
    int64_t held_peak_bytes; /* with a bound alone */
    int64_t refused_bytes;   /* 0: nothing was refused */
};

static void meta_close(struct device *device)
{
    free(device);
}

static enum status_code meta_properties(struct device *device, struct device_properties *properties,
                                        struct status *error)
{
    const struct meta_device *meta = (const struct meta_device *)device;
    (void)error;
    *properties = (struct device_properties){
        .kind = "meta", .name = "no memory", .target = "meta", .total_bytes = meta->bound_bytes};
    return STATUS_OK;
}

static enum status_code meta_segment_alloc(struct device *device, int64_t bytes, void **address, struct status *error)
{
    struct meta_device *meta = (struct meta_device *)device;
    int64_t spaced = 0;
    int64_t next = 0;
    if (bytes <= 0) {
        return status_set(error, STATUS_INTERNAL, "meta: a segment of %lld bytes was asked for", (long long)bytes);
    }
    if (!size_round_up(bytes, META_ALIGNMENT_BYTES, &spaced) || !size_add(meta->next_offset, spaced, &next)) {
        return status_set(error, STATUS_OVERFLOW, "meta: segments beyond 2^63 bytes; choose a smaller model or batch");
    }
    if (meta->bound_bytes > 0 && bytes > meta->bound_bytes - meta->held_bytes) {
        char wanted[SIZE_TEXT_BYTES], bound[SIZE_TEXT_BYTES];
        int64_t enough = bytes <= INT64_MAX - meta->held_bytes ? meta->held_bytes + bytes : INT64_MAX;
        meta->refused_bytes = meta->refused_bytes == 0 || enough < meta->refused_bytes ? enough : meta->refused_bytes;
        return status_set(error, STATUS_OUT_OF_MEMORY,
                          "meta: a segment of %s, but of the %s " REFUSAL_WORDS_BOUND " too little is "
                          "left; raise the bound",
                          size_format(bytes, wanted), size_format(meta->bound_bytes, bound));
    }
    *address = (void *)(uintptr_t)(META_ADDRESS_BASE + (uint64_t)meta->next_offset);
    meta->next_offset = next;
    meta->held_count++;
    meta->held_bytes += meta->bound_bytes > 0 ? bytes : 0; /* unbounded, the sum need not fit */
    meta->held_peak_bytes = meta->held_bytes > meta->held_peak_bytes ? meta->held_bytes : meta->held_peak_bytes;
    return STATUS_OK;
}

static enum status_code meta_segment_free(struct device *device, void *address, int64_t bytes, struct status *error)
{
    struct meta_device *meta = (struct meta_device *)device;
    uint64_t offset = (uint64_t)(uintptr_t)address - META_ADDRESS_BASE;
    if (bytes <= 0 || meta->held_count == 0 || offset >= (uint64_t)meta->next_offset) {
        return status_set(error, STATUS_INTERNAL, "meta: a segment that was not taken is given back");
    }
    meta->held_count--;
    meta->held_bytes -= meta->bound_bytes > 0 ? bytes : 0;
    return STATUS_OK;
}

static enum status_code meta_run(struct device *device, const struct operation_call *call, struct status *error)
{
    (void)device;
    (void)call;
    (void)error;
    return STATUS_OK;
}

static enum status_code meta_copy_to_host(struct device *device, void *host, const void *address, int64_t bytes,
                                          struct status *error)
{
    (void)device;
    (void)host;
    (void)address;
    return status_set(error, STATUS_INTERNAL, "meta: %lld bytes were to be read, but nothing is stored here",
                      (long long)bytes);
}

static enum status_code meta_copy_from_host(struct device *device, void *address, const void *host, int64_t bytes,
                                            struct status *error)
{
    (void)device;
    (void)address;
    (void)host;
    (void)bytes;
    (void)error;
    return STATUS_OK;
}

static enum status_code meta_synchronize(struct device *device, struct status *error)
{
    (void)device;
    (void)error;
    return STATUS_OK;
}

static enum status_code meta_read_memory(struct device *device, struct device_reading *reading, struct status *error)
{
    const struct meta_device *meta = (const struct meta_device *)device;
    (void)error;
    *reading = (struct device_reading){.free_valid = meta->bound_bytes > 0};
    if (reading->free_valid) {
        reading->free_bytes = meta->bound_bytes - meta->held_bytes;
    }
    return STATUS_OK;
}

enum status_code meta_open(int64_t bound_bytes, struct device **device, struct status *error)
{
    static const struct device_table table = {
        .kind = "meta",
        .close = meta_close,
        .properties = meta_properties,
        .segment_alloc = meta_segment_alloc,
        .segment_free = meta_segment_free,
        .run = meta_run,
        .copy_to_host = meta_copy_to_host,
        .copy_from_host = meta_copy_from_host,
        .synchronize = meta_synchronize,
        .read_memory = meta_read_memory,
    };
    struct meta_device *meta = calloc(1, sizeof *meta);
    if (meta == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "meta: the host has no %zu bytes left for the device itself",
                          sizeof *meta);
    }
    meta->base.table = &table;
    meta->bound_bytes = bound_bytes;
    *device = &meta->base;
    return STATUS_OK;
}

int64_t meta_held_peak_bytes(const struct device *device)
{
    return ((const struct meta_device *)device)->held_peak_bytes;
}

int64_t meta_refused_bytes(const struct device *device)
{
    return ((const struct meta_device *)device)->refused_bytes;
}

/* Counting device: malloc behind a limit. */
#include "tests/replay/counting_device.h"

#include <stdlib.h>
#include <string.h>

static enum status_code call_counted(struct device *device, const char *what, struct status *error)
{
    struct counting_device *counting = (struct counting_device *)device;
    counting->call_count += 1;
    if (counting->call_count == counting->failing_call) {
        return status_set(error, counting->failing_code, "%s fails on demand", what);
    }
    return STATUS_OK;
}

static void counting_close(struct device *device)
{
    (void)device;
}

static enum status_code counting_properties(struct device *device, struct device_properties *properties,
                                            struct status *error)
{
    enum status_code code = call_counted(device, "properties", error);
    if (code == STATUS_OK) {
        *properties = (struct device_properties){.kind = "counting", .name = "counting", .target = "host"};
        properties->computes = ((struct counting_device *)device)->computes;
    }
    return code;
}

static enum status_code counting_segment_alloc(struct device *device, int64_t bytes, void **address,
                                               struct status *error)
{
    struct counting_device *counting = (struct counting_device *)device;
    enum status_code code = call_counted(device, "segment_alloc", error);
    if (code != STATUS_OK) {
        return code;
    }
    if (bytes > counting->capacity_bytes - counting->held_bytes) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the bound is reached");
    }
    /* Without memory the addresses fall, where those of malloc mostly rise: the sequence must not depend on it. */
    *address = counting->computes ? malloc((size_t)bytes)
                                  : (void *)(uintptr_t)(UINT64_C(0x9000000000000000) - (uint64_t)counting->held_bytes);
    counting->held_bytes += bytes;
    counting->held_count += 1;
    return STATUS_OK;
}

static enum status_code counting_segment_free(struct device *device, void *address, int64_t bytes, struct status *error)
{
    struct counting_device *counting = (struct counting_device *)device;
    enum status_code code = call_counted(device, "segment_free", error);
    if (code != STATUS_OK) {
        return code;
    }
    if (counting->computes) {
        free(address);
    }
    counting->held_bytes -= bytes;
    counting->held_count -= 1;
    return STATUS_OK;
}

/* The bits of a small exact number in a dtype. */
static void element_store(const struct tensor *tensor, int64_t index, float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    uint16_t half = (uint16_t)(word >> 16); /* bfloat16 */
    if (tensor->dtype == DTYPE_FLOAT16) {   /* normal numbers only */
        half = (uint16_t)(((word >> 16) & 0x8000u) | ((((word >> 23) & 0xffu) - 112u) << 10) | ((word >> 13) & 0x3ffu));
    }
    char *at = (char *)tensor->data + index * dtype_bytes(tensor->dtype);
    if (tensor->dtype == DTYPE_FLOAT32) {
        memcpy(at, &value, sizeof value);
    } else {
        memcpy(at, &half, sizeof half);
    }
}

static enum status_code counting_run(struct device *device, const struct operation_call *call, struct status *error)
{
    struct counting_device *counting = (struct counting_device *)device;
    enum status_code code = call_counted(device, "run", error);
    if (code != STATUS_OK) {
        return code;
    }
    counting->run_count += 1;
    counting->last_call = *call;
    if (counting->computes && call->opcode == OPCODE_FILL) {
        for (int64_t i = 0; i < tensor_element_count(&call->tensors[0]); i++) {
            element_store(&call->tensors[0], i, (float)call->attributes.f[0]);
        }
    }
    return STATUS_OK;
}

static enum status_code counting_copy_to_host(struct device *device, void *host, const void *address, int64_t bytes,
                                              struct status *error)
{
    enum status_code code = call_counted(device, "copy_to_host", error);
    if (code == STATUS_OK) {
        memcpy(host, address, (size_t)bytes);
        ((struct counting_device *)device)->copied_out_bytes += bytes;
    }
    return code;
}

static enum status_code counting_copy_from_host(struct device *device, void *address, const void *host, int64_t bytes,
                                                struct status *error)
{
    enum status_code code = call_counted(device, "copy_from_host", error);
    if (code == STATUS_OK) {
        memcpy(address, host, (size_t)bytes);
        ((struct counting_device *)device)->copied_in_bytes += bytes;
    }
    return code;
}

static enum status_code counting_synchronize(struct device *device, struct status *error)
{
    return call_counted(device, "synchronize", error);
}

static enum status_code counting_read_memory(struct device *device, struct device_reading *reading,
                                             struct status *error)
{
    struct counting_device *counting = (struct counting_device *)device;
    enum status_code code = call_counted(device, "read_memory", error);
    if (code == STATUS_OK) {
        *reading = (struct device_reading){.device_valid = counting->computes};
        reading->device_bytes = counting->computes ? counting->held_bytes : 0;
    }
    return code;
}

static enum status_code counting_reset_peak(struct device *device, struct status *error)
{
    ((struct counting_device *)device)->reset_count += 1;
    return call_counted(device, "reset_peak", error);
}

struct counting_device counting_device(bool computes)
{
    static const struct device_table table = {
        .kind = "counting",
        .close = counting_close,
        .properties = counting_properties,
        .segment_alloc = counting_segment_alloc,
        .segment_free = counting_segment_free,
        .run = counting_run,
        .copy_to_host = counting_copy_to_host,
        .copy_from_host = counting_copy_from_host,
        .synchronize = counting_synchronize,
        .read_memory = counting_read_memory,
        .reset_peak = counting_reset_peak,
    };
    return (struct counting_device){.base = {.table = &table},
                                    .computes = computes,
                                    .capacity_bytes = INT64_C(1) << 40,
                                    .failing_code = STATUS_DEVICE};
}

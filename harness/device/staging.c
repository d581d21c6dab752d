/* Staging: see staging.h. It copies nothing. */
#include "harness/device/staging.h"

#include <inttypes.h>
#include <stdlib.h>

static enum status_code plain_take(int64_t bytes, struct staging *staging, struct status *error)
{
    void *memory = malloc((size_t)bytes);
    if (memory == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY,
                          "the host has no memory for staging buffers of %" PRId64 " bytes", bytes);
    }
    *staging = (struct staging){.memory = memory, .bytes = bytes};
    return STATUS_OK;
}

enum status_code staging_take(struct device *device, int64_t bytes, struct staging *staging, struct status *error)
{
    void *memory = NULL;
    if (device == NULL || device->table->staging_alloc == NULL) {
        return plain_take(bytes, staging, error);
    }
    enum status_code code = device->table->staging_alloc(device, bytes, &memory, error);
    if (code == STATUS_OUT_OF_MEMORY) {
        return plain_take(bytes, staging, error);
    }
    if (code == STATUS_OK) {
        *staging = (struct staging){.memory = memory, .bytes = bytes, .device = device, .is_pinned = true};
    }
    return code;
}

enum status_code staging_give_back(struct staging *staging, struct status *error)
{
    enum status_code code = STATUS_OK;
    struct device *device = staging->device;
    if (device != NULL) {
        code = device->table->staging_free(device, staging->memory, staging->bytes, error);
    } else {
        free(staging->memory);
    }
    *staging = (struct staging){0};
    return code;
}

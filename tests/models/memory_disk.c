/* Memory disk: written once, found by label. */
#include "tests/models/memory_disk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status_code memory_disk_write(void *context, const struct stored_tensor *tensor, const void *bytes,
                                          struct status *error)
{
    struct memory_disk *disk = context;
    (void)error;
    assert_true(disk->tensor_count < MEMORY_DISK_TENSORS);
    int at = disk->tensor_count++;
    snprintf(disk->tensors[at].label, sizeof disk->tensors[at].label, "%s", tensor->label);
    disk->tensors[at].count = tensor->bytes;
    disk->tensors[at].bytes = malloc((size_t)tensor->bytes + 1);
    assert_non_null(disk->tensors[at].bytes);
    memcpy(disk->tensors[at].bytes, bytes, (size_t)tensor->bytes);
    return STATUS_OK;
}

static enum status_code memory_disk_read(void *context, const struct stored_tensor *tensor, void *bytes,
                                         struct status *error)
{
    struct memory_disk *disk = context;
    for (int i = 0; i < disk->tensor_count; i++) {
        if (strcmp(disk->tensors[i].label, tensor->label) == 0) {
            assert_int_equal(disk->tensors[i].count, tensor->bytes);
            memcpy(bytes, disk->tensors[i].bytes, (size_t)tensor->bytes);
            disk->read_count++;
            return STATUS_OK;
        }
    }
    return status_set(error, STATUS_IO, "nothing was stored as '%s'", tensor->label);
}

struct placed_store memory_disk_store(struct memory_disk *disk)
{
    return (struct placed_store){.write = memory_disk_write, .read = memory_disk_read, .context = disk};
}

int64_t memory_disk_bytes(const struct memory_disk *disk)
{
    int64_t bytes = 0;
    for (int i = 0; i < disk->tensor_count; i++) {
        bytes += disk->tensors[i].count;
    }
    return bytes;
}

void memory_disk_release(struct memory_disk *disk)
{
    for (int i = 0; i < disk->tensor_count; i++) {
        free(disk->tensors[i].bytes);
    }
    *disk = (struct memory_disk){0};
}

/* Remembering device: every call is passed on; what an operation made is copied. */
#include "tests/models/remembering_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static enum status_code remembering_run(struct device *device, const struct operation_call *call, struct status *error)
{
    struct remembering *own = (struct remembering *)device;
    enum status_code code = own->inner->table->run(own->inner, call, error);
    const struct tensor *out = &call->tensors[call->tensor_count - 1];
    if (code == STATUS_OK && call->tensor_count > call->input_count && tensor_is_dense(out)) {
        own->last->count = tensor_element_count(out) * dtype_bytes(out->dtype);
        own->last->bytes = realloc(own->last->bytes, (size_t)own->last->count + 1);
        assert_non_null(own->last->bytes);
        memcpy(own->last->bytes, out->data, (size_t)own->last->count);
    }
    return code;
}

#define INNER(device) (((struct remembering *)(device))->inner)
static enum status_code remembering_properties(struct device *device, struct device_properties *properties,
                                               struct status *error)
{
    return INNER(device)->table->properties(INNER(device), properties, error);
}
static enum status_code remembering_alloc(struct device *device, int64_t bytes, void **address, struct status *error)
{
    return INNER(device)->table->segment_alloc(INNER(device), bytes, address, error);
}
static enum status_code remembering_free(struct device *device, void *address, int64_t bytes, struct status *error)
{
    return INNER(device)->table->segment_free(INNER(device), address, bytes, error);
}
static enum status_code remembering_to_host(struct device *device, void *host, const void *address, int64_t bytes,
                                            struct status *error)
{
    return INNER(device)->table->copy_to_host(INNER(device), host, address, bytes, error);
}
static enum status_code remembering_from_host(struct device *device, void *address, const void *host, int64_t bytes,
                                              struct status *error)
{
    return INNER(device)->table->copy_from_host(INNER(device), address, host, bytes, error);
}
static enum status_code remembering_synchronize(struct device *device, struct status *error)
{
    return INNER(device)->table->synchronize(INNER(device), error);
}
static enum status_code remembering_read(struct device *device, struct device_reading *reading, struct status *error)
{
    return INNER(device)->table->read_memory(INNER(device), reading, error);
}

static const struct device_table remembering_table = {.kind = "host",
                                                      .properties = remembering_properties,
                                                      .segment_alloc = remembering_alloc,
                                                      .segment_free = remembering_free,
                                                      .run = remembering_run,
                                                      .copy_to_host = remembering_to_host,
                                                      .copy_from_host = remembering_from_host,
                                                      .synchronize = remembering_synchronize,
                                                      .read_memory = remembering_read};

void remembering_wrap(struct remembering *device, struct device *inner, struct last_output *last)
{
    *device = (struct remembering){.base = {&remembering_table}, .inner = inner, .last = last};
}

bool last_outputs_equal(const struct last_output *a, const struct last_output *b)
{
    return a->count > 0 && a->count == b->count && memcmp(a->bytes, b->bytes, (size_t)a->count) == 0;
}

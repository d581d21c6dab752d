/* Remembering device: what an operation made is copied. */
#include "tests/models/remembering_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* A dense tensor as its device has it, once that is done with it; the caller frees it. */
static unsigned char *bytes_of(struct device *device, const struct tensor *tensor, int64_t *count)
{
    struct status error = {0};
    *count = tensor_element_count(tensor) * dtype_bytes(tensor->dtype);
    unsigned char *bytes = malloc((size_t)*count + 1);
    assert_non_null(bytes);
    assert_true(tensor_is_dense(tensor));
    if (*count > 0 && device->table->copy_to_host(device, bytes, tensor->data, *count, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return bytes;
}

static void bytes_add(uint64_t *sum, struct device *device, const struct tensor *tensor)
{
    int64_t count = 0;
    unsigned char *bytes = bytes_of(device, tensor, &count);
    for (int64_t i = 0; i < count; i++) {
        *sum = *sum * 1099511628211U + bytes[i] + 1;
    }
    free(bytes);
}

static enum status_code remembering_run(struct device *device, const struct operation_call *call, struct status *error)
{
    struct remembering *own = (struct remembering *)device;
    struct device *inner = own->passing.inner;
    enum status_code code = inner->table->run(inner, call, error);
    const struct tensor *out = &call->tensors[call->tensor_count - 1];
    if (code == STATUS_OK && call->tensor_count > call->input_count && tensor_is_dense(out)) {
        free(own->last->bytes);
        own->last->bytes = bytes_of(inner, out, &own->last->count);
    }
    if (code == STATUS_OK && call->opcode == OPCODE_ARGMAX) {
        bytes_add(&own->last->choices, inner, &call->tensors[0]);
        bytes_add(&own->last->choices, inner, out);
        own->last->choice_count++;
    }
    return code;
}

void remembering_wrap(struct remembering *device, struct device *inner, struct last_output *last)
{
    passing_device_open(&device->passing, inner, inner->table->kind);
    device->passing.table.run = remembering_run;
    device->last = last;
}

bool last_outputs_equal(const struct last_output *a, const struct last_output *b)
{
    return a->count > 0 && a->count == b->count && memcmp(a->bytes, b->bytes, (size_t)a->count) == 0;
}

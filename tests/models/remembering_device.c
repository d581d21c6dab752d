/* Remembering device: what an operation made is copied. */
#include "tests/models/remembering_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void bytes_add(uint64_t *sum, const struct tensor *tensor)
{
    const unsigned char *bytes = tensor->data;
    int64_t count = tensor_element_count(tensor) * dtype_bytes(tensor->dtype);
    assert_true(tensor_is_dense(tensor));
    for (int64_t i = 0; i < count; i++) {
        *sum = *sum * 1099511628211U + bytes[i] + 1;
    }
}

static enum status_code remembering_run(struct device *device, const struct operation_call *call, struct status *error)
{
    struct remembering *own = (struct remembering *)device;
    enum status_code code = own->passing.inner->table->run(own->passing.inner, call, error);
    const struct tensor *out = &call->tensors[call->tensor_count - 1];
    if (code == STATUS_OK && call->tensor_count > call->input_count && tensor_is_dense(out)) {
        own->last->count = tensor_element_count(out) * dtype_bytes(out->dtype);
        own->last->bytes = realloc(own->last->bytes, (size_t)own->last->count + 1);
        assert_non_null(own->last->bytes);
        memcpy(own->last->bytes, out->data, (size_t)own->last->count);
    }
    if (code == STATUS_OK && call->opcode == OPCODE_ARGMAX) {
        bytes_add(&own->last->choices, &call->tensors[0]);
        bytes_add(&own->last->choices, out);
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

/* The corrupting device: runs the call, then spoils what it left. */
#include "tests/conformance/corrupting_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device/passing_device.h"
#include "harness/kernels/convert.h"

struct corrupting_device {
    struct passing_device passing;
    enum corruption corruption;
};

const char *corruption_name(enum corruption corruption)
{
    static const char *const names[CORRUPTION_COUNT] = {"none",   "one element", "unwritten",
                                                        "beyond", "input",       "rounded"};
    return names[corruption];
}

static int64_t tensor_bytes(const struct tensor *tensor)
{
    return tensor_element_count(tensor) * dtype_bytes(tensor->dtype);
}

static bool tensor_is_corruptible(const struct tensor *tensor)
{
    return tensor_bytes(tensor) > 0 && tensor_is_dense(tensor);
}

/* A dense tensor's elements, in memory of the host; NULL where they cannot be had. */
static unsigned char *elements_read(struct device *inner, const struct tensor *tensor)
{
    unsigned char *elements = malloc((size_t)tensor_bytes(tensor));
    if (elements != NULL &&
        inner->table->copy_to_host(inner, elements, tensor->data, tensor_bytes(tensor), NULL) != STATUS_OK) {
        free(elements);
        return NULL;
    }
    return elements;
}

static void element_spoil(const struct tensor *tensor, unsigned char *elements)
{
    int64_t count = tensor_element_count(tensor), largest = 0;
    if (!dtype_is_floating(tensor->dtype)) {
        elements[0] ^= 1;
        return;
    }
    for (int64_t k = 1; k < count; k++) {
        bool larger =
            fabsf(float_load(elements, tensor->dtype, k)) > fabsf(float_load(elements, tensor->dtype, largest));
        largest = larger ? k : largest;
    }
    float value = float_load(elements, tensor->dtype, largest);
    float spoiled = isfinite(value) && value != 0.0f ? value * 0.97f : 1.0f;
    float_store(elements, tensor->dtype, largest, spoiled);
}

static void elements_round(const struct tensor *tensor, unsigned char *elements)
{
    for (int64_t k = 0; tensor->dtype == DTYPE_FLOAT32 && k < tensor_element_count(tensor); k++) {
        float value = float_load(elements, DTYPE_FLOAT32, k);
        float_store(elements, DTYPE_FLOAT32, k, float_from_bfloat16(float_to_bfloat16(value)));
    }
}

static void byte_spoil(struct device *inner, unsigned char *address)
{
    unsigned char byte = 0;
    if (inner->table->copy_to_host(inner, &byte, address, 1, NULL) == STATUS_OK) {
        byte ^= 1;
        inner->table->copy_from_host(inner, address, &byte, 1, NULL);
    }
}

static void output_spoil(const struct corrupting_device *corrupting, const struct tensor *tensor, bool first)
{
    struct device *inner = corrupting->passing.inner;
    unsigned char *elements = tensor_is_corruptible(tensor) ? elements_read(inner, tensor) : NULL;
    if (elements == NULL) {
        return;
    }
    if (corrupting->corruption == CORRUPTION_ELEMENT && first) {
        element_spoil(tensor, elements);
    } else if (corrupting->corruption == CORRUPTION_ROUNDED) {
        elements_round(tensor, elements);
    }
    inner->table->copy_from_host(inner, tensor->data, elements, tensor_bytes(tensor), NULL);
    free(elements);
}

static void call_spoil(const struct corrupting_device *corrupting, const struct operation_call *call,
                       const unsigned char *before)
{
    struct device *inner = corrupting->passing.inner;
    const struct tensor *first = &call->tensors[0], *last = &call->tensors[call->tensor_count - 1];
    int64_t last_bytes = tensor_bytes(last);
    for (int t = call->input_count; t < call->tensor_count; t++) {
        output_spoil(corrupting, &call->tensors[t], t == call->input_count);
    }
    if (corrupting->corruption == CORRUPTION_UNWRITTEN && before != NULL) {
        int64_t at = last_bytes - dtype_bytes(last->dtype);
        inner->table->copy_from_host(inner, (unsigned char *)last->data + at, before + at, dtype_bytes(last->dtype),
                                     NULL);
    } else if (corrupting->corruption == CORRUPTION_BEYOND && tensor_is_corruptible(last)) {
        byte_spoil(inner, (unsigned char *)last->data + last_bytes);
    } else if (corrupting->corruption == CORRUPTION_INPUT && call->input_count > 0 && tensor_is_corruptible(first)) {
        byte_spoil(inner, first->data);
    }
}

static enum status_code corrupting_run(struct device *device, const struct operation_call *call, struct status *error)
{
    const struct corrupting_device *corrupting = (const struct corrupting_device *)device;
    const struct tensor *last = &call->tensors[call->tensor_count - 1];
    struct device *inner = corrupting->passing.inner;
    unsigned char *before = tensor_is_corruptible(last) ? elements_read(inner, last) : NULL;
    enum status_code code = inner->table->run(inner, call, error);
    code = code == STATUS_OK ? inner->table->synchronize(inner, error) : code;
    if (code == STATUS_OK && corrupting->corruption != CORRUPTION_NONE) {
        call_spoil(corrupting, call, before);
    }
    free(before);
    return code;
}

enum status_code device_corrupt_wrap(struct device *inner, enum corruption corruption, struct device **wrapped,
                                     struct status *error)
{
    struct corrupting_device *made = malloc(sizeof *made);
    if (made == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a corrupting device");
    }
    made->corruption = corruption;
    passing_device_open(&made->passing, inner, "corrupting");
    made->passing.table.run = corrupting_run;
    *wrapped = &made->passing.base;
    return STATUS_OK;
}

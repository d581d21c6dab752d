/* Step products: memory for the operands and the loop over the calls. Which calls there are is noted by
 * step_meter.c. */
#include "tests/bench/step_products.h"

#include <stddef.h>

#include "harness/base/clock.h"
#include "tests/bench/bench_row.h"

enum { ALIGNMENT_BYTES = 512, AREA_DEPTH = 4 };

/* From the first element of a tensor to the end of its last one. */
static int64_t tensor_reach_bytes(const struct tensor *tensor)
{
    int64_t last = 0;
    for (int d = 0; d < tensor->rank; d++) {
        last += (tensor->size[d] - 1) * tensor->stride[d];
    }
    int64_t bytes = (last + 1) * dtype_bytes(tensor->dtype);
    return (bytes + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
}

static enum status_code area_open(struct device *device, int64_t bytes, void **area, struct status *error)
{
    struct operation_call fill = {.opcode = OPCODE_RANDOM_NORMAL, .tensor_count = 1};
    enum status_code code = device->table->segment_alloc(device, bytes, area, error);
    if (code != STATUS_OK) {
        return code;
    }
    fill.attributes.f[1] = 1.0;
    fill.tensors[0] = (struct tensor){.data = *area, .dtype = DTYPE_FLOAT32, .rank = 1};
    fill.tensors[0].size[0] = bytes / dtype_bytes(DTYPE_FLOAT32);
    fill.tensors[0].stride[0] = 1;
    code = device->table->run(device, &fill, error);
    return code == STATUS_OK ? device->table->synchronize(device, error) : code;
}

enum status_code step_products_open(struct device *device, const struct operation_call *calls, int call_count,
                                    struct step_products *products, struct status *error)
{
    struct step_products opened = {.device = device, .calls = calls, .call_count = call_count};
    for (int i = 0; i < call_count; i++) {
        for (int t = 0; t < calls[i].tensor_count; t++) {
            int64_t bytes = AREA_DEPTH * tensor_reach_bytes(&calls[i].tensors[t]);
            opened.area_bytes = bytes > opened.area_bytes ? bytes : opened.area_bytes;
        }
    }
    enum status_code code = area_open(device, opened.area_bytes, &opened.inputs, error);
    if (code == STATUS_OK) {
        code = area_open(device, opened.area_bytes, &opened.outputs, error);
    }
    if (code == STATUS_OK) {
        *products = opened;
    } else {
        step_products_close(&opened);
    }
    return code;
}

void step_products_close(struct step_products *products)
{
    struct status ignored = {0};
    if (products->inputs != NULL) {
        products->device->table->segment_free(products->device, products->inputs, products->area_bytes, &ignored);
    }
    if (products->outputs != NULL) {
        products->device->table->segment_free(products->device, products->outputs, products->area_bytes, &ignored);
    }
    *products = (struct step_products){0};
}

/* The next place of an area that has room for so many bytes. */
static void *area_take(void *area, int64_t area_bytes, int64_t bytes, int64_t *used)
{
    if (*used + bytes > area_bytes) {
        *used = 0;
    }
    char *place = (char *)area + *used;
    *used += bytes;
    return place;
}

enum status_code step_products_run(const struct step_products *products, double *seconds, struct status *error)
{
    struct device *device = products->device;
    int64_t inputs_used = 0, outputs_used = 0;
    enum status_code code = STATUS_OK;
    double begin = clock_seconds();
    for (int i = 0; i < products->call_count && code == STATUS_OK; i++) {
        struct operation_call call = products->calls[i];
        for (int t = 0; t < call.tensor_count; t++) {
            bool is_input = t < call.input_count;
            call.tensors[t].data =
                area_take(is_input ? products->inputs : products->outputs, products->area_bytes,
                          tensor_reach_bytes(&call.tensors[t]), is_input ? &inputs_used : &outputs_used);
        }
        code = device->table->run(device, &call, error);
    }
    if (code == STATUS_OK) {
        code = device->table->synchronize(device, error);
    }
    *seconds = clock_seconds() - begin;
    return code;
}

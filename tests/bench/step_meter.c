/* The step meter: a device shim with a clock. What is measured in it is decided by bench_step.c. */
#include "tests/bench/step_meter.h"

#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench_row.h"

static struct device *inner_of(struct device *device)
{
    return ((struct step_meter *)device)->inner;
}

bool opcode_is_product(enum opcode opcode)
{
    return opcode == OPCODE_MATMUL || opcode == OPCODE_CONVOLUTION || opcode == OPCODE_CONVOLUTION_BACKWARD_INPUT ||
           opcode == OPCODE_CONVOLUTION_BACKWARD_WEIGHT;
}

static enum status_code product_note(struct step_meter *meter, const struct operation_call *call, struct status *error)
{
    if (meter->product_count == meter->product_capacity) {
        int capacity = meter->product_capacity > 0 ? 2 * meter->product_capacity : 256;
        struct operation_call *products = realloc(meter->products, (size_t)capacity * sizeof *products);
        if (products == NULL) {
            return status_set(error, STATUS_OUT_OF_MEMORY, "no memory to note %d products", capacity);
        }
        meter->products = products;
        meter->product_capacity = capacity;
    }
    meter->products[meter->product_count++] = *call;
    return STATUS_OK;
}

static enum status_code meter_run(struct device *device, const struct operation_call *call, struct status *error)
{
    struct step_meter *meter = (struct step_meter *)device;
    enum status_code code = STATUS_OK;
    if (meter->notes_products && opcode_is_product(call->opcode)) {
        code = product_note(meter, call, error);
    }
    double begin = bench_seconds();
    if (code == STATUS_OK) {
        code = meter->inner->table->run(meter->inner, call, error);
    }
    if (meter->takes_times) {
        meter->seconds[call->opcode] += bench_seconds() - begin;
    }
    return code;
}

static void meter_close(struct device *device)
{
    (void)device;
}

static enum status_code meter_properties(struct device *device, struct device_properties *properties,
                                         struct status *error)
{
    return inner_of(device)->table->properties(inner_of(device), properties, error);
}

static enum status_code meter_segment_alloc(struct device *device, int64_t bytes, void **address, struct status *error)
{
    return inner_of(device)->table->segment_alloc(inner_of(device), bytes, address, error);
}

static enum status_code meter_segment_free(struct device *device, void *address, int64_t bytes, struct status *error)
{
    return inner_of(device)->table->segment_free(inner_of(device), address, bytes, error);
}

static enum status_code meter_copy_to_host(struct device *device, void *host, const void *address, int64_t bytes,
                                           struct status *error)
{
    return inner_of(device)->table->copy_to_host(inner_of(device), host, address, bytes, error);
}

static enum status_code meter_copy_from_host(struct device *device, void *address, const void *host, int64_t bytes,
                                             struct status *error)
{
    return inner_of(device)->table->copy_from_host(inner_of(device), address, host, bytes, error);
}

static enum status_code meter_synchronize(struct device *device, struct status *error)
{
    return inner_of(device)->table->synchronize(inner_of(device), error);
}

/* Nobody asks for bytes here, and reading them takes milliseconds. */
static enum status_code meter_read_memory(struct device *device, struct device_reading *reading, struct status *error)
{
    (void)device;
    (void)error;
    memset(reading, 0, sizeof *reading);
    return STATUS_OK;
}

void step_meter_open(struct step_meter *meter, struct device *inner)
{
    static const struct device_table table = {
        .kind = "step meter",
        .close = meter_close,
        .properties = meter_properties,
        .segment_alloc = meter_segment_alloc,
        .segment_free = meter_segment_free,
        .run = meter_run,
        .copy_to_host = meter_copy_to_host,
        .copy_from_host = meter_copy_from_host,
        .synchronize = meter_synchronize,
        .read_memory = meter_read_memory,
    };
    *meter = (struct step_meter){.base.table = &table, .inner = inner};
}

void step_meter_close(struct step_meter *meter)
{
    free(meter->products);
    *meter = (struct step_meter){0};
}

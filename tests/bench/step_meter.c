/* The step meter: a device shim with a clock. What is measured in it is decided by bench_step.c. */
#include "tests/bench/step_meter.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/clock.h"
#include "tests/bench/bench_row.h"

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
    double begin = clock_seconds();
    if (code == STATUS_OK) {
        code = meter->passing.inner->table->run(meter->passing.inner, call, error);
    }
    if (meter->takes_times) {
        meter->seconds[call->opcode] += clock_seconds() - begin;
    }
    return code;
}

static void meter_close(struct device *device)
{
    (void)device;
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
    *meter = (struct step_meter){0};
    passing_device_open(&meter->passing, inner, "step meter");
    meter->passing.table.close = meter_close;
    meter->passing.table.run = meter_run;
    meter->passing.table.read_memory = meter_read_memory;
}

void step_meter_close(struct step_meter *meter)
{
    free(meter->products);
    *meter = (struct step_meter){0};
}

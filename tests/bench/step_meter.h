/* Step meter: a device that passes every call on and adds up, for each opcode, how long its operations took. It can
 * note the matrix products that pass, so that they can be run again alone (step_products.h). */
#ifndef ASSAY_TESTS_BENCH_STEP_METER_H
#define ASSAY_TESTS_BENCH_STEP_METER_H

#include <stdbool.h>

#include "harness/device/passing_device.h"

struct step_meter {
    struct passing_device passing;
    bool takes_times;             /* only where run returns when the work is done */
    double seconds[OPCODE_COUNT]; /* set to 0 by whoever begins a new sum */
    bool notes_products;          /* products are appended to `products` */
    struct operation_call *products;
    int product_count, product_capacity;
};

/* MATMUL and the convolutions. */
bool opcode_is_product(enum opcode opcode);

/* The meter borrows inner and is not closed with device_close. */
void step_meter_open(struct step_meter *meter, struct device *inner);
void step_meter_close(struct step_meter *meter);

#endif

/* Step products: the matrix products of a training step run again, one after the other and nothing between them. */
#ifndef ASSAY_TESTS_BENCH_STEP_PRODUCTS_H
#define ASSAY_TESTS_BENCH_STEP_PRODUCTS_H

#include "harness/device/device.h"

/* Products whose operands lie elsewhere than in the step: inputs follow each other through one area and outputs through
 * another, each from the start again at its end, so that they are as little in the caches as in the step. */
struct step_products {
    struct device *device;
    const struct operation_call *calls; /* borrowed */
    int call_count;
    void *inputs, *outputs;
    int64_t area_bytes;
};

/* Inputs are random numbers of a normal distribution. On failure nothing has to be closed. */
enum status_code step_products_open(struct device *device, const struct operation_call *calls, int call_count,
                                    struct step_products *products, struct status *error);
void step_products_close(struct step_products *products);

/* *seconds: of all products, until the device has finished them. */
enum status_code step_products_run(const struct step_products *products, double *seconds, struct status *error);

#endif

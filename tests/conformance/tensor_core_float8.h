/* Tensor cores without a GPU: the arithmetic with which they add products of float8, and a device around the host's
 * whose float8 products are made with it, right or wrong in one way. It is what an H100 does (test_float8.c), not what
 * one must do. */
#ifndef ASSAY_TESTS_CONFORMANCE_TENSOR_CORE_FLOAT8_H
#define ASSAY_TESTS_CONFORMANCE_TENSOR_CORE_FLOAT8_H

#include "harness/device/device.h"

struct float8_arithmetic {
    int terms;         /* that one instruction adds to the sum so far */
    int fraction_bits; /* of the largest addend, and of the sum that is written; what is below is cut */
    int run_terms;     /* after which float32 takes the sum over; 0: never */
};

extern const struct float8_arithmetic float8_hopper, float8_ada;

/* a, b: count numbers of float8 each. */
float float8_sum(const struct float8_arithmetic *how, const float *a, const float *b, int64_t count);

enum float8_fault {
    FLOAT8_RIGHT,
    FLOAT8_LAST_TERM,  /* every sum lacks its last term */
    FLOAT8_ONE_TERM,   /* one element lacks its largest term */
    FLOAT8_HALF_GROUP, /* what does not fill an instruction is left out */
    FLOAT8_SCALE,      /* the scale of the first factor is too large by 2^-8 */
    FLOAT8_BIAS,       /* the bias is scaled as well */
    FLOAT8_FAULT_COUNT
};

const char *float8_fault_name(enum float8_fault fault);

/* Float8 products that tensor cores would take are made so; all else is the host's. The wrapped device owns inner,
 * which must be the host, and closes it; on failure inner still belongs to the caller. */
enum status_code device_float8_wrap(struct device *inner, const struct float8_arithmetic *how, enum float8_fault fault,
                                    struct device **wrapped, struct status *error);

#endif

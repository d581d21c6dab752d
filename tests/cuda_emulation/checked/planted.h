/* Kernels with a fault each, for the test that the checks find it. */
#ifndef ASSAY_TESTS_CHECKED_PLANTED_H
#define ASSAY_TESTS_CHECKED_PLANTED_H

#include "harness/kernels/operation.h"

/* Launches one instead of an operation from a float32 tensor of one line to another: "none", "read-beyond",
 * "write-beyond", "misaligned", "misaligned-store", "unwritten", "shared-beyond", "local". Returns NULL or what the
 * launch says. */
const char *planted_run(const char *fault, const struct operation_call *call);

/* "ptx": each function of tensor_core.h by its PTX and by its stand-in, of random inputs, 64 lanes. The output has for
 * each function and lane how often they differ. */
enum { PTX_FUNCTIONS = 8 };
const char *ptx_compare_run(const struct operation_call *call);

#endif

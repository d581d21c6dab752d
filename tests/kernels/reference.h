/* Reference: what each operation computes, in double precision, element by element, without any thought of speed and
 * without code of the kernels (but the random bits, which test_random.c looks at). Gradients are analytic;
 * test_gradient.c holds them against finite differences of the forward. */
#ifndef ASSAY_TESTS_KERNELS_REFERENCE_H
#define ASSAY_TESTS_KERNELS_REFERENCE_H

#include "tests/kernels/trial_table.h"

/* values[t]: the elements of tensor t in row-major order, whatever its strides. Inputs and updates are read, outputs
 * are written; the memory of the tensors is not looked at. */
typedef void reference_function(const struct operation_call *call, double *const *values);

/* The float8_e4m3fn that is nearest to a number of up to 464. */
double reference_float8(double value);

void reference_run(const struct operation_call *call, double *const *values);

/* The column `reference` of TRIAL_TABLE, in reference_*.c. */
#define TRIAL_REFERENCE(name, reference, plan) reference_function reference;
TRIAL_TABLE(TRIAL_REFERENCE)
#undef TRIAL_REFERENCE

/* bounds[t]: for each element of output t of ATTENTION or ATTENTION_BACKWARD the most that a kernel may be off, before
 * it rounds the output, whose sums are float32 and which rounds the left factors of its second products (probabilities,
 * gradients of scores) to the dtype of q. values: as reference_run left them. Derived in reference_attention.c. */
void reference_attention_bound(const struct operation_call *call, double *const *values, double *const *bounds);

/* bounds: for each element of the output of SCALED_MATMUL the most that a GPU's tensor cores may be off, before bias
 * and rounding, where one instruction adds so many terms. values: as reference_run left them. Derived in
 * reference_float8.c. */
void reference_scaled_matmul_bound(const struct operation_call *call, double *const *values, int terms, double *bounds);

#endif

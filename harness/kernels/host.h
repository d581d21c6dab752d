/* Operations on the host: the loops around the bodies, for every operation but the products that go to a BLAS (MATMUL,
 * CONVOLUTION, CONVOLUTION_BACKWARD_INPUT, CONVOLUTION_BACKWARD_WEIGHT).
 *
 * Work is dealt to OpenMP threads where the compiler has OpenMP. The outcome does not depend on their number. */
#ifndef ASSAY_KERNELS_HOST_H
#define ASSAY_KERNELS_HOST_H

#include <stdbool.h>

#include "harness/kernels/operation.h"

/* Whether kernel_host_run knows the operation. */
bool kernel_host_has(enum opcode opcode);

/* Runs one operation to its end. NULL on success, else a static text that says what is wrong with the call (an
 * operation that is not here, dtypes or shapes that do not fit, an id or a target out of range) or that the host has no
 * memory for the scratch space; outputs are then unchanged. Safe to call from several threads on different tensors. */
const char *kernel_host_run(const struct operation_call *call);

#endif

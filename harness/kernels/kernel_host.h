/* Operations on the host: the loops around the bodies, for every operation that is a KERNEL in OPERATION_TABLE.
 *
 * Work is dealt to OpenMP threads if the compiler has OpenMP. The outcome does not depend on their number. */
#ifndef ASSAY_KERNELS_KERNEL_HOST_H
#define ASSAY_KERNELS_KERNEL_HOST_H

#include <stdbool.h>

#include "harness/kernels/operation.h"

/* Whether kernel_host_run knows the operation. */
bool kernel_host_has(enum opcode opcode);

/* What kernel_host_run returns, this very array, if the host has no memory for an operation's scratch space. */
extern const char host_no_memory[];

/* Runs one operation to its end. NULL on success, else a static text that says what is wrong with the call (an
 * operation that is not here, dtypes or shapes that do not fit, an id or a target out of range), or host_no_memory;
 * outputs are then unchanged. Safe to call from several threads on different tensors. */
const char *kernel_host_run(const struct operation_call *call);

#endif

/* The host's loops, one function for each family of operations: the column `host` of OPERATION_TABLE. A call that
 * reaches them has passed call_check. Each returns NULL, a static text or host_no_memory, as kernel_host_run does. */
#ifndef ASSAY_KERNELS_HOST_OPERATIONS_H
#define ASSAY_KERNELS_HOST_OPERATIONS_H

#include "harness/kernels/kernel_host.h"
#include "harness/kernels/operation.h"

typedef const char *host_function(const struct operation_call *call);

/* Whether the gradient scaler's flag, an optimizer's optional last input, says that this step is left out. */
bool optimizer_is_held(const struct operation_call *call);

#define KERNEL_FUNCTION(name, pattern, check, host, launch) host_function host;
#define PRODUCT_FUNCTION(name, pattern, kind)
OPERATION_TABLE(KERNEL_FUNCTION, PRODUCT_FUNCTION)
#undef KERNEL_FUNCTION
#undef PRODUCT_FUNCTION

#endif

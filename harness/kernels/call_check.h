/* Check: whether a call fits the contract of its operation in operation.h, before anything is read or written. The same
 * for host and CUDA; looks at shapes and dtypes, never at data. */
#ifndef ASSAY_KERNELS_CALL_CHECK_H
#define ASSAY_KERNELS_CALL_CHECK_H

#include <stdbool.h>

#include "harness/kernels/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is said of a call whose operation has no kernel. */
extern const char kernel_unknown[];

/* NULL, or a static text that says what does not fit. A product of a matrix library (PRODUCT in OPERATION_TABLE) is not
 * checked here but by its plan (device/product_plan.h): of one it is said that it is not one of the kernels. */
const char *call_check(const struct operation_call *call);

/* Whether a tensor of this dtype may stand where a pattern has this letter. */
bool pattern_letter_takes(char letter, enum dtype dtype);

#ifdef __cplusplus
}
#endif

#endif

/* Checks of shapes and attributes, a column of OPERATION_TABLE: what the tensors of one call must be to each other. The
 * number of tensors, their dtypes and their density are right already. Seen by call_check*.c only. */
#ifndef ASSAY_KERNELS_CALL_CHECK_SHAPE_H
#define ASSAY_KERNELS_CALL_CHECK_SHAPE_H

#include <stdbool.h>

#include "harness/kernels/operation.h"

/* NULL, or a static text, as call_check gives. */
typedef const char *shape_check(const struct operation_call *call);

#define KERNEL_CHECK(name, pattern, check, host, launch) shape_check check;
#define PRODUCT_CHECK(name, pattern, kind)
OPERATION_TABLE(KERNEL_CHECK, PRODUCT_CHECK)
#undef KERNEL_CHECK
#undef PRODUCT_CHECK

/* What call_check says of shapes, and of attributes, that do not fit. */
extern const char shapes_wrong[], attributes_wrong[];

/* NULL if they fit, else shapes_wrong. */
const char *shapes_verdict(bool fit);

bool shapes_equal(const struct tensor *a, const struct tensor *b);
/* Equal shapes, or dense tensors of equal length that may be read as one line. */
bool shapes_agree(const struct tensor *a, const struct tensor *b);
/* Whether all tensors of the call agree with the first. */
bool all_agree(const struct operation_call *call);

#endif

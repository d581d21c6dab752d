/* Element cast: elements of a model file as elements of another floating type, rounded to nearest even as PyTorch
 * rounds. */
#ifndef ASSAY_LOAD_ELEMENT_CAST_H
#define ASSAY_LOAD_ELEMENT_CAST_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/checkpoint/storage_type.h"

/* F64, F32, F16 or BF16: types whose numbers are cast. float8 is none: without its scales its numbers mean nothing. */
bool storage_type_is_cast(const struct storage_type *type);

/* The type of safetensors that holds such elements: F16 for float16. */
const struct storage_type *storage_type_of(enum dtype dtype);

/* count elements from `from` to `to`, which do not overlap. Both types are among those that are cast, and to is not
 * F64. */
void elements_cast(const struct storage_type *to_type, void *to, const struct storage_type *from_type, const void *from,
                   int64_t count);

#endif

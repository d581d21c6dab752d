/* Offload types: the dtypes of an offload folder, by the names that its index.json has for them: numpy's, and torch's
 * for those that numpy has not. */
#ifndef ASSAY_CHECKPOINT_OFFLOAD_TYPE_H
#define ASSAY_CHECKPOINT_OFFLOAD_TYPE_H

#include <stdbool.h>

#include "harness/checkpoint/storage_type.h"
#include "harness/kernels/dtype.h"

struct offload_type {
    const char *name;        /* "float32", "bfloat16" (whose bytes lie there as int16), "float8_e4m3fn" (as int8) */
    const char *safetensors; /* "F32"; NULL: that format has none */
    int bytes;               /* of one element */
    bool has_dtype;          /* dtype is the same elements */
    enum dtype dtype;
};

/* NULL for a name that accelerate does not write. */
const struct offload_type *offload_type_named(const char *name);

/* nf4x2 is told by its bytes: uint8. Never NULL. */
const struct offload_type *offload_type_of_dtype(enum dtype dtype);

/* NULL for a type whose elements have no whole bytes of their own (Q4_K, F6_E2M3). */
const struct offload_type *offload_type_of_storage(const struct storage_type *type);

#endif

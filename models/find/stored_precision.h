/* Stored precision: in which type a model file has most of its bytes. */
#ifndef ASSAY_FIND_STORED_PRECISION_H
#define ASSAY_FIND_STORED_PRECISION_H

#include "harness/case/workload.h"
#include "harness/checkpoint/checkpoint.h"

struct stored_precision {
    const struct storage_type *type; /* NULL: nothing is stored */
    int64_t type_bytes;              /* of all tensors of that type; of two with equal bytes the first in the file */
    bool is_precision;               /* the type is float32, float16 or bfloat16; any other is storage alone */
    enum precision precision;        /* where it is */
};

struct stored_precision stored_precision_of(const struct checkpoint *checkpoint);

/* The precision that computes in a floating dtype. */
enum precision precision_of_dtype(enum dtype dtype);

#endif

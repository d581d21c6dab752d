/* Stored precision: a sum for each type. Not a choice: what a command does with it is decided there. */
#include "models/find/stored_precision.h"

enum { TYPES_MAXIMUM = 64 };

enum precision precision_of_dtype(enum dtype dtype)
{
    return dtype == DTYPE_FLOAT16    ? PRECISION_FLOAT16
           : dtype == DTYPE_BFLOAT16 ? PRECISION_BFLOAT16
                                     : PRECISION_FLOAT32;
}

struct stored_precision stored_precision_of(const struct checkpoint *checkpoint)
{
    struct {
        const struct storage_type *type;
        int64_t bytes;
    } sums[TYPES_MAXIMUM] = {{0}};
    struct stored_precision result = {0};
    for (int i = 0; i < checkpoint->tensor_count; i++) {
        const struct checkpoint_tensor *tensor = &checkpoint->tensors[i];
        int place = 0;
        while (place < TYPES_MAXIMUM && sums[place].type != NULL && sums[place].type != tensor->type) {
            place++;
        }
        if (place < TYPES_MAXIMUM) { /* there are fewer types */
            sums[place].type = tensor->type;
            sums[place].bytes += tensor->bytes; /* inside the sum of the file, which fits */
        }
    }
    for (int i = 0; i < TYPES_MAXIMUM && sums[i].type != NULL; i++) {
        if (sums[i].bytes > result.type_bytes) {
            result.type = sums[i].type;
            result.type_bytes = sums[i].bytes;
        }
    }
    if (result.type != NULL && result.type->has_dtype && dtype_is_floating(result.type->dtype)) {
        result.is_precision = true;
        result.precision = precision_of_dtype(result.type->dtype);
    }
    return result;
}

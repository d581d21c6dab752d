/* Data types: what an element of a tensor is. Sizes are those of real storage (a boolean is one byte).
 *
 * nf4x2 is one byte that holds two 4-bit codes, the first in its high half; sizes and strides of such a tensor count
 * bytes. Only QUANTIZE, DEQUANTIZE and QUANTIZED_LINEAR look inside. float8_e4m3fn has no infinity: 0x7f and 0xff are
 * NaN, 448 is the largest number. dtype_is_floating is about what arithmetic is done in: float8 is storage, so it is
 * false. */
#ifndef ASSAY_KERNELS_DTYPE_H
#define ASSAY_KERNELS_DTYPE_H

#include <stdbool.h>

enum dtype {
    DTYPE_FLOAT32,
    DTYPE_FLOAT16,
    DTYPE_BFLOAT16,
    DTYPE_INT64,
    DTYPE_BOOL,
    DTYPE_UINT8,
    DTYPE_INT8,
    DTYPE_INT32,
    DTYPE_FLOAT8_E4M3FN,
    DTYPE_NF4X2,
    DTYPE_COUNT
};

int dtype_bytes(enum dtype dtype);        /* 4, 2, 2, 8, 1, 1, 1, 4, 1, 1 */
const char *dtype_name(enum dtype dtype); /* "float32", "float16", "bfloat16", "int64", "bool", "uint8", ... */
bool dtype_is_floating(enum dtype dtype);

/* The lowest finite number of a floating dtype: -65504 for float16. */
static inline double dtype_lowest(enum dtype dtype)
{
    return dtype == DTYPE_FLOAT16 ? -65504.0 : dtype == DTYPE_BFLOAT16 ? -0x1.fep127 : -0x1.fffffep127;
}

/* False, and *dtype untouched, for a name that is not in the list. */
bool dtype_from_name(const char *name, enum dtype *dtype);

#endif

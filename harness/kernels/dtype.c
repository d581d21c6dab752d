/* Data types: the table behind dtype.h. */
#include "harness/kernels/dtype.h"

#include <string.h>

static const struct {
    const char *name;
    int bytes;
    bool floating;
} dtypes[DTYPE_COUNT] = {
    [DTYPE_FLOAT32] = {"float32", 4, true},
    [DTYPE_FLOAT16] = {"float16", 2, true},
    [DTYPE_BFLOAT16] = {"bfloat16", 2, true},
    [DTYPE_INT64] = {"int64", 8, false},
    [DTYPE_BOOL] = {"bool", 1, false},
    [DTYPE_UINT8] = {"uint8", 1, false},
    [DTYPE_INT8] = {"int8", 1, false},
    [DTYPE_INT32] = {"int32", 4, false},
    [DTYPE_FLOAT8_E4M3FN] = {"float8_e4m3fn", 1, false},
    [DTYPE_NF4X2] = {"nf4x2", 1, false},
};

int dtype_bytes(enum dtype dtype)
{
    return dtypes[dtype].bytes;
}

const char *dtype_name(enum dtype dtype)
{
    return dtypes[dtype].name;
}

bool dtype_is_floating(enum dtype dtype)
{
    return dtypes[dtype].floating;
}

bool dtype_from_name(const char *name, enum dtype *dtype)
{
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (strcmp(name, dtypes[i].name) == 0) {
            *dtype = (enum dtype)i;
            return true;
        }
    }
    return false;
}

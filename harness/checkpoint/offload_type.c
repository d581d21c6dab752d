/* Offload types: one table. Not a conversion. */
#include "harness/checkpoint/offload_type.h"

#include <stddef.h>
#include <string.h>

static const struct offload_type types[] = {
    {"float32", "F32", 4, true, DTYPE_FLOAT32},
    {"float16", "F16", 2, true, DTYPE_FLOAT16},
    {"bfloat16", "BF16", 2, true, DTYPE_BFLOAT16},
    {"int64", "I64", 8, true, DTYPE_INT64},
    {"bool", "BOOL", 1, true, DTYPE_BOOL},
    {"uint8", "U8", 1, true, DTYPE_UINT8},
    {"int8", "I8", 1, true, DTYPE_INT8},
    {"int32", "I32", 4, true, DTYPE_INT32},
    {"float8_e4m3fn", "F8_E4M3", 1, true, DTYPE_FLOAT8_E4M3FN},
    {"float8_e5m2", "F8_E5M2", 1, false, DTYPE_FLOAT32},
    {"float8_e4m3fnuz", "F8_E4M3FNUZ", 1, false, DTYPE_FLOAT32},
    {"float8_e5m2fnuz", "F8_E5M2FNUZ", 1, false, DTYPE_FLOAT32},
    {"float8_e8m0fnu", "F8_E8M0", 1, false, DTYPE_FLOAT32},
    {"float64", "F64", 8, false, DTYPE_FLOAT32},
    {"int16", "I16", 2, false, DTYPE_FLOAT32},
    {"uint16", "U16", 2, false, DTYPE_FLOAT32},
    {"uint32", "U32", 4, false, DTYPE_FLOAT32},
    {"uint64", "U64", 8, false, DTYPE_FLOAT32},
    {"complex64", "C64", 8, false, DTYPE_FLOAT32},
    {"complex128", NULL, 16, false, DTYPE_FLOAT32},
};

enum { TYPE_COUNT = sizeof types / sizeof types[0] };

const struct offload_type *offload_type_named(const char *name)
{
    for (int i = 0; i < TYPE_COUNT; i++) {
        if (strcmp(types[i].name, name) == 0) {
            return &types[i];
        }
    }
    return NULL;
}

const struct offload_type *offload_type_of_dtype(enum dtype dtype)
{
    enum dtype bytes = dtype == DTYPE_NF4X2 ? DTYPE_UINT8 : dtype;
    int i = 0;
    while (!types[i].has_dtype || types[i].dtype != bytes) {
        i++; /* every dtype has a row: tests/checkpoint/test_offload_folder.c */
    }
    return &types[i];
}

const struct offload_type *offload_type_of_storage(const struct storage_type *type)
{
    for (int i = 0; i < TYPE_COUNT; i++) {
        if (types[i].safetensors != NULL && strcmp(types[i].safetensors, type->name) == 0 &&
            type->block_elements == 1 && type->block_bytes == types[i].bytes) {
            return &types[i];
        }
    }
    return NULL;
}

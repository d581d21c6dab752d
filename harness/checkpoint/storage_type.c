/* Storage types: two tables. Not a reader: what a block means is no concern of a size. */
#include "harness/checkpoint/storage_type.h"

#include <stddef.h>
#include <string.h>

#include "harness/base/size.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* In the order of the library's own list. */
static const struct storage_type safetensors_types[] = {
    {"BOOL", 1, 1, true, DTYPE_BOOL},
    {"F4", 2, 1, false, DTYPE_FLOAT32},
    {"F6_E2M3", 4, 3, false, DTYPE_FLOAT32},
    {"F6_E3M2", 4, 3, false, DTYPE_FLOAT32},
    {"U8", 1, 1, true, DTYPE_UINT8},
    {"I8", 1, 1, true, DTYPE_INT8},
    {"F8_E5M2", 1, 1, false, DTYPE_FLOAT32},
    {"F8_E4M3", 1, 1, true, DTYPE_FLOAT8_E4M3FN},
    {"F8_E8M0", 1, 1, false, DTYPE_FLOAT32},
    {"F8_E4M3FNUZ", 1, 1, false, DTYPE_FLOAT32},
    {"F8_E5M2FNUZ", 1, 1, false, DTYPE_FLOAT32},
    {"I16", 1, 2, false, DTYPE_FLOAT32},
    {"U16", 1, 2, false, DTYPE_FLOAT32},
    {"F16", 1, 2, true, DTYPE_FLOAT16},
    {"BF16", 1, 2, true, DTYPE_BFLOAT16},
    {"I32", 1, 4, true, DTYPE_INT32},
    {"U32", 1, 4, false, DTYPE_FLOAT32},
    {"F32", 1, 4, true, DTYPE_FLOAT32},
    {"C64", 1, 8, false, DTYPE_FLOAT32},
    {"F64", 1, 8, false, DTYPE_FLOAT32},
    {"I64", 1, 8, true, DTYPE_INT64},
    {"U64", 1, 8, false, DTYPE_FLOAT32},
};

/* By number; a row without a name is a number that the format does not use any more. */
static const struct storage_type gguf_types[] = {
    [0] = {"F32", 1, 4, true, DTYPE_FLOAT32},
    [1] = {"F16", 1, 2, true, DTYPE_FLOAT16},
    [2] = {"Q4_0", 32, 18, false, DTYPE_FLOAT32},
    [3] = {"Q4_1", 32, 20, false, DTYPE_FLOAT32},
    [6] = {"Q5_0", 32, 22, false, DTYPE_FLOAT32},
    [7] = {"Q5_1", 32, 24, false, DTYPE_FLOAT32},
    [8] = {"Q8_0", 32, 34, false, DTYPE_FLOAT32},
    [9] = {"Q8_1", 32, 36, false, DTYPE_FLOAT32},
    [10] = {"Q2_K", 256, 84, false, DTYPE_FLOAT32},
    [11] = {"Q3_K", 256, 110, false, DTYPE_FLOAT32},
    [12] = {"Q4_K", 256, 144, false, DTYPE_FLOAT32},
    [13] = {"Q5_K", 256, 176, false, DTYPE_FLOAT32},
    [14] = {"Q6_K", 256, 210, false, DTYPE_FLOAT32},
    [15] = {"Q8_K", 256, 292, false, DTYPE_FLOAT32},
    [16] = {"IQ2_XXS", 256, 66, false, DTYPE_FLOAT32},
    [17] = {"IQ2_XS", 256, 74, false, DTYPE_FLOAT32},
    [18] = {"IQ3_XXS", 256, 98, false, DTYPE_FLOAT32},
    [19] = {"IQ1_S", 256, 50, false, DTYPE_FLOAT32},
    [20] = {"IQ4_NL", 32, 18, false, DTYPE_FLOAT32},
    [21] = {"IQ3_S", 256, 110, false, DTYPE_FLOAT32},
    [22] = {"IQ2_S", 256, 82, false, DTYPE_FLOAT32},
    [23] = {"IQ4_XS", 256, 136, false, DTYPE_FLOAT32},
    [24] = {"I8", 1, 1, true, DTYPE_INT8},
    [25] = {"I16", 1, 2, false, DTYPE_FLOAT32},
    [26] = {"I32", 1, 4, true, DTYPE_INT32},
    [27] = {"I64", 1, 8, true, DTYPE_INT64},
    [28] = {"F64", 1, 8, false, DTYPE_FLOAT32},
    [29] = {"IQ1_M", 256, 56, false, DTYPE_FLOAT32},
    [30] = {"BF16", 1, 2, true, DTYPE_BFLOAT16},
    [34] = {"TQ1_0", 256, 54, false, DTYPE_FLOAT32},
    [35] = {"TQ2_0", 256, 66, false, DTYPE_FLOAT32},
    [39] = {"MXFP4", 32, 17, false, DTYPE_FLOAT32},
    [40] = {"NVFP4", 64, 36, false, DTYPE_FLOAT32},
    [41] = {"Q1_0", 128, 18, false, DTYPE_FLOAT32},
    [42] = {"Q2_0", 64, 18, false, DTYPE_FLOAT32},
};

const struct storage_type *safetensors_type(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(safetensors_types); i++) {
        if (strcmp(name, safetensors_types[i].name) == 0) {
            return &safetensors_types[i];
        }
    }
    return NULL;
}

const struct storage_type *safetensors_type_of(enum dtype dtype)
{
    for (size_t i = 0; i < COUNT_OF(safetensors_types); i++) {
        if (safetensors_types[i].has_dtype && safetensors_types[i].dtype == dtype) {
            return &safetensors_types[i];
        }
    }
    return NULL;
}

int safetensors_type_rank(const struct storage_type *type)
{
    return (int)(type - safetensors_types);
}

const struct storage_type *gguf_type(uint32_t number)
{
    return number < COUNT_OF(gguf_types) && gguf_types[number].name != NULL ? &gguf_types[number] : NULL;
}

bool storage_bytes(const struct storage_type *type, int64_t element_count, int64_t *bytes)
{
    return element_count % type->block_elements == 0 &&
           size_multiply(element_count / type->block_elements, type->block_bytes, bytes);
}

/* Element cast: a loop for each pair of types, compiled for each generation of processors, so that it does up to 32
 * elements at once. Not a reader. */
#include "harness/load/element_cast.h"

#include <string.h>

#include "harness/kernels/convert.h"
#include "harness/kernels/host_span.h"

enum cast_type { CAST_F32, CAST_F16, CAST_BF16, CAST_F64, CAST_TYPE_COUNT };

static const char *const names[CAST_TYPE_COUNT] = {"F32", "F16", "BF16", "F64"};

static enum cast_type cast_type_of(const struct storage_type *type)
{
    int i = 0;
    while (i < CAST_TYPE_COUNT && strcmp(type->name, names[i]) != 0) {
        i++;
    }
    return (enum cast_type)i;
}

bool storage_type_is_cast(const struct storage_type *type)
{
    return cast_type_of(type) < CAST_TYPE_COUNT;
}

const struct storage_type *storage_type_of(enum dtype dtype)
{
    static const char *const by_dtype[DTYPE_COUNT] = {
        [DTYPE_FLOAT32] = "F32", [DTYPE_FLOAT16] = "F16", [DTYPE_BFLOAT16] = "BF16",
        [DTYPE_INT64] = "I64",   [DTYPE_BOOL] = "BOOL",   [DTYPE_UINT8] = "U8",
        [DTYPE_INT8] = "I8",     [DTYPE_INT32] = "I32",   [DTYPE_FLOAT8_E4M3FN] = "F8_E4M3",
        [DTYPE_NF4X2] = "U8",
    };
    return safetensors_type(by_dtype[dtype]);
}

/* A file's tensor may begin at any byte, so elements are copied out and in; a compiler makes plain moves of it. */
#define CAST_LOOP(name, to_c, from_c, expression)                                                                      \
    HOST_CLONES static void name(void *to, const void *from, int64_t count)                                            \
    {                                                                                                                  \
        BODY_SIMD()                                                                                                    \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            from_c element;                                                                                            \
            memcpy(&element, (const char *)from + i * (int64_t)sizeof element, sizeof element);                        \
            to_c made = (expression);                                                                                  \
            memcpy((char *)to + i * (int64_t)sizeof made, &made, sizeof made);                                         \
        }                                                                                                              \
    }

CAST_LOOP(f16_from_f32, uint16_t, float, float_to_float16(element))
CAST_LOOP(bf16_from_f32, uint16_t, float, float_to_bfloat16(element))
CAST_LOOP(f32_from_f16, float, uint16_t, float_from_float16(element))
CAST_LOOP(bf16_from_f16, uint16_t, uint16_t, float_to_bfloat16(float_from_float16(element)))
CAST_LOOP(f32_from_bf16, float, uint16_t, float_from_bfloat16(element))
CAST_LOOP(f16_from_bf16, uint16_t, uint16_t, float_to_float16(float_from_bfloat16(element)))
CAST_LOOP(f32_from_f64, float, double, (float)element)
CAST_LOOP(f16_from_f64, uint16_t, double, float_to_float16((float)element))
CAST_LOOP(bf16_from_f64, uint16_t, double, float_to_bfloat16((float)element))

typedef void cast_loop(void *to, const void *from, int64_t count);

void elements_cast(const struct storage_type *to_type, void *to, const struct storage_type *from_type, const void *from,
                   int64_t count)
{
    static cast_loop *const loops[CAST_TYPE_COUNT][CAST_TYPE_COUNT] = {
        [CAST_F32] = {NULL, f32_from_f16, f32_from_bf16, f32_from_f64},
        [CAST_F16] = {f16_from_f32, NULL, f16_from_bf16, f16_from_f64},
        [CAST_BF16] = {bf16_from_f32, bf16_from_f16, NULL, bf16_from_f64},
    };
    cast_loop *loop = loops[cast_type_of(to_type)][cast_type_of(from_type)];
    if (loop != NULL) {
        loop(to, from, count);
    } else {
        memcpy(to, from, (size_t)count * (size_t)to_type->block_bytes);
    }
}

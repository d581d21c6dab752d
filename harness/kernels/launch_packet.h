/* Packets: 1, 4 or 8 neighbouring elements, moved in accesses of 16 bytes if they have as many, else of what they
 * have. What is moved lies on a boundary of its own bytes, or of 16 if it has more. CUDA only. */
#ifndef ASSAY_KERNELS_LAUNCH_PACKET_H
#define ASSAY_KERNELS_LAUNCH_PACKET_H

#include "harness/kernels/convert.h"
#include "harness/kernels/operation.h"

#define PACKET static __device__ __forceinline__

struct alignas(16) words_of_16 {
    uint32_t word[4];
};

struct alignas(8) words_of_8 {
    uint32_t word[2];
};

/* bytes: 1, 2, 4, 8 or a multiple of 16; 1 and 2 are the low ones of word[0]. */
template <int bytes> PACKET void words_load(const void *from, uint32_t *word)
{
    if (bytes >= 16) {
#pragma unroll
        for (int k = 0; k < bytes / 16; k++) {
            struct words_of_16 words = ((const struct words_of_16 *)from)[k];
#pragma unroll
            for (int w = 0; w < 4; w++) {
                word[4 * k + w] = words.word[w];
            }
        }
    } else if (bytes == 8) {
        struct words_of_8 words = *(const struct words_of_8 *)from;
        word[0] = words.word[0];
        word[bytes / 8] = words.word[1];
    } else {
        word[0] = bytes == 4   ? *(const uint32_t *)from
                  : bytes == 2 ? *(const uint16_t *)from
                               : (uint32_t) * (const uint8_t *)from;
    }
}

template <int bytes> PACKET void words_store(void *to, const uint32_t *word)
{
    if (bytes >= 16) {
#pragma unroll
        for (int k = 0; k < bytes / 16; k++) {
            ((struct words_of_16 *)to)[k] =
                words_of_16{{word[4 * k], word[4 * k + 1], word[4 * k + 2], word[4 * k + 3]}};
        }
    } else if (bytes == 8) {
        *(struct words_of_8 *)to = words_of_8{{word[0], word[bytes / 8]}};
    } else if (bytes == 4) {
        *(uint32_t *)to = word[0];
    } else if (bytes == 2) {
        *(uint16_t *)to = (uint16_t)word[0];
    } else {
        *(uint8_t *)to = (uint8_t)word[0];
    }
}

/* Elements [index, index + unit) of memory that holds this dtype: a floating one, bool or uint8. */
template <enum dtype dtype, int unit> PACKET void packet_load(const void *data, int64_t index, float *to)
{
    constexpr int bytes = dtype == DTYPE_FLOAT32 ? 4 : dtype == DTYPE_BOOL || dtype == DTYPE_UINT8 ? 1 : 2;
    uint32_t word[unit * bytes < 4 ? 1 : unit * bytes / 4];
    words_load<unit * bytes>((const char *)data + index * bytes, word);
#pragma unroll
    for (int k = 0; k < unit; k++) {
        uint32_t bits = word[k * bytes / 4] >> 8 * (k * bytes % 4);
        to[k] = bytes == 4                ? float_from_bits(bits)
                : dtype == DTYPE_FLOAT16  ? float_from_float16((uint16_t)bits)
                : dtype == DTYPE_BFLOAT16 ? float_from_bfloat16((uint16_t)bits)
                : dtype == DTYPE_BOOL     ? ((bits & 0xffu) != 0 ? 1.0f : 0.0f)
                                          : (float)(bits & 0xffu);
    }
}

template <enum dtype dtype, int unit> PACKET void packet_store(void *data, int64_t index, const float *from)
{
    constexpr int bytes = dtype == DTYPE_FLOAT32 ? 4 : dtype == DTYPE_BOOL || dtype == DTYPE_UINT8 ? 1 : 2;
    uint32_t word[unit * bytes < 4 ? 1 : unit * bytes / 4] = {};
#pragma unroll
    for (int k = 0; k < unit; k++) {
        uint32_t bits = bytes == 4                ? float_bits(from[k])
                        : dtype == DTYPE_FLOAT16  ? float_to_float16(from[k])
                        : dtype == DTYPE_BFLOAT16 ? float_to_bfloat16(from[k])
                        : dtype == DTYPE_BOOL     ? from[k] != 0.0f
                                                  : (uint8_t)from[k];
        word[k * bytes / 4] |= bits << 8 * (k * bytes % 4);
    }
    words_store<unit * bytes>((char *)data + index * bytes, word);
}

/* Whether packets of it are known to FLOATING_SWITCH. */
static inline __host__ __device__ bool dtype_is_packed(enum dtype dtype)
{
    return dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;
}

/* A packet's elements when memory is stepped through by `step` elements: as many, or fewer so that they divide it. */
static inline int unit_dividing(int unit, int64_t step)
{
    return step % unit == 0 ? unit : step % 4 == 0 && unit == 8 ? 4 : 1;
}

/* The largest packet that divides the columns and on whose boundary the rows of these tensors lie, which are of a
 * floating dtype. 8 if all have 2 bytes an element; float32 has 4, so that neighbouring lanes have neighbouring 16
 * bytes. */
static inline int packet_unit(const struct tensor *const *tensors, int tensor_count, int64_t columns)
{
    int unit = unit_dividing(8, columns);
    for (int t = 0; t < tensor_count; t++) {
        int64_t bytes = element_bytes(tensors[t]->dtype);
        unit = unit == 8 && bytes == 4 ? 4 : unit;
        unit = unit_dividing(unit, (int64_t)((uintptr_t)tensors[t]->data / (uintptr_t)bytes));
    }
    return unit;
}

/* The statement with `dtype` as a constant: what a loop of loads stands in, or every load would wait for the one before
 * it to know its dtype. A packet of 8 is never of float32 (packet_unit). */
#define FLOATING_SWITCH(of, unit, ...)                                                                                 \
    do {                                                                                                               \
        if ((unit) < 8 && (of) == DTYPE_FLOAT32) {                                                                     \
            constexpr enum dtype dtype = DTYPE_FLOAT32;                                                                \
            __VA_ARGS__                                                                                                \
        } else if ((of) == DTYPE_BFLOAT16) {                                                                           \
            constexpr enum dtype dtype = DTYPE_BFLOAT16;                                                               \
            __VA_ARGS__                                                                                                \
        } else {                                                                                                       \
            constexpr enum dtype dtype = DTYPE_FLOAT16;                                                                \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    } while (0)

/* The instance of a kernel template for packets of that many elements. */
#define UNIT_FORM(kernel, unit) ((unit) == 8 ? kernel<8> : (unit) == 4 ? kernel<4> : kernel<1>)

/* packet_load and packet_store for a dtype that may be DTYPE_COUNT: the tensor's own, looked up. */
template <enum dtype known, int unit> PACKET void packet_get(const struct tensor *tensor, int64_t index, float *to)
{
    if (known == DTYPE_COUNT) {
        FLOATING_SWITCH(tensor->dtype, unit, { packet_load<dtype, unit>(tensor->data, index, to); });
    } else {
        packet_load<known, unit>(tensor->data, index, to);
    }
}

template <enum dtype known, int unit>
PACKET void packet_set(const struct tensor *tensor, int64_t index, const float *from)
{
    if (known == DTYPE_COUNT) {
        FLOATING_SWITCH(tensor->dtype, unit, { packet_store<dtype, unit>(tensor->data, index, from); });
    } else {
        packet_store<known, unit>(tensor->data, index, from);
    }
}

#endif

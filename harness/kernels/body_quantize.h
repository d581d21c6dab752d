/* Bodies of quantised storage: a block's scale, its codes, and what a code is worth.
 *
 * int8 is LLM.int8's form (Dettmers et al. 2022): one scale for each row, the largest magnitude, which becomes 127. nf4
 * is QLoRA's (Dettmers et al. 2023): 16 levels, the quantiles of a normal distribution scaled to [-1, 1]; the levels
 * are those that bitsandbytes stores. float8_e4m3fn is scaled so that the largest magnitude becomes 448.
 *
 * Worked: 0.5 in a block whose largest magnitude is 2 is int8 round(0.5 * 63.5) = 32, worth 32 * 2 / 127 = 0.503937;
 * nf4 level 10 of 16 (0.246112, nearest to 0.25), worth 0.492225; float8 0.5 * 224 = 112 exactly, worth 0.5. */
#ifndef ASSAY_KERNELS_BODY_QUANTIZE_H
#define ASSAY_KERNELS_BODY_QUANTIZE_H

#include "harness/kernels/body_map_codes.h"

#define FLOAT8_E4M3FN_LARGEST 448.0f

/* The 16 levels of NF4, ascending. */
BODY float nf4_level(int code)
{
    static const float levels[16] = {-1.0f,
                                     -0.6961928009986877f,
                                     -0.5250730514526367f,
                                     -0.39491748809814453f,
                                     -0.28444138169288635f,
                                     -0.18477343022823334f,
                                     -0.09105003625154495f,
                                     0.0f,
                                     0.07958029955625534f,
                                     0.16093020141124725f,
                                     0.24611230194568634f,
                                     0.33791524171829224f,
                                     0.44070982933044434f,
                                     0.5626170039176941f,
                                     0.7229568362236023f,
                                     1.0f};
    return levels[code];
}

BODY float nf4_midpoint(int code)
{
    return (nf4_level(code) + nf4_level(code + 1)) / 2.0f;
}

/* The nearest level: how many midpoints between neighbours lie below. A tie goes to the lower one. Comparisons with
 * constants, so that a loop over it becomes vector instructions. */
BODY int nf4_nearest(float value)
{
    int code = (value > nf4_midpoint(0)) + (value > nf4_midpoint(1)) + (value > nf4_midpoint(2));
    code += (value > nf4_midpoint(3)) + (value > nf4_midpoint(4)) + (value > nf4_midpoint(5));
    code += (value > nf4_midpoint(6)) + (value > nf4_midpoint(7)) + (value > nf4_midpoint(8));
    code += (value > nf4_midpoint(9)) + (value > nf4_midpoint(10)) + (value > nf4_midpoint(11));
    code += (value > nf4_midpoint(12)) + (value > nf4_midpoint(13)) + (value > nf4_midpoint(14));
    return code;
}

/* The scale that stands for a block of this largest magnitude. */
BODY float block_scale(enum dtype codes, float magnitude)
{
    return codes == DTYPE_FLOAT8_E4M3FN ? magnitude / FLOAT8_E4M3FN_LARGEST : magnitude;
}

/* An element in units of its block's code, before it is rounded to one; 0 in a block of zeros. The libraries multiply
 * by a reciprocal for int8 and nf4, and divide for float8: the last bit decides ties. */
BODY float element_scaled(float value, enum dtype codes, float scale, float reciprocal)
{
    return codes == DTYPE_FLOAT8_E4M3FN ? (scale > 0.0f ? value / scale : 0.0f) : value * reciprocal;
}

BODY float block_reciprocal(enum dtype codes, float scale)
{
    return scale > 0.0f ? (codes == DTYPE_INT8 ? 127.0f : 1.0f) / scale : 0.0f;
}

BODY float block_magnitude(struct team team, struct span a, int64_t count)
{
    float largest = 0.0f;
    BODY_SIMD(reduction(max : largest))
    for (int64_t k = team.lane; k < count; k += team.lanes) {
        float magnitude = fabsf(span_get(a, k));
        largest = magnitude > largest ? magnitude : largest;
    }
    return team_maximum(team, largest);
}

/* The code of an element in units of its block's. */
BODY int8_t int8_code(float scaled)
{
    return (int8_t)(scaled == scaled ? rintf(scaled) : 0.0f); /* NaN has no code */
}

BODY uint8_t float8_code(float scaled)
{
    float bounded = scaled > FLOAT8_E4M3FN_LARGEST ? FLOAT8_E4M3FN_LARGEST : scaled;
    return float_to_float8_e4m3(bounded < -FLOAT8_E4M3FN_LARGEST ? -FLOAT8_E4M3FN_LARGEST : bounded);
}

BODY uint8_t nf4_pair(float first, float second)
{
    return (uint8_t)(nf4_nearest(first) << 4 | nf4_nearest(second));
}

/* Codes [first, first + count) of a tensor; a holds the elements. first is even for nf4x2. */
BODY void block_codes(struct team team, struct span a, int64_t first, int64_t count, void *codes, enum dtype dtype,
                      float scale)
{
    float reciprocal = block_reciprocal(dtype, scale);
    if (dtype == DTYPE_NF4X2) {
        uint8_t *pairs = (uint8_t *)codes + first / 2;
        for (int64_t k = team.lane; k < (count + 1) / 2; k += team.lanes) {
            float second = 2 * k + 1 < count ? span_get(a, 2 * k + 1) * reciprocal : 0.0f;
            pairs[k] = nf4_pair(span_get(a, 2 * k) * reciprocal, second);
        }
        return;
    }
    for (int64_t k = team.lane; k < count; k += team.lanes) {
        float scaled = element_scaled(span_get(a, k), dtype, scale, reciprocal);
        if (dtype == DTYPE_INT8) {
            ((int8_t *)codes)[first + k] = int8_code(scaled);
        } else {
            ((uint8_t *)codes)[first + k] = float8_code(scaled);
        }
    }
}

/* The worth of code `index` of a block with this scale. */
BODY float code_value(const void *codes, enum dtype dtype, int64_t index, float scale)
{
    if (dtype == DTYPE_NF4X2) {
        uint8_t pair = ((const uint8_t *)codes)[index / 2];
        return nf4_level(index % 2 == 0 ? pair >> 4 : pair & 15) * scale;
    }
    if (dtype == DTYPE_INT8) {
        return (float)((const int8_t *)codes)[index] * scale * (1.0f / 127.0f);
    }
    return float_from_float8_e4m3(((const uint8_t *)codes)[index]) * scale;
}

/* An element of LLM.int8's product. */
BODY float sum_value(int32_t sum, float row_scale, float column_scale)
{
    return (float)sum * (row_scale * column_scale) * (1.0f / 16129.0f);
}

/* The scales of a tensor's blocks of `length` elements: numbers, or, if codes is not NULL, codes of a map with scales
 * of their own, one for each `nested_length` of them, plus an offset. */
struct block_scales {
    const float *scales;
    const uint8_t *codes;
    const float *map, *offset;
    int64_t length, nested_length;
};

/* Of the operands of QUANTIZED_LINEAR or NESTED_LINEAR. */
BODY_COUNT struct block_scales block_scales_of(const struct operation_call *call)
{
    bool nested = call->opcode == OPCODE_NESTED_LINEAR;
    struct block_scales scales;
    scales.scales = (const float *)call->tensors[nested ? 3 : 2].data;
    scales.codes = nested ? (const uint8_t *)call->tensors[2].data : NULL;
    scales.map = nested ? (const float *)call->tensors[4].data : NULL;
    scales.offset = nested ? (const float *)call->tensors[5].data : NULL;
    scales.length = call->attributes.i[0];
    scales.nested_length = call->attributes.i[1];
    return scales;
}

BODY_COUNT int linear_bias_index(const struct operation_call *call)
{
    int index = call->opcode == OPCODE_NESTED_LINEAR ? 6 : 3;
    return call->input_count > index ? index : -1;
}

BODY float block_scale_at(const struct block_scales *scales, int64_t block)
{
    return scales->codes == NULL
               ? scales->scales[block]
               : scales->map[scales->codes[block]] * scales->scales[block / scales->nested_length] + *scales->offset;
}

/* The dot product of a row of `columns` elements with codes [first, first + columns). */
BODY float quantized_dot(struct team team, struct span a, const void *codes, enum dtype dtype,
                         const struct block_scales *scales, int64_t first, int64_t columns)
{
    float sum = 0.0f;
    for (int64_t k = team.lane; k < columns; k += team.lanes) {
        float scale = block_scale_at(scales, (first + k) / scales->length);
        sum += span_get(a, k) * code_value(codes, dtype, first + k, scale);
    }
    return team_sum(team, sum);
}

#endif

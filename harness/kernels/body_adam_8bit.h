/* 8-bit Adam: moments kept as codes of one byte, 256 of them sharing a float32 scale, as in bitsandbytes 0.50
 * (Adam8bit, block-wise; paper: "8-bit Optimizers via Block-wise Quantization", arXiv 2110.02861).
 *
 * A code stands for a number of a map, times the scale of its block, the block's largest magnitude. The dynamic map has
 * 256 numbers from -1 (unsigned: 0) to 1, finer towards 0: decade i, from 10^(i-7) to 10^(i-6), i = 0 to 6, has 2^i
 * numbers (unsigned: 2^(i+1)), the middles of equal parts of [0.1, 1] times 10^(i-6). Besides them there are 0 and 1.
 * Worked, signed: code 127 is 0, code 128 is 0.55e-6, code 129 is 0.325e-5, code 254 is 0.1 + 0.9 * 63.5 / 64
 * = 0.99296875, code 255 is 1, and code 126 is -0.55e-6. */
#ifndef ASSAY_KERNELS_BODY_ADAM_8BIT_H
#define ASSAY_KERNELS_BODY_ADAM_8BIT_H

#include "harness/kernels/body_optimizer.h"

enum { MAP_CODES = 256, MAP_DECADES = 7, CODE_BLOCK = 256 };

/* The number of rank `place` (from 0) above 0 in a map whose first decade has `finest` numbers; not the last, 1. */
BODY float dynamic_map_magnitude(int place, int finest)
{
    int decade = 0;
    int numbers = finest;
    while (place >= numbers) {
        place -= numbers;
        numbers *= 2;
        decade++;
    }
    double scale = 1.0;
    for (int i = decade + 1; i < MAP_DECADES; i++) {
        scale *= 10.0;
    }
    return (float)((0.1 + 0.9 * (place + 0.5) / numbers) / scale);
}

BODY float dynamic_map_number(int code, bool is_signed)
{
    int zero = is_signed ? 127 : 0;
    if (code == MAP_CODES - 1 || code == zero) {
        return code == zero ? 0.0f : 1.0f;
    }
    float magnitude = dynamic_map_magnitude((code > zero ? code - zero : zero - code) - 1, is_signed ? 1 : 2);
    return code > zero ? magnitude : -magnitude;
}

/* The code whose number is nearest to x, the lower of two equally near. map ascends. */
BODY int map_nearest(const float *map, float x)
{
    int code = 0;
    for (int step = MAP_CODES / 2; step > 0; step /= 2) {
        int upper = code + step;
        code = x > 0.5f * (map[upper - 1] + map[upper]) ? upper : code;
    }
    return code;
}

/* scale: the largest magnitude of the block; if it is 0, so are all its moments. */
BODY uint8_t moment_code(const float *map, float moment, float scale)
{
    int code = map_nearest(map, scale > 0.0f ? moment / scale : 0.0f);
    /* What is negative must not become 0: the sign of the first moment is kept. */
    return (uint8_t)(moment < 0.0f && map[code] == 0.0f ? code - 1 : code);
}

/* e: the parameter and its moments, decoded. A gradient that is not finite leaves the parameter and clears the moments,
 * or it would be the scale of its block for ever. */
BODY struct adam_element adam_8bit_update(struct adam_element e, float grad, struct adam_constants c)
{
    if (unscale_finds(grad)) {
        e.m = 0.0f;
        e.v = 0.0f;
        return e;
    }
    return adam_update(e, grad, c);
}

#endif

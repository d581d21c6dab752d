/* Codes of one byte that stand for the numbers of a map, as bitsandbytes keeps moments of 8-bit Adam and, where weights
 * are quantised twice, their scales (functional.py, quantize_blockwise).
 *
 * The dynamic map has 256 numbers from -1 (unsigned: 0) to 1, finer towards 0: decade i, from 10^(i-7) to 10^(i-6), i =
 * 0 to 6, has 2^i numbers (unsigned: 2^(i+1)), the middles of equal parts of [0.1, 1] times 10^(i-6). Besides them
 * there are 0 and 1. Worked, signed: code 127 is 0, code 128 is 0.55e-6, code 129 is 0.325e-5, code 254 is 0.1 + 0.9 *
 * 63.5 / 64 = 0.99296875, code 255 is 1, and code 126 is -0.55e-6. */
#ifndef ASSAY_KERNELS_BODY_MAP_CODES_H
#define ASSAY_KERNELS_BODY_MAP_CODES_H

#include "harness/kernels/body.h"

enum { MAP_CODES = 256, MAP_DECADES = 7 };

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

/* Elements of a block in codes; scale: the largest magnitude among them. */
BODY void map_codes_write(struct team team, struct span a, int64_t count, const float *map, float scale, uint8_t *codes)
{
    float reciprocal = scale > 0.0f ? 1.0f / scale : 0.0f;
    for (int64_t k = team.lane; k < count; k += team.lanes) {
        codes[k] = (uint8_t)map_nearest(map, span_get(a, k) * reciprocal);
    }
}

#endif

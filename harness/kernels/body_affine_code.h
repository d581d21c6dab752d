/* Bodies of affine codes: what quantisation by a scale and a shift for each group of elements is made of, as
 * optimum-quanto does it: the lowest and the highest number of a group, and codes of 2 or 4 bits. The tensor is cut
 * into 4 or 2 equal parts; a byte holds one code of each, those at the same place of their part. */
#ifndef ASSAY_KERNELS_BODY_AFFINE_CODE_H
#define ASSAY_KERNELS_BODY_AFFINE_CODE_H

#include "harness/kernels/body.h"

/* The highest of count elements; sign -1: the highest of the negated ones. */
BODY float span_highest(struct team team, struct span a, int64_t count, float sign)
{
    float highest = -INFINITY;
    BODY_SIMD(reduction(max : highest))
    for (int64_t k = team.lane; k < count; k += team.lanes) {
        float value = sign * span_get(a, k);
        highest = value > highest ? value : highest;
    }
    return team_maximum(team, highest);
}

/* The bits of a code at its place in a byte: 13 in 4 bits is 0xd0 at place 1. */
BODY uint8_t code_placed(uint8_t code, int bits, int place)
{
    return (uint8_t)((code & ((1 << bits) - 1)) << (bits * place));
}

/* The code at a place. */
BODY uint8_t code_at(uint8_t packed, int bits, int place)
{
    return (uint8_t)((packed >> (bits * place)) & ((1 << bits) - 1));
}

#endif

/* 8-bit Adam: moments kept as codes of one byte, 256 of them sharing a float32 scale, as in bitsandbytes 0.50
 * (Adam8bit, block-wise; paper: "8-bit Optimizers via Block-wise Quantization", arXiv 2110.02861).
 *
 * A code stands for a number of a map (body_map_codes.h), times the scale of its block, its largest magnitude. */
#ifndef ASSAY_KERNELS_BODY_ADAM_8BIT_H
#define ASSAY_KERNELS_BODY_ADAM_8BIT_H

#include "harness/kernels/body_map_codes.h"
#include "harness/kernels/body_optimizer.h"

enum { CODE_BLOCK = 256 };

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

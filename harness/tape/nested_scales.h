/* Scales of nf4 weights that are quantised themselves: double quantisation, compress_statistics in bitsandbytes 0.50
 * (functional.py, quantize_4bit and quantize_blockwise; backends/cuda/ops.py).
 *
 * The scales less their mean are divided into blocks of 256. A block's scale is its largest magnitude, a code one of
 * the 256 numbers of the dynamic map. Each weight keeps a map of its own, 1,024 bytes; the one that they are copied
 * from is made when the first weight is quantised, and stays. Before 0.46 all weights share that one.
 */
#ifndef ASSAY_TAPE_NESTED_SCALES_H
#define ASSAY_TAPE_NESTED_SCALES_H

#include "harness/tape/quantized.h"

enum { NESTED_BLOCK = 256 };

/* tensor->scales, float32 values of the open frame, become codes; map, nested and mean are made. */
void nested_scales_make(struct tape *tape, struct quantized *tensor, const char *label);

/* The scales in float32, a temporary of the open frame, and in *codes_worth what they are without their mean where that
 * is a tensor of its own, until its caller drops it (else NULL). in_place: the mean is added there. */
struct value *nested_scales_read(struct tape *tape, const struct quantized *tensor, bool in_place,
                                 struct value **codes_worth);

#endif

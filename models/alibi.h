/* ALiBi: biases of attention by distance, head by head. They depend on the key alone, because softmax does not feel what a
 * whole row has in common.
 *
 * Slopes of n heads, n a power of two: 2^(-8 i / n) for i = 1 .. n; of other numbers those of the next lower power of two
 * n, then every second one of 2 n. 16 heads: 2^-0.5, 2^-1, ..., 2^-8. */
#ifndef ASSAY_MODELS_ALIBI_H
#define ASSAY_MODELS_ALIBI_H

#include "models/forward.h"

/* The slope of a head, counted from 0. */
double alibi_slope(int64_t head, int64_t head_count);

/* float32 [heads], on the device; belongs to the open frame. */
struct value *alibi_slopes(const struct forward *forward);

#endif

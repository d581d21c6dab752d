/* ALiBi: biases of attention by distance, head by head. They depend on the key alone, because softmax does not feel
 * what a whole row has in common.
 *
 * Slopes of n heads, n a power of two: 2^(-8 i / n) for i = 1 .. n; of other numbers those of the next lower power of
 * two n, then every second one of 2 n. 16 heads: 2^-0.5, 2^-1, ..., 2^-8. */
#ifndef ASSAY_FORWARD_ALIBI_H
#define ASSAY_FORWARD_ALIBI_H

#include "models/forward/forward.h"

/* The slope of a head, counted from 0. */
double alibi_slope(int64_t head, int64_t head_count);

/* Bloom repeats the biases of one row where nothing says which tokens are seen, and its slopes then stay with the open
 * frame. Falcon counts those of every row, of a mask of ones if none is given, and rounds slopes to bfloat16. */
enum alibi_form { ALIBI_BLOOM, ALIBI_FALCON };

/* Slope times position of the key, [B * heads, 1, T] in dtype, T all keys there are room for. */
struct value *alibi_biases(const struct forward *forward, enum alibi_form form, enum dtype dtype);

#endif

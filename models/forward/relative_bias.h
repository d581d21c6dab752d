/* Biases of attention by distance that are learned: T5's, one number for each bucket and head.
 *
 * Worked number: t5-small over 512 tokens: 512 * 512 buckets of int64, 2,097,152 bytes, and 8 heads of float32 for
 * each, 8,388,608 bytes, which all layers of a stack share; attention that takes a mask copies them for every layer. */
#ifndef ASSAY_FORWARD_RELATIVE_BIAS_H
#define ASSAY_FORWARD_RELATIVE_BIAS_H

#include "models/forward/forward.h"

/* Where the queries are among the keys, and whether distances count in both directions. */
struct bias_span {
    int64_t rows, columns, first;
    bool both;
};

/* compute_bias: rows of the table "path.weight", [1, heads, rows, columns], a view. */
struct value *relative_bias_make(const struct forward *forward, const char *path, const struct bias_span *span);

/* What scaled_dot_product_attention is given for a bias [1, heads, S, T] and a mask (bool or numbers, NULL: none), as
 * transformers' create_position_bias_mask makes it: dense, the lowest number where mask or order hide a key. */
struct value *relative_bias_mask(const struct forward *forward, struct value *bias, struct value *mask, bool causal);

#endif

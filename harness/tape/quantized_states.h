/* Quantised keys and values on a tape: what transformers' QuantizedCache keeps of the states of all tokens, and what it
 * takes to make that and to read it, tensor by tensor in the libraries' order.
 *
 * float8 (backend fp8): float8_e4m3fn codes in the shape of the states and one float32 scale, the largest magnitude /
 * 448 of what came first; later states are divided by the same scale. int4 and int2 (backend quanto, optimum-quanto
 * 0.2.7, groups of 64 along axis 0): for each 64 neighbours a scale, (highest - lowest) / (2^bits - 1), and a shift, -
 * lowest, in the dtype of the states; the codes round((x + shift) / scale) lie in bytes with those 1 / n of the groups
 * further on.
 *
 * Worked: states [1, 8, 128, 64] in bfloat16, 131,072 bytes, are 65,536 + 4 bytes in float8, 32,768 + 2 * 1,024 * 2 =
 * 36,864 in int4 and 16,384 + 4,096 = 20,480 in int2. */
#ifndef ASSAY_TAPE_QUANTIZED_STATES_H
#define ASSAY_TAPE_QUANTIZED_STATES_H

#include "harness/tape/build.h"

enum states_form { STATES_FLOAT8, STATES_INT4, STATES_INT2 };

enum { STATES_GROUP = 64 };

/* States [rows, heads, tokens, width] in quantised storage. codes NULL: none. */
struct quantized_states {
    enum states_form form;
    int64_t size[4];
    struct value *codes, *scale;
    struct value *shift; /* of int4 and int2; else NULL */
};

/* In the open frame; states stay their caller's. int4 and int2: a whole number of groups, at least two. */
struct quantized_states tape_states_quantize(struct tape *tape, enum states_form form, struct value *states);

/* float8 codes of further states under a scale that is there. */
struct value *tape_states_codes(struct tape *tape, struct value *states, struct value *scale);

/* All of them in dtype (int4 and int2: in that of the scale), a temporary of the open frame. */
struct value *tape_states_dequantize(struct tape *tape, const struct quantized_states *states, enum dtype dtype);

/* Bytes of so many elements in a form, whose scales and shifts, if they have the dtype of the states, take
 * element_bytes each. False if that is more than int64. */
bool states_stored_bytes(enum states_form form, int64_t elements, int64_t element_bytes, int64_t *bytes);

#endif

/* Selection: the largest elements of a row, elements picked by index, and integers divided. */
#ifndef ASSAY_KERNELS_BODY_SELECT_H
#define ASSAY_KERNELS_BODY_SELECT_H

#include "harness/kernels/body.h"

/* An element of a row and where it is. */
struct ranked {
    float value; /* NaN counts as +infinity */
    int64_t index;
};

BODY struct ranked ranked_first(void)
{
    struct ranked none = {INFINITY, -1}; /* every element comes after it */
    return none;
}

/* An element as it is ranked, and whether it comes after `last` in falling order; of equals the lower index is
 * first. */
BODY float ranked_value(float value)
{
    return value != value ? INFINITY : value;
}

BODY bool ranked_follows(float value, int64_t index, struct ranked last)
{
    return value < last.value || (value == last.value && index > last.index);
}

/* Whether a comes before b in falling order. */
BODY bool ranked_better(struct ranked a, struct ranked b)
{
    return a.value > b.value || (a.value == b.value && a.index < b.index);
}

/* The same as one number, the larger the earlier an element comes in falling order, so that no two elements of a row
 * have the same; 0: no element. index: below 2^32. */
BODY uint64_t rank_of(float value, int64_t index)
{
    uint32_t bits = float_bits(ranked_value(value) + 0.0f); /* -0 becomes 0 */
    uint32_t rising = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
    return (uint64_t)rising << 32 | (uint32_t)~index;
}

BODY int64_t rank_index(uint64_t rank)
{
    return (int64_t)(uint32_t)~rank;
}

/* out[g, n, c] = a[g, ids[g, n, c], c]: how many of each there are, and the steps through ids. */
struct gather_shape {
    int64_t rows, picked, columns; /* of a's middle dimension, of the output's, of both */
    int64_t ids_step[3];
};

/* The element of a that output `index` (row-major) receives, or -1 if the id is not a row. */
BODY int64_t gather_source(const int64_t *ids, struct gather_shape shape, int64_t index)
{
    int64_t column = index % shape.columns;
    int64_t place = index / shape.columns % shape.picked;
    int64_t group = index / shape.columns / shape.picked;
    int64_t id = ids[group * shape.ids_step[0] + place * shape.ids_step[1] + column * shape.ids_step[2]];
    return id >= 0 && id < shape.rows ? (group * shape.rows + id) * shape.columns + column : -1;
}

/* What the positions of a row's tokens are counted by: an id that does not count, what is added to the counts, and what
 * stands where an id does not count. */
struct position_rule {
    int64_t excluded, shift, otherwise;
};

/* The positions of a row's ids from `first` to before `last`: what stands before them is counted too. */
BODY void token_positions_span(const int64_t *ids, int64_t *out, int64_t first, int64_t last, struct position_rule rule)
{
    int64_t count = 0;
    for (int64_t k = 0; k < last; k++) {
        bool counts = ids[k] != rule.excluded;
        count += counts ? 1 : 0;
        if (k >= first) {
            out[k] = counts ? count + rule.shift : rule.otherwise;
        }
    }
}

/* Rounded down, and what is left: never negative. divisor > 0. */
BODY int64_t integer_quotient(int64_t a, int64_t divisor)
{
    return a / divisor - (a % divisor < 0 ? 1 : 0);
}

BODY int64_t integer_remainder(int64_t a, int64_t divisor)
{
    int64_t rest = a % divisor;
    return rest < 0 ? rest + divisor : rest;
}

#endif

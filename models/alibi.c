/* ALiBi: the slopes. Not here: what a model makes of them. */
#include "models/alibi.h"

#include <math.h>

double alibi_slope(int64_t head, int64_t head_count)
{
    int64_t power = 1;
    while (2 * power <= head_count) {
        power *= 2;
    }
    if (head < power) {
        return pow(2.0, -8.0 * (double)(head + 1) / (double)power);
    }
    return pow(2.0, -4.0 * (double)(2 * (head - power) + 1) / (double)power);
}

struct value *alibi_slopes(const struct forward *f)
{
    struct tape *tape = f->tape;
    int64_t heads = f->config->heads;
    struct value *slopes = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_FLOAT32, 1, &heads, false, "ALiBi slopes");
    for (int64_t i = 0; i < heads; i++) {
        struct value *one = tape_slice(tape, slopes, 0, i, 1);
        tape_fill(tape, one, alibi_slope(i, heads));
        tape_drop(tape, one);
    }
    return slopes;
}

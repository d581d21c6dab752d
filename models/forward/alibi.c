/* ALiBi: the slopes and the biases. Not here: how a model adds them to its scores. */
#include "models/forward/alibi.h"

#include <math.h>

/* The highest power of two that is no more than count. */
static int64_t power_below(int64_t count)
{
    int64_t power = 1;
    while (2 * power <= count) {
        power *= 2;
    }
    return power;
}

double alibi_slope(int64_t head, int64_t head_count)
{
    int64_t power = power_below(head_count);
    if (head < power) {
        return pow(2.0, -8.0 * (double)(head + 1) / (double)power);
    }
    return pow(2.0, -4.0 * (double)(2 * (head - power) + 1) / (double)power);
}

/* pow(base, powers) of so many heads from `first` on: a number, integers and the slopes, float32, all of which belong
 * to the open frame. */
static struct value *slopes_raise(const struct forward *f, int64_t first, int64_t count)
{
    struct tape *tape = f->tape;
    int64_t none = 0;
    tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_FLOAT32, 0, &none, false, "ALiBi base");
    tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_INT32, 1, &count, false, "ALiBi powers");
    struct value *slopes = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_FLOAT32, 1, &count, false, "ALiBi slopes");
    for (int64_t i = 0; i < count; i++) {
        struct value *one = tape_slice(tape, slopes, 0, i, 1);
        tape_fill(tape, one, alibi_slope(first + i, f->config->heads));
        tape_drop(tape, one);
    }
    return slopes;
}

/* float32 [heads]; they and what they are made of belong to the open frame. */
static struct value *slopes_make(const struct forward *f)
{
    struct tape *tape = f->tape;
    int64_t heads = f->config->heads, power = power_below(heads);
    struct value *slopes = slopes_raise(f, 0, power);
    if (power == heads) {
        return slopes;
    }
    struct value *rest = slopes_raise(f, power, heads - power);
    struct value *all = tape_concatenate(tape, slopes, rest, 0);
    tape_drop(tape, rest);
    value_rebind(tape, &slopes, all);
    return slopes;
}

/* (mask.cumsum(-1) - 1) * mask, i64 [B, 1, T]: positions among what is seen, all if nothing says what that is. */
static struct value *places_make(const struct forward *f, int64_t count)
{
    struct tape *tape = f->tape;
    int64_t batch = value_size(f->ids, 0), row[] = {batch, 1, count}, two[] = {batch, count};
    struct value *sum = tensor_passing(tape, DTYPE_INT64, 2, two);
    if (batch == 1) {
        tape_scan_pass(tape, count);
    }
    struct value *less = tensor_passing(tape, DTYPE_INT64, 2, two);
    tape_drop(tape, sum);
    struct value *places = NULL;
    if (f->seen != NULL) {
        places = tape_token_positions(tape, f->seen, 0, -1, 0);
    } else {
        places = tensor_passing(tape, DTYPE_INT64, 2, two);
        tape_sequence(tape, places, 0);
    }
    tape_drop(tape, less);
    return tape_reshape(tape, places, 3, row);
}

/* The biases of one row, repeated for all: [B, heads, T]. */
static struct value *biases_repeat(const struct forward *f, struct value *slopes, int64_t count)
{
    struct tape *tape = f->tape;
    int64_t whole[] = {value_size(f->ids, 0), f->config->heads, count};
    struct value *places = tensor_passing(tape, DTYPE_INT64, 1, &count);
    tape_sequence(tape, places, 0);
    struct value *one = tape_multiply_integers(tape, slopes, places);
    tape_drop(tape, places);
    return tape_clone(tape, tape_expand(tape, one, 3, whole));
}

/* Those of every row. rounded: the slopes are rounded to bfloat16 before. */
static struct value *biases_by_row(const struct forward *f, struct value *slopes, int64_t count, bool rounded)
{
    struct tape *tape = f->tape;
    struct value *places = places_make(f, count);
    struct value *numbers = rounded ? tape_cast(tape, slopes, DTYPE_BFLOAT16) : slopes;
    struct value *biases = tape_multiply_integers(tape, numbers, places);
    if (rounded) {
        tape_drop(tape, numbers);
    }
    return biases;
}

struct value *alibi_biases(const struct forward *f, enum alibi_form form, enum dtype dtype)
{
    struct tape *tape = f->tape;
    int64_t batch = value_size(f->ids, 0), count = value_size(f->ids, 1), heads = f->config->heads;
    if (f->cache != NULL) {
        count = f->cache->kind == CACHE_STATIC ? f->cache->capacity : f->cache->length + count;
    }
    int64_t column[] = {heads, 1}, flat[] = {batch * heads, 1, count};
    int frame = tape_frame_open(tape);
    struct value *slopes = slopes_make(f), *biases = NULL;
    if (form == ALIBI_BLOOM) { /* a function of its own, of which the slopes alone are left */
        slopes = tape_frame_close(tape, frame, slopes);
        frame = tape_frame_open(tape);
    }
    slopes = tape_reshape(tape, slopes, 2, column);
    if (form == ALIBI_BLOOM && f->seen == NULL) {
        biases = biases_repeat(f, slopes, count);
    } else {
        biases = biases_by_row(f, slopes, count, form == ALIBI_FALCON);
    }
    biases = tape_reshape(tape, tape_cast(tape, biases, dtype), 3, flat);
    return tape_frame_close(tape, frame, biases);
}

/* ALiBi: the slopes and the biases. Not here: how a model adds them to its scores. */
#include "models/forward/alibi.h"

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

/* float32 [heads], on the device; belongs to the open frame. */
static struct value *alibi_slopes(const struct forward *f)
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

/* i64 [T], or [B, 1, T] if rows have positions of their own. */
static struct value *places_make(const struct forward *f, int64_t count, bool by_row)
{
    struct tape *tape = f->tape;
    int64_t batch = value_size(f->ids, 0), row[] = {batch, 1, count}, two[] = {batch, count};
    if (f->seen != NULL) {
        tensor_passing(tape, DTYPE_INT64, 2, two);
        return tape_reshape(tape, tape_token_positions(tape, f->seen, 0, -1, 0), 3, row);
    }
    struct value *places = tensor_passing(tape, DTYPE_INT64, by_row ? 3 : 1, by_row ? row : &count);
    tape_sequence(tape, places, 0);
    return places;
}

struct value *alibi_biases(const struct forward *f, enum dtype made, enum dtype dtype, bool by_row)
{
    struct tape *tape = f->tape;
    int64_t batch = value_size(f->ids, 0), count = value_size(f->ids, 1), heads = f->config->heads;
    if (f->cache != NULL) {
        count = f->cache->kind == CACHE_STATIC ? f->cache->capacity : f->cache->length + count;
    }
    int64_t column[] = {heads, 1}, whole[] = {batch, heads, count}, flat[] = {batch * heads, 1, count};
    struct value *slopes = tape_reshape(tape, alibi_slopes(f), 2, column);
    int frame = tape_frame_open(tape);
    struct value *places = places_make(f, count, by_row);
    struct value *alibi = tape_multiply(tape, tape_cast(tape, slopes, made), tape_cast(tape, places, made));
    if (f->seen == NULL && !by_row) {
        value_rebind(tape, &alibi, tape_clone(tape, tape_expand(tape, alibi, 3, whole)));
    }
    value_rebind(tape, &alibi, tape_cast(tape, alibi, dtype));
    return tape_frame_close(tape, frame, tape_reshape(tape, alibi, 3, flat));
}

/* Autocast: which dtype an operation sees under torch.autocast("cuda"), and the cache of cast parameters.
 * Which operations ask for which is in their own files. */

#include "harness/tape/graph.h"

void tape_autocast_open(struct tape *tape, enum dtype dtype)
{
    tape->autocast = true;
    tape->autocast_dtype = dtype;
}

void tape_autocast_cache(struct tape *tape, bool enabled)
{
    tape->autocast_uncached = !enabled;
}

void tape_autocast_close(struct tape *tape)
{
    tape->autocast = false;
    for (int i = 0; i < tape->cast_count && !tape_failed(tape); i++) {
        value_release(tape, tape->casts[i].to);
    }
    tape->cast_count = 0;
}

static bool cast_remember(struct tape *tape, struct value *from, struct value *to)
{
    if (!array_grow(tape, (void **)&tape->casts, &tape->cast_capacity, tape->cast_count, sizeof *tape->casts)) {
        return false;
    }
    tape->casts[tape->cast_count++] = (struct cast_entry){from, value_retain(to)};
    return true;
}

struct value *autocast_lower(struct tape *tape, struct value *value)
{
    if (value == NULL || !tape->autocast || value->dtype == tape->autocast_dtype || !dtype_is_floating(value->dtype)) {
        return value;
    }
    /* Parameters, and only they, are cast once and kept: leaves that require a gradient, in float32. */
    bool kept = !tape->autocast_uncached && value->is_leaf && value->requires_grad && value->dtype == DTYPE_FLOAT32;
    for (int i = 0; kept && i < tape->cast_count; i++) {
        if (tape->casts[i].from == value) {
            return tape->casts[i].to;
        }
    }
    struct value *cast = tape_cast(tape, value, tape->autocast_dtype);
    if (cast != NULL && kept) {
        value_belongs(tape, cast, value);
        cast_remember(tape, value, cast);
    }
    return cast;
}

void autocast_lower_all(struct tape *tape, struct value **values, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        values[i] = autocast_lower(tape, values[i]);
    }
}

struct value *autocast_float32(struct tape *tape, struct value *value)
{
    if (value == NULL || !tape->autocast || value->dtype == DTYPE_FLOAT32 || !dtype_is_floating(value->dtype)) {
        return value;
    }
    return tape_cast(tape, value, DTYPE_FLOAT32);
}

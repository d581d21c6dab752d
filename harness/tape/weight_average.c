/* Averages of weights: what torch.optim.swa_utils and timm.utils take and compute for one tensor or a list of them.
 * Which tensors, and when, is models/workload/averaged_model.c. */
#include "harness/base/arena.h"
#include "harness/tape/graph.h"

struct value *tape_average_new(struct tape *tape, struct value *value)
{
    struct value *average = value_new_in(tape, CATEGORY_OPTIMIZER, value->dtype, &value->shape, "average");
    if (average == NULL) {
        return NULL;
    }
    value_belongs(tape, average, value);
    tape_copy_into(tape, value, average);
    return tape_hold(tape, average);
}

/* average * decay, and what SGD does of a gradient: average -= (decay - 1) * value. */
void tape_average_lerp(struct tape *tape, struct value *average, struct value *value, double decay)
{
    struct operation_attributes scale = attributes_f(decay, 0.0), add = attributes_f(decay - 1.0, 0.0);
    struct value *scaled[] = {average, average}, *added[] = {value, average};
    tape_run(tape, OPCODE_AFFINE, &scale, 1, 2, scaled);
    tape_run(tape, OPCODE_SGD, &add, 1, 2, added);
}

/* Of an integer, whose products are float32: what it becomes is copied. */
static void number_add(struct tape *tape, struct value *average, struct value *value)
{
    struct value *products[2] = {value_new(tape, DTYPE_FLOAT32, &value->shape, "average by its share"),
                                 value_new(tape, DTYPE_FLOAT32, &value->shape, "value by its share")};
    struct value *sum = value_new(tape, DTYPE_FLOAT32, &value->shape, "new average");
    tape_drop(tape, products[1]);
    tape_drop(tape, products[0]);
    tape_copy_into(tape, value, average);
    tape_drop(tape, sum);
}

void tape_average_add(struct tape *tape, struct value *average, struct value *value, double decay)
{
    if (!dtype_is_floating(value->dtype)) {
        number_add(tape, average, value);
        return;
    }
    struct value *old = make_scale(tape, average, decay, 0.0), *new = make_scale(tape, value, 1.0 - decay, 0.0);
    struct value *sum = make_add(tape, old, new);
    value_belongs(tape, sum, value);
    tape_drop(tape, new);
    tape_drop(tape, old);
    tape_copy_into(tape, sum, average);
    tape_drop(tape, sum);
}

static void chunk_round(struct tape *tape, int count, struct value *const *averages, struct value *const *values,
                        double decay)
{
    struct shape flat = {.rank = 1};
    for (int i = 0; i < count; i++) {
        flat.size[0] += value_count(values[i]);
    }
    struct value *joined = value_new(tape, DTYPE_BFLOAT16, &flat, "averages of a chunk");
    struct value *wide = value_new(tape, DTYPE_FLOAT32, &flat, "averages of a chunk, in float32");
    tape_drop(tape, joined);
    tape_drop(tape, value_new(tape, DTYPE_BFLOAT16, &flat, "weights of a chunk"));
    tape_drop(tape, value_new(tape, DTYPE_INT32, &flat, "random bits of a chunk"));
    for (int i = 0; i < count && !tape_failed(tape); i++) {
        tape_average_lerp(tape, averages[i], values[i], decay);
    }
    tape_drop(tape, wide);
}

void tape_average_round(struct tape *tape, int count, struct value *const *averages, struct value *const *values,
                        double decay)
{
    static const int64_t chunk_elements = 1 << 22;
    int first = 0;
    int64_t elements = 0;
    for (int i = 0; i < count && !tape_failed(tape); i++) {
        if (elements > 0 && elements + value_count(values[i]) > chunk_elements) {
            chunk_round(tape, i - first, averages + first, values + first, decay);
            first = i;
            elements = 0;
        }
        elements += value_count(values[i]);
    }
    if (first < count) {
        chunk_round(tape, count - first, averages + first, values + first, decay);
    }
}

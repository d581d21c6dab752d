/* Leaves: parameters, buffers, inputs, masks; how they are filled. Not the optimizer: see optimizer.c. */
#include <string.h>

#include "harness/tape/graph.h"

struct value *tape_leaf(struct tape *tape, enum category category, enum dtype dtype, int rank, const int64_t *size,
                        bool requires_grad, const char *label)
{
    struct shape shape = {.rank = rank};
    memcpy(shape.size, size, sizeof(int64_t) * (size_t)rank);
    struct value *leaf = value_new_in(tape, category, dtype, &shape, label);
    if (leaf != NULL) {
        leaf->is_leaf = true;
        leaf->requires_grad = requires_grad;
        tape->states[leaf->storage].is_settled = true;
    }
    return leaf;
}

void tape_leaf_begin(struct tape *tape, struct value *value)
{
    if (value != NULL && !tape_failed(tape)) {
        value_retain(value);
        value->is_leaf = value->is_leaf || value->node == NULL;
        value->requires_grad = true;
    }
}

void tape_leaf_end(struct tape *tape, struct value *value)
{
    if (value != NULL && !tape_failed(tape)) {
        tape_gradient_drop(tape, value);
        value_release(tape, value);
    }
}

static void fill_run(struct tape *tape, enum opcode opcode, struct value *value,
                     const struct operation_attributes *attributes)
{
    if (value != NULL) {
        tape_run(tape, opcode, attributes, 0, 1, &value);
    }
}

void tape_init_normal(struct tape *tape, struct value *value, double mean, double deviation)
{
    struct operation_attributes attributes = {.f = {mean, deviation}, .i = {++tape->seed}};
    fill_run(tape, OPCODE_RANDOM_NORMAL, value, &attributes);
}

void tape_fill(struct tape *tape, struct value *value, double number)
{
    struct operation_attributes attributes = attributes_f(number, 0.0);
    fill_run(tape, OPCODE_FILL, value, &attributes);
}

void tape_init_integers(struct tape *tape, struct value *value, int64_t bound)
{
    struct operation_attributes attributes = attributes_i(++tape->seed, bound);
    fill_run(tape, OPCODE_RANDOM_INTEGER, value, &attributes);
}

void tape_sequence(struct tape *tape, struct value *value, int64_t first)
{
    tape_sequence_by(tape, value, first, 1);
}

void tape_sequence_by(struct tape *tape, struct value *value, int64_t first, int64_t step)
{
    struct operation_attributes attributes = attributes_i(first, step);
    fill_run(tape, OPCODE_SEQUENCE, value, &attributes);
}

struct value *tape_causal_mask(struct tape *tape, enum dtype dtype, int64_t batch, int64_t rows, int64_t columns)
{
    return tape_causal_mask_at(tape, dtype, batch, rows, columns, columns - rows);
}

struct value *tape_causal_mask_at(struct tape *tape, enum dtype dtype, int64_t batch, int64_t rows, int64_t columns,
                                  int64_t first)
{
    struct shape shape = {.rank = 4, .size = {batch, 1, rows, columns}};
    struct value *mask = value_new(tape, dtype, &shape, "causal mask");
    struct operation_attributes attributes = attributes_i(first, 0);
    fill_run(tape, OPCODE_CAUSAL_MASK, mask, &attributes);
    return mask;
}

struct value *tape_attention_mask(struct tape *tape, struct value *seen, bool causal)
{
    if (seen == NULL || tape_failed(tape)) {
        return NULL;
    }
    int64_t columns = value_size(seen, 1);
    struct shape shape = {.rank = 4, .size = {value_size(seen, 0), 1, columns, columns}};
    struct value *values[] = {seen, value_new(tape, DTYPE_BOOL, &shape, "attention mask")};
    struct operation_attributes attributes = attributes_i(causal ? 0 : columns, 0);
    tape_run(tape, OPCODE_ATTENTION_MASK, &attributes, 1, 2, values);
    return values[1];
}

struct value *tape_position_buckets(struct tape *tape, const struct bucket_span *span)
{
    struct shape shape = {.rank = 2, .size = {span->rows, span->columns}};
    struct value *made = value_new(tape, DTYPE_INT64, &shape, "buckets of relative positions");
    struct operation_attributes attributes = {.i = {span->first, span->count, span->farthest, span->both ? 1 : 0}};
    fill_run(tape, OPCODE_POSITION_BUCKETS, made, &attributes);
    return made;
}

struct value *tape_window_mask(struct tape *tape, struct value *seen, const struct mask_span *span)
{
    if (tape_failed(tape)) {
        return NULL;
    }
    struct shape shape = {.rank = 4, .size = {span->batch, 1, span->rows, span->columns}};
    struct value *made = value_new(tape, DTYPE_BOOL, &shape, "sliding window mask");
    struct value *values[] = {seen != NULL ? seen : made, made};
    struct operation_attributes attributes = attributes_i(span->first, span->window);
    tape_run(tape, OPCODE_ATTENTION_MASK, &attributes, seen != NULL ? 1 : 0, seen != NULL ? 2 : 1, values);
    return made;
}

void tape_fill_window(struct tape *tape, struct value *value, int64_t window)
{
    struct operation_attributes attributes = attributes_i(0, window);
    fill_run(tape, OPCODE_ATTENTION_MASK, value, &attributes);
}

struct value *tape_clone(struct tape *tape, struct value *a)
{
    struct value *result = make_copy(tape, a, value_dtype(a), "clone");
    node_new(tape, gradient_pass, 1, &a, result);
    return result;
}

struct value *tape_hold(struct tape *tape, struct value *value)
{
    if (value != NULL && !tape_failed(tape)) {
        value_retain(value);
        tape_drop(tape, value);
    }
    return value;
}

void tape_copy_into(struct tape *tape, struct value *a, struct value *place)
{
    if (a != NULL && place != NULL) {
        struct value *values[] = {a, place};
        tape_run(tape, OPCODE_COPY, NULL, 1, 2, values);
    }
}

void tape_let_go(struct tape *tape, struct value *value)
{
    if (value != NULL && !tape_failed(tape)) {
        value_release(tape, value);
    }
}

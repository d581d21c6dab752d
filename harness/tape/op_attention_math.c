/* Scaled dot product attention that stores its scores: _scaled_dot_product_attention_math of PyTorch, operation by
 * operation.
 *
 * What it takes for a moment was read from the events of PyTorch's CPU allocator, which runs the same code
 * (peers/pytorch/shadow_check.py). Not the eager form of the models: that scales scores, not their factors. */
#include <math.h>

#include "harness/tape/graph.h"

struct value *tape_repeat_heads(struct tape *tape, struct value *a, int64_t heads)
{
    if (a == NULL || value_size(a, 1) == heads) {
        return a;
    }
    int frame = tape_frame_open(tape);
    int64_t batch = value_size(a, 0), groups = value_size(a, 1), rows = value_size(a, 2), width = value_size(a, 3);
    int64_t thin[] = {batch, groups, 1, rows, width};
    int64_t wide[] = {batch, groups, heads / groups, rows, width};
    int64_t flat[] = {batch, heads, rows, width};
    struct value *repeated = tape_expand(tape, tape_reshape(tape, a, 5, thin), 5, wide);
    return tape_frame_close(tape, frame, tape_reshape(tape, repeated, 4, flat));
}

/* repeat_interleave copies even a single key head, of which a view would do. */
static struct value *heads_copied(struct tape *tape, struct value *a, int64_t heads)
{
    int frame = tape_frame_open(tape);
    struct value *repeated = tape_repeat_heads(tape, a, heads);
    return tape_frame_close(tape, frame, repeated != a ? tape_contiguous(tape, repeated) : a);
}

/* ones().tril() as bool, then where() over two scalars: [rows, columns], to be added. */
static struct value *causal_bias(struct tape *tape, enum dtype dtype, int64_t rows, int64_t columns)
{
    struct shape square = {.rank = 2, .size = {rows, columns}}, scalar = {.rank = 0};
    struct value *ones = value_new(tape, DTYPE_BOOL, &square, "causal mask, ones");
    struct value *lower = value_new(tape, DTYPE_BOOL, &square, "causal mask, lower triangle");
    tape_drop(tape, ones);
    struct value *zero = value_new(tape, dtype, &scalar, "attention mask value");
    struct value *lowest = value_new(tape, dtype, &scalar, "attention mask value");
    struct value *bias = value_new(tape, dtype, &square, "causal mask");
    struct operation_attributes attributes = attributes_i(0, 0);
    if (bias != NULL) {
        tape_run(tape, OPCODE_CAUSAL_MASK, &attributes, 0, 1, &bias);
    }
    tape_drop(tape, lowest);
    tape_drop(tape, zero);
    tape_drop(tape, lower);
    return bias;
}

/* scores += mask, in place. */
static struct value *mask_add(struct tape *tape, struct value *scores, struct value *mask)
{
    if (scores == NULL || mask == NULL) {
        return scores;
    }
    return tape_add_(tape, scores, mask);
}

/* _safe_softmax looks for rows of minus infinity alone: a byte for each score, one for each row, and a scalar. */
static struct value *safe_softmax(struct tape *tape, struct value *scores)
{
    struct value *result = tape_softmax(tape, scores, false);
    if (result == NULL) {
        return NULL;
    }
    struct shape row = result->shape, scalar = {.rank = 0};
    row.size[3] = 1;
    struct value *infinite = value_new(tape, DTYPE_BOOL, &result->shape, "softmax, infinite scores");
    struct value *empty = value_new(tape, DTYPE_BOOL, &row, "softmax, empty rows");
    struct value *zero = value_new(tape, result->dtype, &scalar, "softmax, zero");
    tape_drop(tape, zero);
    tape_drop(tape, empty);
    tape_drop(tape, infinite);
    return result;
}

static struct value *probabilities(struct tape *tape, struct value *query, struct value *key, struct value *mask,
                                   const struct attention_settings *settings)
{
    int frame = tape_frame_open(tape);
    struct value *turned = tape_scale(tape, tape_transpose(tape, key, 2, 3), sqrt(settings->scale));
    struct value *scores = tape_matmul(tape, query, turned);
    tape_drop(tape, turned);
    struct value *masked = mask_add(tape, scores, mask);
    struct value *weights = safe_softmax(tape, masked);
    if (masked != scores) {
        tape_drop(tape, masked);
    }
    tape_drop(tape, scores);
    return tape_frame_close(tape, frame, tape_dropout(tape, weights, settings->dropout));
}

struct value *attention_math(struct tape *tape, struct value **inputs, struct value *mask,
                             const struct attention_settings *settings)
{
    bool autocast = tape->autocast;
    tape->autocast = false;
    int frame = tape_frame_open(tape);
    enum dtype dtype = value_dtype(inputs[0]);
    int64_t heads = value_size(inputs[0], 1), rows = value_size(inputs[0], 2), columns = value_size(inputs[1], 2);
    struct value *q = tape_cast(tape, inputs[0], DTYPE_FLOAT32);
    struct value *k = tape_cast(tape, inputs[1], DTYPE_FLOAT32);
    struct value *v = tape_cast(tape, inputs[2], DTYPE_FLOAT32);
    struct value *query = tape_scale(tape, q, sqrt(settings->scale));
    struct value *bias = settings->causal ? causal_bias(tape, DTYPE_FLOAT32, rows, columns) : mask;
    bool grouped = !settings->broadcast;
    struct value *key = grouped ? heads_copied(tape, k, heads) : k;
    struct value *value = grouped ? heads_copied(tape, v, heads) : v;
    struct value *weights = probabilities(tape, query, key, bias, settings);
    if (weights != NULL && dtype != DTYPE_FLOAT32) {
        make_copy(tape, weights, dtype, "attention weights"); /* a second result, which nobody looks at */
    }
    struct value *wide = tape_matmul(tape, weights, value);
    struct value *result = tape_cast(tape, wide, dtype);
    struct value *const names[] = {wide, value, key, query, settings->causal ? bias : NULL, v, k, q};
    for (int i = 0; i < 8; i++) {
        if (names[i] != result) {
            tape_drop(tape, names[i]);
        }
    }
    tape->autocast = autocast;
    return tape_frame_close(tape, frame, result);
}

/* Clamping: what is infinite in 16 bits becomes finite, as T5 does it. */
#include "harness/tape/graph.h"

enum { SAVED_INPUT, SAVED_HIGHEST, SAVED_LOWEST };

/* 1000 below the largest number if anything is infinite, else that: where(any(isinf(a)), ...), a float32 scalar. */
static struct value *bound_make(struct tape *tape, struct value *a)
{
    int frame = tape_frame_open(tape);
    struct shape scalar = {.rank = 0};
    double largest = -dtype_lowest(a->dtype);
    struct value *infinite = value_new(tape, DTYPE_BOOL, &a->shape, "clamp, infinite elements");
    value_new(tape, DTYPE_BOOL, &scalar, "clamp, whether there are any");
    tape_drop(tape, infinite);
    value_new(tape, DTYPE_FLOAT32, &scalar, "clamp, number");
    value_new(tape, DTYPE_FLOAT32, &scalar, "clamp, number");
    struct value *bound = value_new(tape, DTYPE_FLOAT32, &scalar, "clamp, bound");
    struct operation_attributes once = attributes_f(1.0, 0.0), lowered = attributes_f(-1000.0, largest);
    struct value *searched[] = {a, bound}, *changed[] = {bound, bound};
    tape_fill(tape, bound, 0.0);
    /* a times 1 stays; the bound becomes 1 if one is not finite */
    tape_run(tape, OPCODE_UNSCALE, &once, 0, 2, searched);
    tape_run(tape, OPCODE_AFFINE, &lowered, 1, 2, changed);
    return tape_frame_close(tape, frame, bound);
}

/* where(a >= -bound and a <= bound, grad, 0) */
static void clamp_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *a = node->saved[SAVED_INPUT], *bound = node->saved[SAVED_HIGHEST];
    struct shape scalar = {.rank = 0};
    value_new(tape, DTYPE_BOOL, &a->shape, "clamp, above the lowest");
    struct value *below = value_new(tape, DTYPE_BOOL, &a->shape, "clamp, below the highest");
    tape_drop(tape, below);
    value_new(tape, out[0]->dtype, &scalar, "clamp, zero");
    in[0] = value_new(tape, out[0]->dtype, &a->shape, "CLAMP gradient");
    struct value *kept[] = {a, value_broadcast(tape, bound, &a->shape), in[0]}, *multiplied[] = {in[0], out[0], in[0]};
    tape_run(tape, OPCODE_WITHIN, NULL, 2, 3, kept);
    tape_run(tape, OPCODE_MULTIPLY, NULL, 2, 3, multiplied);
}

struct value *tape_clamp_infinite(struct tape *tape, struct value *a)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct shape scalar = {.rank = 0};
    struct value *bound = bound_make(tape, a);
    struct value *negative = value_new(tape, DTYPE_FLOAT32, &scalar, "clamp, negative bound");
    struct value *result = value_new(tape, a->dtype, &a->shape, "CLAMP");
    if (bound != NULL && result != NULL) {
        struct operation_attributes turned = attributes_f(-1.0, 0.0);
        struct value *negated[] = {bound, negative}, *values[] = {a, value_broadcast(tape, bound, &a->shape), result};
        tape_run(tape, OPCODE_AFFINE, &turned, 1, 2, negated);
        tape_run(tape, OPCODE_BOUND, NULL, 2, 3, values);
        struct node *node = node_new(tape, clamp_backward, 1, &a, result);
        node_save(tape, node, SAVED_INPUT, a);
        node_save(tape, node, SAVED_HIGHEST, bound);
        node_save(tape, node, SAVED_LOWEST, negative);
    }
    return tape_frame_close(tape, frame, result);
}

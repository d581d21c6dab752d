/* BLOOM's GELU: an autograd function of its own, operation by operation, which keeps its input and nothing else. Not
 * PyTorch's gelu: see op_elementwise.c. The names are those of modeling_bloom's bloom_gelu_forward and _back. */
#include "harness/tape/graph.h"

static const double slope = 0.79788456, cubic = 0.044715, derived = 0.1070322243;

/* made takes the place of *name, which goes. */
static void replace(struct tape *tape, struct value **name, struct value *made)
{
    tape_drop(tape, *name);
    *name = made;
}

/* tanh(0.79788456 * x * (1 + 0.044715 * x * x)) */
static struct value *tanh_of(struct tape *tape, struct value *x)
{
    struct value *left = make_scale(tape, x, slope, 0.0);
    struct value *right = make_scale(tape, x, cubic, 0.0);
    replace(tape, &right, make_multiply(tape, right, x));
    replace(tape, &right, make_scale(tape, right, 1.0, 1.0));
    struct value *product = make_multiply(tape, left, right);
    tape_drop(tape, left);
    tape_drop(tape, right);
    replace(tape, &product, make_unary(tape, OPCODE_TANH, NULL, product));
    return product;
}

/* 0.5 * x * ((1 - t * t) * (0.79788456 + 0.1070322243 * x * x)) + 0.5 * (1 + t) */
static struct value *derivative_of(struct tape *tape, struct value *x)
{
    struct value *t = tanh_of(tape, x);
    struct value *half = make_scale(tape, x, 0.5, 0.0);
    struct value *rest = make_multiply(tape, t, t);
    replace(tape, &rest, make_scale(tape, rest, -1.0, 1.0));
    struct value *inner = make_scale(tape, x, derived, 0.0);
    replace(tape, &inner, make_multiply(tape, inner, x));
    replace(tape, &inner, make_scale(tape, inner, 1.0, slope));
    struct value *product = make_multiply(tape, rest, inner);
    tape_drop(tape, rest);
    tape_drop(tape, inner);
    struct value *first = make_multiply(tape, half, product);
    tape_drop(tape, half);
    tape_drop(tape, product);
    struct value *second = make_scale(tape, t, 1.0, 1.0);
    replace(tape, &second, make_scale(tape, second, 0.5, 0.0));
    struct value *sum = make_add(tape, first, second);
    tape_drop(tape, first);
    tape_drop(tape, second);
    return sum;
}

static void gelu_function_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *derivative = derivative_of(tape, node->saved[0]);
    in[0] = make_multiply(tape, derivative, out[0]);
}

struct value *tape_gelu_function(struct tape *tape, struct value *x)
{
    if (x == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *half = make_scale(tape, x, 0.5, 0.0);
    struct value *rest = tanh_of(tape, x);
    replace(tape, &rest, make_scale(tape, rest, 1.0, 1.0));
    struct value *result = make_multiply(tape, half, rest);
    struct node *node = node_new(tape, gelu_function_backward, 1, &x, result);
    if (node != NULL) {
        node_save(tape, node, 0, x);
    }
    return tape_frame_close(tape, frame, result);
}

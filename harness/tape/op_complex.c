/* Complex numbers, of which autograd knows more than we need: points on the circle, and products with them. A tensor of
 * them is float32 with a last dimension of 2. */
#include "harness/tape/graph.h"

static struct value *part_of(struct tape *tape, struct value *a, int64_t index)
{
    return a != NULL ? tape_select(tape, a, -1, index) : NULL;
}

struct value *tape_polar(struct tape *tape, struct value *angles)
{
    if (angles == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct shape shape = angles->shape;
    shape.size[shape.rank++] = 2;
    struct value *radii = value_new(tape, DTYPE_FLOAT32, &angles->shape, "radii of one");
    tape_fill(tape, radii, 1.0);
    struct value *result = value_new(tape, DTYPE_FLOAT32, &shape, "points on the circle");
    struct operation_attributes attributes = attributes_f(1.0, 0.0);
    struct value *real[] = {angles, part_of(tape, result, 0)}, *imaginary[] = {angles, part_of(tape, result, 1)};
    tape_run(tape, OPCODE_COSINE, &attributes, 1, 2, real);
    tape_run(tape, OPCODE_SINE, &attributes, 1, 2, imaginary);
    return tape_frame_close(tape, frame, result);
}

static struct value *product(struct tape *tape, struct value *a, struct value *b, bool conjugate)
{
    struct operation_attributes attributes = attributes_i(conjugate ? 1 : 0, 0);
    return make_binary(tape, OPCODE_COMPLEX_MULTIPLY, &attributes, a, b);
}

/* view_as_real wants its gradient dense; the conjugate is written out for the product. */
static void complex_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *gradient = make_dense(tape, out[0]);
    struct value *conjugate = make_copy(tape, node->saved[0], DTYPE_FLOAT32, "conjugate");
    in[0] = product(tape, gradient, conjugate, true);
    tape_drop(tape, conjugate);
}

struct value *tape_complex_multiply(struct tape *tape, struct value *a, struct value *b)
{
    if (a == NULL || b == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct value *result = product(tape, a, b, false);
    node_save(tape, node_new(tape, complex_backward, 1, &a, result), 0, b);
    return result;
}

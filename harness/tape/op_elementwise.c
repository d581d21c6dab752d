/* Element-wise operations with their gradients. What each saves is PyTorch's derivatives.yaml. */
#include "harness/tape/graph.h"

/* -- add, multiply, scale */

static void add_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    for (int i = 0; i < 2; i++) {
        if (node_wants(node, i)) {
            in[i] = value_pass(tape, out[0]);
        }
    }
}

struct value *tape_add(struct tape *tape, struct value *a, struct value *b)
{
    int frame = tape_frame_open(tape);
    struct value *result = make_add(tape, a, b);
    struct value *inputs[] = {a, b};
    node_new(tape, add_backward, 2, inputs, result);
    return tape_frame_close(tape, frame, result);
}

struct value *tape_add_(struct tape *tape, struct value *a, struct value *b)
{
    if (a == NULL || b == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct value *values[] = {a, value_broadcast(tape, b, &a->shape), a}, *inputs[] = {a, b};
    struct operation_attributes attributes = attributes_f(1.0, 0.0);
    if (values[1] == NULL) {
        return NULL;
    }
    tape_run(tape, OPCODE_ADD, &attributes, 2, 3, values);
    struct value *result = value_alias(tape, a);
    node_new(tape, add_backward, 2, inputs, result);
    return result;
}

static void subtract_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    if (node_wants(node, 1)) {
        in[1] = make_scale(tape, out[0], -1.0, 0.0);
    }
    if (node_wants(node, 0)) {
        in[0] = value_pass(tape, out[0]);
    }
}

struct value *tape_subtract(struct tape *tape, struct value *a, struct value *b)
{
    int frame = tape_frame_open(tape);
    struct operation_attributes attributes = attributes_f(-1.0, 0.0);
    struct value *result = make_binary(tape, OPCODE_ADD, &attributes, a, b);
    struct value *inputs[] = {a, b};
    node_new(tape, subtract_backward, 2, inputs, result);
    return tape_frame_close(tape, frame, result);
}

static void multiply_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    if (node_wants(node, 0)) {
        in[0] = make_multiply(tape, out[0], node->saved[1]);
    }
    if (node_wants(node, 1)) {
        in[1] = make_multiply(tape, out[0], node->saved[0]);
    }
}

struct value *tape_multiply(struct tape *tape, struct value *a, struct value *b)
{
    int frame = tape_frame_open(tape);
    struct value *result = make_multiply(tape, a, b);
    struct value *inputs[] = {a, b};
    struct node *node = node_new(tape, multiply_backward, 2, inputs, result);
    if (node != NULL) {
        node_save(tape, node, 0, node_wants(node, 1) ? a : NULL);
        node_save(tape, node, 1, node_wants(node, 0) ? b : NULL);
    }
    return tape_frame_close(tape, frame, result);
}

struct value *tape_multiply_integers(struct tape *tape, struct value *a, struct value *integers)
{
    if (a == NULL || integers == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct shape shape = shape_join(tape, &a->shape, &integers->shape);
    struct value *result = value_new(tape, a->dtype, &shape, opcode_name(OPCODE_MULTIPLY));
    tape_copy_into(tape, value_broadcast(tape, integers, &shape), result);
    struct value *values[] = {result, value_broadcast(tape, a, &shape), result};
    tape_run(tape, OPCODE_MULTIPLY, NULL, 2, 3, values);
    return tape_frame_close(tape, frame, result);
}

static void scale_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    in[0] = make_scale(tape, out[0], node->attributes.f[0], 0.0);
}

struct value *tape_scale(struct tape *tape, struct value *a, double factor)
{
    struct value *result = make_scale(tape, a, factor, 0.0);
    struct node *node = node_new(tape, scale_backward, 1, &a, result);
    if (node != NULL) {
        node->attributes.f[0] = factor;
    }
    return result;
}

struct value *tape_scale_(struct tape *tape, struct value *a, double factor)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct value *values[] = {a, a};
    struct operation_attributes attributes = attributes_f(factor, 0.0);
    tape_run(tape, OPCODE_AFFINE, &attributes, 1, 2, values);
    struct value *result = value_alias(tape, a);
    struct node *node = node_new(tape, scale_backward, 1, &a, result);
    if (node != NULL) {
        node->attributes.f[0] = factor;
    }
    return result;
}

struct value *tape_add_number(struct tape *tape, struct value *a, double number)
{
    struct value *result = make_scale(tape, a, 1.0, number);
    node_new(tape, gradient_pass, 1, &a, result);
    return result;
}

/* -- powers and functions */

/* grad * (exponent * a ** (exponent - 1)): both temporaries live until the product is there. */
static void power_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    double exponent = node->attributes.f[0];
    struct operation_attributes attributes = attributes_f(exponent - 1.0, 0.0);
    struct value *power = make_unary(tape, OPCODE_POWER, &attributes, node->saved[0]);
    struct value *slope = make_scale(tape, power, exponent, 0.0);
    in[0] = make_multiply(tape, out[0], slope);
}

struct value *tape_power(struct tape *tape, struct value *a, double exponent)
{
    int frame = tape_frame_open(tape);
    struct value *input = autocast_float32(tape, a);
    struct operation_attributes attributes = attributes_f(exponent, 0.0);
    struct value *result = make_unary(tape, OPCODE_POWER, &attributes, input);
    struct node *node = node_new(tape, power_backward, 1, &input, result);
    if (node != NULL) {
        node->attributes = attributes;
        node_save(tape, node, 0, input);
    }
    return tape_frame_close(tape, frame, result);
}

/* -0.5 * grad * result ** 3 */
static void reciprocal_root_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *half = make_scale(tape, out[0], -0.5, 0.0);
    struct operation_attributes attributes = attributes_f(3.0, 0.0);
    struct value *cube = make_unary(tape, OPCODE_POWER, &attributes, node->saved[0]);
    in[0] = make_multiply(tape, half, cube);
}

struct value *tape_reciprocal_root(struct tape *tape, struct value *a)
{
    int frame = tape_frame_open(tape);
    struct value *input = autocast_float32(tape, a);
    struct value *result = make_unary(tape, OPCODE_RECIPROCAL_ROOT, NULL, input);
    struct node *node = node_new(tape, reciprocal_root_backward, 1, &input, result);
    node_save(tape, node, 0, result);
    return tape_frame_close(tape, frame, result);
}

struct value *tape_cosine(struct tape *tape, struct value *a, double factor)
{
    struct operation_attributes attributes = attributes_f(factor, 0.0);
    return make_unary(tape, OPCODE_COSINE, &attributes, a);
}

struct value *tape_sine(struct tape *tape, struct value *a, double factor)
{
    struct operation_attributes attributes = attributes_f(factor, 0.0);
    return make_unary(tape, OPCODE_SINE, &attributes, a);
}

void tape_angles_into(struct tape *tape, struct value *positions, struct value *frequencies, bool sine,
                      struct value *table)
{
    if (positions == NULL || frequencies == NULL || table == NULL || tape_failed(tape)) {
        return;
    }
    int frame = tape_frame_open(tape);
    int64_t batch = value_size(table, 0), rows = value_size(table, 2), half = value_size(frequencies, 0);
    int64_t column[] = {value_size(positions, 0), 1, rows, 1}, row[] = {1, 1, 1, half};
    int64_t times = half > 0 ? value_size(table, 3) / half : 0;
    int64_t whole[] = {batch, 1, rows, times * half}, part[] = {batch, 1, rows, half};
    tape_copy_into(tape, tape_expand(tape, tape_reshape(tape, positions, 4, column), 4, whole), table);
    struct value *factors = tape_expand(tape, tape_reshape(tape, frequencies, 4, row), 4, part);
    for (int64_t i = 0; i < times; i++) {
        struct value *side = tape_slice(tape, table, 3, i * half, half);
        struct value *multiplied[] = {side, factors, side};
        tape_run(tape, OPCODE_MULTIPLY, NULL, 2, 3, multiplied);
    }
    struct operation_attributes attributes = attributes_f(1.0, 0.0);
    struct value *turned[] = {table, table};
    tape_run(tape, sine ? OPCODE_SINE : OPCODE_COSINE, &attributes, 1, 2, turned);
    tape_frame_close(tape, frame, NULL);
}

/* One table row for each function whose gradient is one kernel of the gradient and one saved tensor. */
static const struct curve {
    enum opcode forward, backward;
    bool saves_result; /* else the input */
} curves[] = {
    {OPCODE_TANH, OPCODE_TANH_BACKWARD, true},       {OPCODE_GELU, OPCODE_GELU_BACKWARD, false},
    {OPCODE_SILU, OPCODE_SILU_BACKWARD, false},      {OPCODE_RELU, OPCODE_RELU_BACKWARD, true},
    {OPCODE_SIGMOID, OPCODE_SIGMOID_BACKWARD, true},
};

static void curve_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    enum opcode opcode = (enum opcode)node->attributes.i[1];
    struct operation_attributes attributes = attributes_i(node->attributes.i[0], 0);
    in[0] = make_binary(tape, opcode, &attributes, out[0], node->saved[0]);
}

static void curve_save(struct tape *tape, const struct curve *curve, int64_t variant, struct value *a,
                       struct value *result)
{
    struct node *node = node_new(tape, curve_backward, 1, &a, result);
    if (node != NULL) {
        node->attributes = attributes_i(variant, curve->backward);
        node_save(tape, node, 0, curve->saves_result ? result : a);
    }
}

static struct value *curve_apply(struct tape *tape, const struct curve *curve, int64_t variant, struct value *a)
{
    struct operation_attributes attributes = attributes_i(variant, 0);
    struct value *result = make_unary(tape, curve->forward, &attributes, a);
    curve_save(tape, curve, variant, a, result);
    return result;
}

struct value *tape_tanh(struct tape *tape, struct value *a)
{
    return curve_apply(tape, &curves[0], 0, a);
}

struct value *tape_gelu(struct tape *tape, struct value *a, bool tanh_form)
{
    return curve_apply(tape, &curves[1], tanh_form ? 1 : 0, a);
}

struct value *tape_silu(struct tape *tape, struct value *a)
{
    return curve_apply(tape, &curves[2], 0, a);
}

struct value *tape_relu(struct tape *tape, struct value *a)
{
    return curve_apply(tape, &curves[3], 0, a);
}

struct value *tape_sigmoid(struct tape *tape, struct value *a)
{
    return curve_apply(tape, &curves[4], 0, a);
}

struct value *tape_relu_(struct tape *tape, struct value *a)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct value *values[] = {a, a};
    tape_run(tape, OPCODE_RELU, NULL, 1, 2, values);
    struct value *result = value_alias(tape, a);
    curve_save(tape, &curves[3], 0, a, result);
    return result;
}

/* -- dropout and casts */

static void dropout_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct operation_attributes attributes = attributes_f(node->attributes.f[0], 0.0);
    in[0] = make_binary(tape, OPCODE_DROPOUT_BACKWARD, &attributes, out[0], node->saved[0]);
}

struct value *tape_dropout(struct tape *tape, struct value *a, double probability)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    if (!tape->training || probability <= 0.0) {
        return value_share(tape, a);
    }
    int frame = tape_frame_open(tape);
    struct value *mask = value_new(tape, DTYPE_BOOL, &a->shape, "DROPOUT mask"); /* first, as in PyTorch's kernel */
    struct value *result = value_new(tape, a->dtype, &a->shape, "DROPOUT");
    struct value *values[] = {a, result, mask};
    struct operation_attributes attributes = {.f = {probability}, .i = {++tape->seed}};
    tape_run(tape, OPCODE_DROPOUT, &attributes, 1, 3, values);
    struct node *node = node_new(tape, dropout_backward, 1, &a, result);
    if (node != NULL) {
        node->attributes.f[0] = probability < 1.0 ? 1.0 / (1.0 - probability) : 0.0;
        node_save(tape, node, 0, mask);
    }
    return tape_frame_close(tape, frame, result);
}

struct value *tape_cast(struct tape *tape, struct value *a, enum dtype dtype)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    if (a->dtype == dtype) {
        return value_share(tape, a);
    }
    struct value *result = make_copy(tape, a, dtype, "cast");
    node_new(tape, gradient_pass, 1, &a, result);
    return result;
}

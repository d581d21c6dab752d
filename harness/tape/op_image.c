/* Convolution and pooling of NCHW images, with their gradients. */
#include "harness/tape/graph.h"

static int64_t extent(int64_t size, int64_t kernel, int64_t stride, int64_t padding)
{
    return (size + 2 * padding - kernel) / stride + 1;
}

/* inputs: a, weight, bias */
static void convolution_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *gradient = make_dense(tape, out[0]);
    if (gradient == NULL) {
        return;
    }
    if (node_wants(node, 0)) {
        in[0] = value_new(tape, gradient->dtype, &node->edges[0].shape, "CONVOLUTION input gradient");
        struct value *values[] = {gradient, node->saved[1], in[0]};
        tape_run(tape, OPCODE_CONVOLUTION_BACKWARD_INPUT, &node->attributes, 2, 3, values);
    }
    if (node_wants(node, 1)) {
        in[1] = value_new(tape, gradient->dtype, &node->edges[1].shape, "CONVOLUTION weight gradient");
        struct value *values[] = {gradient, node->saved[0], in[1]};
        tape_run(tape, OPCODE_CONVOLUTION_BACKWARD_WEIGHT, &node->attributes, 2, 3, values);
    }
    if (node_wants(node, 2)) {
        struct shape shape = {.rank = 4, .size = {1, gradient->shape.size[1], 1, 1}};
        struct value *sum = make_sum_to(tape, gradient, &shape);
        in[2] = sum != NULL ? make_reshape(tape, sum, &node->edges[2].shape) : NULL;
    }
}

struct value *tape_convolution(struct tape *tape, struct value *a, struct value *weight, struct value *bias,
                               int64_t stride, int64_t padding)
{
    if (a == NULL || weight == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *inputs[] = {a, weight, bias};
    autocast_lower_all(tape, inputs, 3);
    int64_t kernel = weight->shape.size[2];
    struct shape shape = {.rank = 4,
                          .size = {a->shape.size[0], weight->shape.size[0],
                                   extent(a->shape.size[2], kernel, stride, padding),
                                   extent(a->shape.size[3], kernel, stride, padding)}};
    struct value *result = value_new(tape, value_dtype(inputs[0]), &shape, "CONVOLUTION");
    struct operation_attributes attributes = attributes_i(stride, padding);
    struct value *values[4] = {inputs[0], inputs[1]};
    int count = 2;
    if (inputs[2] != NULL) {
        values[count++] = inputs[2];
    }
    values[count] = result;
    tape_run(tape, OPCODE_CONVOLUTION, &attributes, count, count + 1, values);
    struct node *node = result != NULL ? node_new(tape, convolution_backward, 3, inputs, result) : NULL;
    if (node != NULL) {
        node->attributes = attributes;
        node_save(tape, node, 0, inputs[0]);
        node_save(tape, node, 1, inputs[1]);
    }
    return tape_frame_close(tape, frame, result);
}

static void max_pool_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    in[0] = value_new(tape, out[0]->dtype, &node->edges[0].shape, "MAX_POOL gradient");
    struct value *values[] = {out[0], node->saved[1], in[0]};
    tape_run(tape, OPCODE_MAX_POOL_BACKWARD, &node->attributes, 2, 3, values);
}

struct value *tape_max_pool(struct tape *tape, struct value *a, int64_t kernel, int64_t stride, int64_t padding)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct shape shape = a->shape;
    shape.size[2] = extent(shape.size[2], kernel, stride, padding);
    shape.size[3] = extent(shape.size[3], kernel, stride, padding);
    struct value *result = value_new(tape, a->dtype, &shape, "MAX_POOL");
    struct value *indices = value_new(tape, DTYPE_INT64, &shape, "MAX_POOL indices");
    struct value *values[] = {a, result, indices};
    struct operation_attributes attributes = {.i = {kernel, stride, padding}};
    tape_run(tape, OPCODE_MAX_POOL, &attributes, 1, 3, values);
    struct node *node = result != NULL ? node_new(tape, max_pool_backward, 1, &a, result) : NULL;
    if (node != NULL) {
        node->attributes = attributes;
        node_save(tape, node, 0, a);
        node_save(tape, node, 1, indices);
    }
    return tape_frame_close(tape, frame, result);
}

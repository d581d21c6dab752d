/* Convolution and pooling of NCHW images, with their gradients. */
#include <string.h>

#include "harness/tape/convolution_workspace.h"
#include "harness/tape/graph.h"

static int64_t extent(int64_t size, int64_t kernel, int64_t stride, int64_t padding)
{
    return (size + 2 * padding - kernel) / stride + 1;
}

/* The sizes of a convolution of count values, the last of which is written. NULL values (after an error) have none. */
static struct convolution_shape convolution_form(enum opcode opcode, const struct operation_attributes *attributes,
                                                 int count, struct value *const *values)
{
    const struct value *written = values[count - 1];
    bool forward = opcode == OPCODE_CONVOLUTION, to_weight = opcode == OPCODE_CONVOLUTION_BACKWARD_WEIGHT;
    const struct value *image = forward ? values[0] : to_weight ? values[1] : written;
    const struct value *weight = to_weight ? written : values[1];
    const struct value *result = forward ? written : values[0];
    return (struct convolution_shape){.images = value_size(image, 0),
                                      .channels = value_size(weight, 1),
                                      .filters = value_size(weight, 0),
                                      .kernel = value_size(weight, 2),
                                      .stride = attributes->i[0],
                                      .padding = attributes->i[1],
                                      .rows = value_size(result, 2),
                                      .columns = value_size(result, 3),
                                      .dtype = value_dtype(image)};
}

/* Runs a convolution of count values with the workspace that its target gives it: taken when the place for the result is
 * there, given back at once. */
static void convolution_run(struct tape *tape, enum opcode opcode, const struct operation_attributes *attributes,
                            int count, struct value *const *values)
{
    struct value *operands[5];
    struct value *workspace = NULL;
    const struct convolution_shape form = convolution_form(opcode, attributes, count, values);
    const struct shape size = {.rank = 1, .size = {convolution_workspace_bytes(tape->target, opcode, &form)}};
    if (size.size[0] > 0) {
        workspace = value_new_in(tape, CATEGORY_WORKSPACE, DTYPE_BOOL, &size, "convolution workspace");
    }
    int inputs = count - 1;
    memcpy(operands, values, (size_t)inputs * sizeof *operands);
    if (workspace != NULL) {
        operands[inputs++] = workspace;
    }
    operands[inputs] = values[count - 1];
    tape_run(tape, opcode, attributes, inputs, inputs + 1, operands);
    tape_drop(tape, workspace);
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
        convolution_run(tape, OPCODE_CONVOLUTION_BACKWARD_INPUT, &node->attributes, 3, values);
    }
    if (node_wants(node, 1)) {
        in[1] = value_new(tape, gradient->dtype, &node->edges[1].shape, "CONVOLUTION weight gradient");
        struct value *values[] = {gradient, node->saved[0], in[1]};
        convolution_run(tape, OPCODE_CONVOLUTION_BACKWARD_WEIGHT, &node->attributes, 3, values);
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
    struct operation_attributes attributes = {.i = {stride, padding, tape->tf32_convolutions}};
    struct value *values[4] = {inputs[0], inputs[1]};
    int count = 2;
    if (inputs[2] != NULL) {
        values[count++] = inputs[2];
    }
    values[count] = result;
    convolution_run(tape, OPCODE_CONVOLUTION, &attributes, count + 1, values);
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

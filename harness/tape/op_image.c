/* Convolution and pooling of NCHW images, with their gradients. */
#include <string.h>

#include "harness/tape/convolution_workspace.h"
#include "harness/tape/cudnn_search.h"
#include "harness/tape/graph.h"

static int64_t extent(int64_t size, int64_t kernel, int64_t stride, int64_t padding)
{
    return (size + 2 * padding - kernel) / stride + 1;
}

static struct shape convolved_shape(const struct value *a, const struct value *weight, int64_t stride, int64_t padding)
{
    int64_t kernel = weight->shape.size[2];
    return (struct shape){.rank = 4,
                          .size = {a->shape.size[0], weight->shape.size[0],
                                   extent(a->shape.size[2], kernel, stride, padding),
                                   extent(a->shape.size[3], kernel, stride, padding)}};
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
                                      .image_rows = value_size(image, 2),
                                      .image_columns = value_size(image, 3),
                                      .rows = value_size(result, 2),
                                      .columns = value_size(result, 3),
                                      .dtype = value_dtype(image),
                                      .tf32_allowed = attributes->i[2] != 0};
}

static bool shapes_are_same(const struct convolution_shape *a, const struct convolution_shape *b)
{
    return a->images == b->images && a->channels == b->channels && a->filters == b->filters && a->kernel == b->kernel &&
           a->stride == b->stride && a->padding == b->padding && a->image_rows == b->image_rows &&
           a->image_columns == b->image_columns && a->dtype == b->dtype && a->tf32_allowed == b->tf32_allowed;
}

/* Whether its engines have not been tried yet, which is noted. */
static bool search_begins(struct tape *tape, enum opcode opcode, const struct convolution_shape *form)
{
    if (!tape->cudnn_benchmark || !tape_targets_gpu(tape) || tape_failed(tape) || tape->stopped) {
        return false;
    }
    for (int i = 0; i < tape->searched_count; i++) {
        if (tape->searched[i].opcode == opcode && shapes_are_same(&tape->searched[i].shape, form)) {
            return false;
        }
    }
    if (!array_grow(tape, (void **)&tape->searched, &tape->searched_capacity, tape->searched_count,
                    sizeof *tape->searched)) {
        return false;
    }
    tape->searched[tape->searched_count++] = (struct searched_convolution){opcode, *form};
    return true;
}

/* cuDNN's engines are tried in the largest workspace of theirs that can be had; then the cache is emptied. */
static void search_run(struct tape *tape, enum opcode opcode, const struct convolution_shape *form, int place)
{
    const struct shape size = {.rank = 1, .size = {cudnn_search_bytes(tape->target, opcode, form)}};
    if (!search_begins(tape, opcode, form)) {
        return;
    }
    if (size.size[0] > 0) {
        struct value *workspace =
            value_new_in(tape, CATEGORY_WORKSPACE, DTYPE_BOOL, &size, "search of cuDNN's engines");
        if (workspace != NULL) {
            tape->storages[workspace->storage].place = place;
            tape->storages[workspace->storage].gives_way = true;
        }
        tape_drop(tape, workspace);
    }
    tape_trim(tape, place);
}

/* Runs a convolution of count values with the workspace that its target gives it: taken when the place for the result
 * is there, given back at once. One that is given none may use what products have taken, which changes no byte. */
static void convolution_run(struct tape *tape, enum opcode opcode, const struct operation_attributes *attributes,
                            int count, struct value *const *values)
{
    struct value *operands[5];
    struct value *workspace = NULL, *lent = workspace_held(tape);
    const struct convolution_shape form = convolution_form(opcode, attributes, count, values);
    const struct shape size = {.rank = 1, .size = {convolution_workspace_bytes(tape->target, opcode, &form)}};
    search_run(tape, opcode, &form, tape->has_places ? value_place(tape, values[0]) : tape->place);
    if (size.size[0] > 0) {
        workspace = value_new_in(tape, CATEGORY_WORKSPACE, DTYPE_BOOL, &size, "convolution workspace");
    }
    int inputs = count - 1;
    memcpy(operands, values, (size_t)inputs * sizeof *operands);
    if (workspace != NULL || lent != NULL) {
        operands[inputs++] = workspace != NULL ? workspace : lent;
    }
    operands[inputs] = values[count - 1];
    tape_run(tape, opcode, attributes, inputs, inputs + 1, operands);
    tape_drop(tape, workspace);
}

static struct value *bias_gradient(struct tape *tape, struct value *gradient, const struct shape *bias)
{
    struct shape shape = {.rank = 4, .size = {1, gradient->shape.size[1], 1, 1}};
    struct value *sum = make_sum_to(tape, gradient, &shape);
    return sum != NULL ? make_reshape(tape, sum, bias) : NULL;
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
    if (gradient != out[0]) {
        tape_drop(tape, gradient); /* the bias needs no copy */
    }
    if (node_wants(node, 2)) {
        in[2] = bias_gradient(tape, out[0], &node->edges[2].shape);
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
    struct shape shape = convolved_shape(a, weight, stride, padding);
    struct value *result = value_new(tape, value_dtype(inputs[0]), &shape, "CONVOLUTION");
    struct operation_attributes attributes = {.i = {stride, padding, tape->tf32_convolutions}};
    struct value *values[4] = {inputs[0], inputs[1]};
    int count = 2;
    if (inputs[2] != NULL) {
        values[count++] = inputs[2];
    }
    values[count] = result;
    convolution_run(tape, OPCODE_CONVOLUTION, &attributes, count + 1, values);
    struct node *node = node_new(tape, convolution_backward, 3, inputs, result);
    if (node != NULL) {
        node->attributes = attributes;
        node_save(tape, node, 0, inputs[0]);
        node_save(tape, node, 1, inputs[1]);
    }
    return tape_frame_close(tape, frame, result);
}

/* -- grouped, and with channels last in memory */

/* Whether the channels of [N, C, H, W] lie last in memory, and the images are not dense as well, as those of one pixel
 * or one channel are. */
static bool has_channels_last(const struct value *a)
{
    const int64_t *size = a->shape.size;
    const int64_t expected[] = {size[1] * size[2] * size[3], 1, size[3] * size[1], size[1]};
    bool fits = a->shape.rank == 4 && !value_is_dense(a);
    for (int i = 0; i < 4 && fits; i++) {
        fits = size[i] == 1 || a->stride[i] == expected[i];
    }
    return fits;
}
/* A new value that lies in memory as the images that it goes with: channels last or dense. */
static struct value *image_new(struct tape *tape, enum dtype dtype, const struct shape *shape, bool last,
                               const char *label)
{
    struct value *made = value_new(tape, dtype, shape, label);
    if (made != NULL && last) {
        const int64_t *size = shape->size;
        made->stride[0] = size[1] * size[2] * size[3];
        made->stride[1] = 1;
        made->stride[2] = size[3] * size[1];
        made->stride[3] = size[1];
    }
    return made;
}

/* a itself if it lies in that order, else a copy. */
static struct value *image_take(struct tape *tape, struct value *a, bool last)
{
    if (a == NULL || !last) {
        return make_dense(tape, a);
    }
    if (has_channels_last(a)) {
        return a;
    }
    struct value *copy = image_new(tape, a->dtype, &a->shape, true, "channels last");
    struct value *values[] = {a, copy};
    tape_run(tape, OPCODE_COPY, NULL, 1, 2, values);
    return copy;
}

/* inputs: a, weight, bias */
static void grouped_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *image = node->saved[0], *weight = node->saved[1];
    bool last = has_channels_last(image);
    struct value *gradient = image_take(tape, out[0], last);
    if (gradient == NULL) {
        return;
    }
    if (node_wants(node, 0)) {
        in[0] = image_new(tape, gradient->dtype, &node->edges[0].shape, last, "GROUPED_CONVOLUTION input gradient");
        struct value *values[] = {gradient, weight, in[0]};
        tape_run(tape, OPCODE_GROUPED_CONVOLUTION_BACKWARD_INPUT, &node->attributes, 2, 3, values);
    }
    if (node_wants(node, 1)) {
        in[1] = value_new(tape, gradient->dtype, &node->edges[1].shape, "GROUPED_CONVOLUTION weight gradient");
        struct value *values[] = {gradient, image, in[1]};
        tape_run(tape, OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT, &node->attributes, 2, 3, values);
    }
    if (node_wants(node, 2)) {
        in[2] = bias_gradient(tape, gradient, &node->edges[2].shape);
    }
}

struct value *tape_convolution_grouped(struct tape *tape, struct value *a, struct value *weight, struct value *bias,
                                       int64_t stride, int64_t padding, int64_t groups)
{
    if (a == NULL || weight == NULL || tape_failed(tape)) {
        return NULL;
    }
    bool last = has_channels_last(a);
    if (groups == 1 && !last) {
        return tape_convolution(tape, a, weight, bias, stride, padding);
    }
    int frame = tape_frame_open(tape);
    struct value *inputs[] = {a, weight, bias};
    autocast_lower_all(tape, inputs, 3);
    struct shape shape = convolved_shape(a, weight, stride, padding);
    struct value *result = image_new(tape, value_dtype(inputs[0]), &shape, last, "GROUPED_CONVOLUTION");
    struct operation_attributes attributes = {.i = {stride, padding, groups}};
    struct value *values[4] = {inputs[0], inputs[1]};
    int count = 2;
    if (inputs[2] != NULL) {
        values[count++] = inputs[2];
    }
    values[count] = result;
    tape_run(tape, OPCODE_GROUPED_CONVOLUTION, &attributes, count, count + 1, values);
    struct node *node = node_new(tape, grouped_backward, 3, inputs, result);
    if (node != NULL) {
        node->attributes = attributes;
        node_save(tape, node, 0, inputs[0]);
        node_save(tape, node, 1, inputs[1]);
    }
    return tape_frame_close(tape, frame, result);
}

/* -- pooling */

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
    struct node *node = node_new(tape, max_pool_backward, 1, &a, result);
    if (node != NULL) {
        node->attributes = attributes;
        node_save(tape, node, 0, a);
        node_save(tape, node, 1, indices);
    }
    return tape_frame_close(tape, frame, result);
}

/* Matrix products: linear layers, batched products, and the workspaces that come with them. */
#include <string.h>

#include "harness/tape/graph.h"

/* -- workspaces: PyTorch takes one per cuBLAS handle, and a backward pass runs on a thread with a handle of its own */

static struct value *workspace_new(struct tape *tape, int64_t bytes, const char *label)
{
    struct shape shape = {.rank = 1, .size = {bytes}};
    struct value *workspace = value_new_in(tape, CATEGORY_WORKSPACE, DTYPE_BOOL, &shape, label);
    value_retain(workspace); /* for good: the frame's reference goes, this one stays until the tape ends */
    tape_drop(tape, workspace);
    return workspace;
}

struct value *workspace_held(const struct tape *tape)
{
    return tape->in_backward ? tape->backward_workspaces.product : tape->forward_workspaces[tape->place].product;
}

struct value *workspace_take(struct tape *tape, bool biased_linear)
{
    const struct target *target = tape->target;
    struct workspaces *taken = tape->in_backward ? &tape->backward_workspaces : &tape->forward_workspaces[tape->place];
    if (taken->product == NULL && target->product_workspace_bytes > 0) {
        taken->product = workspace_new(tape, target->product_workspace_bytes,
                                       tape->in_backward ? "cuBLAS workspace, backward" : "cuBLAS workspace");
    }
    if (biased_linear && tape->torch.linear_workspace_passes && target->biased_linear_workspace_bytes > 0) {
        return scratch_bytes_new(tape, target->biased_linear_workspace_bytes, "cuBLASLt workspace");
    }
    if (biased_linear && taken->linear == NULL && target->biased_linear_workspace_bytes > 0) {
        taken->linear = workspace_new(tape, target->biased_linear_workspace_bytes,
                                      tape->in_backward ? "cuBLASLt workspace, backward" : "cuBLASLt workspace");
    }
    return biased_linear && taken->linear != NULL ? taken->linear : taken->product;
}

void workspace_leave(struct tape *tape, struct value *workspace)
{
    const struct workspaces *taken =
        tape->in_backward ? &tape->backward_workspaces : &tape->forward_workspaces[tape->place];
    if (workspace != NULL && workspace != taken->product && workspace != taken->linear) {
        tape_drop(tape, workspace);
    }
}

/* -- linear layers */

struct value *make_rows(struct tape *tape, struct value *a)
{
    if (a == NULL) {
        return NULL;
    }
    int64_t columns = a->shape.size[a->shape.rank - 1];
    int64_t rows = 1;
    for (int i = 0; i + 1 < a->shape.rank; i++) {
        rows *= a->shape.size[i];
    }
    struct shape flat = {.rank = 2, .size = {rows, columns}};
    return make_reshape(tape, a, &flat);
}

struct value *value_turned(struct tape *tape, struct value *matrix)
{
    struct value *view = value_alias(tape, matrix);
    if (view != NULL) {
        int last = view->shape.rank - 1;
        view->shape.size[last] = matrix->shape.size[last - 1];
        view->shape.size[last - 1] = matrix->shape.size[last];
        view->stride[last] = matrix->stride[last - 1];
        view->stride[last - 1] = matrix->stride[last];
    }
    return view;
}

struct value *make_product(struct tape *tape, struct value *a, struct value *b, struct value *bias, const char *label)
{
    if (a == NULL || b == NULL || tape_failed(tape)) {
        return NULL;
    }
    int rank = a->shape.rank;
    struct shape shape = a->shape;
    shape.size[rank - 1] = b->shape.size[rank - 1];
    struct value *result = value_new(tape, a->dtype, &shape, label);
    struct value *workspace = workspace_take(tape, bias != NULL);
    struct operation_attributes attributes = {.f = {1.0, 0.0}, .i = {tape->tf32_products}};
    struct value *values[5] = {a, b};
    int count = 2;
    if (bias != NULL) {
        values[count++] = bias;
    }
    if (workspace != NULL) {
        values[count++] = workspace;
    }
    values[count] = result;
    tape_run(tape, OPCODE_MATMUL, &attributes, count, count + 1, values);
    workspace_leave(tape, workspace);
    return result;
}

/* inputs: a, weight, bias. attributes.i[0]: the weight is stored [in, out]; i[1]: there is a bias. The order of
 * allocation is PyTorch's: with a bias the gradient of the input comes first, without one that of the weight; that of
 * the bias is summed last. */
static void linear_input_gradient(struct tape *tape, struct node *node, struct value *gradient, struct value **in)
{
    if (node_wants(node, 0)) {
        struct value *weight = node->saved[1];
        struct value *slope =
            make_product(tape, gradient, node->attributes.i[0] != 0 ? value_turned(tape, weight) : weight, NULL,
                         "linear input gradient");
        in[0] = slope != NULL ? make_reshape(tape, slope, &node->edges[0].shape) : NULL;
    }
}

static void linear_weight_gradient(struct tape *tape, struct node *node, struct value *gradient, struct value **in)
{
    bool stored_in_out = node->attributes.i[0] != 0;
    if (node_wants(node, 1)) {
        struct value *rows = make_rows(tape, node->saved[0]);
        in[1] = stored_in_out ? make_product(tape, value_turned(tape, rows), gradient, NULL, "linear weight gradient")
                              : make_product(tape, value_turned(tape, gradient), rows, NULL, "linear weight gradient");
        if (in[1] != NULL && !stored_in_out) {
            in[1]->is_view = true; /* PyTorch hands on the transpose of a transpose */
        }
    }
}

/* The gradient as rows. Where that is a copy, the view of the product has made it, a node of PyTorch's of its own, and
 * what it was given is gone before the product's own gradients are made. */
static struct value *gradient_rows(struct tape *tape, struct value **out)
{
    struct value *rows = make_rows(tape, out[0]);
    if (rows != NULL && rows->storage != out[0]->storage) {
        value_release(tape, out[0]);
        out[0] = NULL;
    }
    return rows;
}

static void linear_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *gradient = gradient_rows(tape, out);
    bool biased = node->attributes.i[1] != 0;
    if (biased) { /* addmm */
        linear_input_gradient(tape, node, gradient, in);
        linear_weight_gradient(tape, node, gradient, in);
    } else { /* mm */
        linear_weight_gradient(tape, node, gradient, in);
        linear_input_gradient(tape, node, gradient, in);
    }
    if (node_wants(node, 2)) {
        in[2] = value_pass(tape, gradient); /* the engine sums it up */
    }
}

static struct value *linear_make(struct tape *tape, struct value *a, struct value *weight, struct value *bias,
                                 bool stored_in_out)
{
    if (a == NULL || weight == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    /* linear(a, weight, bias), or addmm(bias, a, weight) */
    struct value *inputs[] = {a, weight, bias}, *swapped[] = {bias, a, weight};
    if (stored_in_out) {
        autocast_lower_all(tape, swapped, 3);
        inputs[0] = swapped[1];
        inputs[1] = swapped[2];
        inputs[2] = swapped[0];
    } else {
        autocast_lower_all(tape, inputs, 3);
    }
    struct value *rows = make_rows(tape, inputs[0]);
    /* What is kept is kept before the product is made: a recomputed block that ends here needs no product. */
    struct node *node = node_new(tape, linear_backward, 3, inputs, NULL);
    if (node != NULL) {
        node->attributes = attributes_i(stored_in_out ? 1 : 0, bias != NULL ? 1 : 0);
        node->last_input_first = true; /* addmm(bias, a, weight) */
        node_save(tape, node, 0, node_wants(node, 1) ? rows : NULL);
        node_save(tape, node, 1, node_wants(node, 0) ? inputs[1] : NULL);
    }
    struct value *flat =
        make_product(tape, rows, stored_in_out ? inputs[1] : value_turned(tape, inputs[1]), inputs[2], "linear");
    struct shape shape = a->shape;
    shape.size[shape.rank - 1] = weight->shape.size[stored_in_out ? 1 : 0];
    struct value *result = make_reshape(tape, flat, &shape);
    node_output(node, result, 0);
    return tape_frame_close(tape, frame, result);
}

struct value *tape_linear(struct tape *tape, struct value *a, struct value *weight, struct value *bias)
{
    return linear_make(tape, a, weight, bias, false);
}

struct value *tape_linear_t(struct tape *tape, struct value *a, struct value *weight, struct value *bias)
{
    return linear_make(tape, a, weight, bias, true);
}

/* -- batched products: operands whose batch dimensions cannot be joined are copied first, and the copy is kept */

/* other: the second factor. Batch dimensions of a that are 1 are expanded to its. */
static struct value *batch_of(struct tape *tape, struct value *a, const struct value *other)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct shape wide = a->shape;
    for (int i = 0; i < 2; i++) {
        wide.size[i] = wide.size[i] == 1 ? other->shape.size[i] : wide.size[i];
    }
    int64_t size[] = {wide.size[0] * wide.size[1], wide.size[2], wide.size[3]};
    bool expands = !shape_equal(&wide, &a->shape);
    return tape_reshape(tape, expands ? tape_expand(tape, a, 4, wide.size) : a, 3, size);
}

static void bmm_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    if (node_wants(node, 1)) {
        in[1] = make_product(tape, value_turned(tape, node->saved[1]), out[0], NULL, "product gradient");
    }
    if (node_wants(node, 0)) {
        in[0] = make_product(tape, out[0], value_turned(tape, node->saved[0]), NULL, "product gradient");
    }
}

/* The first product of a biased one: baddbmm scales what it hands back by a product and a multiplication. */
static void biased_product_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    double factor = node->attributes.f[0];
    for (int i = 0; i < 2; i++) {
        if (!node_wants(node, i)) {
            continue;
        }
        struct value *product =
            i == 0 ? make_product(tape, out[0], value_turned(tape, node->saved[1]), NULL, "product gradient")
                   : make_product(tape, value_turned(tape, node->saved[0]), out[0], NULL, "product gradient");
        in[i] = make_scale(tape, product, factor, 0.0);
        tape_drop(tape, product);
    }
}

struct value *tape_biased_product(struct tape *tape, struct value *bias, struct value *a, struct value *b,
                                  double factor)
{
    if (bias == NULL || a == NULL || b == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *lowered[] = {bias, a, b};
    autocast_lower_all(tape, lowered, 3);
    struct value **inputs = lowered + 1;
    struct shape shape = {.rank = 3, .size = {a->shape.size[0], a->shape.size[1], b->shape.size[2]}};
    struct value *result = value_new(tape, inputs[0]->dtype, &shape, "biased product");
    tape_copy_into(tape, value_broadcast(tape, lowered[0], &shape), result);
    struct value *workspace = workspace_take(tape, false);
    struct value *values[] = {inputs[0], inputs[1], workspace, result};
    struct operation_attributes attributes = {.f = {factor, 1.0}, .i = {tape->tf32_products}};
    int count = workspace != NULL ? 3 : 2;
    values[count] = result;
    tape_run(tape, OPCODE_MATMUL, &attributes, count, count + 1, values);
    struct node *node = node_new(tape, biased_product_backward, 2, inputs, result);
    if (node != NULL) {
        node->attributes = attributes_f(factor, 0.0);
        node_save(tape, node, 0, node_wants(node, 1) ? inputs[0] : NULL);
        node_save(tape, node, 1, node_wants(node, 0) ? inputs[1] : NULL);
    }
    return tape_frame_close(tape, frame, result);
}

struct value *tape_matmul(struct tape *tape, struct value *a, struct value *b)
{
    if (a == NULL || b == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *inputs[] = {a, b};
    autocast_lower_all(tape, inputs, 2);
    inputs[0] = batch_of(tape, inputs[0], b);
    inputs[1] = batch_of(tape, inputs[1], a);
    struct value *flat = make_product(tape, inputs[0], inputs[1], NULL, "product");
    struct node *node = node_new(tape, bmm_backward, 2, inputs, flat);
    if (node != NULL) {
        /* BmmBackward0 lets go of mat2 before self. */
        node_save(tape, node, 1, node_wants(node, 1) ? inputs[0] : NULL);
        node_save(tape, node, 0, node_wants(node, 0) ? inputs[1] : NULL);
    }
    int64_t size[] = {a->shape.size[0], a->shape.size[1], a->shape.size[2], b->shape.size[3]};
    for (int i = 0; i < 2; i++) {
        size[i] = size[i] == 1 ? b->shape.size[i] : size[i];
    }
    return tape_frame_close(tape, frame, tape_reshape(tape, flat, 4, size));
}

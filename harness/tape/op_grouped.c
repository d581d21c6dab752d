/* Rows by index, rows sorted into groups, and products in which each group has a matrix of its own, with their
 * gradients: what a mixture of experts is made of. No size depends on what an index says. */
#include "harness/tape/graph.h"

/* -- rows by index */

static struct value *as_matrix(struct tape *tape, struct value *a)
{
    struct shape shape = {.rank = 2, .size = {a->shape.size[0], a->shape.rank > 1 ? a->shape.size[1] : 1}};
    return make_reshape(tape, a, &shape);
}

/* index_put_ with accumulate into zeros. */
static void rows_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *gradient = make_dense(tape, out[0]);
    in[0] = value_new(tape, out[0]->dtype, &node->edges[0].shape, "rows gradient");
    if (gradient == NULL || in[0] == NULL) {
        return;
    }
    struct value *place = as_matrix(tape, in[0]);
    struct value *values[] = {as_matrix(tape, gradient), node->saved[0], place};
    struct operation_attributes attributes = attributes_i(-1, 0);
    tape_run(tape, OPCODE_EMBEDDING_BACKWARD, &attributes, 2, 3, values);
    tape_drop(tape, values[0]);
    tape_drop(tape, place);
}

/* blocks: an index that says nothing here, but is kept; NULL: none. */
static struct value *rows_take(struct tape *tape, struct value *a, struct value *ids, struct value *blocks)
{
    int frame = tape_frame_open(tape);
    struct shape shape = a->shape;
    shape.size[0] = ids->shape.size[0];
    struct value *result = value_new(tape, a->dtype, &shape, "rows");
    if (result != NULL) {
        struct value *values[] = {as_matrix(tape, a), ids, as_matrix(tape, result)};
        tape_run(tape, OPCODE_EMBEDDING, NULL, 2, 3, values);
        struct node *node = node_new(tape, rows_backward, 1, &a, result);
        node_save(tape, node, 0, ids);
        node_save(tape, node, 1, blocks);
    }
    return tape_frame_close(tape, frame, result);
}

struct value *tape_rows(struct tape *tape, struct value *a, struct value *ids)
{
    return a != NULL && ids != NULL && !tape_failed(tape) ? rows_take(tape, a, ids, NULL) : NULL;
}

struct value *tape_rows_beside(struct tape *tape, struct value *a, struct value *ids)
{
    if (a == NULL || ids == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *blocks = value_new(tape, DTYPE_INT64, &ids->shape, "numbers of blocks");
    tape_sequence(tape, blocks, 0);
    return tape_frame_close(tape, frame, rows_take(tape, a, ids, blocks));
}

/* -- sums that drop or keep a dimension */

static void sum_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct shape shape = node->edges[0].shape, kept = shape;
    kept.size[node->attributes.i[0]] = 1;
    struct value *view = value_alias(tape, out[0]);
    if (view != NULL && !shape_equal(&view->shape, &kept)) {
        int at = (int)node->attributes.i[0];
        for (int i = kept.rank - 1; i > at; i--) {
            view->stride[i] = view->stride[i - 1];
        }
        view->stride[at] = 0;
        view->shape = kept;
    }
    in[0] = value_broadcast(tape, view, &shape);
}

struct value *tape_sum_in(struct tape *tape, struct value *a, int dimension, bool keeps, enum dtype dtype)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    int at = dimension < 0 ? a->shape.rank + dimension : dimension;
    struct shape kept = a->shape, shape = a->shape;
    kept.size[at] = 1;
    struct value *result = value_new(tape, dtype, &kept, "SUM");
    sum_run(tape, a, result, 1.0);
    if (result == NULL) {
        return NULL;
    }
    for (int i = at; i + 1 < shape.rank && !keeps; i++) {
        result->shape.size[i] = result->shape.size[i + 1];
        result->stride[i] = result->stride[i + 1];
    }
    result->shape.rank -= keeps ? 0 : 1;
    struct node *node = node_new(tape, sum_backward, 1, &a, result);
    if (node != NULL) {
        node->attributes = attributes_i(at, 0);
    }
    return result;
}

struct value *tape_sum(struct tape *tape, struct value *a, int dimension, bool keeps)
{
    bool widens = a != NULL && tape->autocast && dtype_is_floating(a->dtype); /* sum(dtype=) */
    return a != NULL ? tape_sum_in(tape, a, dimension, keeps, widens ? DTYPE_FLOAT32 : a->dtype) : NULL;
}

/* -- quotients */

/* The divisor's gradient comes first: -grad * ((a / b) / b). */
static void divide_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *b = node->saved[0], *a = node->saved[1];
    if (node_wants(node, 1)) {
        struct value *once = make_binary(tape, OPCODE_DIVIDE, NULL, a, b);
        struct value *twice = make_binary(tape, OPCODE_DIVIDE, NULL, once, b);
        struct value *minus = make_scale(tape, out[0], -1.0, 0.0);
        in[1] = make_multiply(tape, minus, twice);
        tape_drop(tape, minus);
        tape_drop(tape, twice);
        tape_drop(tape, once);
    }
    if (node_wants(node, 0)) {
        in[0] = make_binary(tape, OPCODE_DIVIDE, NULL, out[0], b);
    }
}

struct value *tape_divide_(struct tape *tape, struct value *a, struct value *b)
{
    if (a == NULL || b == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *result = value_alias(tape, a);
    bool learns = tape->gradients && b->requires_grad;
    struct value *before = learns ? make_copy(tape, a, a->dtype, "clone") : NULL; /* what b's gradient is made of */
    struct value *values[] = {a, value_broadcast(tape, b, &a->shape), a};
    tape_run(tape, OPCODE_DIVIDE, NULL, 2, 3, values);
    struct value *inputs[] = {a, b};
    struct node *node = node_new(tape, divide_backward, 2, inputs, result);
    node_save(tape, node, 0, b);
    node_save(tape, node, 1, before);
    return tape_frame_close(tape, frame, result);
}

/* -- groups */

struct value *tape_sort_ids(struct tape *tape, struct value *ids, int64_t bound, struct value **places)
{
    *places = NULL;
    if (ids == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct value *sorted = value_new(tape, DTYPE_INT64, &ids->shape, "SORT_IDS");
    *places = value_new(tape, DTYPE_INT64, &ids->shape, "SORT_IDS places");
    struct value *values[] = {ids, sorted, *places};
    struct operation_attributes attributes = attributes_i(bound, 0);
    tape_run(tape, OPCODE_SORT_IDS, &attributes, 1, 3, values);
    return sorted;
}

struct value *tape_group_ends(struct tape *tape, struct value *ids, int64_t groups)
{
    if (ids == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct shape each = {.rank = 1, .size = {groups}};
    struct value *narrow = value_new(tape, DTYPE_INT32, &ids->shape, "GROUP_ENDS ids");
    struct value *counts = value_new(tape, DTYPE_INT32, &each, "GROUP_ENDS counts");
    struct value *ends = value_new(tape, DTYPE_INT32, &each, "GROUP_ENDS");
    struct value *values[] = {ids, narrow, counts, ends};
    tape_run(tape, OPCODE_GROUP_ENDS, NULL, 1, 4, values);
    return ends;
}

struct value *tape_inverse_places(struct tape *tape, struct value *places)
{
    if (places == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *result = value_new(tape, DTYPE_INT64, &places->shape, "PLACE_IDS");
    struct value *count = value_new(tape, DTYPE_INT64, &places->shape, "PLACE_IDS count");
    tape_sequence(tape, count, 0);
    struct value *values[] = {places, count, result};
    tape_run(tape, OPCODE_PLACE_IDS, NULL, 2, 3, values);
    return tape_frame_close(tape, frame, result);
}

static struct value *grouped_product(struct tape *tape, struct value *a, struct value *b, struct value *ends,
                                     const char *label)
{
    if (a == NULL || b == NULL || ends == NULL || tape_failed(tape)) {
        return NULL;
    }
    bool summed = b->shape.rank == 2;
    int64_t columns = b->shape.size[b->shape.rank - 1], rows = a->shape.size[0];
    struct shape flat = {.rank = 2, .size = {rows, columns}};
    struct shape deep = {.rank = 3, .size = {ends->shape.size[0], rows, columns}};
    struct value *result = value_new(tape, a->dtype, summed ? &deep : &flat, label);
    struct value *values[] = {a, b, ends, result};
    struct operation_attributes attributes = attributes_i(tape->tf32_products, 0);
    tape_run(tape, OPCODE_GROUPED_MATMUL, &attributes, 3, 4, values);
    return result;
}

/* saved: ends, weight, a, which PyTorch lets go in this order. The gradient of the weight comes first. */
static void grouped_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *gradient = make_dense(tape, out[0]);
    if (node_wants(node, 1)) {
        in[1] = grouped_product(tape, value_turned(tape, gradient), node->saved[2], node->saved[0],
                                "grouped weight gradient");
        if (in[1] != NULL) {
            in[1]->is_view = true; /* PyTorch hands on the transpose of a transpose */
        }
    }
    if (node_wants(node, 0)) {
        in[0] = grouped_product(tape, gradient, node->saved[1], node->saved[0], "grouped input gradient");
    }
}

struct value *tape_grouped_linear(struct tape *tape, struct value *a, struct value *weight, struct value *ends)
{
    if (a == NULL || weight == NULL || ends == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    /* grouped_mm is not an operation of autocast: the rows are brought to the dtype of the weight. */
    struct value *inputs[] = {tape_cast(tape, a, weight->dtype), weight};
    struct value *result = grouped_product(tape, inputs[0], value_turned(tape, weight), ends, "GROUPED_MATMUL");
    struct node *node = node_new(tape, grouped_backward, 2, inputs, result);
    if (node != NULL) {
        node_save(tape, node, 0, ends);
        node_save(tape, node, 1, node_wants(node, 0) ? weight : NULL);
        node_save(tape, node, 2, node_wants(node, 1) ? inputs[0] : NULL);
    }
    return tape_frame_close(tape, frame, result);
}

/* Views, copies for contiguity, concatenation: shapes and strides, and how gradients come back through them. */
#include <string.h>

#include "harness/tape/graph.h"

static struct shape shape_of(int rank, const int64_t *size)
{
    struct shape shape = {.rank = rank};
    memcpy(shape.size, size, sizeof(int64_t) * (size_t)rank);
    return shape;
}

static int dimension_of(const struct value *a, int dimension)
{
    return dimension < 0 ? a->shape.rank + dimension : dimension;
}

/* -- reshape */

static void reshape_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    in[0] = make_reshape(tape, out[0], &node->edges[0].shape);
}

struct value *tape_reshape(struct tape *tape, struct value *a, int rank, const int64_t *size)
{
    struct shape shape = shape_of(rank, size);
    struct value *result = make_reshape(tape, a, &shape);
    node_new(tape, reshape_backward, 1, &a, result);
    return result;
}

struct value *tape_contiguous(struct tape *tape, struct value *a)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    if (value_is_dense(a)) {
        return value_share(tape, a);
    }
    struct value *result = make_copy(tape, a, a->dtype, "contiguous");
    node_new(tape, gradient_pass, 1, &a, result);
    return result;
}

/* -- transpose */

static struct value *transpose_view(struct tape *tape, struct value *a, int one, int two)
{
    struct value *view = value_alias(tape, a);
    if (view != NULL) {
        view->is_view = true;
        view->shape.size[one] = a->shape.size[two];
        view->shape.size[two] = a->shape.size[one];
        view->stride[one] = a->stride[two];
        view->stride[two] = a->stride[one];
    }
    return view;
}

static void transpose_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    in[0] = transpose_view(tape, out[0], (int)node->attributes.i[0], (int)node->attributes.i[1]);
}

struct value *tape_transpose(struct tape *tape, struct value *a, int dimension, int other)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    int one = dimension_of(a, dimension), two = dimension_of(a, other);
    struct value *result = transpose_view(tape, a, one, two);
    struct node *node = node_new(tape, transpose_backward, 1, &a, result);
    if (node != NULL) {
        node->attributes = attributes_i(one, two);
    }
    return result;
}

/* -- slices: the gradient is a full tensor of zeros with the slice written into it */

struct value *value_slice(struct tape *tape, struct value *a, int dimension, int64_t first, int64_t count)
{
    struct value *view = value_alias(tape, a);
    if (view != NULL) {
        view->is_view = true;
        view->shape.size[dimension] = count;
        view->offset += first * a->stride[dimension];
    }
    return view;
}

static struct value *zeros_with(struct tape *tape, struct value *gradient, const struct shape *shape, int dimension,
                                int64_t first)
{
    struct value *whole = value_new(tape, gradient->dtype, shape, "slice gradient");
    tape_fill(tape, whole, 0.0);
    struct value *part = value_slice(tape, whole, dimension, first, gradient->shape.size[dimension]);
    struct value *values[] = {gradient, part};
    tape_run(tape, OPCODE_COPY, NULL, 1, 2, values);
    tape_drop(tape, part);
    return whole;
}

static void slice_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    in[0] = zeros_with(tape, out[0], &node->edges[0].shape, (int)node->attributes.i[0], node->attributes.i[1]);
}

struct value *tape_slice(struct tape *tape, struct value *a, int dimension, int64_t first, int64_t count)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    int at = dimension_of(a, dimension);
    if (first < 0 || count < 0 || first + count > a->shape.size[at]) {
        tape_fail(tape, STATUS_INTERNAL, "a slice of %lld from %lld does not fit %lld", (long long)count,
                  (long long)first, (long long)a->shape.size[at]);
        return NULL;
    }
    struct value *result = value_slice(tape, a, at, first, count);
    struct node *node = node_new(tape, slice_backward, 1, &a, result);
    if (node != NULL) {
        node->attributes = attributes_i(at, first);
    }
    return result;
}

struct value *tape_alias(struct tape *tape, struct value *a)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct value *result = value_alias(tape, a);
    node_new(tape, gradient_pass, 1, &a, result);
    return result;
}

struct value *tape_index(struct tape *tape, struct value *a, int dimension, int64_t index)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    int at = dimension_of(a, dimension);
    struct shape single = {.rank = 1, .size = {1}};
    struct value *list = value_new(tape, DTYPE_INT64, &single, "index list");
    tape_fill(tape, list, (double)index);
    struct value *result = make_copy(tape, value_slice(tape, a, at, index, 1), a->dtype, "index");
    struct node *node = node_new(tape, slice_backward, 1, &a, result);
    if (node != NULL) {
        node->attributes = attributes_i(at, index);
        node_save(tape, node, 0, list);
    }
    return tape_frame_close(tape, frame, result);
}

/* constant_pad_nd with a negative count: a copy of what is left. */
static void pad_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    int last = node->edges[0].shape.rank - 1;
    struct value *left = value_slice(tape, out[0], last, 0, node->edges[0].shape.size[last]);
    in[0] = make_copy(tape, left, out[0]->dtype, "pad gradient");
}

struct value *tape_pad_last(struct tape *tape, struct value *a, int64_t count)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    int last = a->shape.rank - 1;
    struct shape shape = a->shape;
    shape.size[last] += count;
    struct value *result = value_new(tape, a->dtype, &shape, "padded");
    if (result != NULL) {
        tape_fill(tape, result, 0.0);
        tape_copy_into(tape, a, value_slice(tape, result, last, 0, a->shape.size[last]));
        node_new(tape, pad_backward, 1, &a, result);
    }
    return tape_frame_close(tape, frame, result);
}

static void shape_remove(struct value *view, int dimension)
{
    for (int i = dimension; i + 1 < view->shape.rank; i++) {
        view->shape.size[i] = view->shape.size[i + 1];
        view->stride[i] = view->stride[i + 1];
    }
    view->shape.rank--;
}

static void select_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    int dimension = (int)node->attributes.i[0];
    struct shape shape = node->edges[0].shape;
    struct shape thin = shape;
    thin.size[dimension] = 1;
    struct value *gradient = make_reshape(tape, out[0], &thin);
    if (gradient != NULL) {
        in[0] = zeros_with(tape, gradient, &shape, dimension, node->attributes.i[1]);
    }
}

struct value *tape_select(struct tape *tape, struct value *a, int dimension, int64_t index)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    int at = dimension_of(a, dimension);
    struct value *result = value_slice(tape, a, at, index, 1);
    if (result == NULL) {
        return NULL;
    }
    shape_remove(result, at);
    struct node *node = node_new(tape, select_backward, 1, &a, result);
    if (node != NULL) {
        node->attributes = attributes_i(at, index);
    }
    return result;
}

static void pieces_copy(struct tape *tape, struct value *whole, int dimension, struct value *const *parts, int count,
                        int64_t part_size)
{
    int64_t first = 0;
    for (int i = 0; i < count; i++) {
        int64_t size = parts[i] != NULL ? parts[i]->shape.size[dimension] : part_size;
        struct value *place = value_slice(tape, whole, dimension, first, size);
        if (parts[i] != NULL) {
            struct value *values[] = {parts[i], place};
            tape_run(tape, OPCODE_COPY, NULL, 1, 2, values);
        } else {
            tape_fill(tape, place, 0.0);
        }
        tape_drop(tape, place);
        first += size;
    }
}

static void split_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *some = NULL;
    for (int i = 0; i < node->output_count; i++) {
        some = out[i] != NULL ? out[i] : some;
    }
    if (some == NULL) {
        return;
    }
    in[0] = value_new(tape, some->dtype, &node->edges[0].shape, "split gradient");
    pieces_copy(tape, in[0], (int)node->attributes.i[0], out, node->output_count, node->attributes.i[1]);
}

void tape_split(struct tape *tape, struct value *a, int dimension, int count, struct value **parts)
{
    memset(parts, 0, sizeof *parts * (size_t)count);
    if (a == NULL || tape_failed(tape)) {
        return;
    }
    int at = dimension_of(a, dimension);
    int64_t size = a->shape.size[at] / count;
    struct node *node = NULL;
    for (int i = 0; i < count; i++) {
        parts[i] = value_slice(tape, a, at, i * size, size);
        if (i == 0) {
            node = node_new(tape, split_backward, 1, &a, parts[0]);
        } else {
            node_output(node, parts[i], i);
        }
    }
    if (node != NULL) {
        node->attributes = attributes_i(at, size);
    }
}

/* -- unbind: the gradient is a stack of those of the parts */

static void unbind_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    int dimension = (int)node->attributes.i[0];
    struct value *some = NULL;
    for (int i = 0; i < node->output_count; i++) {
        some = out[i] != NULL ? out[i] : some;
    }
    if (some == NULL) {
        return;
    }
    in[0] = value_new(tape, some->dtype, &node->edges[0].shape, "stacked gradients");
    for (int i = 0; i < node->output_count; i++) {
        struct value *place = value_slice(tape, in[0], dimension, i, 1);
        if (place != NULL) {
            shape_remove(place, dimension);
        }
        if (out[i] != NULL) {
            tape_copy_into(tape, out[i], place);
        } else {
            tape_fill(tape, place, 0.0);
        }
        tape_drop(tape, place);
    }
}

void tape_unbind(struct tape *tape, struct value *a, int dimension, int count, struct value **parts)
{
    memset(parts, 0, sizeof *parts * (size_t)count);
    if (a == NULL || tape_failed(tape)) {
        return;
    }
    int at = dimension_of(a, dimension);
    struct node *node = NULL;
    for (int i = 0; i < count; i++) {
        parts[i] = value_slice(tape, a, at, i, 1);
        if (parts[i] != NULL) {
            shape_remove(parts[i], at);
        }
        if (i == 0) {
            node = node_new(tape, unbind_backward, 1, &a, parts[0]);
        } else {
            node_output(node, parts[i], i);
        }
    }
    if (node != NULL) {
        node->attributes = attributes_i(at, 0);
    }
}

/* -- expand: the gradient is summed by the engine, which knows the input's shape */

struct value *tape_expand(struct tape *tape, struct value *a, int rank, const int64_t *size)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct shape shape = shape_of(rank, size);
    struct value *view = value_broadcast(tape, a, &shape);
    if (view == a) {
        return value_share(tape, a);
    }
    node_new(tape, gradient_pass, 1, &a, view);
    return view;
}

/* -- concatenation: the gradients are views of the whole */

static void concatenate_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    int dimension = (int)node->attributes.i[0];
    int64_t first = 0;
    for (int i = 0; i < 2; i++) {
        int64_t size = node->attributes.i[1 + i];
        if (node_wants(node, i)) {
            in[i] = value_slice(tape, out[0], dimension, first, size);
        }
        first += size;
    }
}

struct value *tape_concatenate_alone(struct tape *tape, enum category category, enum dtype dtype, struct value *a,
                                     int dimension, const char *label)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    int at = dimension_of(a, dimension);
    struct value *result = value_new_in(tape, category, dtype, &a->shape, label);
    tape_copy_into(tape, a, result);
    struct node *node = node_new(tape, concatenate_backward, 1, &a, result);
    if (node != NULL) {
        node->attributes = (struct operation_attributes){.i = {at, a->shape.size[at], 0}};
    }
    return result;
}

struct value *tape_concatenate(struct tape *tape, struct value *a, struct value *b, int dimension)
{
    if (a == NULL || b == NULL || tape_failed(tape)) {
        return NULL;
    }
    int at = dimension_of(a, dimension);
    struct shape shape = a->shape;
    shape.size[at] += b->shape.size[at];
    enum dtype dtype = dtype_promote(a->dtype, b->dtype);
    /* Parts of several dtypes are converted where they are copied, under autocast too: CUDA's autocast does not know
     * cat. */
    struct value *parts[] = {a, b};
    struct value *result = value_new(tape, dtype, &shape, "concatenate");
    if (result == NULL) {
        return NULL;
    }
    pieces_copy(tape, result, at, parts, 2, 0);
    struct node *node = node_new(tape, concatenate_backward, 2, parts, result);
    if (node != NULL) {
        node->attributes = (struct operation_attributes){.i = {at, a->shape.size[at], b->shape.size[at]}};
    }
    return result;
}

bool value_repeats(const struct value *value)
{
    bool repeats = false;
    for (int i = 0; i < value->shape.rank; i++) {
        repeats = repeats || (value->stride[i] == 0 && value->shape.size[i] > 1);
    }
    return repeats;
}

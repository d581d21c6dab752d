/* Parts of a tensor: split at a place, every so many elements, and writing into a part of what is there, with their
 * gradients. */
#include <string.h>

#include "harness/tape/graph.h"

/* -- split_with_sizes: the gradients side by side */

static void split_sizes_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    int at = (int)node->attributes.i[0];
    int64_t first = 0;
    in[0] = value_new(tape, node->edges[0].dtype, &node->edges[0].shape, "split gradient");
    for (int i = 0; i < node->output_count; i++) {
        bool is_last = i + 1 == node->output_count;
        int64_t size = is_last ? node->edges[0].shape.size[at] - first : node->attributes.i[1 + i];
        struct value *place = value_slice(tape, in[0], at, first, size);
        if (out[i] != NULL) {
            tape_copy_into(tape, out[i], place);
        } else {
            tape_fill(tape, place, 0.0);
        }
        tape_drop(tape, place);
        first += size;
    }
}

void tape_split_sizes(struct tape *tape, struct value *a, int dimension, int count, const int64_t *sizes,
                      struct value **parts)
{
    memset(parts, 0, sizeof *parts * (size_t)count);
    if (a == NULL || tape_failed(tape)) {
        return;
    }
    int at = dimension < 0 ? a->shape.rank + dimension : dimension;
    int64_t first = 0;
    struct node *node = NULL;
    for (int i = 0; i < count; i++) {
        parts[i] = value_slice(tape, a, at, first, sizes[i]);
        first += sizes[i];
        if (i == 0) {
            node = node_new(tape, split_sizes_backward, 1, &a, parts[0]);
        } else {
            node_output(node, parts[i], i);
        }
    }
    if (node != NULL) {
        node->attributes = attributes_i(at, sizes[0]);
        node->attributes.i[2] = count > 2 ? sizes[1] : 0;
    }
}

void tape_split_at(struct tape *tape, struct value *a, int dimension, int64_t first, struct value *parts[2])
{
    int64_t whole = a != NULL ? value_size(a, dimension) : 0;
    tape_split_sizes(tape, a, dimension, 2, (const int64_t[]){first, whole - first}, parts);
}

/* -- a[..., first::step] */

static struct value *every_view(struct tape *tape, struct value *a, int64_t first, int64_t step)
{
    int last = a->shape.rank - 1;
    struct value *view = value_slice(tape, a, last, first, (a->shape.size[last] - first + step - 1) / step);
    if (view != NULL) {
        view->stride[last] *= step;
    }
    return view;
}

static void every_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    in[0] = value_new(tape, out[0]->dtype, &node->edges[0].shape, "slice gradient");
    if (in[0] == NULL) {
        return;
    }
    tape_fill(tape, in[0], 0.0);
    struct value *place = every_view(tape, in[0], node->attributes.i[0], node->attributes.i[1]);
    tape_copy_into(tape, out[0], place);
    tape_drop(tape, place);
}

struct value *tape_every(struct tape *tape, struct value *a, int64_t first, int64_t step)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct value *result = every_view(tape, a, first, step);
    struct node *node = node_new(tape, every_backward, 1, &a, result);
    if (node != NULL) {
        node->attributes = attributes_i(first, step);
    }
    return result;
}

/* -- torch.stack((a, b), -1).flatten(-2): the gradients are views of the whole */

static void interleave_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    for (int i = 0; i < 2; i++) {
        in[i] = node_wants(node, i) ? every_view(tape, out[0], i, 2) : NULL;
    }
}

struct value *tape_interleave(struct tape *tape, struct value *a, struct value *b)
{
    if (a == NULL || b == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct value *parts[] = {a, b};
    struct shape shape = a->shape;
    shape.size[shape.rank - 1] *= 2;
    struct value *result = value_new(tape, a->dtype, &shape, "stack");
    for (int i = 0; i < 2 && result != NULL; i++) {
        struct value *place = every_view(tape, result, i, 2);
        tape_copy_into(tape, parts[i], place);
        tape_drop(tape, place);
    }
    node_new(tape, interleave_backward, 2, parts, result);
    return result;
}

/* -- CopySlices copies the whole gradient. A copy of the part that was written is the gradient of what was written;
 * with zeros in that part, the copy of the whole is the gradient of what was there before. */

static void write_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    int at = (int)node->attributes.i[0];
    struct value *whole = make_copy(tape, out[0], out[0]->dtype, "gradient of what was written into");
    if (whole == NULL) {
        return;
    }
    struct value *part = value_slice(tape, whole, at, node->attributes.i[1], node->attributes.i[2]);
    in[1] = make_copy(tape, part, out[0]->dtype, "gradient of what was written");
    if (node_wants(node, 0) && in[1] != NULL) {
        struct value *zeros = value_new(tape, out[0]->dtype, &in[1]->shape, "gradient of what was overwritten");
        tape_fill(tape, zeros, 0.0);
        tape_copy_into(tape, zeros, part);
        tape_drop(tape, zeros);
        in[0] = whole;
    }
    tape_drop(tape, part);
}

/* place[..., first:first + n] = a, as the same tensor with the graph of that. */
static struct value *write_(struct tape *tape, struct value *place, int64_t first, struct value *a)
{
    if (place == NULL || a == NULL || tape_failed(tape)) {
        return NULL;
    }
    int last = place->shape.rank - 1;
    struct value *part = value_slice(tape, place, last, first, a->shape.size[last]);
    tape_copy_into(tape, a, part);
    tape_drop(tape, part);
    struct value *result = value_alias(tape, place);
    struct value *inputs[] = {place, a};
    struct node *node = node_new(tape, write_backward, 2, inputs, result);
    if (node != NULL) {
        node->attributes = (struct operation_attributes){.i = {last, first, a->shape.size[last]}};
    } else if (result != NULL && place->requires_grad) {
        tape_fail(tape, STATUS_INTERNAL, "a tensor with a graph was written into without one");
    }
    return result;
}

struct value *tape_write_beside(struct tape *tape, struct value *a, struct value *b)
{
    if (a == NULL || b == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape), last = a->shape.rank - 1;
    struct shape shape = a->shape;
    shape.size[last] += b->shape.size[last];
    struct value *result = value_new(tape, a->dtype, &shape, "written side by side");
    result = write_(tape, result, 0, a);
    result = write_(tape, result, a->shape.size[last], b);
    return tape_frame_close(tape, frame, result);
}

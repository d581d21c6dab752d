/* Selection: what choosing tokens and experts is made of. Values that were chosen or picked have a gradient. */
#include "harness/tape/graph.h"
#include "harness/tape/reduction_scratch.h"
#include "harness/tape/top_k_scratch.h"

/* As that of a sum, but a partial result is a number and where it was, 16 bytes. Worked: 64 rows of 151,936 on sm_90:
 * 9 blocks share a row, 64 * 9 * 16 = 9,216 bytes and 256 of counters (measured). */
static struct sum_scratch argmax_scratch_take(struct tape *tape, const struct value *a)
{
    enum { NUMBER_AND_PLACE_BYTES = 16 };
    int64_t columns = value_size(a, -1), rows = columns > 0 ? value_count(a) / columns : 0;
    struct reduction reduction = {.dtype = a->dtype,
                                  .rank = 2,
                                  .size = {rows, columns},
                                  .stride = {columns, 1},
                                  .summed = {false, true},
                                  .partial_bytes = NUMBER_AND_PLACE_BYTES};
    return value_is_dense(a) ? sum_scratch_take(tape, &reduction) : (struct sum_scratch){NULL, NULL};
}

/* The first value is read, and the workspace, if there is one. */
static void select_run(struct tape *tape, enum opcode opcode, int count, struct value *const *values,
                       struct value *workspace)
{
    struct value *all[4] = {values[0], workspace};
    int inputs = workspace != NULL ? 2 : 1;
    for (int i = 1; i < count; i++) {
        all[inputs + i - 1] = values[i];
    }
    tape_run(tape, opcode, NULL, inputs, inputs + count - 1, all);
}

struct value *tape_argmax(struct tape *tape, struct value *a)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct shape shape = a->shape;
    shape.rank--;
    struct value *result = value_new(tape, DTYPE_INT64, &shape, "ARGMAX");
    struct sum_scratch scratch = argmax_scratch_take(tape, a);
    struct value *values[] = {a, result};
    select_run(tape, OPCODE_ARGMAX, 2, values, scratch.partial);
    sum_scratch_drop(tape, scratch);
    return result;
}

/* Zeros with the gradients at the places that were chosen. */
static void top_k_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *gradient = make_dense(tape, out[0]);
    in[0] = value_new(tape, node->edges[0].dtype, &node->edges[0].shape, "TOP_K gradient");
    struct value *values[] = {gradient, node->saved[0], in[0]};
    tape_run(tape, OPCODE_SCATTER, NULL, 2, 3, values);
}

/* Takes them, but for the scans, which are given back too. */
static void top_k_buffers_take(struct tape *tape, const struct value *a, struct value *buffers[TOP_K_BUFFERS])
{
    int64_t columns = value_size(a, -1), rows = columns > 0 ? value_count(a) / columns : 0;
    struct top_k_scratch scratch = top_k_scratch_of(tape->target, rows, columns, dtype_bytes(a->dtype));
    for (int i = 0; i < TOP_K_BUFFERS; i++) {
        buffers[i] = scratch.bytes[i] > 0 ? scratch_bytes_new(tape, scratch.bytes[i], "digits of top-k") : NULL;
    }
    for (int turn = 0; turn < 2 && scratch.scan_bytes > 0; turn++) {
        tape_drop(tape, scratch_bytes_new(tape, scratch.scan_bytes, "scan of top-k"));
    }
}

struct value *tape_top_k(struct tape *tape, struct value *a, int64_t count, struct value **indices)
{
    *indices = NULL;
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct shape shape = a->shape;
    shape.size[shape.rank - 1] = count;
    struct value *result = value_new(tape, a->dtype, &shape, "TOP_K");
    *indices = value_new(tape, DTYPE_INT64, &shape, "TOP_K indices");
    struct value *buffers[TOP_K_BUFFERS], *values[] = {a, result, *indices};
    top_k_buffers_take(tape, a, buffers);
    select_run(tape, OPCODE_TOP_K, 3, values, buffers[TOP_K_COUNTS]);
    for (int i = TOP_K_BUFFERS - 1; i >= 0; i--) {
        tape_drop(tape, buffers[i]);
    }
    node_save(tape, node_new(tape, top_k_backward, 1, &a, result), 0, *indices);
    return result;
}

/* -- masks of groups, and what is picked by index */

struct value *tape_group_limit(struct tape *tape, struct value *scores, int64_t groups, int64_t active, int64_t best)
{
    if (scores == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct value *values[] = {scores, value_new(tape, DTYPE_BOOL, &scores->shape, "GROUP_LIMIT")};
    struct operation_attributes attributes = {.i = {groups, active, best}};
    tape_run(tape, OPCODE_GROUP_LIMIT, &attributes, 1, 2, values);
    return values[1];
}

/* a, with number in place of what is hidden: a product with what is seen makes 0; a sum makes any other number, which
 * must be so large that what stood there is lost. */
static struct value *filled(struct tape *tape, struct value *a, struct value *hidden, double number)
{
    struct value *result = value_new(tape, a->dtype, &a->shape, "masked fill");
    struct value *copied[] = {hidden, result}, *changed[] = {result, result}, *joined[] = {a, result, result};
    struct operation_attributes seen = attributes_f(-1.0, 1.0), far = attributes_f(number, 0.0),
                                sum = attributes_f(1.0, 0.0);
    tape_run(tape, OPCODE_COPY, NULL, 1, 2, copied);
    tape_run(tape, OPCODE_AFFINE, number == 0.0 ? &seen : &far, 1, 2, changed);
    tape_run(tape, number == 0.0 ? OPCODE_MULTIPLY : OPCODE_ADD, number == 0.0 ? NULL : &sum, 2, 3, joined);
    return result;
}

static void masked_fill_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    in[0] = filled(tape, out[0], node->saved[0], 0.0);
}

struct value *tape_masked_fill(struct tape *tape, struct value *a, struct value *hidden, double number)
{
    if (a == NULL || hidden == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct value *result = filled(tape, a, hidden, number);
    node_save(tape, node_new(tape, masked_fill_backward, 1, &a, result), 0, hidden);
    return result;
}

/* A matrix as GATHER wants it: [n, k, 1]. */
static struct value *as_column(struct tape *tape, struct value *a)
{
    struct shape shape = {.rank = 3, .size = {a->shape.size[0], a->shape.size[1], 1}};
    return make_reshape(tape, a, &shape);
}

/* saved: ids, and a, which PyTorch's formula asks for its sizes alone. */
static void pick_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *gradient = make_dense(tape, out[0]);
    in[0] = value_new(tape, node->edges[0].dtype, &node->edges[0].shape, "gather gradient");
    struct value *values[] = {gradient, node->saved[0], in[0]};
    tape_run(tape, OPCODE_SCATTER, NULL, 2, 3, values);
}

struct value *tape_pick(struct tape *tape, struct value *a, struct value *ids)
{
    if (a == NULL || ids == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *result = value_new(tape, a->dtype, &ids->shape, "gather");
    if (result != NULL) {
        struct value *values[] = {as_column(tape, a), as_column(tape, ids), as_column(tape, result)};
        tape_run(tape, OPCODE_GATHER, NULL, 2, 3, values);
        struct node *node = node_new(tape, pick_backward, 1, &a, result);
        node_save(tape, node, 0, ids);
        node_save(tape, node, 1, a);
    }
    return tape_frame_close(tape, frame, result);
}

struct value *tape_log_softmax(struct tape *tape, struct value *a)
{
    return make_unary(tape, OPCODE_LOG_SOFTMAX, NULL, a);
}

void tape_add_number_(struct tape *tape, struct value *a, double number)
{
    struct operation_attributes attributes = attributes_f(1.0, number);
    struct value *values[] = {a, a};
    if (a != NULL && value_count(a) > 0) {
        tape_run(tape, OPCODE_AFFINE, &attributes, 1, 2, values);
    }
}

void tape_gather_into(struct tape *tape, struct value *a, struct value *ids, struct value *place)
{
    if (a == NULL || ids == NULL || place == NULL || tape_failed(tape)) {
        return;
    }
    int frame = tape_frame_open(tape);
    struct value *values[] = {a, value_broadcast(tape, ids, &place->shape), place};
    tape_run(tape, OPCODE_GATHER, NULL, 2, 3, values);
    tape_frame_close(tape, frame, NULL);
}

struct value *tape_token_positions(struct tape *tape, struct value *ids, int64_t excluded, int64_t shift,
                                   int64_t otherwise)
{
    if (ids == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct value *values[] = {ids, value_new(tape, DTYPE_INT64, &ids->shape, "token positions")};
    struct operation_attributes attributes = {.i = {excluded, shift, otherwise}};
    tape_run(tape, OPCODE_TOKEN_POSITIONS, &attributes, 1, 2, values);
    return values[1];
}

static struct value *divide(struct tape *tape, enum opcode opcode, struct value *a, int64_t divisor)
{
    struct operation_attributes attributes = attributes_i(divisor, 0);
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct value *result = value_new(tape, DTYPE_INT64, &a->shape, opcode_name(opcode));
    struct value *values[] = {a, result};
    tape_run(tape, opcode, &attributes, 1, 2, values);
    return result;
}

struct value *tape_quotient(struct tape *tape, struct value *a, int64_t divisor)
{
    return divide(tape, OPCODE_QUOTIENT, a, divisor);
}

struct value *tape_remainder(struct tape *tape, struct value *a, int64_t divisor)
{
    return divide(tape, OPCODE_REMAINDER, a, divisor);
}

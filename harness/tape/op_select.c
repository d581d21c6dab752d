/* Selection: what choosing tokens and experts is made of. Only the values of the largest have a gradient. */
#include "harness/tape/graph.h"

struct value *tape_argmax(struct tape *tape, struct value *a)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct shape shape = a->shape;
    shape.rank--;
    struct value *result = value_new(tape, DTYPE_INT64, &shape, "ARGMAX");
    struct value *values[] = {a, result};
    tape_run(tape, OPCODE_ARGMAX, NULL, 1, 2, values);
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
    struct value *values[] = {a, result, *indices};
    tape_run(tape, OPCODE_TOP_K, NULL, 1, 3, values);
    node_save(tape, result != NULL ? node_new(tape, top_k_backward, 1, &a, result) : NULL, 0, *indices);
    return result;
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

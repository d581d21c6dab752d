/* Choosing: torch.where with a number for what is not taken. */
#include "harness/tape/graph.h"

enum { OPERANDS = 2 };

/* TensorIterator's should_swap: whether dimension `one`, which is now further in than `two`, belongs outside of it (1),
 * not (-1), or cannot be told from these operands (0). */
static int dimensions_order(struct value *const *operands, const struct shape *shape, int one, int two)
{
    for (int i = 0; i < OPERANDS; i++) {
        int64_t inner = operands[i]->stride[one], outer = operands[i]->stride[two];
        if (inner == 0 || outer == 0) {
            continue;
        }
        if (inner != outer) {
            return inner < outer ? -1 : 1;
        }
        if (shape->size[one] > shape->size[two]) {
            return 1;
        }
    }
    return 0;
}

/* The result lies in memory as its operands do, the first of them that tell two dimensions apart. */
static void result_lay(struct value *result, struct value *const *operands)
{
    int rank = result->shape.rank, order[TENSOR_RANK_MAXIMUM]; /* innermost first */
    for (int i = 0; i < rank; i++) {
        order[i] = rank - 1 - i;
    }
    for (int i = 1; i < rank; i++) {
        int at = i;
        for (int before = i - 1; before >= 0; before--) {
            int verdict = dimensions_order(operands, &result->shape, order[before], order[at]);
            if (verdict < 0) {
                break;
            }
            if (verdict > 0) {
                int kept = order[before];
                order[before] = order[at];
                order[at] = kept;
                at = before;
            }
        }
    }
    int64_t stride = 1;
    for (int i = 0; i < rank; i++) {
        result->stride[order[i]] = stride;
        stride *= result->shape.size[order[i]];
    }
}

/* where(condition, grad, 0): a number, and a new tensor of condition * grad. */
static void where_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct shape scalar = {.rank = 0};
    struct value *zero = value_new(tape, out[0]->dtype, &scalar, "where, zero");
    struct value *condition = value_broadcast(tape, node->saved[0], &out[0]->shape);
    in[0] = value_new(tape, out[0]->dtype, &out[0]->shape, "where gradient");
    struct value *copied[] = {condition, in[0]}, *multiplied[] = {in[0], out[0], in[0]};
    if (in[0] != NULL) {
        result_lay(in[0], (struct value *const[]){condition, out[0]});
        tape_run(tape, OPCODE_COPY, NULL, 1, 2, copied);
        tape_run(tape, OPCODE_MULTIPLY, NULL, 2, 3, multiplied);
    }
    tape_drop(tape, zero);
}

static struct shape shape_joined(const struct value *a, const struct value *b)
{
    struct shape shape = a->shape;
    for (int i = 0; i < shape.rank; i++) {
        shape.size[i] = shape.size[i] == 1 ? b->shape.size[i] : shape.size[i];
    }
    return shape;
}

struct value *tape_where_beside_lowest(struct tape *tape, struct value *condition, struct value *a)
{
    if (condition == NULL || a == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct shape shape = shape_joined(condition, a);
    struct value *operands[] = {value_broadcast(tape, condition, &shape), value_broadcast(tape, a, &shape)};
    struct value *result = value_new(tape, a->dtype, &shape, "WHERE");
    struct value *copied[] = {operands[0], result}, *changed[] = {result, result};
    struct value *added[] = {result, operands[1], result};
    struct operation_attributes attributes = attributes_f(-dtype_lowest(a->dtype), dtype_lowest(a->dtype));
    struct operation_attributes once = attributes_f(1.0, 0.0);
    if (result != NULL && operands[0] != NULL && operands[1] != NULL) {
        result_lay(result, operands);
        tape_run(tape, OPCODE_COPY, NULL, 1, 2, copied);
        tape_run(tape, OPCODE_AFFINE, &attributes, 1, 2, changed);
        tape_run(tape, OPCODE_ADD, &once, 2, 3, added);
        struct node *node = node_new(tape, where_backward, 1, &a, result);
        node_save(tape, node, 0, condition);
    }
    return tape_frame_close(tape, frame, result);
}

struct value *tape_where_lowest(struct tape *tape, struct value *condition, struct value *a)
{
    if (condition == NULL || a == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct shape scalar = {.rank = 0};
    int frame = tape_frame_open(tape);
    value_new(tape, a->dtype, &scalar, "where, number");
    return tape_frame_close(tape, frame, tape_where_beside_lowest(tape, condition, a));
}

/* Cross entropy whose gradient takes the place of the logits, as Liger-Kernel's LigerCrossEntropyFunction (0.8.5) has
 * it. Not the composed one, which is PyTorch's own: op_norm.c. */
#include "harness/tape/graph.h"

/* The gradient is there already. If it is not the loss itself that is differentiated it is multiplied in its place;
 * Liger asks the device whether its factor is 1, the tape knows. */
static void cross_entropy_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *slopes = node->saved[0];
    if (out[0] != tape->one) {
        struct value *values[] = {slopes, value_broadcast(tape, out[0], &slopes->shape), slopes};
        tape_run(tape, OPCODE_MULTIPLY, NULL, 2, 3, values);
    }
    in[0] = value_pass(tape, slopes);
}

/* What Liger's checks of the targets take: the mask, which it keeps until it returns, and a masked copy. The count
 * comes to the host there and gives back its 8 bytes before the kernel runs; those of the largest masked target, beside
 * which the peak is reached, stand for it here. */
static void targets_mask(struct tape *tape, struct value *targets, int64_t classes, struct value **mask,
                         struct value **count)
{
    struct shape scalar = {0};
    *mask = value_new(tape, DTYPE_BOOL, &targets->shape, "target mask");
    struct value *masked = value_new(tape, DTYPE_INT64, &targets->shape, "masked targets");
    *count = value_new(tape, DTYPE_INT64, &scalar, "target count");
    struct value *values[] = {targets, *mask, masked, *count};
    struct operation_attributes attributes = attributes_i(classes, 0);
    tape_run(tape, OPCODE_TARGET_MASK, &attributes, 1, 4, values);
    tape_drop(tape, masked);
}

/* torch.sum, which autocast gives a result in float32. */
static struct value *losses_sum(struct tape *tape, struct value *losses)
{
    struct shape scalar = {0}, line = {.rank = 1, .size = {1}};
    struct value *loss = value_new(tape, tape->autocast ? DTYPE_FLOAT32 : value_dtype(losses), &scalar, "loss");
    sum_run(tape, losses, value_broadcast(tape, loss, &line), 1.0);
    if (!tape_failed(tape)) {
        tape->loss_operand = tape->operand_count - 1;
    }
    return loss;
}

struct value *tape_cross_entropy_fused(struct tape *tape, struct value *logits, struct value *targets)
{
    if (logits == NULL || targets == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *losses = value_new(tape, logits->dtype, &targets->shape, "losses");
    struct value *mask = NULL, *count = NULL;
    targets_mask(tape, targets, value_size(logits, 1), &mask, &count);
    struct value *slopes = value_alias(tape, logits);
    struct value *values[] = {targets, count, slopes, losses};
    tape_run(tape, OPCODE_CROSS_ENTROPY, NULL, 2, 4, values);
    tape_drop(tape, count);
    struct value *loss = losses_sum(tape, losses);
    struct node *node = node_new(tape, cross_entropy_backward, 1, &logits, loss);
    node_save(tape, node, 0, slopes);
    return tape_frame_close(tape, frame, loss);
}

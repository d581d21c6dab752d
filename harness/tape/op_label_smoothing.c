/* Label smoothing: both forms that programs have, line by line. torch 2.11's cross_entropy with its argument
 * (cross_entropy_loss_label_smoothing of ATen/native/LossNLL.cpp), and LabelSmoother of transformers 5.23
 * (trainer_pt_utils.py), which the Trainer calls on the logits when the model has returned.
 *
 * LabelSmoother keeps log-probabilities twice, as log_softmax makes them and with the other sign, and in the backward
 * pass has three tensors of that size at a time. torch's argument takes some bytes for each row more than the plain
 * loss. Not here: who shifts tokens (models/forward/forward_loss.c). */
#include "harness/tape/graph.h"

static void rows_drop_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct operation_attributes attributes = attributes_f(1.0, 0.0);
    in[0] = make_binary(tape, OPCODE_DROPOUT_BACKWARD, &attributes, out[0], node->saved[0]);
}

/* masked_fill_(~counts, 0): a row whose target does not count becomes 0, in place. */
static struct value *rows_drop(struct tape *tape, struct value *a, struct value *counts)
{
    if (a == NULL || counts == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct operation_attributes attributes = attributes_f(1.0, 0.0);
    struct value *values[] = {a, counts, a};
    tape_run(tape, OPCODE_DROPOUT_BACKWARD, &attributes, 2, 3, values);
    struct value *result = value_alias(tape, a);
    node_save(tape, node_new(tape, rows_drop_backward, 1, &a, result), 0, counts);
    return result;
}

/* Whether each target counts, the targets with 0 for those that do not, and how many count. */
struct targets {
    struct value *counts, *clamped, *count;
};

static struct targets targets_look_at(struct tape *tape, struct value *targets, int64_t classes)
{
    struct shape scalar = {0};
    struct targets made = {.counts = value_new(tape, DTYPE_BOOL, &targets->shape, "target mask"),
                           .clamped = value_new(tape, DTYPE_INT64, &targets->shape, "clamped targets"),
                           .count = value_new(tape, DTYPE_INT64, &scalar, "target count")};
    struct value *values[] = {targets, made.counts, made.clamped, made.count};
    struct operation_attributes attributes = attributes_i(classes, 0);
    tape_run(tape, OPCODE_TARGET_MASK, &attributes, 1, 4, values);
    return made;
}

static struct value *column_of(struct tape *tape, struct value *rows)
{
    int64_t size[] = {value_size(rows, 0), 1};
    return tape_reshape(tape, rows, 2, size);
}

static void quotient_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    in[0] = make_scale(tape, out[0], node->attributes.f[0], 0.0);
}

/* a.sum() / divisor, a number on the device, which the graph keeps. */
static struct value *sum_quotient(struct tape *tape, struct value *a, struct value *divisor, double number)
{
    int frame = tape_frame_open(tape);
    int64_t size[] = {a != NULL ? value_count(a) : 0};
    struct value *sum = tape_sum(tape, tape_reshape(tape, a, 1, size), 0, false);
    struct shape scalar = {0};
    bool widens = divisor != NULL && value_dtype(divisor) == DTYPE_FLOAT32;
    struct value *quotient =
        sum != NULL ? value_new(tape, widens ? DTYPE_FLOAT32 : sum->dtype, &scalar, "mean loss") : NULL;
    struct operation_attributes attributes = attributes_f(1.0 / number, 0.0);
    struct value *values[] = {sum, quotient};
    tape_run(tape, OPCODE_AFFINE, &attributes, 1, 2, values);
    struct node *node = node_new(tape, quotient_backward, 1, &sum, quotient);
    if (node != NULL) {
        node->attributes = attributes;
        node_save(tape, node, 0, divisor);
    }
    return tape_frame_close(tape, frame, quotient);
}

static struct value *number_new(struct tape *tape, double number)
{
    struct shape scalar = {0};
    struct value *made = value_new(tape, DTYPE_FLOAT32, &scalar, "count of elements");
    tape_fill(tape, made, number);
    return made;
}

static void loss_note(struct tape *tape)
{
    if (!tape_failed(tape)) {
        tape->loss_operand = tape->operand_count - 1; /* what was written last */
    }
}

struct value *tape_label_smoother(struct tape *tape, struct value *logits, struct value *targets,
                                  const struct smoothing *smoothing)
{
    if (logits == NULL || targets == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    double count = (double)smoothing->count, share = smoothing->share, classes = (double)value_size(logits, 1);
    struct value *items = number_new(tape, count); /* num_items_in_batch */
    struct value *logp = make_log_softmax(tape, logits);
    struct value *negative = tape_scale(tape, logp, -1.0);
    tape_drop(tape, logp);
    struct targets looked = targets_look_at(tape, targets, value_size(logits, 1));
    tape_drop(tape, looked.count);
    if (smoothing->drops_targets) {
        tape_drop(tape, targets);
    }
    struct value *chosen = tape_pick(tape, negative, column_of(tape, looked.clamped));
    struct value *sums = tape_sum_in(tape, negative, 1, true, DTYPE_FLOAT32);
    struct value *column = column_of(tape, looked.counts);
    struct value *nll = rows_drop(tape, chosen, column), *smooth = rows_drop(tape, sums, column);
    tape_drop(tape, chosen);
    tape_drop(tape, sums);
    struct value *first = sum_quotient(tape, nll, items, count);
    tape_drop(tape, nll);
    struct value *second = sum_quotient(tape, smooth, number_new(tape, count * classes), count * classes);
    tape_drop(tape, smooth);
    struct value *kept = tape_scale(tape, first, 1.0 - share), *spread = tape_scale(tape, second, share);
    struct value *loss = tape_add(tape, kept, spread);
    loss_note(tape);
    return tape_frame_close(tape, frame, loss);
}

struct value *tape_cross_entropy_smoothed(struct tape *tape, struct value *logits, struct value *targets,
                                          const struct smoothing *smoothing)
{
    if (logits == NULL || targets == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    double count = (double)smoothing->count, share = smoothing->share, classes = (double)value_size(logits, 1);
    struct value *logp = make_log_softmax(tape, logits);
    struct value *nll = tape_nll_loss(tape, autocast_float32(tape, logp), targets);
    struct value *sums = tape_sum(tape, logp, 1, false);
    struct value *negative = tape_scale(tape, sums, -1.0);
    tape_drop(tape, sums);
    struct targets looked = targets_look_at(tape, targets, value_size(logits, 1));
    tape_drop(tape, looked.clamped);
    struct value *smooth = rows_drop(tape, negative, looked.counts);
    struct value *mean = sum_quotient(tape, smooth, looked.count, count);
    struct value *kept = tape_scale(tape, nll, 1.0 - share), *spread = tape_scale(tape, mean, share / classes);
    struct value *loss = tape_add(tape, kept, spread);
    loss_note(tape);
    return tape_frame_close(tape, frame, loss);
}

/* What a model returns: the object of its output, and the loss that its labels ask for. Not here: who keeps the
 * object, and how long (models/workload/model_output.h). */
#include "models/forward/forward.h"

#include <stdlib.h>

#include "models/config/family.h"

/* The share that nearly every program gives; no size depends on it. */
static const double smoothed_share = 0.1;

void forward_output_keep(const struct forward *forward, struct value *value)
{
    struct forward_outputs *outputs = forward->outputs;
    if (outputs == NULL || value == NULL) {
        return;
    }
    if (outputs->count == (int)(sizeof outputs->values / sizeof outputs->values[0])) {
        tape_fail(forward->tape, STATUS_INTERNAL, "a model returns more than there is room for");
        return;
    }
    outputs->values[outputs->count++] = tape_hold(forward->tape, value);
}

void forward_outputs_drop(struct tape *tape, struct forward_outputs *outputs)
{
    for (int i = 0; outputs != NULL && i < outputs->count; i++) {
        tape_let_go(tape, outputs->values[i]);
        outputs->values[i] = NULL;
    }
    for (int i = 0; outputs != NULL && i < outputs->part_count; i++) {
        tape_let_go(tape, outputs->parts[i]);
    }
    if (outputs != NULL) {
        free(outputs->parts);
        outputs->parts = NULL;
        outputs->part_count = 0;
    }
}

void forward_outputs_take(const struct forward *forward, struct value *const *parts, int count)
{
    struct forward_outputs *outputs = forward->outputs;
    if (outputs == NULL || count < 1) {
        return;
    }
    outputs->parts = calloc((size_t)count, sizeof *outputs->parts);
    if (outputs->parts == NULL) {
        tape_fail(forward->tape, STATUS_OUT_OF_MEMORY, "the host has no memory for a tape");
        return;
    }
    for (outputs->part_count = 0; outputs->part_count < count; outputs->part_count++) {
        outputs->parts[outputs->part_count] = tape_hold(forward->tape, parts[outputs->part_count]);
    }
    forward_outputs_drop(forward->tape, outputs->replaced);
}

/* How many labels count: of a padded batch those of whole sequences and half ones (inputs_make); not the first token of
 * each if they are shifted. Of images all. */
static int64_t labels_counted(const struct forward *forward, bool shifted)
{
    const struct workload *workload = forward->workload;
    int64_t batch = workload->batch, seq = workload->seq, first = shifted ? 1 : 0;
    if (seq == 0) {
        return batch;
    }
    int64_t whole = workload->padding ? batch / 2 : batch;
    return whole * (seq - first) + (batch - whole) * (seq - seq / 2 - first);
}

static struct smoothing smoothing_of(const struct forward *forward, bool shifted)
{
    int64_t count = labels_counted(forward, shifted);
    return (struct smoothing){.share = smoothed_share, .count = count > 0 ? count : 1};
}

struct value *forward_loss(const struct forward *forward, struct value *logits, struct value *labels, bool shifted)
{
    if (forward->workload->label_smoothing == LABEL_SMOOTHING_CROSS_ENTROPY) {
        const struct smoothing smoothing = smoothing_of(forward, shifted);
        return tape_cross_entropy_smoothed(forward->tape, logits, labels, &smoothing);
    }
    return forward->workload->loss == LOSS_FUSED ? tape_cross_entropy_fused(forward->tape, logits, labels)
                                                 : tape_cross_entropy(forward->tape, logits, labels);
}

struct value *forward_class_loss(const struct forward *forward, struct value *logits)
{
    forward_output_keep(forward, logits);
    return forward_loss(forward, logits, forward->labels, false);
}

bool forward_converts_output(const struct forward *forward)
{
    return forward->workload->float32_outputs && workload_is_autocast(forward->workload);
}

/* What the model was wrapped in comes before the program's loss. */
static struct value *logits_convert(const struct forward *forward, struct value *logits)
{
    tape_autocast_close(forward->tape);
    struct value *converted = tape_cast(forward->tape, logits, DTYPE_FLOAT32);
    if (converted != logits) {
        tape_drop(forward->tape, logits);
    }
    return converted;
}

struct value *forward_criterion(const struct forward *forward, struct value *logits)
{
    logits = forward_converts_output(forward) ? logits_convert(forward, logits) : logits;
    forward_output_keep(forward, logits);
    if (forward->outputs != NULL) {
        forward_outputs_drop(forward->tape, forward->outputs->replaced);
    }
    return forward_loss(forward, logits, forward->labels, false);
}

/* The labels are padded by one that does not count, and all but the first copied. */
static struct value *labels_shifted(const struct forward *forward, int64_t batch, int64_t rows)
{
    struct tape *tape = forward->tape;
    int64_t size[] = {batch, rows + 1};
    struct value *labels = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_INT64, 2, size, false, "padded labels");
    tape_fill(tape, labels, -100.0);
    tape_copy_into(tape, forward->labels, tape_slice(tape, labels, 1, 0, rows));
    struct value *shifted = tape_slice(tape, labels, 1, 1, rows);
    struct value *copy = tape_contiguous(tape, shifted);
    tape_drop(tape, shifted);
    tape_drop(tape, labels);
    return copy;
}

/* What older releases took the loss of: the rows that have a next one, copied, and their labels. The names that a class
 * casts under let go of what they had; forward_output_keep has the one that is returned. */
struct language_loss {
    struct value *scores, *labels;
    int64_t rows;
};

static struct language_loss scores_shift(struct tape *tape, struct language_loss whole)
{
    int64_t rows = whole.rows - 1;
    return (struct language_loss){.scores = tape_contiguous(tape, tape_slice(tape, whole.scores, 1, 0, rows)),
                                  .labels = tape_contiguous(tape, tape_slice(tape, whole.labels, 1, 1, rows)),
                                  .rows = rows};
}

struct value *forward_language_loss(const struct forward *forward, struct value *logits, bool causal)
{
    struct tape *tape = forward->tape;
    if (logits == NULL) {
        return NULL;
    }
    bool casts = causal && !forward_has(forward, RELEASE_LOSS_IN_DTYPE);
    bool shifts = causal && forward_has(forward, RELEASE_LOSS_SHIFTS_LOGITS);
    if (casts && forward_has(forward, RELEASE_LOSS_REBINDS_LOGITS)) {
        value_rebind(tape, &logits, tape_cast(tape, logits, DTYPE_FLOAT32));
    }
    int frame = tape_frame_open(tape);
    forward_output_keep(forward, logits);
    int64_t batch = value_size(logits, 0), vocab = value_size(logits, 2);
    struct language_loss of = {.scores = casts ? tape_cast(tape, logits, DTYPE_FLOAT32) : logits,
                               .labels = forward->labels,
                               .rows = value_size(logits, 1)};
    if (shifts) {
        of = scores_shift(tape, of);
    } else if (causal) {
        of.labels = labels_shifted(forward, batch, of.rows);
    }
    int64_t flat[] = {batch * of.rows, vocab}, count[] = {batch * of.rows};
    struct value *loss =
        forward_loss(forward, tape_reshape(tape, of.scores, 2, flat), tape_reshape(tape, of.labels, 1, count), causal);
    loss = tape_frame_close(tape, frame, loss);
    tape_drop(tape, logits);
    return loss;
}

struct value *forward_smoothed_loss(const struct forward *forward, struct value *logits, struct value *labels)
{
    struct tape *tape = forward->tape;
    if (logits == NULL || labels == NULL) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    bool causal = forward->config->family->generates && forward->config->family->encode == NULL;
    int64_t rows = forward->workload->seq > 0 ? value_size(logits, 1) : 1;
    struct language_loss of = {.scores = logits, .labels = labels, .rows = rows};
    of = causal ? scores_shift(tape, of) : of;
    int64_t count[] = {value_size(logits, 0) * of.rows}, flat[] = {count[0], value_size(logits, -1)};
    struct smoothing smoothing = smoothing_of(forward, causal);
    smoothing.drops_targets = causal;
    struct value *targets = tape_reshape(tape, of.labels, 1, count);
    if (causal) {
        tape_drop(tape, of.labels);
    }
    struct value *loss = tape_label_smoother(tape, tape_reshape(tape, of.scores, 2, flat), targets, &smoothing);
    return tape_frame_close(tape, frame, loss);
}

/* Token metrics: entropies and accuracy, line by line. Sums over all tokens, scalars that go at once, are left out; of
 * the comparisons of tokens the bytes alone are there, because nobody reads what they say. */
#include "models/workload/token_metrics.h"

#include <stdlib.h>

enum { ENTROPY_ROWS = 128 }; /* entropy_from_logits (trl 1.0, trainer/utils.py): chunk_size = 128 */

struct value *token_metrics_logits(const struct forward *forward, const struct forward_outputs *outputs)
{
    struct value *logits = NULL;
    for (int i = 0; i < outputs->count; i++) {
        if (outputs->values[i] != NULL && value_size(outputs->values[i], -1) == forward->config->vocab) {
            logits = outputs->values[i];
        }
    }
    return logits;
}

static void name_add(struct tape *tape, struct token_metrics *metrics, struct value *value)
{
    metrics->names[metrics->count++] = tape_hold(tape, value);
}

/* -(torch.exp(logps) * logps).sum(-1); the name logps stays until the next chunk has its own. */
static struct value *chunk_entropy(struct tape *tape, struct value *rows, struct value **logps)
{
    value_rebind(tape, logps, tape_log_softmax(tape, rows));
    struct value *chances = tape_softmax(tape, rows, false); /* exp(logps), in as many bytes */
    struct value *products = tape_multiply(tape, chances, *logps);
    tape_drop(tape, chances);
    struct value *sums = tape_sum(tape, products, -1, false);
    tape_drop(tape, products);
    struct value *entropy = tape_scale(tape, sums, -1.0);
    tape_drop(tape, sums);
    return entropy;
}

/* The parts are in a list until all are there. */
static struct value *parts_join(struct tape *tape, struct value *const *parts, int64_t part_count, int64_t rows)
{
    struct value *all =
        tape_leaf(tape, CATEGORY_TEMPORARIES, value_dtype(parts[0]), 1, &rows, false, "entropies of the tokens");
    for (int64_t i = 0, row = 0; i < part_count; i++) {
        int64_t count = value_size(parts[i], 0);
        tape_copy_into(tape, parts[i], tape_slice(tape, all, 0, row, count));
        row += count;
    }
    return all;
}

static void entropies_make(struct tape *tape, struct value *logits, struct token_metrics *metrics)
{
    int64_t flat[] = {value_size(logits, 0) * value_size(logits, 1), value_size(logits, 2)};
    int64_t part_count = (flat[0] + ENTROPY_ROWS - 1) / ENTROPY_ROWS;
    struct value **parts = calloc((size_t)part_count, sizeof *parts);
    if (parts == NULL) {
        tape_fail(tape, STATUS_OUT_OF_MEMORY, "the host has no memory for a tape");
        return;
    }
    int frame = tape_frame_open(tape);
    struct value *rows = tape_reshape(tape, logits, 2, flat), *logps = NULL;
    for (int64_t i = 0; i < part_count && !tape_failed(tape); i++) {
        int64_t first = i * ENTROPY_ROWS, left = flat[0] - first;
        struct value *chunk = tape_slice(tape, rows, 0, first, left < ENTROPY_ROWS ? left : ENTROPY_ROWS);
        parts[i] = chunk_entropy(tape, chunk, &logps);
    }
    if (!tape_failed(tape)) {
        name_add(tape, metrics, parts_join(tape, parts, part_count, flat[0]));
    }
    tape_frame_close(tape, frame, NULL);
    free(parts);
    /* per_token_entropy * attention_mask, whose sum the program takes. */
    frame = tape_frame_open(tape);
    tape_scale(tape, metrics->count > 0 ? metrics->names[metrics->count - 1] : NULL, 1.0);
    tape_frame_close(tape, frame, NULL);
}

static struct value *truths_make(struct tape *tape, struct value *tokens, const char *label)
{
    int64_t size[] = {value_size(tokens, 0), value_size(tokens, 1)};
    return tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_BOOL, 2, size, false, label);
}

/* shift_logits, shift_labels, predictions, mask, correct_predictions. */
static void accuracy_make(const struct forward *forward, struct value *logits, struct token_metrics *metrics)
{
    struct tape *tape = forward->tape;
    int frame = tape_frame_open(tape);
    int64_t rows = value_size(logits, 1) - 1;
    struct value *kept = tape_contiguous(tape, tape_slice(tape, logits, 1, 0, rows));
    name_add(tape, metrics, kept);
    name_add(tape, metrics, tape_contiguous(tape, tape_slice(tape, forward->labels, 1, 1, rows)));
    struct value *predictions = tape_argmax(tape, kept);
    name_add(tape, metrics, predictions);
    if (!tape_failed(tape)) {
        name_add(tape, metrics, truths_make(tape, predictions, "labels that count"));
        struct value *equal = truths_make(tape, predictions, "labels that were predicted");
        name_add(tape, metrics, truths_make(tape, predictions, "predictions that count"));
        tape_drop(tape, equal);
    }
    tape_frame_close(tape, frame, NULL);
}

void token_metrics_make(const struct forward *forward, struct value *logits, struct token_metrics *metrics)
{
    struct tape *tape = forward->tape;
    enum metrics kind = forward->workload->metrics;
    *metrics = (struct token_metrics){.count = 0};
    if (kind == METRICS_NONE || logits == NULL || tape_failed(tape)) {
        return;
    }
    bool differentiates = tape_gradients_enabled(tape);
    tape_gradients(tape, false);
    if (kind == METRICS_ENTROPY_ACCURACY) {
        entropies_make(tape, logits, metrics);
    }
    if (value_size(logits, 1) > 1) { /* a sequence of one token predicts none */
        accuracy_make(forward, logits, metrics);
    }
    tape_gradients(tape, differentiates);
}

void token_metrics_drop(struct tape *tape, struct token_metrics *metrics)
{
    for (int i = 0; i < metrics->count; i++) {
        tape_let_go(tape, metrics->names[i]);
    }
    metrics->count = 0;
}

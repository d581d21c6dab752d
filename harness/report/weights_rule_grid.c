/* Grid and wording of the weights rule: batches by lengths, and its boundary in words. Raw text: writers escape it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/report/weights_rule_view.h"

static int number_order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int column_order(const void *left, const void *right)
{
    const struct rule_column *a = left, *b = right;
    int order = number_order(a->seq, b->seq);
    return order != 0 ? order : number_order(a->new_tokens, b->new_tokens);
}

int rule_columns_find(const struct rule_series *series, struct arena *arena, struct rule_column **columns)
{
    struct rule_column *made = arena_alloc(arena, (size_t)series->cell_count * sizeof *made);
    int kept = 0;
    if (made == NULL) {
        return -1;
    }
    for (int at = 0; at < series->cell_count; at++) {
        made[at] = (struct rule_column){.seq = series->cells[at].seq, .new_tokens = series->cells[at].new_tokens};
    }
    qsort(made, (size_t)series->cell_count, sizeof *made, column_order);
    for (int at = 0; at < series->cell_count; at++) {
        if (at == 0 || column_order(&made[at], &made[kept - 1]) != 0) {
            made[kept++] = made[at];
        }
    }
    *columns = made;
    return kept;
}

const char *rule_column_word(const struct rule_column *column, char text[WORDING_BYTES])
{
    if (column->seq == 0) {
        snprintf(text, WORDING_BYTES, "image");
    } else if (column->new_tokens > 0) {
        snprintf(text, WORDING_BYTES, "%" PRId64 "+%" PRId64, column->seq, column->new_tokens);
    } else {
        snprintf(text, WORDING_BYTES, "%" PRId64, column->seq);
    }
    return text;
}

static int batch_order(const void *left, const void *right)
{
    return number_order(*(const int64_t *)left, *(const int64_t *)right);
}

int rule_batches_find(const struct rule_series *series, struct arena *arena, int64_t **batches)
{
    int64_t *made = arena_alloc(arena, (size_t)series->cell_count * sizeof *made);
    int kept = 0;
    if (made == NULL) {
        return -1;
    }
    for (int at = 0; at < series->cell_count; at++) {
        made[at] = series->cells[at].batch;
    }
    qsort(made, (size_t)series->cell_count, sizeof *made, batch_order);
    for (int at = 0; at < series->cell_count; at++) {
        if (at == 0 || made[at] != made[kept - 1]) {
            made[kept++] = made[at];
        }
    }
    *batches = made;
    return kept;
}

const struct rule_cell *rule_cell_find(const struct rule_series *series, int64_t batch,
                                       const struct rule_column *column)
{
    for (int at = 0; at < series->cell_count; at++) {
        const struct rule_cell *cell = &series->cells[at];
        if (cell->batch == batch && cell->seq == column->seq && cell->new_tokens == column->new_tokens) {
            return cell;
        }
    }
    return NULL;
}

void rule_inference_append(struct text *text, const struct weights_rule *rule)
{
    if (rule->cell_count > 0) {
        text_format(text, ", %d of these are inference", rule->cell_count);
    }
}

void rule_totals_append(struct text *text, const struct weights_rule *rule, const struct rule_totals *totals,
                        const char *kind)
{
    int enough = totals->word_count[RULE_CLOSE] + totals->word_count[RULE_WASTEFUL];
    if (totals->case_count > 0) {
        text_format(text,
                    "%g x weights is enough for %d of %d %s cases (%.0f %%), close for %d and wasteful for %d of these",
                    rule->factor, enough, totals->case_count, kind, 100.0 * enough / totals->case_count,
                    totals->word_count[RULE_CLOSE], totals->word_count[RULE_WASTEFUL]);
    }
}

void rule_boundary_append(struct text *text, const struct rule_series *series)
{
    const char *unit = series->is_image ? "image" : "token";
    if (series->too_little_tokens == TOKENS_NONE) {
        text_format(text, "enough up to %" PRId64 " %s%s, the most here", series->enough_tokens, unit,
                    series->enough_tokens == 1 ? "" : "s");
        return;
    }
    if (series->enough_tokens == TOKENS_NONE) {
        text_format(text, "too little from %" PRId64 " %s%s on, the fewest here", series->too_little_tokens, unit,
                    series->too_little_tokens == 1 ? "" : "s");
    } else {
        text_format(text,
                    "enough up to %" PRId64 " %s%s, too little from %" PRId64 " on (crossing at about %" PRId64 ")",
                    series->enough_tokens, unit, series->enough_tokens == 1 ? "" : "s", series->too_little_tokens,
                    series->crossing_tokens);
    }
    text_append(text, series->is_mixed ? "; not by batch x length alone: above that it is enough for some" : "");
}

/* What weights-1.2 takes for the weights of a case; BYTES_UNKNOWN: its record does not say. */
static int64_t estimator_weights(const struct rule_cell *cell)
{
    const struct case_view *view = cell->one->view;
    for (int at = 0; at < view->total_count; at++) {
        if (strcmp(view->totals[at].estimator, "weights-1.2") == 0) {
            return view->totals[at].weights_bytes;
        }
    }
    return BYTES_UNKNOWN;
}

/* The estimator of nearly the same name counts other weights: how far apart they are, if that is most. */
static void estimator_compare_append(struct text *text, const struct weights_rule *rule)
{
    const struct rule_cell *farthest = NULL;
    double most = 0.0;
    int known_count = 0, differing_count = 0;
    for (int at = 0; at < rule->cell_count; at++) {
        const struct rule_cell *cell = &rule->cells[at];
        int64_t theirs = estimator_weights(cell);
        double apart = fabs((double)theirs / (double)cell->one->loaded_bytes - 1.0);
        known_count += theirs != BYTES_UNKNOWN ? 1 : 0;
        differing_count += theirs != BYTES_UNKNOWN && theirs != cell->one->loaded_bytes ? 1 : 0;
        if (theirs != BYTES_UNKNOWN && apart > most) {
            most = apart;
            farthest = cell;
        }
    }
    text_append(text, " The estimator weights-1.2 takes other weights, parameters x the bytes of an element, without "
                      "buffers, and as if all were quantised if some are");
    if (farthest == NULL) {
        text_append(text, known_count > 0 ? ": here they are equal." : ".");
        return;
    }
    char theirs[SIZE_TEXT_BYTES], ours[SIZE_TEXT_BYTES];
    text_format(text, ": they differ in %d of %d cases, most in %s, %s there and %s here (%+.3g %%).", differing_count,
                known_count, farthest->one->view->label, size_format(estimator_weights(farthest), theirs),
                size_format(farthest->one->loaded_bytes, ours),
                100.0 * ((double)estimator_weights(farthest) / (double)farthest->one->loaded_bytes - 1.0));
}

void rule_explanation_append(struct text *text, const struct weights_rule *rule)
{
    text_format(
        text,
        "Figures: highest allocated peak / weights, the parameters and buffers that lie in memory after loading. "
        "! too little: more than %g. ~ wasteful: %g x weights is more than the peak and %g %% of it. No mark: close, "
        "which is enough and not wasteful. Tokens: batch x "
        "(sequence + new tokens), of images the batch. The context of a GPU and its libraries come on top.",
        rule->factor, rule->factor, 100.0 * rule->wasteful);
    estimator_compare_append(text, rule);
}

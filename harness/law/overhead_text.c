/* Overhead text: the forms and the coefficients. */
#include "harness/law/overhead_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MEBIBYTE 1048576.0

/* ---- errors ---- */

/* NaN: "-". */
static void percent_append(struct text *text, double fraction, bool is_signed)
{
    double percent = 100.0 * fraction;
    if (isnan(fraction)) {
        text_format(text, " %7s", "-");
        return;
    }
    text_format(text, is_signed ? " %+7.*f" : " %7.*f", fabs(percent) < 9.995 ? 2 : 1, percent);
}

static void summary_line(struct text *text, const char *name, const struct error_summary *summary)
{
    text_format(text, "  %-11s", name);
    if (summary->count == 0) {
        text_append(text, " not known\n");
        return;
    }
    percent_append(text, summary->median, false);
    percent_append(text, summary->p90, false);
    percent_append(text, summary->p99, false);
    percent_append(text, summary->worst, false);
    percent_append(text, summary->bias, true);
    text_format(text, " %6.0f\n", 100.0 * summary->under);
}

static void errors_append(struct text *text, const struct overhead_law *law, enum overhead_level level)
{
    text_format(text, "\n%s (%s the context), %d cases: |error| in %%\n", overhead_level_name(level),
                level == OVERHEAD_ALLOCATED ? "without" : "with", law->summary[level][FORM_STRUCTURAL].count);
    text_format(text, "  %-11s %7s %7s %7s %7s %7s %6s\n", "form", "median", "p90", "p99", "worst", "bias", "under");
    for (int form = 0; form < FORM_COUNT; form++) {
        if (form != FORM_REPLAYED || level == OVERHEAD_FOOTPRINT) {
            summary_line(text, overhead_form_key((enum overhead_form)form), &law->summary[level][form]);
        }
    }
    if (level == OVERHEAD_ALLOCATED) {
        text_append(text, "  the same errors relative to what is beside the weights (peak - weights)\n");
        for (int form = 0; form < FORM_REPLAYED; form++) {
            summary_line(text, overhead_form_key((enum overhead_form)form), &law->beside[form]);
        }
    }
}

/* ---- simple forms ---- */

/* Nothing if there were no resamples. */
static void interval_append(struct text *text, const char *format, struct interval interval, double unit)
{
    if (!interval.is_known) {
        return;
    }
    text_append(text, " (");
    text_format(text, format[0] == '3' ? "%.3f" : "%.2f", interval.low / unit);
    text_append(text, " to ");
    text_format(text, format[0] == '3' ? "%.3f" : "%.2f", interval.high / unit);
    text_append(text, ")");
}

static void simple_append(struct text *text, const struct overhead_law *law, enum overhead_level level)
{
    const struct overhead_simple *constant = &law->simple[level][FORM_CONSTANT];
    const struct overhead_simple *affine = &law->simple[level][FORM_AFFINE];
    text_format(text, "\n%s peak, fitted over all kinds\n", overhead_level_name(level));
    text_format(text, "  constant    %.3f", constant->coefficients[0]);
    interval_append(text, "3", constant->spread[0], 1.0);
    text_append(text, " x weights\n");
    text_format(text, "  affine      %.2f", affine->coefficients[0]);
    interval_append(text, "2", affine->spread[0], 1.0);
    text_format(text, " MiB%s\n", affine->is_told[0] ? "" : " *");
    text_format(text, "            + %.3f", affine->coefficients[1]);
    interval_append(text, "3", affine->spread[1], 1.0);
    text_format(text, " x weights%s\n", affine->is_told[1] ? "" : " *");
    text_format(text, "            + %.2f", affine->coefficients[2]);
    interval_append(text, "2", affine->spread[2], 1.0);
    text_format(text, " x T H e%s\n", affine->is_told[2] ? "" : " *");
    if (!overhead_simple_is_told(affine, FORM_AFFINE)) {
        text_append(text, "              * cannot be told apart in these cases; their sum alone is known\n");
    }
}

/* ---- the structural form ---- */

static void legend_append(struct text *text)
{
    text_append(text, "\nstructural: peak = weights + allocator + the highest of\n"
                      "  logits        a T V e + b T H e            (infer, logits of all tokens)\n"
                      "  feed-forward  c T H e + d T F e + f B h S^2 e + k C T e\n"
                      "  attention     g T (H+A) e + s B h S^2 e + t B h S^2 4 + k C T e\n"
                      "  decode        k C N e + l C/layers N e + r N A e    (generate)\n"
                      "  decode end    k C N e + v B V e                     (generate)\n"
                      "each + i B pixels e + z MiB. B batch, S sequence, T = B S, N = B (S + new\n"
                      "tokens), e bytes of a number, H hidden size, A width of all query heads,\n"
                      "F width of the feed-forward, V vocabulary, h heads, C = 2 layers x width of\n"
                      "all key heads. f, s, t, r count if attention is eager; t in 16 bits alone.\n"
                      "A static cache is as long as N from the beginning, and is not copied (l).\n");
}

/* The coefficients of all kinds that count, in one table. */
static void glance_append(struct text *text, const struct overhead_law *law)
{
    static const enum overhead_term terms[] = {TERM_LOGIT_VOCAB,      TERM_LOGIT_HIDDEN,    TERM_FEED_HIDDEN,
                                               TERM_FEED_WIDTH,       TERM_FEED_SCORES,     TERM_ATTENTION_WIDTH,
                                               TERM_ATTENTION_SCORES, TERM_ATTENTION_FLOAT, TERM_CACHE};
    enum { COUNT = sizeof terms / sizeof terms[0] };
    text_format(text, "\n  %-22s", "kind");
    for (int at = 0; at < COUNT; at++) {
        text_format(text, " %5s", overhead_term_symbol(terms[at]));
    }
    text_append(text, "\n");
    for (int index = 0; index < law->kind_count; index++) {
        const struct overhead_group *kind = &law->kinds[index];
        struct text name = {0};
        text_format(&name, "%s, %s", kind->kind, kind->target);
        if (kind->counts) {
            text_format(text, "  %-22s", text_string(&name));
        }
        const char *before = " "; /* the star of the last one */
        for (int at = 0; at < COUNT && kind->counts; at++) {
            if (kind->fit.is_seen[terms[at]]) {
                text_format(text, "%s%5.2f", before, kind->fit.coefficients[terms[at]]);
            } else {
                text_format(text, "%s%5s", before, "-");
            }
            before = kind->fit.is_dependent[terms[at]] ? "*" : " ";
        }
        text_append(text, !kind->counts ? "" : before[0] == '*' ? "*\n" : "\n");
        text_release(&name);
    }
}

static void relation_line(struct text *text, const struct overhead_fit *fit, int term)
{
    const char *lead = "";
    text_format(text, "     %s is not told apart: what it is multiplied with is",
                overhead_term_symbol((enum overhead_term)term));
    for (int other = 0; other < TERM_COUNT; other++) {
        if (fit->relation[term][other] != 0.0) {
            text_format(text, "%s %.4g x that of %s", lead, fit->relation[term][other],
                        overhead_term_symbol((enum overhead_term)other));
            lead = " +";
        }
    }
    text_append(text, "\n");
}

static bool has_relation(const struct overhead_fit *fit, int term)
{
    bool found = false;
    for (int other = 0; other < TERM_COUNT; other++) {
        found = found || fit->relation[term][other] != 0.0;
    }
    return found;
}

/* How many models and resamples tell coefficients, where it is not all of them: a line for all that have the same. */
static void told_append(struct text *text, const struct overhead_law *law, const struct overhead_group *kind)
{
    bool is_done[TERM_COUNT] = {false};
    for (int term = 0; term < TERM_COUNT; term++) {
        int models = kind->fit.model_counts[term], resamples = kind->told_resamples[term];
        if (!overhead_fit_tells(&kind->fit, term) || is_done[term] ||
            (models == kind->model_count && resamples == law->resample_count)) {
            continue;
        }
        text_append(text, "    ");
        for (int other = term; other < TERM_COUNT; other++) {
            if (overhead_fit_tells(&kind->fit, other) && kind->fit.model_counts[other] == models &&
                kind->told_resamples[other] == resamples) {
                is_done[other] = true;
                text_format(text, " %s", overhead_term_symbol((enum overhead_term)other));
            }
        }
        text_format(text, ": told by %d of %d models", models, kind->model_count);
        if (law->resample_count > 0) {
            text_format(text, " and %d of %d resamples%s", resamples, law->resample_count,
                        kind->spread[term].is_known ? "" : ": no interval");
        }
        text_append(text, "\n");
    }
}

static void terms_append(struct text *text, const struct overhead_law *law, const struct overhead_group *kind)
{
    for (int term = 0; term < TERM_COUNT; term++) {
        if (kind->fit.is_seen[term]) {
            text_format(text, "  %s %8.3f", overhead_term_symbol((enum overhead_term)term),
                        kind->fit.coefficients[term]);
            interval_append(text, "3", kind->spread[term], 1.0);
            text_format(text, "  %s%s\n", overhead_term_words((enum overhead_term)term),
                        kind->fit.is_dependent[term] ? " *" : "");
        }
    }
    for (int term = 0; term < TERM_COUNT; term++) {
        if (has_relation(&kind->fit, term)) {
            relation_line(text, &kind->fit, term);
        }
    }
    told_append(text, law, kind);
}

/* What a kind that is not judged by itself has from another device. */
static void borrowed_append(struct text *text, const struct overhead_group *kind)
{
    if (kind->donor != NULL && kind->borrowed.count > 0) {
        text_format(text, "  with the coefficients of %s on %s, and %.2f MiB of workspaces:\n", kind->donor->kind,
                    kind->donor->target, kind->workspace_bytes / MEBIBYTE);
        text_append(text, "  left out there and here: ");
        overhead_errors_append(text, &kind->borrowed);
        text_append(text, overhead_loan_fits(kind) ? "\n" : "\n  they do not fit here\n");
    }
}

/* One line for each device and program that borrows, at its first group. */
static void loans_append(struct text *text, const struct overhead_law *law)
{
    struct error_summary summary;
    bool has_heading = false;
    for (int at = 0; at < law->kind_count; at++) {
        const struct overhead_group *group = &law->kinds[at];
        bool is_first = overhead_loan_fits(group);
        for (int before = 0; before < at; before++) {
            is_first = is_first && !(overhead_loan_fits(&law->kinds[before]) &&
                                     strcmp(law->kinds[before].target, group->target) == 0 &&
                                     strcmp(law->kinds[before].program, group->program) == 0);
        }
        if (is_first && overhead_borrowed_summary(law, group, &summary, NULL) == STATUS_OK) {
            text_append(
                text, has_heading ? "" : "\nkinds with too few models, by the law of another device and one figure\n");
            text_format(text, "  %s (%s): %d cases, ", group->target, group->program, summary.count);
            overhead_errors_append(text, &summary);
            text_format(text, "; %.2f MiB\n", group->workspace_bytes / MEBIBYTE);
            has_heading = true;
        }
    }
}

static void kind_append(struct text *text, const struct overhead_law *law, const struct overhead_group *kind)
{
    text_format(text, "\n%s on %s (%s): %d model%s, %d case%s", kind->kind, kind->target, kind->program,
                kind->model_count, kind->model_count == 1 ? "" : "s", kind->point_count,
                kind->point_count == 1 ? "" : "s");
    if (!kind->has_terms) {
        text_append(text, "\n  the moments have no terms for it; its footprint is replayed\n");
        return;
    }
    if (!kind->counts) {
        text_format(text, "\n  too few models to leave one out, so it is not judged\n");
        borrowed_append(text, kind);
        return;
    }
    text_append(text, "\n  left out: ");
    overhead_errors_append(text, &kind->errors[OVERHEAD_ALLOCATED]);
    text_format(text, "; allocator %.2f MiB\n", kind->allocator_bytes / MEBIBYTE);
    terms_append(text, law, kind);
    if (!isnan(kind->context[0])) {
        text_format(text, "  with the context: %.2f MiB + %.4f x peak\n", kind->context[0] / MEBIBYTE,
                    kind->context[1]);
    }
    if (!kind->fit.settled) {
        text_append(text, "  rows go to and fro between moments; the best of all rounds is taken\n");
    }
}

/* ---- the context ---- */

static void contexts_append(struct text *text, const struct overhead_law *law)
{
    if (law->context_count == 0) {
        return;
    }
    text_append(text, "\nreplayed: footprint = segments that replay has + a context, of every kind\n");
    for (int at = 0; at < law->context_count; at++) {
        const struct overhead_context *context = &law->contexts[at];
        text_format(text, "  %s (%s), %s: %.2f", context->target, context->program, context->mode,
                    context->bytes / MEBIBYTE);
        interval_append(text, "2", context->spread, MEBIBYTE);
        text_format(text, " MiB; %d cases of %d models", context->case_count, context->model_count);
        if (context->errors.count > 0) {
            text_append(text, "\n    left out: ");
            overhead_errors_append(text, &context->errors);
        }
        text_append(text, "\n");
    }
    if (law->unreplayed_count > 0) {
        text_format(text, "  left out: %d cases with a footprint whose segments no replay has told\n",
                    law->unreplayed_count);
    }
}

/* Kinds that the moments have no terms for. */
static void termless_append(struct text *text, const struct overhead_law *law)
{
    bool has_heading = false;
    for (int at = 0; at < law->kind_count; at++) {
        const struct overhead_group *kind = &law->kinds[at];
        if (kind->has_terms || kind->replayed.count == 0) {
            continue;
        }
        if (!has_heading) {
            text_append(text, "  of these, kinds that the moments have no terms for: |error| in %\n");
            text_format(text, "    %-24s %6s %6s %7s %7s %7s\n", "kind", "models", "cases", "median", "p99", "worst");
            has_heading = true;
        }
        struct text name = {0};
        text_format(&name, "%s, %s", kind->kind, kind->target);
        text_format(text, "    %-24s %6d %6d", text_string(&name), kind->model_count, kind->replayed.count);
        percent_append(text, kind->replayed.median, false);
        percent_append(text, kind->replayed.p99, false);
        percent_append(text, kind->replayed.worst, false);
        text_append(text, "\n");
        text_release(&name);
    }
}

/* Where the structural form, which has no segments, is as good as it is meant to be. */
static enum status_code held_append(struct text *text, const struct overhead_law *law, struct status *error)
{
    struct overhead_held held[HELD_COUNT];
    enum status_code code = overhead_held_make(law, held, error);
    if (code != STATUS_OK || law->summary[OVERHEAD_FOOTPRINT][FORM_REPLAYED].count == 0) {
        return code;
    }
    text_format(text,
                "\nstructural with the context, by what segments hold beside the peak's tensors\n"
                "(goal: a median of at most %.0f %%, and a p99, of few cases the worst, of at\n"
                "most %.0f %%)\n"
                "  %% of footprint  cases  median     p99   worst    bias  goal\n",
                100.0 * OVERHEAD_GOAL_MEDIAN, 100.0 * OVERHEAD_GOAL_P99);
    for (int row = 0; row < HELD_COUNT; row++) {
        const struct error_summary *errors = &held[row].errors;
        struct text range = {0};
        if (isinf(held[row].low) || isinf(held[row].high)) {
            text_format(&range, isinf(held[row].low) ? "below %.0f" : "from %.0f",
                        100.0 * (isinf(held[row].low) ? held[row].high : held[row].low));
        } else {
            text_format(&range, "%.0f to %.0f", 100.0 * held[row].low, 100.0 * held[row].high);
        }
        text_format(text, "  %-14s %6d", text_string(&range), errors->count);
        text_release(&range);
        if (errors->count > 0) {
            percent_append(text, errors->median, false);
            percent_append(text, errors->p99, false);
            percent_append(text, errors->worst, false);
            percent_append(text, errors->bias, true);
            text_append(text, overhead_goal_is_met(errors) ? "  met" : "  missed");
        }
        text_append(text, "\n");
    }
    return STATUS_OK;
}

void overhead_text_append(struct text *text, const struct overhead_law *law)
{
    overhead_heading_append(text, law);
    text_append(text, "errors: predicted - measured, relative to measured, each of a model that was\n"
                      "left out of the fit.");
    if (law->resample_count > 0) {
        text_format(text, " Intervals: 95 of 100 of %d resamples of the models,\nseed %" PRIu64 ".\n",
                    law->resample_count, law->seed);
    } else {
        text_append(text, " No intervals: nothing was resampled.\n");
    }
    for (int level = 0; level < OVERHEAD_LEVEL_COUNT; level++) {
        errors_append(text, law, (enum overhead_level)level);
    }
    contexts_append(text, law);
    termless_append(text, law);
    text->failed = text->failed || held_append(text, law, NULL) != STATUS_OK;
    loans_append(text, law);
    for (int level = 0; level < OVERHEAD_LEVEL_COUNT; level++) {
        if (law->summary[level][FORM_STRUCTURAL].count > 0) {
            simple_append(text, law, (enum overhead_level)level);
        }
    }
    overhead_rule_append(text, law);
    legend_append(text);
    glance_append(text, law);
    for (int at = 0; at < law->kind_count; at++) {
        kind_append(text, law, &law->kinds[at]);
    }
}

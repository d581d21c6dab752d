/* Difference: two reports side by side. Says what changed, not whether that is good: gates have tolerances, this has
 * none. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/case_view.h"
#include "harness/report/escape.h"
#include "harness/report/gap.h"
#include "harness/report/wording.h"

struct sides {
    struct text *text;
    int width;
    double limit; /* negative: none */
    int changed, missing, appeared, same;
    struct gap *gaps[LEVEL_COUNT]; /* of the peaks that both know; room for every case */
    int gap_count;                 /* of each level */
    int beyond, unmeasured;        /* with a limit: allocated peaks further off than that, or that NEW has not */
};

static const char *const peak_names[LEVEL_COUNT] = {"requested peak", "allocated peak", "reserved peak", "device used",
                                                    "process peak"};

static int id_order(const void *left, const void *right)
{
    const struct case_view *const *a = left, *const *b = right;
    return strcmp((*a)->id, (*b)->id);
}

static const struct case_view **index_make(struct arena *arena, const struct report *report)
{
    const struct case_view **index = arena_alloc(arena, ((size_t)report->case_count + 1) * sizeof *index);
    for (int at = 0; index != NULL && at < report->case_count; at++) {
        index[at] = &report->cases[at];
    }
    if (index != NULL) {
        qsort(index, (size_t)report->case_count, sizeof *index, id_order);
    }
    return index;
}

static const struct case_view *index_find(const struct case_view **index, int count, const struct case_view *wanted)
{
    const struct case_view **found = bsearch(&wanted, index, (size_t)count, sizeof *index, id_order);
    return found != NULL ? *found : NULL;
}

static void title_append(const struct sides *sides, const char *mark, const struct case_view *view)
{
    struct text clean = {0};
    terminal_append(&clean, view->label);
    cell_append(sides->text, mark, 9, false);
    paragraph_append(sides->text, text_string(&clean), sides->width, 9, 9);
    text_release(&clean);
}

/* "  allocated peak    413.68 MiB  414.18 MiB  +512.00 KiB  +0.12 %"; narrow: the name on a line of its own. */
static void figure_append(const struct sides *sides, const char *name, int64_t old_bytes, int64_t new_bytes)
{
    char old_word[WORDING_BYTES], new_word[WORDING_BYTES], change[WORDING_BYTES], share[WORDING_BYTES];
    bool known = old_bytes > 0 && new_bytes != BYTES_UNKNOWN;
    double relative = known ? (double)(new_bytes - old_bytes) / (double)old_bytes : 0.0;
    bool narrow = sides->width < 72;
    text_append(sides->text, "  ");
    cell_append(sides->text, name, narrow ? width_measure(name) : 19, false);
    text_append(sides->text, narrow ? "\n" : "");
    cell_append(sides->text, bytes_word(old_bytes, false, old_word), 12, true);
    cell_append(sides->text, bytes_word(new_bytes, false, new_word), 13, true);
    cell_append(sides->text, difference_word(old_bytes, new_bytes, change), 14, true);
    if (!narrow) {
        cell_append(sides->text, error_word(known, relative, share), 12, true);
    }
    text_append(sides->text, "\n");
}

/* A figure that one side alone has is no difference: PyTorch's records predict nothing, older ones know fewer quantities.
 * But a measurement that is gone is one. */
static bool prediction_differs(int64_t old_bytes, int64_t new_bytes)
{
    return old_bytes != BYTES_UNKNOWN && new_bytes != BYTES_UNKNOWN && old_bytes != new_bytes;
}

static bool measurement_differs(int64_t old_bytes, int64_t new_bytes)
{
    return old_bytes != BYTES_UNKNOWN && old_bytes != new_bytes;
}

static bool predictions_differ(const struct case_view *a, const struct case_view *b)
{
    for (int level = 0; level <= LEVEL_RESERVED; level++) {
        if (prediction_differs(a->predicted.peak_bytes[level], b->predicted.peak_bytes[level])) {
            return true;
        }
    }
    for (int at = 0; at < a->total_count; at++) {
        for (int other = 0; other < b->total_count; other++) {
            if (strcmp(a->totals[at].estimator, b->totals[other].estimator) == 0 &&
                a->totals[at].total_bytes != b->totals[other].total_bytes) {
                return true;
            }
        }
    }
    return false;
}

static bool case_differs(const struct case_view *a, const struct case_view *b)
{
    bool differs = strcmp(a->status, b->status) != 0 ||
                   measurement_differs(a->measured.saved_for_backward_bytes, b->measured.saved_for_backward_bytes);
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        const struct stage_view *old_stage = &a->measured.stages[stage], *new_stage = &b->measured.stages[stage];
        for (int level = 0; level <= LEVEL_RESERVED; level++) {
            differs = differs || measurement_differs(old_stage->end_bytes[level], new_stage->end_bytes[level]) ||
                      measurement_differs(old_stage->peak_bytes[level], new_stage->peak_bytes[level]);
        }
    }
    return differs || predictions_differ(a, b);
}

/* Stage figures that differ, one line each, under the peaks. */
static void stages_append(const struct sides *sides, const struct case_view *a, const struct case_view *b)
{
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        const struct stage_view *old_stage = &a->measured.stages[stage], *new_stage = &b->measured.stages[stage];
        for (int level = 0; level <= LEVEL_RESERVED; level++) {
            if (measurement_differs(old_stage->peak_bytes[level], new_stage->peak_bytes[level])) {
                struct text name = {0};
                text_format(&name, "%s %s", report_stage_name(stage), level_name((enum level)level));
                figure_append(sides, text_string(&name), old_stage->peak_bytes[level], new_stage->peak_bytes[level]);
                text_release(&name);
            }
        }
    }
}

static void predictions_append(const struct sides *sides, const struct case_view *a, const struct case_view *b)
{
    static const char *const names[] = {"replay requested", "replay allocated", "replay reserved"};
    for (int level = 0; level <= LEVEL_RESERVED; level++) {
        if (prediction_differs(a->predicted.peak_bytes[level], b->predicted.peak_bytes[level])) {
            figure_append(sides, names[level], a->predicted.peak_bytes[level], b->predicted.peak_bytes[level]);
        }
    }
    for (int at = 0; at < a->total_count; at++) {
        for (int other = 0; other < b->total_count; other++) {
            bool same_name = strcmp(a->totals[at].estimator, b->totals[other].estimator) == 0;
            if (same_name && a->totals[at].total_bytes != b->totals[other].total_bytes) {
                struct text name = {0};
                terminal_append(&name, a->totals[at].estimator);
                text_append(&name, " total");
                figure_append(sides, text_string(&name), a->totals[at].total_bytes, b->totals[other].total_bytes);
                text_release(&name);
            }
        }
    }
}

static void status_append(const struct sides *sides, const struct case_view *a, const struct case_view *b)
{
    struct text line = {0};
    text_append(&line, "status ");
    terminal_append(&line, a->status);
    text_append(&line, a->reason[0] != '\0' ? " (" : "");
    terminal_append(&line, a->reason);
    text_append(&line, a->reason[0] != '\0' ? ") -> " : " -> ");
    terminal_append(&line, b->status);
    text_append(&line, b->reason[0] != '\0' ? ": " : "");
    terminal_append(&line, b->reason);
    text_append(sides->text, "  ");
    paragraph_append(sides->text, text_string(&line), sides->width, 2, 2);
    text_release(&line);
}

/* "only in old: device used 34.00 GiB", for the figures that one side alone has. */
static void lonely_append(const struct sides *sides, const char *whose, const struct case_view *view,
                          const struct case_view *other)
{
    struct text line = {0};
    char word[WORDING_BYTES];
    for (int level = 0; level < LEVEL_COUNT; level++) {
        int64_t bytes = view->measured.peak_bytes[level];
        if (bytes != BYTES_UNKNOWN && other->measured.peak_bytes[level] == BYTES_UNKNOWN) {
            text_format(&line, "%s %s %s", line.length > 0 ? "," : "", peak_names[level],
                        bytes_word(bytes, false, word));
        }
    }
    if (view->measured.saved_for_backward_bytes != BYTES_UNKNOWN &&
        other->measured.saved_for_backward_bytes == BYTES_UNKNOWN) {
        text_format(&line, "%s saved for backward %s", line.length > 0 ? "," : "",
                    bytes_word(view->measured.saved_for_backward_bytes, false, word));
    }
    if ((view->predicted.present && !other->predicted.present) || (view->total_count > 0 && other->total_count == 0)) {
        text_format(&line, "%s predictions", line.length > 0 ? "," : "");
    }
    if (line.length > 0) {
        text_format(sides->text, "  only in %s: ", whose);
        paragraph_append(sides->text, text_string(&line) + 1, sides->width, 4, 15);
    }
    text_release(&line);
}

/* The figures are shown all the same; those of device and process count in no summary. */
static void invalid_append(const struct sides *sides, const char *whose, const struct case_view *view)
{
    struct text line = {0};
    if (view->invalid) {
        text_append(sides->text, "  ");
        text_format(&line, "invalid in %s: ", whose);
        terminal_append(&line, view->disturbance);
        paragraph_append(sides->text, text_string(&line), sides->width, 4, 2);
        text_release(&line);
    }
}

static void peaks_append(struct sides *sides, const struct case_view *a, const struct case_view *b)
{
    for (int level = 0; level < LEVEL_COUNT; level++) {
        int64_t old_bytes = a->measured.peak_bytes[level], new_bytes = b->measured.peak_bytes[level];
        if (old_bytes != BYTES_UNKNOWN && new_bytes != BYTES_UNKNOWN) {
            figure_append(sides, peak_names[level], old_bytes, new_bytes);
        }
        bool disturbed = level >= LEVEL_DEVICE && (a->invalid || b->invalid);
        sides->gaps[level][sides->gap_count] =
            (struct gap){a->label, disturbed ? BYTES_UNKNOWN : old_bytes, disturbed ? BYTES_UNKNOWN : new_bytes};
    }
    sides->gap_count++;
}

static void both_append(struct sides *sides, const struct case_view *a, const struct case_view *b)
{
    bool differs = case_differs(a, b);
    int64_t old_saved = a->measured.saved_for_backward_bytes, new_saved = b->measured.saved_for_backward_bytes;
    *(differs ? &sides->changed : &sides->same) += 1;
    text_append(sides->text, "\n");
    title_append(sides, differs ? "changed" : "same", a);
    if (strcmp(a->status, b->status) != 0) {
        status_append(sides, a, b);
    }
    peaks_append(sides, a, b);
    if (old_saved != BYTES_UNKNOWN && new_saved != BYTES_UNKNOWN && old_saved != new_saved) {
        figure_append(sides, "saved for backward", old_saved, new_saved);
    }
    if (differs) {
        stages_append(sides, a, b);
        predictions_append(sides, a, b);
    }
    invalid_append(sides, "old", a);
    invalid_append(sides, "new", b);
    lonely_append(sides, "old", a, b);
    lonely_append(sides, "new", b, a);
}

static const char *kind_of(const struct report *report)
{
    for (int index = 0; index < report->case_count; index++) {
        if (report->cases[index].device_kind != NULL) {
            return report->cases[index].device_kind;
        }
    }
    return NULL;
}

/* A host against a GPU, or one GPU against another kind: the figures of the levels above requested cannot be equal. */
static void devices_append(const struct sides *sides, const struct report *base, const struct report *other)
{
    struct text left = {0}, right = {0}, line = {0};
    device_append(&left, base);
    device_append(&right, other);
    if (strcmp(text_string(&left), text_string(&right)) != 0 && kind_of(base) != NULL && kind_of(other) != NULL) {
        text_append(&line, "warning: different devices are compared: ");
        terminal_append(&line, text_string(&left));
        text_append(&line, " and ");
        terminal_append(&line, text_string(&right));
        paragraph_append(sides->text, text_string(&line), sides->width, 2, 0);
    }
    text_release(&left);
    text_release(&right);
    text_release(&line);
}

/* "old: pytorch 2.11.0 on cuda (NVIDIA H200), results/pytorch" */
static void side_append(const struct sides *sides, const char *whose, const struct report *report)
{
    const struct json *tool = json_get(report_run(report), "tool");
    struct text line = {0}, device = {0};
    text_format(&line, "%s: ", whose);
    terminal_append(&line, json_string_or(json_get(tool, "name"), "?"));
    text_append(&line, " ");
    terminal_append(&line, json_string_or(json_get(tool, "version"), "?"));
    device_append(&device, report);
    text_append(&line, device.length > 0 ? " on " : "");
    terminal_append(&line, text_string(&device));
    text_append(&line, ", ");
    terminal_append(&line, report->source);
    paragraph_append(sides->text, text_string(&line), sides->width, 5, 0);
    text_release(&device);
    text_release(&line);
}

static void heading_append(const struct sides *sides)
{
    bool narrow = sides->width < 72;
    text_append(sides->text, narrow ? "  level\n" : "  level              ");
    text_append(sides->text, "         old          new    difference");
    text_append(sides->text, narrow ? "\n" : "      change\n");
}

static void summary_heading_append(const struct sides *sides)
{
    bool narrow = sides->width < 72;
    text_append(sides->text, narrow ? "\n  over all cases\n" : "\n  over all cases  ");
    cell_append(sides->text, "both know", 11, true);
    cell_append(sides->text, "equal", 7, true);
    cell_append(sides->text, "median", 9, true);
    cell_append(sides->text, "worst", 11, true);
    text_append(sides->text, "\n");
}

static void summary_row_append(const struct sides *sides, const char *name, const struct gap_summary *summary)
{
    char word[WORDING_BYTES];
    bool narrow = sides->width < 72;
    text_append(sides->text, "  ");
    cell_append(sides->text, name, narrow ? width_measure(name) : 16, false);
    text_append(sides->text, narrow ? "\n" : "");
    snprintf(word, sizeof word, "%d", summary->count);
    cell_append(sides->text, word, 11, true);
    snprintf(word, sizeof word, "%d", summary->equal_count);
    cell_append(sides->text, word, 7, true);
    cell_append(sides->text, error_word(true, summary->median, word) + 1, 9, true); /* a magnitude has no sign */
    cell_append(sides->text, error_word(true, summary->worst, word), 11, true);
    text_append(sides->text, "\n");
    if (summary->worst_name != NULL) {
        struct text clean = {0};
        terminal_append(&clean, summary->worst_name);
        text_append(sides->text, "    worst: ");
        paragraph_append(sides->text, text_string(&clean), sides->width, 11, 11);
        text_release(&clean);
    }
}

/* How far apart the peaks are over all cases, level by level. */
static enum status_code summary_append(const struct sides *sides, struct status *error)
{
    bool has_heading = false;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        struct gap_summary summary;
        enum status_code code = gap_summarise(sides->gaps[level], sides->gap_count, &summary, error);
        if (code != STATUS_OK) {
            return code;
        }
        if (summary.count > 0 && !has_heading) {
            summary_heading_append(sides);
            has_heading = true;
        }
        if (summary.count > 0) {
            summary_row_append(sides, peak_names[level], &summary);
        }
    }
    return STATUS_OK;
}

static void totals_append(const struct sides *sides)
{
    struct text line = {0};
    text_format(&line, "%d same, %d changed, %d missing from the new records, %d only in them", sides->same,
                sides->changed, sides->missing, sides->appeared);
    text_append(sides->text, "\n");
    if (sides->limit >= 0.0) {
        text_format(&line, "; %d allocated peaks beyond %g %%, %d not measured in the new records", sides->beyond,
                    100.0 * sides->limit, sides->unmeasured);
    }
    paragraph_append(sides->text, text_string(&line), sides->width, 2, 0);
    text_release(&line);
}

/* Lists the cases of one report that are not in the index of the other; returns how many they are. */
static int strangers_append(const struct sides *sides, const char *mark, const struct report *report,
                            const struct case_view **index, int count)
{
    int strangers = 0;
    for (int at = 0; at < report->case_count; at++) {
        if (index_find(index, count, &report->cases[at]) == NULL) {
            text_append(sides->text, strangers == 0 ? "\n" : "");
            title_append(sides, mark, &report->cases[at]);
            strangers++;
        }
    }
    return strangers;
}

/* What decides where there is a limit: what is known to be wrong before what is not known. Where BASE measured nothing,
 * nothing agrees. */
static enum report_outcome limit_judge(struct sides *sides, const struct report *base, const struct case_view **index,
                                       int count)
{
    int held_count = 0;
    for (int at = 0; at < base->case_count; at++) {
        const struct case_view *view = &base->cases[at], *other = index_find(index, count, view);
        struct gap gap = {view->label, view->measured.peak_bytes[LEVEL_ALLOCATED],
                          other != NULL ? other->measured.peak_bytes[LEVEL_ALLOCATED] : BYTES_UNKNOWN};
        double relative = INFINITY; /* any bytes are beyond a limit of none */
        bool both = gap.base_bytes != BYTES_UNKNOWN && gap.new_bytes != BYTES_UNKNOWN;
        gap_relative(&gap, &relative);
        held_count += both;
        sides->unmeasured += gap.base_bytes != BYTES_UNKNOWN && !both;
        sides->beyond += both && fabs(relative) > sides->limit;
    }
    return sides->beyond > 0 ? REPORT_CHANGED : sides->unmeasured > 0 || held_count == 0 ? REPORT_MISSING : REPORT_SAME;
}

static bool gaps_make(struct sides *sides, struct arena *arena, int case_count)
{
    bool made = true;
    for (int level = 0; level < LEVEL_COUNT && made; level++) {
        sides->gaps[level] = arena_alloc(arena, ((size_t)case_count + 1) * sizeof *sides->gaps[level]);
        made = sides->gaps[level] != NULL;
    }
    return made;
}

enum status_code report_compare(const struct report *base, const struct report *new_report, double limit,
                                const struct report_style *style, struct text *text, enum report_outcome *outcome,
                                struct status *error)
{
    int width = style != NULL && style->width > 0 ? style->width : 80;
    struct sides sides = {.text = text, .width = width < 40 ? 40 : width, .limit = limit};
    struct arena arena = {0};
    const struct case_view **old_index = index_make(&arena, base), **new_index = index_make(&arena, new_report);
    if (old_index == NULL || new_index == NULL || !gaps_make(&sides, &arena, base->case_count)) {
        arena_release(&arena);
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory to compare %d cases", base->case_count);
    }
    side_append(&sides, "old", base);
    side_append(&sides, "new", new_report);
    devices_append(&sides, base, new_report);
    heading_append(&sides);
    for (int at = 0; at < base->case_count; at++) {
        const struct case_view *other = index_find(new_index, new_report->case_count, &base->cases[at]);
        if (other != NULL) {
            both_append(&sides, &base->cases[at], other);
        }
    }
    sides.missing = strangers_append(&sides, "missing", base, new_index, new_report->case_count);
    sides.appeared = strangers_append(&sides, "new", new_report, old_index, base->case_count);
    enum report_outcome limited = limit_judge(&sides, base, new_index, new_report->case_count);
    enum status_code code = summary_append(&sides, error);
    totals_append(&sides);
    arena_release(&arena);
    if (code == STATUS_OK && text->failed) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the comparison of %d cases", base->case_count);
    }
    if (code == STATUS_OK) {
        *outcome = limit >= 0.0        ? limited
                   : sides.missing > 0 ? REPORT_MISSING
                   : sides.changed > 0 ? REPORT_CHANGED
                                       : REPORT_SAME;
    }
    return code;
}

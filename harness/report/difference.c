/* Difference: two reports side by side. Says what changed, not whether that is good: gates have tolerances, this has
 * none. */
#include <stdlib.h>
#include <string.h>

#include "harness/report/case_view.h"
#include "harness/report/escape.h"
#include "harness/report/wording.h"

struct sides {
    struct text *text;
    int width;
    int changed, missing, appeared, same;
};

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

static bool predictions_differ(const struct case_view *a, const struct case_view *b)
{
    for (int level = 0; level <= LEVEL_RESERVED; level++) {
        if (a->predicted.peak_bytes[level] != b->predicted.peak_bytes[level]) {
            return true;
        }
    }
    if (a->total_count != b->total_count) {
        return true;
    }
    for (int at = 0; at < a->total_count; at++) {
        if (a->totals[at].total_bytes != b->totals[at].total_bytes ||
            strcmp(a->totals[at].estimator, b->totals[at].estimator) != 0) {
            return true;
        }
    }
    return false;
}

static bool case_differs(const struct case_view *a, const struct case_view *b)
{
    bool differs = strcmp(a->status, b->status) != 0 ||
                   a->measured.saved_for_backward_bytes != b->measured.saved_for_backward_bytes;
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        for (int level = 0; level <= LEVEL_RESERVED; level++) {
            differs = differs ||
                      a->measured.stages[stage].end_bytes[level] != b->measured.stages[stage].end_bytes[level] ||
                      a->measured.stages[stage].peak_bytes[level] != b->measured.stages[stage].peak_bytes[level];
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
            if (old_stage->peak_bytes[level] != new_stage->peak_bytes[level]) {
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
        if (a->predicted.peak_bytes[level] != b->predicted.peak_bytes[level]) {
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

static void both_append(struct sides *sides, const struct case_view *a, const struct case_view *b)
{
    bool differs = case_differs(a, b);
    *(differs ? &sides->changed : &sides->same) += 1;
    text_append(sides->text, "\n");
    title_append(sides, differs ? "changed" : "same", a);
    if (strcmp(a->status, b->status) != 0) {
        struct text line = {0};
        text_append(&line, "status ");
        terminal_append(&line, a->status);
        text_append(&line, " -> ");
        terminal_append(&line, b->status);
        text_append(&line, b->reason[0] != '\0' ? ": " : "");
        terminal_append(&line, b->reason);
        text_append(sides->text, "  ");
        paragraph_append(sides->text, text_string(&line), sides->width, 2, 2);
        text_release(&line);
    }
    static const char *const names[LEVEL_COUNT] = {"requested peak", "allocated peak", "reserved peak", "device used",
                                                   "process peak"};
    for (int level = 0; level < LEVEL_COUNT; level++) {
        int64_t old_bytes = a->measured.peak_bytes[level], new_bytes = b->measured.peak_bytes[level];
        if (old_bytes != BYTES_UNKNOWN || new_bytes != BYTES_UNKNOWN) {
            figure_append(sides, names[level], old_bytes, new_bytes);
        }
    }
    if (a->measured.saved_for_backward_bytes != b->measured.saved_for_backward_bytes) {
        figure_append(sides, "saved for backward", a->measured.saved_for_backward_bytes,
                      b->measured.saved_for_backward_bytes);
    }
    if (differs) {
        stages_append(sides, a, b);
        predictions_append(sides, a, b);
    }
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

static void heading_append(const struct sides *sides)
{
    bool narrow = sides->width < 72;
    text_append(sides->text, narrow ? "  level\n" : "  level              ");
    text_append(sides->text, "         old          new    difference");
    text_append(sides->text, narrow ? "\n" : "      change\n");
}

static void totals_append(const struct sides *sides)
{
    struct text line = {0};
    text_format(&line, "%d same, %d changed, %d missing from the new records, %d only in them", sides->same,
                sides->changed, sides->missing, sides->appeared);
    text_append(sides->text, "\n");
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

enum status_code report_compare(const struct report *base, const struct report *new_report,
                                const struct report_style *style, struct text *text, enum report_outcome *outcome,
                                struct status *error)
{
    int width = style != NULL && style->width > 0 ? style->width : 80;
    struct sides sides = {.text = text, .width = width < 40 ? 40 : width};
    struct arena arena = {0};
    const struct case_view **old_index = index_make(&arena, base), **new_index = index_make(&arena, new_report);
    if (old_index == NULL || new_index == NULL) {
        arena_release(&arena);
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory to compare %d cases", base->case_count);
    }
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
    totals_append(&sides);
    arena_release(&arena);
    if (text->failed) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the comparison of %d cases", base->case_count);
    }
    *outcome = sides.missing > 0 ? REPORT_MISSING : sides.changed > 0 ? REPORT_CHANGED : REPORT_SAME;
    return STATUS_OK;
}

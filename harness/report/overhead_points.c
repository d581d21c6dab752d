/* Overhead points: found, ordered, and divided into pages. What a page looks like is in overhead_plot.c. */
#include "harness/report/overhead_points.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/counted_cases.h"
#include "harness/report/wording.h"

enum { PANELS_MAXIMUM = 6 };

static bool overhead_has(const struct case_view *view)
{
    bool mode = view->mode != NULL && (strcmp(view->mode, "infer") == 0 || strcmp(view->mode, "generate") == 0);
    return mode && case_is_plain(view) && view->model != NULL && view->batch > 0 &&
           view->measured.category_bytes != NULL && view->measured.category_bytes[CATEGORY_WEIGHTS] > 0 &&
           view->measured.peak_bytes[LEVEL_ALLOCATED] > 0;
}

/* The label without its model and mode, and without the words for batch and length. NULL: no memory. */
static const char *form_make(struct name_table *forms, struct arena *arena, const struct case_view *view)
{
    char batch[32], length[32];
    struct text form = {0};
    snprintf(batch, sizeof batch, "b%" PRId64, view->batch);
    snprintf(length, sizeof length, "s%" PRId64, view->seq);
    size_t head = strlen(view->model) + 1 + strlen(view->mode);
    const char *word = strlen(view->label) > head ? view->label + head : "";
    while (*(word += strspn(word, " ")) != '\0') {
        size_t count = strcspn(word, " ");
        bool known = (strlen(batch) == count && strncmp(word, batch, count) == 0) ||
                     (strlen(length) == count && strncmp(word, length, count) == 0);
        if (!known) {
            text_append(&form, form.length > 0 ? " " : "");
            text_append_bytes(&form, word, count);
            text_append(&form, word[0] == '+' ? " tokens" : "");
            text_append(&form, count == 4 && strncmp(word, "last", count) == 0 ? " logits" : "");
        }
        word += count;
    }
    if (case_is_meta(view)) {
        text_append(&form, " (");
        replayed_append(&form, view);
        text_append(&form, ")");
    }
    const char *copy = form.failed ? NULL : name_table_keep(forms, arena, text_string(&form));
    text_release(&form);
    return copy;
}

static int number_order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int word_order(const char *a, const char *b)
{
    return a == b ? 0 : strcmp(a, b); /* words of a report: equal ones are mostly one */
}

/* Inference before generation, which the names of the modes are not. */
static int figure_order(const struct overhead_point *a, const struct overhead_point *b)
{
    int order = word_order(b->view->mode, a->view->mode);
    return order != 0 ? order : word_order(a->view->model, b->view->model);
}

static int panel_order(const struct overhead_point *a, const struct overhead_point *b)
{
    int order = figure_order(a, b);
    return order != 0 ? order : word_order(a->form, b->form);
}

bool overhead_panel_is_one(const struct overhead_point *a, const struct overhead_point *b)
{
    return panel_order(a, b) == 0;
}

static int point_order(const void *left, const void *right)
{
    const struct overhead_point *a = left, *b = right;
    int order = panel_order(a, b);
    order = order != 0 ? order : number_order(a->line, b->line);
    order = order != 0 ? order : number_order(a->length, b->length);
    return order != 0 ? order : strcmp(a->view->id, b->view->id);
}

static bool points_find(const struct report *report, struct overhead_points *points)
{
    struct name_table forms = {0};
    bool made = true;
    for (int at = 0; made && at < report->case_count; at++) {
        const struct case_view *view = &report->cases[at];
        if (!overhead_has(view)) {
            continue;
        }
        bool image = view->seq <= 0;
        struct overhead_point *point = &points->all[points->count];
        *point = (struct overhead_point){
            .view = view,
            .form = form_make(&forms, &points->arena, view),
            .line = image ? 0 : view->batch,
            .length = image ? view->batch : view->seq,
            .ratio = (double)view->measured.peak_bytes[LEVEL_ALLOCATED] /
                     (double)view->measured.category_bytes[CATEGORY_WEIGHTS],
        };
        made = point->form != NULL;
        points->count += made ? 1 : 0;
    }
    name_table_release(&forms);
    qsort(points->all, (size_t)points->count, sizeof *points->all, point_order);
    return made;
}

/* Whether some panel of a figure has two points: one alone is a figure for a table. */
static bool has_line(const struct overhead_point *points, int count)
{
    for (int at = 1; at < count; at++) {
        if (panel_order(&points[at - 1], &points[at]) == 0) {
            return true;
        }
    }
    return false;
}

/* How many of the points make PANELS_MAXIMUM panels at most. */
static int panels_take(const struct overhead_point *points, int count)
{
    int taken = 1;
    for (int panels = 1; taken < count; taken++) {
        panels += panel_order(&points[taken - 1], &points[taken]) != 0 ? 1 : 0;
        if (panels > PANELS_MAXIMUM) {
            break;
        }
    }
    return taken;
}

/* A page is of one model and mode, and of as many panels as it holds. */
static void pages_divide(struct overhead_points *points)
{
    for (int at = 0; at < points->count;) {
        int end = at + 1;
        while (end < points->count && figure_order(&points->all[at], &points->all[end]) == 0) {
            end++;
        }
        bool drawn = has_line(&points->all[at], end - at);
        while (at < end) {
            int count = panels_take(&points->all[at], end - at);
            if (drawn) {
                points->pages[points->page_count++] = (struct overhead_range){at, count};
            }
            at += count;
        }
    }
}

static int batch_order(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return number_order(*a, *b);
}

static void batches_find(struct overhead_points *points)
{
    int count = 0, kept = 0;
    for (int page = 0; page < points->page_count; page++) {
        const struct overhead_range *range = &points->pages[page];
        for (int at = range->first; at < range->first + range->count; at++) {
            if (points->all[at].line > 0) {
                points->batches[count++] = points->all[at].line;
            }
        }
    }
    qsort(points->batches, (size_t)count, sizeof *points->batches, batch_order);
    for (int at = 0; at < count; at++) {
        if (kept == 0 || points->batches[kept - 1] != points->batches[at]) {
            points->batches[kept++] = points->batches[at];
        }
    }
    points->batch_count = kept;
}

int overhead_batch_place(const struct overhead_points *points, int64_t batch)
{
    const int64_t *found =
        bsearch(&batch, points->batches, (size_t)points->batch_count, sizeof *points->batches, batch_order);
    return found != NULL ? (int)(found - points->batches) : 0;
}

struct overhead_points *overhead_points_find(const struct report *report)
{
    struct overhead_points *points = calloc(1, sizeof *points);
    if (points == NULL) {
        return NULL;
    }
    const size_t room = (size_t)report->case_count + 1;
    points->all = calloc(room, sizeof *points->all);
    points->pages = calloc(room, sizeof *points->pages);
    points->batches = calloc(room, sizeof *points->batches);
    if (points->all == NULL || points->pages == NULL || points->batches == NULL || !points_find(report, points)) {
        overhead_points_release(points);
        return NULL;
    }
    pages_divide(points);
    batches_find(points);
    return points;
}

void overhead_points_release(struct overhead_points *points)
{
    if (points != NULL) {
        free(points->all);
        free(points->pages);
        free(points->batches);
        arena_release(&points->arena);
        free(points);
    }
}

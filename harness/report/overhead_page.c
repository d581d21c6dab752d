/* Overhead: a page for each model that infers or generates, a panel for each form of the case (precision, attention, ...),
 * a line for each batch along the length. Images have no length: one line along the batch. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/counted_cases.h"
#include "harness/report/plot_data.h"
#include "harness/report/wording.h"

enum { PANELS_MAXIMUM = 6, BATCHES_MAXIMUM = 64 };

struct point {
    const struct case_view *view;
    char *form;     /* what the label says besides model, mode, batch and length */
    int64_t line;   /* the batch; where the batch is the length 0 */
    int64_t length; /* of images, and where all sequences are equally long, the batch */
};

struct points {
    struct point *all;
    int count;
};

/* Dark to light, in the order of the batches: not the colours of estimators. */
static const unsigned batch_colours[] = {0x440154, 0x414487, 0x2a788e, 0x22a884, 0x7ad151, 0xc5b000};
static const int batch_symbols[] = {7, 5, 9, 13, 11, 15}; /* filled; one less is the open form */
enum { BATCH_LOOKS = sizeof batch_symbols / sizeof batch_symbols[0] };

static bool overhead_has(const struct case_view *view)
{
    bool mode = view->mode != NULL && (strcmp(view->mode, "infer") == 0 || strcmp(view->mode, "generate") == 0);
    return mode && view->model != NULL && view->batch > 0 && view->measured.categories_known &&
           view->measured.category_bytes[CATEGORY_WEIGHTS] > 0 && view->measured.peak_bytes[LEVEL_ALLOCATED] > 0;
}

/* The label without its model and mode, and without the words for batch and length. NULL: no memory. */
static char *form_make(const struct case_view *view)
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
    char *copy = form.failed ? NULL : strdup(text_string(&form));
    text_release(&form);
    return copy;
}

static int number_order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Inference before generation, which the names of the modes are not. */
static int figure_order(const struct point *a, const struct point *b)
{
    int order = strcmp(b->view->mode, a->view->mode);
    return order != 0 ? order : strcmp(a->view->model, b->view->model);
}

static int panel_order(const struct point *a, const struct point *b)
{
    int order = figure_order(a, b);
    return order != 0 ? order : strcmp(a->form, b->form);
}

static int point_order(const void *left, const void *right)
{
    const struct point *a = left, *b = right;
    int order = panel_order(a, b);
    order = order != 0 ? order : number_order(a->line, b->line);
    order = order != 0 ? order : number_order(a->length, b->length);
    return order != 0 ? order : strcmp(a->view->id, b->view->id);
}

static void points_release(struct points *points)
{
    for (int at = 0; at < points->count; at++) {
        free(points->all[at].form);
    }
    free(points->all);
}

static bool points_find(const struct report *report, struct points *points)
{
    *points = (struct points){.all = calloc((size_t)report->case_count + 1, sizeof *points->all)};
    bool made = points->all != NULL;
    for (int at = 0; made && at < report->case_count; at++) {
        const struct case_view *view = &report->cases[at];
        if (!overhead_has(view)) {
            continue;
        }
        bool image = view->seq <= 0;
        struct point point = {.view = view, .form = form_make(view), .line = image ? 0 : view->batch};
        point.length = image ? view->batch : view->seq;
        made = point.form != NULL;
        points->all[points->count] = point;
        points->count += made ? 1 : 0;
    }
    if (made) {
        qsort(points->all, (size_t)points->count, sizeof *points->all, point_order);
    }
    return made;
}

/* Whether some panel of a figure has two points: one alone is a figure for a table. */
static bool has_line(const struct point *points, int count)
{
    for (int at = 1; at < count; at++) {
        if (panel_order(&points[at - 1], &points[at]) == 0) {
            return true;
        }
    }
    return false;
}

/* How many of the points make PANELS_MAXIMUM panels at most. */
static int panels_take(const struct point *points, int count)
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

/* The points of page `number`: of one model and mode, and as many panels as a page holds. False: there is no such page. */
static bool page_find(const struct points *points, int number, int *first, int *count)
{
    for (int at = 0; at < points->count;) {
        int figure = 1;
        while (at + figure < points->count && figure_order(&points->all[at], &points->all[at + figure]) == 0) {
            figure++;
        }
        bool drawn = has_line(&points->all[at], figure);
        for (int end = at + figure; at < end;) {
            *first = at;
            *count = panels_take(&points->all[at], end - at);
            if (drawn && number-- == 0) {
                return true;
            }
            at += *count;
        }
    }
    return false;
}

/* The different batches of a page, ascending; more than there is room for share the last look. */
static int batches_find(const struct point *points, int count, int64_t batches[BATCHES_MAXIMUM])
{
    int found = 0;
    for (int at = 0; at < count; at++) {
        int place = 0;
        while (place < found && batches[place] < points[at].line) {
            place++;
        }
        if ((place < found && batches[place] == points[at].line) || found == BATCHES_MAXIMUM) {
            continue;
        }
        memmove(&batches[place + 1], &batches[place], (size_t)(found - place) * sizeof *batches);
        batches[place] = points[at].line;
        found++;
    }
    return found;
}

static void look_columns(struct text *data, int place, int batch_count, bool open)
{
    int colour = batch_count <= BATCH_LOOKS ? place : place * BATCH_LOOKS / batch_count;
    text_format(data, "\t%u\t%d", batch_colours[colour], batch_symbols[place % BATCH_LOOKS] - (open ? 1 : 0));
}

static int place_of(const int64_t *batches, int count, int64_t batch)
{
    int place = 0;
    while (place < count - 1 && batches[place] != batch) {
        place++;
    }
    return place;
}

static void rows_write(struct text *data, const struct point *points, int count, const int64_t *batches,
                       int batch_count)
{
    int panel = 0;
    text_append(data, "# panel\tlength\tpeak_bytes\tweight_bytes\tcolour\tsymbol\tcase\n");
    for (int at = 0; at < count; at++) {
        const struct point *point = &points[at];
        bool new_panel = at > 0 && panel_order(&points[at - 1], point) != 0;
        panel += new_panel ? 1 : 0;
        text_append(data, at > 0 && (new_panel || points[at - 1].line != point->line) ? "\n" : "");
        text_format(data, "%d\t%" PRId64, panel, point->length);
        bytes_column(data, point->view->measured.peak_bytes[LEVEL_ALLOCATED]);
        bytes_column(data, point->view->measured.category_bytes[CATEGORY_WEIGHTS]);
        look_columns(data, place_of(batches, batch_count, point->line), batch_count, case_is_meta(point->view));
        text_append(data, "\t");
        label_column(data, point->view->label);
        text_append(data, "\n");
    }
}

static int panels_write(struct text *data, const struct point *points, int count)
{
    int panel = 0;
    text_append(data, "\n\n# panel\tform\n");
    for (int at = 0; at < count; at++) {
        if (at == 0 || panel_order(&points[at - 1], &points[at]) != 0) {
            text_format(data, "%d\t", panel++);
            label_column(data, points[at].form);
            text_append(data, "\n");
        }
    }
    return panel;
}

static void legend_write(struct text *data, const int64_t *batches, int count, bool open)
{
    text_append(data, "\n\n# batch\tcolour\tsymbol\n");
    for (int place = 0; place < count; place++) {
        text_format(data, batches[place] > 0 ? "batch %" PRId64 : "each batch", batches[place]);
        look_columns(data, place, count, open);
        text_append(data, "\n");
    }
}

/* Where all sequences of a page are equally long, its lines go along the batch. Returns whether. */
static bool points_turn(struct point *points, int count)
{
    for (int at = 1; at < count; at++) {
        if (points[at].length != points[0].length || points[at].line == 0) {
            return false;
        }
    }
    for (int at = 0; at < count; at++) {
        points[at].length = points[at].line;
        points[at].line = 0;
    }
    return true;
}

static void axis_word(const struct case_view *one, bool turned, char word[WORDING_BYTES])
{
    bool infers = strcmp(one->mode, "infer") == 0;
    if (turned) {
        snprintf(word, WORDING_BYTES, "batch, %s of %" PRId64 " tokens", infers ? "sequences" : "prompts", one->seq);
    } else {
        snprintf(word, WORDING_BYTES, "%s",
                 one->seq <= 0 ? "batch of images"
                 : infers      ? "sequence (tokens)"
                               : "prompt (tokens)");
    }
}

static void page_write(struct point *points, int count, struct plot_page *page)
{
    char axis[WORDING_BYTES];
    bool turned = points[0].line > 0 && points_turn(points, count);
    int64_t batches[BATCHES_MAXIMUM];
    int batch_count = batches_find(points, count, batches), replayed_count = 0;
    for (int at = 0; at < count; at++) {
        replayed_count += case_is_meta(points[at].view) ? 1 : 0;
    }
    const struct case_view *one = points[0].view;
    axis_word(one, turned, axis);
    text_format(&page->title, "Overhead of %s: %s", strcmp(one->mode, "infer") == 0 ? "inference" : "generation",
                one->model);
    rows_write(&page->data, points, count, batches, batch_count);
    page->mark_count = panels_write(&page->data, points, count);
    legend_write(&page->data, batches, batch_count, replayed_count == count);
    text_format(&page->data, "\n\n# mode\tlength\tmodel\n%s\t%s\t",
                strcmp(one->mode, "infer") == 0 ? "inference" : "generation", axis);
    label_column(&page->data, one->model);
    text_append(&page->data, "\n");
    int columns = page->mark_count < 3 ? page->mark_count : 3;
    page->width = columns == 1 ? 640 : columns == 2 ? 900 : 1200;
    page->height = 84 + 300 * ((page->mark_count + columns - 1) / columns);
    int legend_height = 70 + 21 * (batch_count + 1);
    page->height = page->height < legend_height ? legend_height : page->height;
    if (replayed_count > 0) {
        plot_caption_add(page, "Open symbols, replayed: predicted, nothing was measured.");
    }
}

void overhead_page_make(const struct report *report, const char *timeline, int number, struct plot_page *page)
{
    (void)timeline;
    struct points points;
    int first = 0, count = 0;
    page->data.failed = !points_find(report, &points);
    if (!page->data.failed && page_find(&points, number, &first, &count)) {
        page_write(&points.all[first], count, page);
    }
    points_release(&points);
}

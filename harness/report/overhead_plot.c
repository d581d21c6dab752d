/* Overhead: a page for each model that infers or generates, a panel for each form of the case (precision, attention,
 * ...), a line for each batch along the length. Images have no length: one line along the batch. A batch has one look
 * in all pages of a report. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/counted_cases.h"
#include "harness/report/overhead_points.h"
#include "harness/report/overhead_thinning.h"
#include "harness/report/plot_data.h"
#include "harness/report/wording.h"

enum { LEGEND_MAXIMUM = 64 /* batches in a legend */ };

/* What is written: a copy, because a page may turn its lines. */
struct page_points {
    const struct overhead_points *report; /* of all pages */
    struct overhead_point *all;
    bool *drawn, *batches; /* which points; which of the batches of the report */
    int count;
};

/* Dark to light, in the order of the batches: not the colours of estimators. What is of each batch has none of
 * these. */
static const unsigned batch_colours[] = {0x440154, 0x414487, 0x2a788e, 0x22a884, 0x7ad151, 0xc5b000};
static const unsigned each_batch_colour = 0x222222;
static const int batch_symbols[] = {7, 5, 9, 13, 11, 15}; /* filled; one less is the open form */
enum { BATCH_LOOKS = sizeof batch_symbols / sizeof batch_symbols[0] };

/* Of more batches than there are colours each has one between two of these. */
static unsigned batch_colour(int place, int batch_count)
{
    if (batch_count <= BATCH_LOOKS) {
        return batch_colours[place];
    }
    double at = (double)place * (BATCH_LOOKS - 1) / (batch_count - 1);
    int lower = (int)at < BATCH_LOOKS - 2 ? (int)at : BATCH_LOOKS - 2;
    unsigned colour = 0;
    for (unsigned shift = 0; shift < 24; shift += 8) {
        double a = (batch_colours[lower] >> shift) & 0xff, b = (batch_colours[lower + 1] >> shift) & 0xff;
        colour |= (unsigned)(a + (b - a) * (at - lower) + 0.5) << shift;
    }
    return colour;
}

/* batch 0: each. */
static void look_columns(struct text *data, const struct overhead_points *report, int64_t batch, bool open)
{
    int place = batch > 0 ? overhead_batch_place(report, batch) : 0;
    unsigned colour = batch > 0 ? batch_colour(place, report->batch_count) : each_batch_colour;
    text_format(data, "\t%u\t%d", colour, batch_symbols[place % BATCH_LOOKS] - (open ? 1 : 0));
}

static void row_write(struct text *data, const struct page_points *points, int at, int panel)
{
    const struct overhead_point *point = &points->all[at];
    text_format(data, "%d\t%" PRId64, panel, point->length);
    bytes_column(data, point->view->measured.peak_bytes[LEVEL_ALLOCATED]);
    bytes_column(data, point->view->measured.category_bytes[CATEGORY_WEIGHTS]);
    look_columns(data, points->report, point->line, case_is_meta(point->view));
    text_append(data, "\t");
    label_column(data, point->view->label);
    text_append(data, "\n");
}

static void rows_write(struct text *data, const struct page_points *points)
{
    int panel = 0;
    text_append(data, "# panel\tlength\tpeak_bytes\tweight_bytes\tcolour\tsymbol\tcase\n");
    bool any = false, new_line = false;
    for (int at = 0; at < points->count; at++) {
        const struct overhead_point *point = &points->all[at];
        bool new_panel = at > 0 && !overhead_panel_is_one(&point[-1], point);
        panel += new_panel ? 1 : 0;
        new_line = new_line || new_panel || (at > 0 && point[-1].line != point->line);
        if (points->drawn[at]) {
            text_append(data, any && new_line ? "\n" : "");
            row_write(data, points, at, panel);
            any = true;
            new_line = false;
        }
    }
}

static int panels_write(struct text *data, const struct page_points *points)
{
    int panel = 0;
    text_append(data, "\n\n# panel\tform\n");
    for (int at = 0; at < points->count; at++) {
        if (at == 0 || !overhead_panel_is_one(&points->all[at - 1], &points->all[at])) {
            text_format(data, "%d\t", panel++);
            label_column(data, points->all[at].form);
            text_append(data, "\n");
        }
    }
    return panel;
}

static void legend_row_write(struct text *data, const struct page_points *points, int64_t batch, bool open)
{
    text_format(data, batch > 0 ? "batch %" PRId64 : "each batch", batch);
    look_columns(data, points->report, batch, open);
    text_append(data, "\n");
}

/* The batches that have lines on the page; more than the legend has room for are said in the caption. Returns its
 * rows. */
static int legend_write(struct plot_page *page, const struct page_points *points, bool open)
{
    int rows = 0, count = 0;
    bool each = false;
    for (int at = 0; at < points->count; at++) {
        int64_t batch = points->all[at].line;
        each = each || (points->drawn[at] && batch == 0);
        if (points->drawn[at] && batch > 0) {
            points->batches[overhead_batch_place(points->report, batch)] = true;
        }
    }
    text_append(&page->data, "\n\n# batch\tcolour\tsymbol\n");
    if (each) {
        legend_row_write(&page->data, points, 0, open);
        rows++;
    }
    for (int place = 0; place < points->report->batch_count; place++) {
        count += points->batches[place] ? 1 : 0;
        if (points->batches[place] && count <= LEGEND_MAXIMUM) {
            legend_row_write(&page->data, points, points->report->batches[place], open);
            rows++;
        }
    }
    if (count > LEGEND_MAXIMUM) {
        char sentence[80];
        snprintf(sentence, sizeof sentence, "The legend has the first %d of %d batches.", LEGEND_MAXIMUM, count);
        plot_caption_add(page, sentence);
    }
    return rows;
}

/* If all sequences of a page are equally long, its lines go along the batch. Returns whether. */
static bool points_turn(struct overhead_point *points, int count)
{
    for (int at = 0; at < count; at++) {
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

static void thinning_note(struct plot_page *page, const struct overhead_thinning *thinning, int count)
{
    char sentence[200], lines[64] = "";
    if (thinning->drawn_line_count < thinning->line_count) {
        snprintf(lines, sizeof lines, " of %d of %d lines", thinning->drawn_line_count, thinning->line_count);
    }
    snprintf(sentence, sizeof sentence,
             "%d of %d points%s are drawn, the lowest and the highest of each stretch of a line among them: there are "
             "too many for an image.",
             thinning->drawn_count, count, lines);
    if (thinning->drawn_count < count) {
        plot_caption_add(page, sentence);
    }
}

static void page_write(struct page_points *points, struct plot_page *page)
{
    char axis[WORDING_BYTES];
    const struct case_view *one = points->all[0].view;
    const char *what = strcmp(one->mode, "infer") == 0 ? "inference" : "generation";
    axis_word(one, points_turn(points->all, points->count), axis);
    const struct overhead_thinning thinning = overhead_thin(points->all, points->count, points->drawn);
    int replayed_count = 0;
    for (int at = 0; at < points->count; at++) {
        replayed_count += case_is_meta(points->all[at].view) ? 1 : 0;
    }
    text_format(&page->title, "Overhead of %s: %s", what, one->model);
    text_format(&page->name, strcmp(one->mode, "infer") == 0 ? "%s" : "%s-generate", one->model);
    rows_write(&page->data, points);
    page->mark_count = panels_write(&page->data, points);
    int columns = page->mark_count < 3 ? page->mark_count : 3;
    page->width = columns == 1 ? 640 : columns == 2 ? 900 : 1200; /* which captions are wrapped to */
    int legend_height = 70 + 21 * (legend_write(page, points, replayed_count == points->count) + 1);
    page->height = 84 + 300 * ((page->mark_count + columns - 1) / columns);
    page->height = page->height < legend_height ? legend_height : page->height;
    text_format(&page->data, "\n\n# mode\tlength\tmodel\n%s\t%s\t", what, axis);
    label_column(&page->data, one->model);
    text_append(&page->data, "\n");
    thinning_note(page, &thinning, points->count);
    if (replayed_count > 0) {
        plot_caption_add(page, "Open symbols, replayed: predicted, nothing was measured.");
    }
    plot_caption_add(page, replayed_count < points->count
                               ? "Marks are measured, lines are not: from mark to mark the overhead is taken to grow "
                                 "evenly, which this axis bends."
                               : "Lines are no predictions: from mark to mark the overhead is taken to grow evenly, "
                                 "which this axis bends.");
}

static void *overhead_pages_open(const struct report *report, const char *timeline)
{
    (void)timeline;
    return overhead_points_find(report);
}

static void overhead_pages_close(void *material)
{
    overhead_points_release(material);
}

static void overhead_page_make(const struct plot_pages *pages, int number, struct plot_page *page)
{
    const struct overhead_points *report = pages->material;
    if (number >= report->page_count) {
        return;
    }
    const struct overhead_range *range = &report->pages[number];
    struct page_points points = {
        .report = report,
        .all = calloc((size_t)range->count, sizeof *points.all),
        .drawn = calloc((size_t)range->count, sizeof *points.drawn),
        .batches = calloc((size_t)report->batch_count + 1, sizeof *points.batches),
        .count = range->count,
    };
    page->data.failed = points.all == NULL || points.drawn == NULL || points.batches == NULL;
    if (!page->data.failed) {
        memcpy(points.all, &report->all[range->first], (size_t)range->count * sizeof *points.all);
        page_write(&points, page);
    }
    free(points.all);
    free(points.drawn);
    free(points.batches);
}

const struct plot_maker overhead_plot = {
    .name = "overhead",
    .purpose = "Peak over weights",
    .needs = "a second length or batch of its model in inference or generation",
    .page_maximum = 60,
    .open = overhead_pages_open,
    .make = overhead_page_make,
    .close = overhead_pages_close,
};

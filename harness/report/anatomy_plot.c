/* Anatomy: the page of bars. If prediction and measurement are equal in every part, one bar stands for both. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/report/plot_data.h"
#include "harness/report/wording.h"

enum { ANATOMY_CASES = 12, PART_COUNT = CATEGORY_COUNT + 2 };

/* The categories, then slack (allocated - requested) and cache (reserved - allocated). */
struct bar {
    int64_t parts[PART_COUNT];
};

static int64_t slack_of(int64_t upper_bytes, int64_t lower_bytes)
{
    return upper_bytes != BYTES_UNKNOWN && lower_bytes != BYTES_UNKNOWN && upper_bytes > lower_bytes
               ? upper_bytes - lower_bytes
               : 0;
}

static int64_t categories_sum(const struct footprint_view *footprint)
{
    int64_t sum_bytes = 0;
    for (int category = 0; category < CATEGORY_COUNT; category++) {
        if (!size_add(sum_bytes, footprint->category_bytes[category], &sum_bytes)) {
            return BYTES_UNKNOWN;
        }
    }
    return sum_bytes;
}

static bool anatomy_has(const struct case_view *view, const char *timeline)
{
    (void)timeline;
    return view->measured.category_bytes != NULL && categories_sum(&view->measured) > 0;
}

static void bar_make(const struct footprint_view *footprint, struct bar *bar)
{
    memcpy(bar->parts, footprint->category_bytes, CATEGORY_COUNT * sizeof *footprint->category_bytes);
    int64_t allocated_bytes = footprint->peak_bytes[LEVEL_ALLOCATED];
    bar->parts[CATEGORY_COUNT] = slack_of(allocated_bytes, categories_sum(footprint));
    bar->parts[CATEGORY_COUNT + 1] = slack_of(footprint->peak_bytes[LEVEL_RESERVED], allocated_bytes);
}

/* place: of the bar from the top, in bars. whole: the length of the measured bar, which is 100 %. */
static void bar_write(struct text *data, const struct bar *bar, const char *kind, double place, double whole)
{
    text_format(data, "%s\t%.2f\t%.0f", kind, place, whole);
    for (int part = 0; part < PART_COUNT; part++) {
        bytes_column(data, bar->parts[part]);
    }
    text_append(data, "\n");
}

/* Writes the bars of a case from place on; returns the place of the next case. */
static double case_write(struct plot_page *page, const struct case_view *view, double place)
{
    const bool has_predicted = view->predicted.category_bytes != NULL;
    struct bar measured, predicted;
    double whole = 0.0;
    bar_make(&view->measured, &measured);
    bar_make(has_predicted ? &view->predicted : &view->measured, &predicted);
    for (int part = 0; part < PART_COUNT; part++) {
        whole += (double)measured.parts[part];
    }
    bool twins = has_predicted && memcmp(&measured, &predicted, sizeof measured) == 0;
    if (has_predicted && !twins) {
        bar_write(&page->data, &predicted, "predicted", place, whole);
        place += 0.95;
    }
    bar_write(&page->data, &measured, twins ? "both" : view->basis, place, whole);
    return place + 2.2;
}

static void heads_write(struct text *data)
{
    text_append(data, "# kind\tplace\twhole_bytes");
    for (int category = 0; category < CATEGORY_COUNT; category++) {
        text_format(data, "\t%s", report_category_name(category));
    }
    text_append(data, "\tslack\tcached\n");
}

static void *anatomy_pages_open(const struct report *report, const char *timeline)
{
    return plot_cases_choose(report, timeline, anatomy_has);
}

static void anatomy_page_make(const struct plot_pages *pages, int number, struct plot_page *page)
{
    const struct plot_cases *chosen = pages->material;
    struct text titles = {0};
    page->width = 960;
    heads_write(&page->data);
    text_append(&titles, "\n\n# place\tcase\n");
    double place = 1.0;
    for (int at = number * ANATOMY_CASES; at < chosen->count && at < (number + 1) * ANATOMY_CASES; at++) {
        text_format(&titles, "%.2f\t", place - 0.97);
        label_column(&titles, chosen->cases[at]->title);
        text_append(&titles, "\n");
        place = case_write(page, chosen->cases[at], place);
        page->mark_count++;
    }
    text_append(&page->data, text_string(&titles));
    page->height = 222 + (int)(21.0 * place);
    if (page->mark_count > 0) {
        char sentence[WORDING_BYTES];
        snprintf(sentence, sizeof sentence, "both: the same predicted and %s, in every part.", pages->report->basis);
        plot_caption_add(page, sentence);
        plot_main_note(pages, page);
    }
    page->data.failed = page->data.failed || titles.failed;
    text_release(&titles);
}

const struct plot_maker anatomy_plot = {
    .name = "anatomy",
    .purpose = "What each peak is made of",
    .needs = "a measurement with its categories",
    .page_maximum = 20,
    .open = anatomy_pages_open,
    .make = anatomy_page_make,
    .close = free,
};

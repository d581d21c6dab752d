/* Plot data: what the makers of pages share. Which rows stand on a page is in the file of its kind (*_plot.c); scales
 * and legends are the scripts' affair. */
#include "harness/report/plot_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/escape.h"
#include "harness/report/wording.h"

enum { LABEL_COLUMNS = 100, CAPTION_LINE_HEIGHT = 15 };

void label_column(struct text *data, const char *label)
{
    struct text clean = {0};
    column_append(&clean, label);
    const char *string = text_string(&clean);
    int needed = width_measure(string);
    cell_append(data, string, needed < LABEL_COLUMNS ? needed : LABEL_COLUMNS, false);
    text_release(&clean);
}

void bytes_column(struct text *data, int64_t bytes)
{
    if (bytes == BYTES_UNKNOWN) {
        text_append(data, "\tNaN");
    } else {
        text_format(data, "\t%" PRId64, bytes);
    }
}

/* At the size of a caption's letters a point holds about a sixth of one. */
static void caption_wrap(struct plot_page *page, const char *sentence)
{
    struct text clean = {0};
    column_append(&clean, sentence);
    paragraph_append(&page->caption, text_string(&clean), (page->width - 40) / 6, 0, 0);
    text_release(&clean);
}

void plot_caption_add(struct plot_page *page, const char *sentence)
{
    caption_wrap(page, sentence);
}

void plot_main_note(const struct plot_pages *pages, struct plot_page *page)
{
    if (strchr(peaks_words(pages->report), ',') != NULL) {
        caption_wrap(page, "Of a placed case: its main place.");
    }
}

int plot_stride(int count, int maximum)
{
    return count > maximum ? (count - 1) / maximum + 1 : 1;
}

void plot_stride_note(struct plot_page *page, int stride, const char *besides)
{
    if (stride > 1) {
        char sentence[160];
        snprintf(sentence, sizeof sentence, "One mark in %d is drawn, and %s: there are too many for an image.", stride,
                 besides);
        caption_wrap(page, sentence);
    }
}

bool plot_mark_is_drawn(int number, int stride)
{
    uint32_t mixed = (uint32_t)(number / stride) * 2654435761u;
    return number % stride == (int)((mixed >> 16) % (uint32_t)stride);
}

void plot_caption_close(struct plot_page *page, const char *provenance)
{
    if (provenance[0] != '\0') {
        caption_wrap(page, provenance);
    }
    page->caption_lines = 0;
    for (size_t at = 0; at < page->caption.length; at++) {
        page->caption_lines += page->caption.data[at] == '\n' ? 1 : 0;
    }
    page->height += CAPTION_LINE_HEIGHT * page->caption_lines;
    page->data.failed = page->data.failed || page->caption.failed || page->title.failed;
}

/* What the longest bar of a case stands for: the highest level that is known. */
static int64_t shown_bytes(const struct case_view *view)
{
    int level = LEVEL_RESERVED;
    while (level > LEVEL_REQUESTED && view->measured.peak_bytes[level] == BYTES_UNKNOWN) {
        level--;
    }
    return view->measured.peak_bytes[level];
}

static int size_order(const void *left, const void *right)
{
    const struct case_view *const *a = left, *const *b = right;
    int64_t x = shown_bytes(*a), y = shown_bytes(*b);
    return x != y ? (x < y) - (x > y) : strcmp((*a)->id, (*b)->id);
}

struct plot_cases *plot_cases_choose(const struct report *report, const char *timeline,
                                     bool (*has)(const struct case_view *, const char *))
{
    struct plot_cases *chosen = malloc(sizeof *chosen + (size_t)report->case_count * sizeof chosen->cases[0]);
    if (chosen == NULL) {
        return NULL;
    }
    chosen->count = 0;
    for (int at = 0; at < report->case_count; at++) {
        if (has(&report->cases[at], timeline)) {
            chosen->cases[chosen->count++] = &report->cases[at];
        }
    }
    qsort(chosen->cases, (size_t)chosen->count, sizeof chosen->cases[0], size_order);
    return chosen;
}

struct plot_cases *plot_cases_list(const struct report *report, bool (*has)(const struct case_view *))
{
    struct plot_cases *chosen = malloc(sizeof *chosen + (size_t)report->case_count * sizeof chosen->cases[0]);
    if (chosen != NULL) {
        chosen->count = 0;
    }
    for (int place = 0; chosen != NULL && place < report->case_count; place++) {
        if (has(report_case(report, place))) {
            chosen->cases[chosen->count++] = report_case(report, place);
        }
    }
    return chosen;
}

void plot_page_release(struct plot_page *page)
{
    text_release(&page->data);
    text_release(&page->name);
    text_release(&page->title);
    text_release(&page->caption);
}

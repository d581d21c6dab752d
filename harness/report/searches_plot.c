/* Searches: the pages of bars, each the batch that a policy found as a part of the largest that replay says runs. Cases
 * that differ in their policy alone stand below one title. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/case_phrases.h"
#include "harness/report/plot_data.h"
#include "harness/report/search_view.h"

enum { BARS_ON_PAGE = 30 };

static bool search_is_there(const struct case_view *view)
{
    return view->search != NULL;
}

static int series_order(const void *left, const void *right)
{
    const struct case_view *const *a = left, *const *b = right;
    int x = (*a)->search->series, y = (*b)->search->series;
    return x != y ? (x > y) - (x < y) : (*a > *b) - (*a < *b);
}

static void *searches_pages_open(const struct report *report, const char *timeline)
{
    (void)timeline;
    struct plot_cases *chosen = plot_cases_list(report, search_is_there);
    if (chosen != NULL) {
        qsort(chosen->cases, (size_t)chosen->count, sizeof chosen->cases[0], series_order);
    }
    return chosen;
}

/* What 100 % is: the batch that is predicted, and if none is the largest that a policy of the series found; 0:
 * nobody knows. */
static int64_t whole_of(const struct plot_cases *chosen, int at)
{
    const struct search_view *search = chosen->cases[at]->search;
    int64_t whole = 0;
    for (int other = 0; search->predicted < 0 && other < chosen->count; other++) {
        const struct search_view *one = chosen->cases[other]->search;
        whole = one->series == search->series && one->found > whole ? one->found : whole;
    }
    return search->predicted >= 0 ? search->predicted : whole;
}

static void bar_write(struct text *data, const struct case_view *view, int64_t whole, double place)
{
    const struct search_view *search = view->search;
    struct text words = {0};
    double part = search->found > 0 && whole > 0 ? (double)search->found / (double)whole : 0.0;
    bar_words_append(&words, view);
    label_column(data, search->policy);
    text_format(data, "\t%.2f\t%.4f\t", place, part);
    label_column(data, text_string(&words));
    text_append(data, "\n");
    data->failed = data->failed || words.failed;
    text_release(&words);
}

static void searches_page_make(const struct plot_pages *pages, int number, struct plot_page *page)
{
    const struct plot_cases *chosen = pages->material;
    struct text titles = {0};
    double place = 0.0;
    int series = -1;
    page->width = 860;
    text_append(&page->data, "# policy\tplace\tpart\twords\n");
    text_append(&titles, "\n\n# place\tcase\n");
    for (int at = number * BARS_ON_PAGE; at < chosen->count && at < (number + 1) * BARS_ON_PAGE; at++) {
        const struct case_view *view = chosen->cases[at];
        if (view->search->series != series) {
            series = view->search->series;
            place += place > 0.0 ? 1.25 : 1.0;
            text_format(&titles, "%.2f\t", place - 0.97);
            label_column(&titles, view->search->title);
            text_append(&titles, "\n");
        }
        bar_write(&page->data, view, whole_of(chosen, at), place);
        place += 0.95;
        page->mark_count++;
    }
    text_append(&page->data, text_string(&titles));
    page->height = 130 + (int)(21.0 * place);
    if (page->mark_count > 0) {
        plot_caption_add(
            page, "100 %: the largest batch that replay says runs; if it says nothing, the largest that a policy "
                  "found. Less: throughput, beside the best batch tried.");
    }
    page->data.failed = page->data.failed || titles.failed;
    text_release(&titles);
}

const struct plot_maker searches_plot = {
    .name = "searches",
    .purpose = "Batches that policies found",
    .page_maximum = 20,
    .open = searches_pages_open,
    .make = searches_page_make,
    .close = free,
};

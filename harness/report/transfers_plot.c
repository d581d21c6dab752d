/* Transfers: the pages of bars, each the rate of the copies of a case from one place to another as a part of the plain
 * rate. */
#include <stdlib.h>

#include "harness/report/placed_view.h"
#include "harness/report/plot_data.h"
#include "harness/report/side_table.h"
#include "harness/report/wording.h"

enum { BARS_MAXIMUM = 30 /* of one page, but for those of its last case */ };

static bool transfers_have_ratios(const struct case_view *view)
{
    bool any = false;
    for (int at = 0; view->placed != NULL && at < view->placed->transfer_count && !any; at++) {
        any = transfer_is_telling(&view->placed->transfers[at]);
    }
    return any;
}

static void *transfers_pages_open(const struct report *report, const char *timeline)
{
    (void)timeline;
    return plot_cases_list(report, transfers_have_ratios);
}

static int bars_count(const struct case_view *view)
{
    int count = 0;
    for (int at = 0; at < view->placed->transfer_count && count < BARS_MAXIMUM; at++) {
        count += transfer_is_telling(&view->placed->transfers[at]) ? 1 : 0;
    }
    return count;
}

/* Where page number begins, among the cases. */
static int page_begin(const struct plot_cases *chosen, int number)
{
    int at = 0;
    for (int page = 0; page < number && at < chosen->count; page++) {
        for (int bars = 0; at < chosen->count && bars < BARS_MAXIMUM; at++) {
            bars += bars_count(chosen->cases[at]);
        }
    }
    return at;
}

/* "disk to 0", its place, its ratio and both rates in words. */
static void bar_write(struct text *data, const struct transfer_view *transfer, double place)
{
    char rate[WORDING_BYTES], plain[WORDING_BYTES];
    struct text route = {0}, words = {0};
    const struct cell cells[] = {cell_real(transfer_rate(transfer->bytes, transfer->seconds)),
                                 cell_real(transfer_rate(transfer->plain_bytes, transfer->plain_seconds))};
    text_format(&route, "%s to %s", transfer->from, transfer->to);
    text_format(&words, "%s of %s", cell_text(&cells[0], CELL_RATE, rate), cell_text(&cells[1], CELL_RATE, plain));
    label_column(data, text_string(&route));
    text_format(data, "\t%.2f\t%.4f\t", place, transfer_ratio(transfer));
    label_column(data, text_string(&words));
    text_append(data, "\n");
    data->failed = data->failed || route.failed || words.failed;
    text_release(&route);
    text_release(&words);
}

static double case_write(struct plot_page *page, const struct case_view *view, double place)
{
    int count = 0;
    for (int at = 0; at < view->placed->transfer_count && count < BARS_MAXIMUM; at++) {
        if (transfer_is_telling(&view->placed->transfers[at])) {
            bar_write(&page->data, &view->placed->transfers[at], place);
            place += 0.95;
            count++;
        }
    }
    page->mark_count += count;
    return place + 1.25;
}

static void transfers_page_make(const struct plot_pages *pages, int number, struct plot_page *page)
{
    const struct plot_cases *chosen = pages->material;
    struct text titles = {0};
    double place = 1.0;
    page->width = 860;
    text_append(&page->data, "# route\tplace\tratio\trates\n");
    text_append(&titles, "\n\n# place\tcase\n");
    for (int at = page_begin(chosen, number); at < chosen->count && page->mark_count < BARS_MAXIMUM; at++) {
        text_format(&titles, "%.2f\t", place - 0.97);
        label_column(&titles, chosen->cases[at]->title);
        text_append(&titles, "\n");
        place = case_write(page, chosen->cases[at], place);
    }
    text_append(&page->data, text_string(&titles));
    page->height = 130 + (int)(21.0 * place);
    if (page->mark_count > 0) {
        plot_caption_add(
            page, "Behind each bar: the rate of the copies, and that of a plain read, write or copy of as many "
                  "bytes on the same machine. Dashed: 0.9, the goal. Copies of less than a MiB together have no bar.");
    }
    page->data.failed = page->data.failed || titles.failed;
    text_release(&titles);
}

const struct plot_maker transfers_plot = {
    .name = "transfers",
    .purpose = "Transfers between places",
    .page_maximum = 20,
    .open = transfers_pages_open,
    .make = transfers_page_make,
    .close = free,
};

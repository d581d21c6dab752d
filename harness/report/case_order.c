/* Case order: sorted pointers; the cases stay where they are. */
#include "harness/report/case_order.h"

#include <stdlib.h>
#include <string.h>

bool case_has_failed(const struct case_view *view)
{
    return view->standing >= STANDING_OPEN;
}

int case_urgency(const struct case_view *view)
{
    return case_has_failed(view)             ? STANDING_FAIL - (int)view->standing
           : view->invalid                   ? 3
           : view->standing != STANDING_SKIP ? 4
                                             : 5;
}

static double error_of(const struct case_view *view)
{
    const struct comparison *row = comparison_of_peak(view, "replay");
    double error = row != NULL && row->error_known ? row->error : 0.0;
    return error < 0.0 ? -error : error;
}

struct urgent_case {
    const struct case_view *view;
    int urgency;
    double error; /* 0: in the order of the records */
};

/* Cases lie in one array, so that their addresses are their order in the records. */
static int urgency_order(const void *left, const void *right)
{
    const struct urgent_case *a = left, *b = right;
    int order = a->urgency - b->urgency;
    order = order != 0 ? order : (a->error < b->error) - (a->error > b->error);
    return order != 0 ? order : (a->view > b->view) - (a->view < b->view);
}

/* By urgency, and if not all can be shown by the error of replay. False: no memory. */
static bool cases_sort(const struct report *report, bool by_error, const struct case_view **cases)
{
    struct urgent_case *all = calloc((size_t)report->case_count + 1, sizeof *all);
    if (all == NULL) {
        return false;
    }
    for (int at = 0; at < report->case_count; at++) {
        const struct case_view *view = &report->cases[at];
        all[at] = (struct urgent_case){view, case_urgency(view), by_error ? error_of(view) : 0.0};
    }
    qsort(all, (size_t)report->case_count, sizeof *all, urgency_order);
    for (int at = 0; at < report->case_count; at++) {
        cases[at] = all[at].view;
    }
    free(all);
    return true;
}

bool case_order_make(const struct report *report, int maximum, struct case_order *order)
{
    *order = (struct case_order){.cases = calloc((size_t)report->case_count + 1, sizeof *order->cases)};
    if (order->cases == NULL) {
        return false;
    }
    const bool all = report->case_count <= maximum;
    if (!cases_sort(report, !all, order->cases)) {
        case_order_release(order);
        return false;
    }
    int failed_count = 0;
    for (int at = 0; at < report->case_count; at++) {
        failed_count += case_has_failed(&report->cases[at]) ? 1 : 0;
    }
    order->shown_count = all ? report->case_count : maximum;
    order->failed_count = failed_count < order->shown_count ? failed_count : order->shown_count;
    while (order->skipped_count < order->shown_count &&
           order->cases[order->shown_count - 1 - order->skipped_count]->standing == STANDING_SKIP) {
        order->skipped_count++;
    }
    order->hidden_count = report->case_count - order->shown_count;
    order->hidden_failed_count = failed_count - order->failed_count;
    return true;
}

void case_order_release(struct case_order *order)
{
    free(order->cases);
    *order = (struct case_order){0};
}

bool case_order_skipped_are_predicted(const struct case_order *order)
{
    int at = order->shown_count - order->skipped_count;
    while (at < order->shown_count && order->cases[at]->predicted.peak_bytes[LEVEL_ALLOCATED] == BYTES_UNKNOWN) {
        at++;
    }
    return at < order->shown_count;
}

void case_order_note(struct text *text, const struct case_order *order)
{
    if (order->hidden_count > 0) {
        text_format(text,
                    "%d more cases are not shown, %d of which did not pass: what is shown is those that did not pass, "
                    "then the cases whose "
                    "replay was furthest off. All are in the report as csv or json.",
                    order->hidden_count, order->hidden_failed_count);
    }
}

struct candidate {
    int figures;
    bool failed;
};

static void candidate_count(const struct case_view *view, const char *estimator, struct candidate *one)
{
    const struct comparison *peak = comparison_of_peak(view, estimator);
    one->figures += peak != NULL && peak->error_known ? 1 : 0;
    for (int at = 0; at < view->comparison_count && !one->failed; at++) {
        const struct comparison *row = &view->comparisons[at];
        one->failed = row->judgement == JUDGEMENT_FAIL && strcmp(row->estimator, estimator) == 0;
    }
}

/* Of those with a figure of every second case none is better, so that they keep their order. */
static bool is_better(const struct candidate *a, const struct candidate *b, int case_count, bool failed_first)
{
    bool both_cover = 2 * (int64_t)a->figures >= case_count && 2 * (int64_t)b->figures >= case_count;
    return failed_first && a->failed != b->failed ? a->failed : !both_cover && a->figures > b->figures;
}

int estimators_rank(const struct report *report, const char *mode, bool failed_first, int ranked[ESTIMATOR_MAXIMUM])
{
    struct candidate all[ESTIMATOR_MAXIMUM] = {0};
    int count = 0, case_count = 0;
    for (int at = 0; at < report->case_count; at++) {
        const struct case_view *view = &report->cases[at];
        bool counts = mode == NULL || (view->mode != NULL && strcmp(view->mode, mode) == 0);
        case_count += counts ? 1 : 0;
        for (int index = 0; counts && index < report->estimator_count; index++) {
            candidate_count(view, report->estimators[index], &all[index]);
        }
    }
    for (int index = 0; index < report->estimator_count; index++) {
        if (all[index].figures == 0) {
            continue;
        }
        int at = count++;
        for (; at > 0 && !report->is_chosen && ranked[at - 1] != 0 &&
               is_better(&all[index], &all[ranked[at - 1]], case_count, failed_first);
             at--) {
            ranked[at] = ranked[at - 1];
        }
        ranked[at] = index;
    }
    return count;
}

int estimators_choose(const struct report *report, const char *mode, int maximum, bool failed_first,
                      bool chosen[ESTIMATOR_MAXIMUM])
{
    int ranked[ESTIMATOR_MAXIMUM];
    int count = estimators_rank(report, mode, failed_first, ranked);
    count = report->is_chosen || count < maximum ? count : maximum;
    for (int index = 0; index < ESTIMATOR_MAXIMUM; index++) {
        chosen[index] = false;
    }
    for (int at = 0; at < count; at++) {
        chosen[ranked[at]] = true;
    }
    return count;
}

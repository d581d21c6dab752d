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

/* Cases lie in one array, so that their addresses are their order in the records. */
static int record_order(const void *left, const void *right)
{
    const struct case_view *a = *(const struct case_view *const *)left, *b = *(const struct case_view *const *)right;
    int order = case_urgency(a) - case_urgency(b);
    return order != 0 ? order : (a > b) - (a < b);
}

static int error_order(const void *left, const void *right)
{
    const struct case_view *a = *(const struct case_view *const *)left, *b = *(const struct case_view *const *)right;
    int order = case_urgency(a) - case_urgency(b);
    double x = error_of(a), y = error_of(b);
    order = order != 0 ? order : (x < y) - (x > y);
    return order != 0 ? order : (a > b) - (a < b);
}

bool case_order_make(const struct report *report, int maximum, struct case_order *order)
{
    *order = (struct case_order){.cases = calloc((size_t)report->case_count + 1, sizeof *order->cases)};
    if (order->cases == NULL) {
        return false;
    }
    int failed_count = 0;
    for (int at = 0; at < report->case_count; at++) {
        order->cases[at] = &report->cases[at];
        failed_count += case_has_failed(&report->cases[at]) ? 1 : 0;
    }
    bool all = report->case_count <= maximum;
    qsort(order->cases, (size_t)report->case_count, sizeof *order->cases, all ? record_order : error_order);
    order->shown_count = all ? report->case_count : maximum;
    order->failed_count = failed_count < order->shown_count ? failed_count : order->shown_count;
    order->hidden_count = report->case_count - order->shown_count;
    order->hidden_failed_count = failed_count - order->failed_count;
    return true;
}

void case_order_release(struct case_order *order)
{
    free(order->cases);
    *order = (struct case_order){0};
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
        for (; at > 0 && ranked[at - 1] != 0 && is_better(&all[index], &all[ranked[at - 1]], case_count, failed_first);
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
    count = count < maximum ? count : maximum;
    for (int index = 0; index < ESTIMATOR_MAXIMUM; index++) {
        chosen[index] = false;
    }
    for (int at = 0; at < count; at++) {
        chosen[ranked[at]] = true;
    }
    return count;
}

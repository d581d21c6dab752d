/* Case order: in which order pages for people show cases, and which of very many they show. Not for anybody outside
 * this folder. */
#ifndef ASSAY_REPORT_CASE_ORDER_H
#define ASSAY_REPORT_CASE_ORDER_H

#include "harness/report/case_view.h"

/* Whether something went wrong with a case: a verdict failed, it was not measured to its end, a figure that has a
 * tolerance could not be judged, or the last run did not come to it. A skipped one is no failure. */
bool case_has_failed(const struct case_view *view);

/* From 0: what failed a verdict, what is broken or missing, what is open, what has invalid readings, the others, the
 * skipped. */
enum { CASE_URGENCIES = 6, FAILURE_URGENCIES = 3 }; /* those below the second are of cases that have failed */
int case_urgency(const struct case_view *view);

struct case_order {
    const struct case_view **cases; /* in the order of their urgency */
    int shown_count;                /* so many of these are shown: all, or the first `maximum` */
    int failed_count;               /* so many of the shown ones are failures: the first */
    int skipped_count;              /* so many of the shown ones were skipped: the last */
    int hidden_count, hidden_failed_count;
};

/* Of more than maximum cases those behind the failures are in the order of their errors (of replay, on allocated
 * bytes), the worst first; else everything keeps the order of the records. False: no memory. */
bool case_order_make(const struct report *report, int maximum, struct case_order *order);
void case_order_release(struct case_order *order);

/* Whether replay predicts a peak of a skipped case. */
bool case_order_skipped_are_predicted(const struct case_order *order);

/* "77,000 more cases are not on this page (3 of them failed); ...", where some are hidden: what they are and where to
 * see them. */
void case_order_note(struct text *text, const struct case_order *order);

/* The estimators that have a figure of the allocated peak of a case of a mode (NULL: of any case), as places in the
 * report: replay, whose column is the first everywhere; if failed_first, those of which a verdict failed; those with
 * a figure of every second case, in their order; the others by the number of figures. Estimators that were asked for
 * have the order in which they were named. Returns how many. */
int estimators_rank(const struct report *report, const char *mode, bool failed_first, int ranked[ESTIMATOR_MAXIMUM]);

/* Which estimators have a column if there is room for `maximum`: the first of these, and all that were asked for.
 * Returns how many. */
int estimators_choose(const struct report *report, const char *mode, int maximum, bool failed_first,
                      bool chosen[ESTIMATOR_MAXIMUM]);

#endif

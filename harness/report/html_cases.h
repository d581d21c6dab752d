/* HTML cases: the table of cases, each row folded over its details. Not for anybody outside this folder. */
#ifndef ASSAY_REPORT_HTML_CASES_H
#define ASSAY_REPORT_HTML_CASES_H

#include "harness/report/case_order.h"

enum { HTML_COLUMNS_MAXIMUM = 4 };

struct html_columns {
    bool shown[ESTIMATOR_MAXIMUM]; /* the estimators that have one, as estimators_choose gives them */
};

/* Rows of count cases, with their heading; open: with the details shown. */
void html_cases_append(struct text *text, const struct report *report, const struct html_columns *columns,
                       const struct case_view *const *cases, int count, bool open);

/* Rows of the skipped cases, which have predictions at most, below the reason that those which follow each other
 * share. */
void html_skipped_write(const void *order, struct text *text);

#endif

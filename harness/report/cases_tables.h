/* Cases tables: the two tables of the report of every case, which are also asked for alone (side_page.c). Not for
 * anybody outside this folder. */
#ifndef ASSAY_REPORT_CASES_TABLES_H
#define ASSAY_REPORT_CASES_TABLES_H

#include "harness/report/case_order.h"
#include "harness/report/case_view.h"
#include "harness/report/page.h"

/* A heading, what the figures are, and a row for each case of order that was not skipped: its status, its peak, and how
 * far the estimators were off. For documents. */
void cases_table_describe(struct page *page, const struct report *report, const struct case_order *order);

/* The same of estimators: a row for each quantity that was held against a measurement, as report_accuracy gives them.
 * For documents and screens. */
void accuracy_table_describe(struct page *page, const struct report *report, const struct accuracy *rows, int count);

#endif

/* Cases page: the report of every case as a page. Not for anybody outside this folder. */
#ifndef ASSAY_REPORT_CASES_PAGE_H
#define ASSAY_REPORT_CASES_PAGE_H

#include "harness/report/case_view.h"
#include "harness/report/page.h"

struct cases_subject {
    const struct report *report;
    const struct accuracy *rows; /* as report_accuracy gives them */
    int row_count;
};

/* subject: a struct cases_subject, which outlives the page. For documents and screens; a terminal has table.c. */
void cases_page_describe(const void *subject, struct page *page);

#endif

/* Cases page: the report of every case as a page, and the formats that it writes itself. Not for anybody outside this
 * folder. */
#ifndef ASSAY_REPORT_CASES_PAGE_H
#define ASSAY_REPORT_CASES_PAGE_H

#include "harness/report/case_view.h"
#include "harness/report/page_format.h"

struct cases_subject {
    const struct report *report;
    struct accuracy *rows; /* as report_accuracy gives them */
    int row_count;
    struct accuracy *known; /* those of which an error is known: people see no rows of zeros */
    int known_count;
    struct arena arena;
};

page_own_writer table_write, summary_write, csv_write, junit_write, openmetrics_write, benchmark_json_write;
enum status_code document_write(const void *subject, struct text *text, struct status *error);

#endif

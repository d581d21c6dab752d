/* Law pages: a fitted law in the formats of reports (harness/report/report.h): a terminal's table, Markdown, HTML,
 * LaTeX, CSV, and JSON, which is the law as `assay estimate --calibration` reads it.
 *
 * Every text in a law may come from outside, and is escaped for its format. */
#ifndef ASSAY_LAW_LAW_PAGE_H
#define ASSAY_LAW_LAW_PAGE_H

#include "harness/law/optimizer_law.h"
#include "harness/law/overhead_law.h"
#include "harness/record/constants.h"
#include "harness/report/page_format.h"

/* What the pages are of. Borrowed. */
struct law_subject {
    const void *law;     /* struct overhead_law, optimizer_law or constants */
    const char *version; /* of this program */
};

extern const struct page_kind overhead_page, optimizer_page, constants_page;

/* "3.02"; "-" if it is no number. digits: 0 to 3. */
struct cell law_figure_cell(struct page *page, double value, int digits);

#endif

/* Law pages: a fitted law in the formats of reports (harness/report/report.h): a terminal's table, Markdown, HTML,
 * LaTeX, CSV, and JSON, which is the law as `assay estimate --calibration` reads it.
 *
 * CSV has a row for each figure of the law. Every text in a law may come from outside, and is escaped for its
 * format. */
#ifndef ASSAY_LAW_LAW_PAGE_H
#define ASSAY_LAW_LAW_PAGE_H

#include "harness/law/constants_law.h"
#include "harness/law/law_cell.h"
#include "harness/law/optimizer_law.h"
#include "harness/law/overhead_law.h"
#include "harness/report/page.h"
#include "harness/report/report.h"

/* The word of a format that laws have. STATUS_INVALID lists them. */
enum status_code law_format_parse(const char *name, enum report_format *format, struct status *error);

/* Append a law; version: of this program, in JSON. style as in report_render; its plots are those of
 * residual_plot.h. STATUS_OUT_OF_MEMORY. */
enum status_code overhead_law_render(const struct overhead_law *law, const char *version, enum report_format format,
                                     const struct report_style *style, struct text *text, struct status *error);
enum status_code optimizer_law_render(const struct optimizer_law *law, const char *version, enum report_format format,
                                      const struct report_style *style, struct text *text, struct status *error);
enum status_code constants_law_render(const struct constants *constants, const char *version, enum report_format format,
                                      const struct report_style *style, struct text *text, struct status *error);

/* ---- inside harness/law ---- */

/* What the pages are of. */
struct law_subject {
    const void *law;
    const char *version;
};

/* The rows of a law in CSV. */
void overhead_csv_append(const struct overhead_law *law, struct text *text);

/* The page of a law for readers of documents and screens. */
void overhead_describe(const struct overhead_law *law, struct page *page);

#endif

/* History page: the runs of a history, one of them with its figures, and all figures for programs. */
#ifndef ASSAY_HISTORY_HISTORY_PAGE_H
#define ASSAY_HISTORY_HISTORY_PAGE_H

#include "harness/history/history.h"
#include "harness/report/report.h"

/* The word of a format of pages, or json. STATUS_INVALID lists them. */
enum status_code history_format_parse(const char *name, enum report_format *format, struct status *error);

/* Appends the list of runs. */
enum status_code history_runs_render(const char *path, const struct history_runs *runs, enum report_format format,
                                     const struct report_style *style, struct text *text, struct status *error);

/* Appends one run: what it was measured under, and each case with the highest bytes of each level. */
enum status_code history_run_render(const struct run_figures *figures, enum report_format format,
                                    const struct report_style *style, struct text *text, struct status *error);

/* How figures are exported: a line for each case of each run, all with the same fields. */
enum export_format { EXPORT_JSON_LINES, EXPORT_CSV };

/* Appends the names of the fields, of CSV alone. */
void history_export_begin(enum export_format format, struct text *text);

/* Appends the cases of a run whose id, label or tag the pattern matches; NULL: all. *line_count grows by so
 * many. False if memory ran out. */
bool history_export_run(const struct run_figures *figures, const char *pattern, enum export_format format,
                        struct text *text, int *line_count);

#endif

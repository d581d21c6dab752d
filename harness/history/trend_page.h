/* Trend page: the steps of a history for people and for programs, and its plots. */
#ifndef ASSAY_HISTORY_TREND_PAGE_H
#define ASSAY_HISTORY_TREND_PAGE_H

#include "harness/base/json.h"
#include "harness/history/trend.h"
#include "harness/report/report.h"

/* "trend": of plots/trend.gp and of the first plot; the next is "trend-2". */
#define TREND_PLOT "trend"

/* The word of a format of pages, or json. STATUS_INVALID lists them. */
enum status_code trend_format_parse(const char *name, enum report_format *format, struct status *error);

/* Appends the page; style as in report_render. */
enum status_code trend_render(const struct trend *trend, enum report_format format, const struct report_style *style,
                              struct text *text, struct status *error);

/* Draws the plots of each group into place->set: a panel for each series and level that has a step, the largest first;
 * of a group without steps its largest cases. */
enum status_code trend_draw(const struct trend *trend, const struct plot_place *place, struct status *error);

/* Its JSON (docs/HISTORY.md); NULL: no memory. Not for anybody outside this folder. */
struct json *trend_value(const void *subject);

/* "2026-11-20", and with the time if both are of one day: "2026-11-20 02:00". Not for anybody outside this folder. */
enum { NIGHT_BYTES = 24 };
const char *night_word(const struct history_run *night, const struct history_run *other, char text[NIGHT_BYTES]);

#endif

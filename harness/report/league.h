/* League: how far each estimator was off over the cases of one folder of records or several, ranked.
 *
 * What is held against what is the rule of the verdicts (docs/FORMAT.md, Quantities): the total_bytes of an estimator,
 * or, if it has none, its allocated_bytes_peak, against the highest allocated peak that was measured. The error is
 * (predicted - measured) / measured. Which rows count is said in counted_cases.h; baselines (baseline.h) stand among
 * the estimators and are marked, because they need measurements of other cases. `expected`, the figures of a suite
 * itself, is no estimator and has no row.
 *
 * Bias is the mean of the signed errors; median and p90 are percentiles of their magnitudes (percentile.h). Ranked by
 * the median, ties by p90, then by the worst; equals share a rank. A rank is given only to who answers at least half of
 * the cases and at least LEAGUE_FEW of them, so that a rule for easy cases alone cannot win; and next to it stands the
 * median over the cases that all ranked ones answer. All of that over all cases, by mode and by family. */
#ifndef ASSAY_REPORT_LEAGUE_H
#define ASSAY_REPORT_LEAGUE_H

#include "harness/report/report.h"

enum { LEAGUE_FEW = 5 };

struct league; /* opaque */

/* The reports must outlive the league. STATUS_OUT_OF_MEMORY. The caller releases *league. */
enum status_code league_make(struct report *const *reports, int report_count, struct league **league,
                             struct status *error);

/* Of a struct league, as its page calls them (report_page.h). */
void league_release(void *league); /* NULL is accepted */

/* Whether nothing could be judged: no row counts, or no estimator has a figure for any. It is rendered all the same. */
bool league_is_empty(const void *league);

/* Name of the plot: of its script, its data and its images. */
#define LEAGUE_PLOT "league"

/* Draws league as report_plot does its plots. */
enum status_code league_plot(const void *league, const struct plot_place *place, struct status *error);

#endif

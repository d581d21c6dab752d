/* Weights rule: where a rule of thumb, so many times the weights, is enough memory for inference.
 *
 * Of records alone: every case that ran inference (modes infer and generate) and counts (counted_cases.h). The weights
 * are what lies in memory after loading: parameters and buffers, as they are stored. The peak is the highest allocated
 * peak. With factor 1.2: it is too little if the peak is above 1.2 times the weights, and enough if it is not.
 * What is enough is wasteful if 1.2 times the weights is more than the peak and a fraction of it, and close if it
 * is not. Worked, with a fraction of 10 %: of 100 bytes of weights, a peak of 121 is too little; 120 is close; 110 is
 * close; 109 is wasteful, because 120 > 1.1 * 109; it is enough for the last three.
 * Rows of the meta device are predictions of replay, shown apart and counted apart. */
#ifndef ASSAY_REPORT_WEIGHTS_RULE_H
#define ASSAY_REPORT_WEIGHTS_RULE_H

#include "harness/report/report.h"

/* Name of the plot: of its script, its data and its images. */
#define WEIGHTS_RULE_PLOT "rule"

struct weights_rule; /* opaque */

/* factor: times the weights, at least 1; wasteful: a fraction of the peak, 0 or more. The reports must outlive the
 * rule. STATUS_OUT_OF_MEMORY. The caller releases *rule. */
enum status_code weights_rule_make(struct report *const *reports, int report_count, double factor, double wasteful,
                                   struct weights_rule **rule, struct status *error);

/* Of a struct weights_rule, as its page calls them (report_page.h). */
void weights_rule_release(void *rule); /* NULL is accepted */

/* Whether there is no case to judge. It is rendered all the same. */
bool weights_rule_is_empty(const void *rule);

/* Draws rule as report_plot does its plots. */
enum status_code weights_rule_plot(const void *rule, const struct plot_place *place, struct status *error);

#endif

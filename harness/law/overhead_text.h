/* Overhead text: a law for people: errors of the forms, coefficients with their intervals, and what it says of the rule
 * of 20 %. */
#ifndef ASSAY_LAW_OVERHEAD_TEXT_H
#define ASSAY_LAW_OVERHEAD_TEXT_H

#include "harness/law/overhead_law.h"

/* Lines of at most 80 columns for kinds and models of usual names. */
void overhead_text_append(struct text *text, const struct overhead_law *law);

/* What was fitted, to which range, and what of it has no law or no error. */
void overhead_heading_append(struct text *text, const struct overhead_law *law);

/* "median 0.57 %, p99 2.99 %, worst 3.49 %"; below P99_CASES_MINIMUM without p99; "not known" of no case. */
void overhead_errors_append(struct text *text, const struct error_summary *summary);

/* The part about the rule alone. */
void overhead_rule_append(struct text *text, const struct overhead_law *law);

#endif

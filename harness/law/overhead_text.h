/* Overhead text: a law for people: errors of the forms, coefficients with their intervals, and what it says of the rule
 * of 20 %. */
#ifndef ASSAY_LAW_OVERHEAD_TEXT_H
#define ASSAY_LAW_OVERHEAD_TEXT_H

#include "harness/law/overhead_law.h"

/* Lines of at most 80 columns for kinds and models of usual names. */
void overhead_text_append(struct text *text, const struct overhead_law *law);

/* The part about the rule alone. */
void overhead_rule_append(struct text *text, const struct overhead_law *law);

#endif

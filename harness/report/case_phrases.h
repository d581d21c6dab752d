/* Case phrases: searches and places of one case in a line, the same in every report for people. Raw text: callers
 * escape it. */
#ifndef ASSAY_REPORT_CASE_PHRASES_H
#define ASSAY_REPORT_CASE_PHRASES_H

#include "harness/report/case_view.h"

/* "halve found 32 of 46 predicted in 3 tries and 6.6 s: 612 tokens/s, 13.5 % less than the best batch tried; not every
 * try ended as replay had said"; "halve found no batch in 3 tries and 2.5 s: zero, No executable ...". Nothing if
 * none searched. */
void search_append(struct text *text, const struct case_view *view);

/* "128 refused in backward, 64 refused in backward, 32 ran" */
void tries_append(struct text *text, const struct case_view *view);

/* "32 of 46, 3 tries, 6.6 s, 13.5 % less": behind the bar of a plot; "none of 46, 3 tries, 2.5 s". */
void bar_words_append(struct text *text, const struct case_view *view);

/* "0 291.00 MiB (+0.00 %), 1 196.50 MiB (-0.25 %), cpu 81.11 MiB (+0.00 %)": what was found on each place, and how far
 * replay was off. Nothing if the case has no places. */
void places_append(struct text *text, const struct case_view *view);

#endif

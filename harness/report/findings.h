/* Findings: what a run showed of its estimators, in a sentence. Not for anybody outside this folder. */
#ifndef ASSAY_REPORT_FINDINGS_H
#define ASSAY_REPORT_FINDINGS_H

#include "harness/report/case_view.h"

/* "Against the measured peaks, replay met 45 of 45 cases to the byte; accelerate was 30 % low in the median and 66 %
 * low at worst, over 43 cases.": of allocated bytes. It names the estimators that were chosen, else replay, which is
 * ours, and the two that have the next columns. If errors have both signs the median is that of their sizes, "off by
 * 14 % in the median"; the worst is the largest error of either sign. Nothing if nothing was measured. False: no
 * memory. */
bool findings_append(struct text *text, const struct report *report);

#endif

/* Headline: what a report comes to, what it lacks and what it has twice, in words for every format that people read.
 * Raw text: callers escape it. Not for anybody outside this folder. */
#ifndef ASSAY_REPORT_HEADLINE_H
#define ASSAY_REPORT_HEADLINE_H

#include "harness/report/case_view.h"

/* Whether a case, or any case, has figures that were measured or replayed, be it of its first stages alone. */
bool case_has_figures(const struct case_view *view);
bool report_is_measured(const struct report *report);

/* "FAIL: 2 of 19 cases failed", "INCOMPLETE: 13 of 19 cases missing: the run was interrupted"; nothing for a pass. */
void headline_append(struct text *text, const struct report *report);

/* "missing: gpt2/load/float32, bert-base-cased/load/float32, and 11 more": at most so many names; 0: all. Nothing if
 * nothing is missing. */
void missing_names_append(struct text *text, const struct report *report, int name_maximum);

/* "the last run made 3 of 10 attempts", "the last run did not come to it; its figures are of the run of
 * 2026-11-20T02:00:00Z"; nothing if nothing is missing of the case. */
void missing_note_append(struct text *text, const struct report *report, const struct case_view *view);

/* The model in the id of a case that was not measured: what stands before its mode. Appends "assay" if there is
 * none. */
void missing_model_append(struct text *text, const char *id);

#endif

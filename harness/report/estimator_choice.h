/* Estimator choice: the estimators that somebody asked for, in place of all that the records name. Not for anybody
 * outside this folder. */
#ifndef ASSAY_REPORT_ESTIMATOR_CHOICE_H
#define ASSAY_REPORT_ESTIMATOR_CHOICE_H

#include "harness/report/case_view.h"

/* Keeps of a report the estimators of names, "accelerate,replay", in that order: tables, figures and rows have no
 * others. What the cases come to stays as it was: a row of another estimator stays if it decides that a case did not
 * pass. STATUS_INVALID, and the report is as it was: the records have no such estimator, or it is named twice; the text
 * lists those that they have. */
enum status_code report_estimators_keep(struct report *report, const char *names, struct status *error);

/* Whether the estimators of the report have this name among them. */
bool report_has_estimator(const struct report *report, const char *name);

#endif

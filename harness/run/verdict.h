/* Verdicts: predictions held against the measurement of a case. Internal to harness/run.
 *
 * An estimator is compared on every quantity that it predicts, and judged where the suite gives a tolerance. The error
 * is predicted - measured, and relative to the measurement: predicting 90 of 100 bytes is -10 %. */
#ifndef ASSAY_RUN_VERDICT_H
#define ASSAY_RUN_VERDICT_H

#include "harness/run/run.h"

/* The array for "verdicts" of a case line that has stages and estimates. note_calibrated: a figure that is beyond its
 * tolerance of calibrated-gpu has a note (CONSTANTS_NOTED) in place of a verdict. NULL where memory ran out. */
struct json *verdicts_make(const struct suite_case *case_, bool note_calibrated, const struct json *line);

/* How many of them failed. */
int verdicts_failed_count(const struct json *verdicts);

#endif

/* Case estimates: every estimator that applies to a case, for people and for machines. */
#ifndef ASSAY_CLI_CASE_ESTIMATES_H
#define ASSAY_CLI_CASE_ESTIMATES_H

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/estimate/estimate.h"

/* Adds one member for each estimator to the object estimates, and lines for people to text. Unlike prediction_json,
 * which a run calls, it fails if one estimator fails: whoever asks about a single case is told what is wrong with
 * it. */
enum status_code case_estimates(const struct estimate_input *input, struct json *estimates, struct text *text,
                                struct status *error);

#endif

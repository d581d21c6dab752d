/* Case peak: what is alive when a case needs the most, for people and for machines. */
#ifndef ASSAY_CLI_CASE_PEAK_H
#define ASSAY_CLI_CASE_PEAK_H

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/estimate/estimate.h"

/* stage: "load", "forward", ..., or "highest". Puts the JSON of peak.h in the place of *peak, and appends lines for
 * people, the largest tensors first. STATUS_INVALID if there is no such stage, or the case has none of it. */
enum status_code case_peak(const struct estimate_input *input, const char *stage, struct json **peak, struct text *text,
                           struct status *error);

#endif

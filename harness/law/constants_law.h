/* Constants law: the constants of a device (harness/report/calibration.h) as a law with its uncertainty:
 *
 *   footprint = context + segments + growth of the mode
 *
 * The least and the most of n independent readings hold the median of all readings that there could be with a chance of
 * 1 - 2^(1 - n), whatever their distribution: 99.8 % of 10, 50 % of 2. A single reading says nothing of it. */
#ifndef ASSAY_LAW_CONSTANTS_LAW_H
#define ASSAY_LAW_CONSTANTS_LAW_H

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/record/constants.h"

/* The chance for so many readings; 0 for one or none. */
double constants_confidence(int64_t count);

/* Lines for people. */
void constants_law_append(struct text *text, const struct constants *constants);

/* The document (docs/FORMAT.md, Laws), whose member "constants" is what assay calibrate writes without --law; NULL: no
 * memory. */
struct json *constants_law_json(const struct constants *constants, const char *version);

#endif

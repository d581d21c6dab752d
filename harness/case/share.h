/* Share: a part of a whole, from 0 to below 1, in millionths, so that two that are written alike are equal. */
#ifndef ASSAY_CASE_SHARE_H
#define ASSAY_CASE_SHARE_H

#include <stdint.h>

#include "harness/base/status.h"

enum { SHARE_WHOLE = 1000000, SHARE_TEXT_BYTES = 16 };

/* "0", "0.1", "0.05": a decimal number with at most six digits behind the point. STATUS_INVALID with the remedy. */
enum status_code share_parse(const char *text, int64_t *millionths, struct status *error);

/* As few digits as say it: "0", "0.1". millionths: from 0 to below SHARE_WHOLE. Returns text. */
const char *share_format(int64_t millionths, char text[SHARE_TEXT_BYTES]);

/* The number itself, and the millionths that are next to a number. */
double share_of(int64_t millionths);
int64_t share_millionths(double share);

#endif

/* Gap: two figures of the same thing, from two sides, and what a list of such pairs comes to. Arithmetic alone: which
 * figures belong together, and how far apart they may be, is for the caller. */
#ifndef ASSAY_REPORT_GAP_H
#define ASSAY_REPORT_GAP_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"

struct gap {
    const char *name; /* what both figures are of; borrowed */
    int64_t base_bytes, new_bytes;
};

struct gap_summary {
    int count;              /* of the gaps that are known */
    int equal_count;        /* to the byte */
    double median;          /* of their magnitudes; 0 if count is 0 */
    double worst;           /* the one of the largest magnitude, with its sign; 0 if count is 0 */
    const char *worst_name; /* the first of equals; NULL if all are equal */
};

/* (new - base) / base. False, and *relative untouched, if base is 0 and new is not, or one of them is negative,
 * which stands for unknown. Worked: 513 against 500 is 0.026. */
bool gap_relative(const struct gap *gap, double *relative);

/* Gaps that are not known are left out. STATUS_OUT_OF_MEMORY. Worked: 500, 513 and 495 against 500 each have the median
 * 0.01 and the worst +0.026. */
enum status_code gap_summarise(const struct gap *gaps, int count, struct gap_summary *summary, struct status *error);

#endif

/* Spread: how much repeated attempts at one case differ, each of which had a process of its own. Not for anybody outside
 * this folder. */
#ifndef ASSAY_REPORT_SPREAD_H
#define ASSAY_REPORT_SPREAD_H

#include "harness/report/case_view.h"

/* Of the case lines of several attempts: for each stage and level the highest less the lowest, of the readings at its end
 * and of the peaks, whichever is more. BYTES_UNKNOWN where an attempt lacks the reading. Attempts that were not measured
 * (an error, a skip) do not count. Worked: three attempts with 512, 512 and 544 MiB of device bytes at the end of a stage
 * spread over 32 MiB. */
struct spread spread_of(struct json *const *lines, int count);

/* The widest of all stages; BYTES_UNKNOWN where there is none that all attempts know. */
int64_t spread_widest(const struct spread *spread, enum level level);

/* "10 attempts: requested 0 B, allocated 0 B, reserved 0 B, device 2.00 MiB; one sequence of allocations"; nothing for less
 * than two attempts. */
void spread_append(struct text *text, const struct spread *spread);

#endif

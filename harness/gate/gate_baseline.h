/* Gate baseline: one baseline out of several runs, for nights of which none is the truth.
 *
 * Of each case and each level the median of the runs that measured it: the figure in the middle, and of an even number
 * the lower of the two in the middle, so that it is always a figure that somebody measured. Readings of a disturbed
 * case do not count. The order of the runs makes no difference. */
#ifndef ASSAY_GATE_GATE_BASELINE_H
#define ASSAY_GATE_GATE_BASELINE_H

#include "harness/base/status.h"
#include "harness/report/run_figures.h"

enum { GATE_BASELINES_MAXIMUM = 64 };

/* STATUS_INVALID: count runs are as many as a baseline may have. */
enum status_code gate_baseline_room(int count, struct status *error);

/* Fills *merged from runs[0..count), count from 1; its texts are borrowed from them, so that they must outlive it, and
 * the rest is its own: the caller releases it, also after an error. What it was measured under has the values of all
 * of them, with ", " between different ones; it began when the newest of them did, and ended if all did. A case is as
 * the newest run says that measured it, else the newest that has it. Worked: allocated peaks of 100, 104 and 101 bytes
 * give 101; 100 and 104 give 100. */
enum status_code gate_baseline_make(const struct run_figures *const *runs, int count, struct run_figures *merged,
                                    struct status *error);

#endif

/* Truth check: what PyTorch occupied on a GPU (lines of peers/pytorch/truth.py and its traces, committed in one folder
 * for each device and version) against our prediction of the same cases.
 *
 * Demanded of each stage over all cases: allocated peak, median <= 0.5 %; reserved peak, median <= 2 %. Of each case
 * and stage: allocated peak <= 2 %, or a line in the folder's exceptions.txt,
 *
 *     CASE-ID STAGE CAUSE...        which tensor it is, or what else
 *     CASE-ID * CAUSE...            why the case cannot be predicted at all
 *
 * and no such line without need. Of all cases as many as the folder's equal.txt says ("allocated 176", a line for
 * each of requested, allocated and reserved) have PyTorch's peak to the byte. Of each trace in traces/: not one byte,
 * block or segment off. */
#ifndef ASSAY_TESTS_MODELS_TRUTH_CHECK_H
#define ASSAY_TESTS_MODELS_TRUTH_CHECK_H

#include "harness/base/text.h"

struct truth_outcome {
    struct text faults; /* a line each; those of a case end with the largest tensors alive at our peak */
    struct text notes;  /* what was not measured, and how far the others are off, a line each */
    int fault_count;
    int case_count;  /* compared */
    int trace_count; /* replayed */
};

/* Judges a folder. Released with truth_outcome_release. */
struct truth_outcome truth_folder_check(const char *folder);

void truth_outcome_release(struct truth_outcome *outcome);

#endif

/* Fit: does a case fit a device, and with what margin? Yes, no, or it depends.
 *
 * Segments decide, not tensors, in a replay that is bounded to what the overhead leaves of the device. Two things are
 * not known to the byte: the overhead, which may be a range, and what no rule explains of the segments (doubt).
 *
 *   yes      it fits with the most of both
 *   no       it does not fit with the least of both, or the tensors alone do not
 *   depends  else: only a measurement can tell */
#ifndef ASSAY_QUESTION_FIT_H
#define ASSAY_QUESTION_FIT_H

#include "harness/question/bounds.h"
#include "harness/question/overhead.h"
#include "harness/question/trial.h"

enum fit_verdict { FIT_NO, FIT_YES, FIT_UNDECIDED };

struct fit_device {
    int64_t memory_bytes; /* >= 1 */
    struct overhead overhead;
    struct doubt doubt;
};

struct fit {
    enum fit_verdict verdict;
    int64_t memory_bytes;
    struct overhead overhead;
    struct doubt doubt;
    struct trial trial; /* with the most overhead and doubt; if the verdict is FIT_NO, with the least */
    struct trial least; /* if the verdict is not FIT_YES: with the least of both */
    /* What is left with the most and with the least overhead and doubt: memory - overhead - what is needed. If it runs,
     * that is the reserved bytes at the peak of the bounded replay, in which cached segments are given back. If it does
     * not: the requested bytes at the peak, or the refused segment and what was held then, whichever is more. Never
     * what an allocator without a bound would hoard. Negative: so much is missing. */
    int64_t margin_low_bytes, margin_high_bytes;
    bool missing_is_exact; /* the figure is exact: no more is reserved without a bound */
    bool missing_is_least; /* the tensors alone lack that much, whatever the allocator does */
    /* If fit_gives_back: the same less the allocated bytes at the peak alone; the rest is cache. */
    int64_t left_low_bytes, left_high_bytes;
};

/* Errors of trial_run. Worked: tiny-gpt2 in mode load reserves 2,097,152 bytes; of 3,145,728 without overhead and doubt
 * 1,048,576 are left. */
enum status_code fit_find(const struct estimate_input *input, const struct fit_device *device, struct fit *fit,
                          struct status *error);

/* The segments, as predicted, that `yes` and `not no` are replayed with: what is left with the most overhead, divided
 * by 1 + more, and what is left with the least, divided by 1 - less. At least 1. */
int64_t fit_sure_bytes(const struct fit_device *device);
int64_t fit_possible_bytes(const struct fit_device *device);

/* What the tensors of the program alone need; workspaces are libraries' and may be smaller. */
int64_t fit_certain_bytes(const struct replay_result *result);

/* Whether a range or a doubt makes the two differ. */
bool fit_is_open(const struct fit_device *device);

/* Whether the case runs (at least with the least overhead) because cached segments are given back. These fill whatever
 * memory there is, so that the margins say little. */
bool fit_gives_back(const struct fit *fit);

const char *fit_verdict_name(enum fit_verdict verdict); /* "no", "yes", "depends" */

#endif

/* Fit: does a case fit a device, and with what margin?
 *
 * Decided by segments, not by tensors, on a replay that is bounded to what the device has left besides its overhead. Where the
 * overhead is a range, a case may fit with its least and not with its most: then nobody can say without measuring. */
#ifndef ASSAY_QUESTION_FIT_H
#define ASSAY_QUESTION_FIT_H

#include "harness/question/overhead.h"
#include "harness/question/trial.h"

enum fit_verdict { FIT_NO, FIT_YES, FIT_UNDECIDED };

struct fit {
    enum fit_verdict verdict;
    int64_t memory_bytes;
    struct overhead overhead;
    struct trial trial; /* with the most overhead; where the verdict is FIT_NO, with the least */
    /* memory - overhead - reserved bytes at the peak, with the most and with the least overhead; negative: so much is missing. Of
     * a case that fits because cached segments are given back, the peak is that of the bounded replay. */
    int64_t margin_low_bytes, margin_high_bytes;
};

/* memory_bytes >= 1. Errors of trial_run. Worked: tiny-gpt2 in mode load reserves 2,097,152 bytes; of 3,145,728 without overhead
 * 1,048,576 are left. */
enum status_code fit_find(const struct estimate_input *input, int64_t memory_bytes, const struct overhead *overhead,
                          struct fit *fit, struct status *error);

const char *fit_verdict_name(enum fit_verdict verdict); /* "no", "yes", "undecided" */

#endif

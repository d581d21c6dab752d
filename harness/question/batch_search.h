/* Batch search: which batch is tried next, and with which the search ends. It tries nothing itself: its caller does,
 * and says how each try ended.
 *
 * BATCH_HALVE and BATCH_NINE_TENTHS are accelerate's find_executable_batch_size, up to v1.8 and since v1.9: they
 * begin at `start`, make the batch smaller while memory is refused and end with the first that runs, so that what they
 * find is seldom the largest, and never more than `start`. At 0 they give up.
 *
 * BATCH_BISECT finds the largest. From `start` the batch is doubled while it runs, or halved while it is refused;
 * what lies between is cut in the middle until a batch runs and the next one does not. Memory need not grow with the
 * batch (limit.h), so a larger batch may still run. If a replay says that one does (`hint`), it is tried too, and the
 * search goes on above it. */
#ifndef ASSAY_QUESTION_BATCH_SEARCH_H
#define ASSAY_QUESTION_BATCH_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

enum batch_policy { BATCH_HALVE, BATCH_NINE_TENTHS, BATCH_BISECT, BATCH_POLICY_COUNT };

/* No batch is larger: so many samples have sizes beyond 63 bits, or nearly. */
#define BATCH_MAXIMUM (INT64_C(1) << 40)

/* "halve", "0.9", "bisect": as a suite's find_batch has them, in its order. */
const char *batch_policy_name(enum batch_policy policy);

/* What accelerate raises at 0. */
extern const char *const batch_zero_text;

struct batch_search {
    enum batch_policy policy;
    int64_t batch; /* the batch to try now; 0: the search has ended */
    int64_t found; /* the largest that ran so far, of the two policies of accelerate the only one; 0: none */
    int64_t hint;  /* a batch that a replay says runs; 0: none. May be set at any time */
    /* Internal. */
    int64_t refused; /* the least above `found` that was refused; 0: none */
    int64_t stride;  /* how far above `found` the next is, while nothing above it was refused */
    bool hint_is_tried;
};

/* start: 1 to BATCH_MAXIMUM. */
struct batch_search batch_search_begin(enum batch_policy policy, int64_t start);

/* How the try of search->batch ended: it ran, or memory was refused. Chooses the next. The search must not have
 * ended. */
void batch_search_tell(struct batch_search *search, bool runs);

#endif

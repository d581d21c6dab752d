/* Trial: does a case run on a device of so many bytes? Its tape is replayed on the meta device with that bound, so a
 * refused segment makes the allocator give back what it only caches and ask again, as PyTorch does.
 *
 * What decides is segments (reserved bytes), not tensors: a device that holds every tensor may still refuse the
 * segment that the next one needs. A case whose reserved bytes without a bound do not exceed the bound meets no
 * refusal, so it needs no second replay. */
#ifndef ASSAY_QUESTION_TRIAL_H
#define ASSAY_QUESTION_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/estimate/estimate.h"
#include "harness/replay/replay.h"

enum { TRIAL_LABEL_BYTES = 160 };

struct trial {
    struct replay_result unbounded; /* without a bound */
    bool fits;
    struct replay_result bounded; /* if it fits; lower than unbounded if cached segments had to be given back */
    /* If it does not: what was refused, when, and what was held then. */
    int64_t wanted_bytes, held_bytes;
    int64_t segment_bytes; /* that was refused for it */
    enum stage stage;
    char label[TRIAL_LABEL_BYTES]; /* of the tensor */
    int64_t live_bytes;            /* requested, of the tensors that were alive then */
    int64_t token_count;           /* of a generation: so many tokens were there already */
};

/* Questions that replay many sizes of a field tell it which one is next. A pointer to an observer may be NULL. */
struct look_observer {
    void (*looks)(void *context, enum case_field field, int64_t size);
    void *context;
};

/* memory_bytes >= 1. Errors of workload_tape: STATUS_INVALID if the case is none, STATUS_OVERFLOW if its sizes
 * leave 63 bits; STATUS_OUT_OF_MEMORY if the host has no memory for the tape. */
enum status_code trial_run(const struct estimate_input *input, int64_t memory_bytes, struct trial *trial,
                           struct status *error);

/* The same with the bound alone: unbounded is not written. */
enum status_code trial_run_bounded(const struct estimate_input *input, int64_t memory_bytes, struct trial *trial,
                                   struct status *error);

/* The same up to the first repetition alone: of a generation the prompt and some tokens. If it is refused, so is the
 * whole, with the same figures; that it fits says nothing of what comes behind, and bounded is of the beginning. */
enum status_code trial_run_beginning(const struct estimate_input *input, int64_t memory_bytes, struct trial *trial,
                                     struct status *error);

#endif

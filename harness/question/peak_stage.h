/* Peak stage: which stage of a case needs the most, and the sizes at which that changes from one stage to another.
 *
 * Judged by the highest allocated bytes of each stage, the first of equals, as `peak_stage` in records is; of a
 * generation between prefill (forward) and decoding (generate) alone. Sizes are replayed by doubling. If two in a row
 * have different stages, the range between them is halved, so that the ends of a span are exact: its last size has the
 * stage and the next one has another. Nothing is replayed between two sizes that have the same stage. */
#ifndef ASSAY_QUESTION_PEAK_STAGE_H
#define ASSAY_QUESTION_PEAK_STAGE_H

#include "harness/question/trial.h"

struct stage_point {
    int64_t size;
    enum stage stage; /* the highest */
    bool present[STAGE_COUNT];
    int64_t allocated_bytes[STAGE_COUNT]; /* peaks; 0 if a stage is not there */
    int64_t requested_bytes;              /* the peak over all stages */
    bool fits;                            /* within the memory of the input; true if it has no bound */
};

struct stage_span {
    struct stage_point first, last; /* of the same stage */
};

enum { STAGE_SPANS_MAXIMUM = 64 };

struct stage_spans {
    enum case_field field;
    struct stage_span spans[STAGE_SPANS_MAXIMUM]; /* one behind the other, from the first size to the last */
    int count;
    bool step_known;    /* false: there is one size alone */
    int64_t step_bytes; /* requested bytes at the peak that the last size has more than the one before it */
};

/* The peaks are those of a replay without a bound; whether a size fits is that of one within input->memory_bytes, if
 * that is not 0. Sizes from sizes[0] to sizes[1], both included, of FIELD_BATCH, FIELD_SEQ or FIELD_NEW_TOKENS. Errors
 * of workload_tape for a size that the model does not have; STATUS_INVALID if the stages change more often than
 * spans fit. */
enum status_code stage_spans_find(const struct estimate_input *input, enum case_field field, const int64_t sizes[2],
                                  const struct look_observer *observer, struct stage_spans *spans,
                                  struct status *error);

#endif

/* Batch prediction: the largest batch by replay (limit.h), for the memory that the device of a try had for segments.
 * Beside the batch that is found, it shows how good the prediction was; during the search, it says which batch to try
 * too. */
#ifndef ASSAY_QUESTION_BATCH_PREDICTION_H
#define ASSAY_QUESTION_BATCH_PREDICTION_H

#include "harness/base/json.h"
#include "harness/question/limit.h"

struct batch_prediction {
    bool known;                      /* limit is */
    int64_t memory_bytes;            /* for segments; 0: not known */
    struct limit limit;              /* of the batch; size 0: not even the smallest runs */
    char reason[LIMIT_REASON_BYTES]; /* if it is not known: why; "" before the first try */
};

/* What segments may take together on the device of a case line: its bound, or of a GPU its memory less what the line
 * says was used of it besides segments, at most. 0: not known. */
int64_t batch_segment_bytes(const struct json *line);

/* From the case line of a try. input: its workload with any batch; if its target is NULL, that of the device is
 * taken. bound_bytes: what segments may take together; 0: what the device has, which for a GPU is its memory less what
 * was used on it besides segments, as the try has read it. Looks again only if another try says something else.
 * Errors leave the prediction unknown, with the reason. */
void batch_prediction_make(const struct estimate_input *input, int64_t bound_bytes, const struct json *line,
                           const struct look_observer *observer, struct batch_prediction *prediction);

#endif

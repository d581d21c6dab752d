/* Batch series: a search (batch_search.h) and what its tries came to. A state machine: it names the batch to try next,
 * and the caller tries it and hands over the case line. Keeps every try, and compares policies: a batch that one of
 * them has tried is not tried again for the next.
 *
 * A try that ran out of memory makes the batch smaller, whatever ran out. With as_accelerate, a try whose error
 * accelerate does not recognise (batch_cause.h) ends the search, as it does there. A try that failed for another reason
 * always ends it, because a smaller batch is no remedy. */
#ifndef ASSAY_QUESTION_BATCH_SERIES_H
#define ASSAY_QUESTION_BATCH_SERIES_H

#include "harness/base/json.h"
#include "harness/case/workload.h"
#include "harness/question/batch_cause.h"
#include "harness/question/batch_search.h"
#include "harness/tape/tape.h"

struct batch_try {
    int64_t batch;
    enum batch_policy policy; /* for which it was made first */
    struct json *line;        /* of the case; owned */
    struct batch_cause cause; /* borrows from line */
    double seconds;           /* of the child, from its start to its end */
    double step_seconds;      /* of the last step of training, of a pass, of a generation; 0: not known */
    int64_t next;             /* what the policy tries then; 0: nothing, or a repetition */
    bool is_repetition;       /* of a batch that was found, for its throughput */
};

enum batch_end {
    BATCH_END_FOUND,
    BATCH_END_ZERO,       /* batch_zero_text */
    BATCH_END_RAISED,     /* out of memory that accelerate does not recognise */
    BATCH_END_FAILED,     /* a try failed for another reason than memory */
    BATCH_END_INTERRUPTED /* by a signal */
};

const char *batch_end_name(enum batch_end end); /* "found", "zero", "raised", ... */

struct batch_result {
    enum batch_policy policy;
    enum batch_end end;
    int64_t found; /* also if a later try failed; 0: none */
    int *tries;    /* of the record, in the order of the policy, repetitions not among them */
    int try_count;
    size_t try_room;
    double seconds;          /* of these tries, also of those that were made for another policy */
    double step_seconds;     /* at `found`: the median of its tries; 0: not known */
    int repeat_count;        /* tries of `found` that were to be made, the first included */
    int repeat_failed_count; /* of them, did not run */
};

/* All tries of all policies. All zero is an empty one. */
struct batch_record {
    struct batch_try *tries;
    int count;
    size_t room;
};

struct batch_request {
    enum batch_policy policy;
    int64_t start;
    bool as_accelerate;
    int repeat; /* how often `found` is tried, at least 1 */
    const struct workload *workload;
};

struct batch_series {
    struct batch_request request;
    struct batch_record *record;
    struct batch_search search; /* its hint may be set at any time */
    struct batch_result result;
};

/* request->workload and record are borrowed until the end. */
struct batch_series batch_series_begin(const struct batch_request *request, struct batch_record *record);

/* The batch that is to be tried now; 0: the series has ended. Tries that the record holds already are told to the
 * search here. STATUS_OUT_OF_MEMORY. */
enum status_code batch_series_next(struct batch_series *series, int64_t *batch, struct status *error);

/* How that try ended, by its case line, which goes over to the record; NULL: it was interrupted, which ends the series.
 * On success the try is the last of the record, unless it was interrupted. STATUS_OUT_OF_MEMORY: line stays the
 * caller's. */
enum status_code batch_series_take(struct batch_series *series, struct json *line, struct status *error);

/* After the end: hands the result over, released with batch_result_release. STATUS_OUT_OF_MEMORY: none is. */
enum status_code batch_series_end(struct batch_series *series, struct batch_result *result, struct status *error);

void batch_series_release(
    struct batch_series *series); /* one that is not ended; the record stays. All zero is accepted */

/* The text of the error with which the original ends, or of the try that failed; "" for BATCH_END_FOUND and
 * interruptions. Borrowed. */
const char *batch_result_error(const struct batch_result *result, const struct batch_record *record);

/* Samples or, of a model with sequences, tokens in a second: batch * micro-batches * seq / step_seconds; of a
 * generation the new tokens. 0: not known. Worked: batch 8, seq 128, 2 s of forward, backward and step: 512 tokens in a
 * second. */
double batch_throughput(const struct workload *workload, int64_t batch, double step_seconds);

/* What step_seconds is of a case line: of training forward and backward, for each micro-batch, and step; of a
 * generation forward and generate; of inference forward. 0: not known. */
double batch_step_seconds(const struct json *line, const struct workload *workload);

void batch_result_release(struct batch_result *result);
void batch_record_release(struct batch_record *record);

#endif

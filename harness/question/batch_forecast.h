/* Batch forecast: what a search for a batch (batch_search.h) will come to, by replay alone: the tries that its policy
 * makes in so many bytes of segments, how each ends, and with which batch it ends. Touches no device. */
#ifndef ASSAY_QUESTION_BATCH_FORECAST_H
#define ASSAY_QUESTION_BATCH_FORECAST_H

#include "harness/question/batch_search.h"
#include "harness/question/limit.h"

struct batch_forecast_try {
    int64_t batch;
    bool runs;
};

struct batch_forecast {
    int64_t limit; /* the largest batch that runs (limit.h); 0: not even one of 1 */
    int64_t found; /* with which the search ends; 0: none runs */
    struct batch_forecast_try *tries;
    int count;
    size_t room; /* of tries */
};

/* FIND_BATCH_NONE is no policy. */
enum batch_policy batch_policy_of(enum find_batch find);

/* The largest batch that runs in so many bytes, >= 1. Errors of limit_find. */
enum status_code batch_limit_forecast(const struct estimate_input *input, int64_t memory_bytes, int64_t *limit,
                                      struct status *error);

/* Whether the case runs at that batch. Errors of trial_run_bounded. */
enum status_code batch_runs_forecast(const struct estimate_input *input, int64_t batch, int64_t memory_bytes,
                                     bool *runs, struct status *error);

/* input->workload: its batch is the first that is tried, its find_batch the policy. On success forecast is released
 * with batch_forecast_release. */
enum status_code batch_forecast_make(const struct estimate_input *input, int64_t memory_bytes,
                                     struct batch_forecast *forecast, struct status *error);

void batch_forecast_release(struct batch_forecast *forecast);

#endif

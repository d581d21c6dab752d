/* Batch forecast: a search whose tries are replays. Which batch is next is batch_search.c's. */
#include "harness/question/batch_forecast.h"

#include <stdlib.h>

#include "harness/base/array.h"

enum batch_policy batch_policy_of(enum find_batch find)
{
    return (enum batch_policy)(find - FIND_BATCH_HALVE);
}

/* A try is a case like any other. */
static struct workload try_workload(const struct workload *workload, int64_t batch)
{
    struct workload tried = *workload;
    tried.batch = batch;
    tried.find_batch = FIND_BATCH_NONE;
    return tried;
}

enum status_code batch_limit_forecast(const struct estimate_input *input, int64_t memory_bytes, int64_t *limit,
                                      struct status *error)
{
    const struct workload workload = try_workload(input->workload, input->workload->batch);
    struct estimate_input asked = *input;
    struct limit found;
    asked.workload = &workload;
    enum status_code code = limit_find(&asked, FIELD_BATCH, memory_bytes, NULL, &found, error);
    if (code == STATUS_OK) {
        *limit = found.size;
    }
    return code;
}

enum status_code batch_runs_forecast(const struct estimate_input *input, int64_t batch, int64_t memory_bytes,
                                     bool *runs, struct status *error)
{
    const struct workload workload = try_workload(input->workload, batch);
    struct estimate_input asked = *input;
    struct trial trial;
    asked.workload = &workload;
    enum status_code code = trial_run_bounded(&asked, memory_bytes, &trial, error);
    if (code == STATUS_OK) {
        *runs = trial.fits;
    }
    return code;
}

static bool try_add(struct batch_forecast *forecast, struct batch_forecast_try try_)
{
    struct batch_forecast_try *tries =
        array_extend(forecast->tries, (size_t)forecast->count, &forecast->room, sizeof *tries);
    if (tries != NULL) {
        forecast->tries = tries;
        tries[forecast->count++] = try_;
    }
    return tries != NULL;
}

static enum status_code search_forecast(const struct estimate_input *input, int64_t memory_bytes,
                                        struct batch_forecast *forecast, struct status *error)
{
    struct batch_search search =
        batch_search_begin(batch_policy_of(input->workload->find_batch), input->workload->batch);
    search.hint = forecast->limit;
    while (search.batch > 0) {
        struct batch_forecast_try try_ = {.batch = search.batch};
        enum status_code code = batch_runs_forecast(input, search.batch, memory_bytes, &try_.runs, error);
        if (code != STATUS_OK) {
            return code;
        }
        if (!try_add(forecast, try_)) {
            return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory to note a try");
        }
        batch_search_tell(&search, try_.runs);
    }
    forecast->found = search.found;
    return STATUS_OK;
}

enum status_code batch_forecast_make(const struct estimate_input *input, int64_t memory_bytes,
                                     struct batch_forecast *forecast, struct status *error)
{
    struct batch_forecast made = {0};
    enum status_code code = batch_limit_forecast(input, memory_bytes, &made.limit, error);
    if (code == STATUS_OK) {
        code = search_forecast(input, memory_bytes, &made, error);
    }
    if (code != STATUS_OK) {
        batch_forecast_release(&made);
        return code;
    }
    *forecast = made;
    return STATUS_OK;
}

void batch_forecast_release(struct batch_forecast *forecast)
{
    free(forecast->tries);
    *forecast = (struct batch_forecast){0};
}

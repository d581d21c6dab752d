/* Case search: a case that looks for its batch. What is predicted of it is the search itself, and the case at the batch
 * that the search ends with. It is no child's work: a run carries the tries out, each as a case without a search
 * (search.h). */
#include "harness/question/batch_forecast.h"
#include "harness/question/batch_series.h"
#include "harness/run/case_kind.h"

static bool search_applies(const struct workload *workload)
{
    return workload->find_batch != FIND_BATCH_NONE;
}

static struct json *positive_or_null(int64_t value)
{
    return value > 0 ? json_integer_new(value) : json_null_new();
}

static struct json *tries_json(const struct batch_forecast *forecast)
{
    struct json *tries = json_array_new();
    bool made = tries != NULL;
    for (int i = 0; made && i < forecast->count; i++) {
        int64_t next = i + 1 < forecast->count ? forecast->tries[i + 1].batch : 0;
        struct json *object = json_object_new();
        made = json_set(object, "batch", json_integer_new(forecast->tries[i].batch)) &&
               json_set(object, "predicted_runs", json_boolean_new(forecast->tries[i].runs)) &&
               json_set(object, "next", positive_or_null(next));
        made = json_append(tries, json_made(object, made));
    }
    return json_made(tries, made);
}

/* As a record's "search" names them. */
static struct json *forecast_json(const struct workload *workload, const struct batch_forecast *forecast)
{
    enum batch_end end = forecast->found > 0 ? BATCH_END_FOUND : BATCH_END_ZERO;
    struct json *object = json_object_new();
    bool made = json_set(object, "policy", json_string_new(find_batch_name(workload->find_batch))) &&
                json_set(object, "start", json_integer_new(workload->batch)) &&
                json_set(object, "end", json_string_new(batch_end_name(end))) &&
                json_set(object, "found", positive_or_null(forecast->found)) &&
                json_set(object, "predicted", json_integer_new(forecast->limit)) &&
                json_set(object, "tries", tries_json(forecast));
    return json_made(object, made);
}

/* Nothing is predicted, and why. */
static enum status_code search_unknown(const struct status *why, struct json **estimates, struct prediction *prediction,
                                       struct status *error)
{
    struct json *object = estimates != NULL ? json_object_new() : NULL;
    if (estimates != NULL && object == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the predictions of a case");
    }
    if (estimates != NULL) {
        *estimates = object;
    }
    *prediction = (struct prediction){.failure = *why};
    return STATUS_OK;
}

/* At the batch that is found; if none is, at the last that is tried, which is refused. */
static enum status_code forecast_predict(const struct estimate_input *input, const struct batch_forecast *forecast,
                                         struct json **estimates, struct prediction *prediction, struct status *error)
{
    struct workload workload = *input->workload;
    struct estimate_input found = *input;
    workload.batch = forecast->found > 0 ? forecast->found : forecast->tries[forecast->count - 1].batch;
    workload.find_batch = FIND_BATCH_NONE;
    found.workload = &workload;
    struct json *search = forecast_json(input->workload, forecast);
    enum status_code code = search != NULL
                                ? prediction_by_estimators(&found, estimates, prediction, error)
                                : status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the predictions of a case");
    if (code == STATUS_OK) {
        prediction->search = search;
    } else {
        json_release(search);
    }
    return code;
}

static enum status_code search_predict_whole(const struct estimate_input *input, struct json **estimates,
                                             struct prediction *prediction, struct status *error)
{
    struct batch_forecast forecast = {0};
    struct status why = {0};
    enum status_code code = STATUS_INVALID;
    if (input->memory_bytes > 0) {
        code = batch_forecast_make(input, input->memory_bytes, &forecast, &why);
    } else {
        status_set(&why, STATUS_INVALID,
                   "the batch that it finds depends on the memory, and no bound is known; give the case 'memory', or "
                   "add --on GPU or --memory SIZE");
    }
    if (code == STATUS_OUT_OF_MEMORY) {
        return status_copy(error, code, &why);
    }
    code = code == STATUS_OK ? forecast_predict(input, &forecast, estimates, prediction, error)
                             : search_unknown(&why, estimates, prediction, error);
    batch_forecast_release(&forecast);
    return code;
}

static enum status_code search_measure(const struct measuring *measuring, struct status *error)
{
    return status_set(error, STATUS_INTERNAL, "%s looks for its batch, and was given to one child to measure",
                      measuring->job->case_->id);
}

const struct case_kind case_kind_search = {
    .applies = search_applies, .predict = search_predict_whole, .measure = search_measure};

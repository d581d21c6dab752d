/* Batch series: which try is next, and what the tries so far come to. It does not know how a batch is tried. */
#include "harness/question/batch_series.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"

const char *batch_end_name(enum batch_end end)
{
    static const char *const names[] = {"found", "zero", "raised", "failed", "interrupted"};
    return names[end];
}

static double stage_seconds(const struct json *line, enum stage stage)
{
    const struct json *figures = json_get(json_get(line, "stages"), stage_name(stage));
    return json_real_or(json_get(figures, "seconds"), 0);
}

double batch_step_seconds(const struct json *line, const struct workload *workload)
{
    double forward = stage_seconds(line, STAGE_FORWARD);
    switch (workload->mode) {
    case MODE_TRAIN:
        return (forward + stage_seconds(line, STAGE_BACKWARD)) * (double)workload->accumulate +
               stage_seconds(line, STAGE_STEP);
    case MODE_GENERATE:
        return forward + stage_seconds(line, STAGE_GENERATE);
    default:
        return forward;
    }
}

double batch_throughput(const struct workload *workload, int64_t batch, double step_seconds)
{
    if (step_seconds <= 0) {
        return 0;
    }
    double samples = (double)batch * (double)(workload->mode == MODE_TRAIN ? workload->accumulate : 1);
    int64_t tokens = workload->mode == MODE_GENERATE ? workload->new_tokens : workload->seq;
    return samples * (double)(tokens > 0 ? tokens : 1) / step_seconds;
}

static struct batch_try *record_take(struct batch_record *record)
{
    struct batch_try *tries = array_extend(record->tries, (size_t)record->count, &record->room, sizeof *tries);
    if (tries == NULL) {
        return NULL;
    }
    record->tries = tries;
    struct batch_try *taken = &record->tries[record->count];
    *taken = (struct batch_try){0};
    return taken;
}

static enum status_code no_memory(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory to note a try");
}

static int try_find(const struct batch_record *record, int64_t batch)
{
    for (int i = 0; i < record->count; i++) {
        if (record->tries[i].batch == batch && !record->tries[i].is_repetition) {
            return i;
        }
    }
    return -1;
}

static bool result_add(struct batch_result *result, int index, double seconds)
{
    int *tries = array_extend(result->tries, (size_t)result->try_count, &result->try_room, sizeof *tries);
    if (tries != NULL) {
        result->tries = tries;
        tries[result->try_count++] = index;
        result->seconds += seconds;
    }
    return tries != NULL;
}

/* What a try comes to: goes on with the search, or ends it. */
static void try_judge(struct batch_series *series, const struct batch_try *try_)
{
    const struct batch_cause *cause = &try_->cause;
    struct batch_search *search = &series->search;
    bool is_raised =
        cause->outcome == BATCH_OUTCOME_MEMORY && series->request.as_accelerate && !cause->accelerate_reduces;
    if (cause->outcome == BATCH_OUTCOME_OTHER || is_raised) {
        series->result.end = is_raised ? BATCH_END_RAISED : BATCH_END_FAILED;
        search->batch = 0;
    } else {
        batch_search_tell(search, cause->outcome == BATCH_OUTCOME_OK);
        series->result.end = search->batch == 0 && search->found == 0 ? BATCH_END_ZERO : BATCH_END_FOUND;
    }
    series->result.found = search->found;
}

struct batch_series batch_series_begin(const struct batch_request *request, struct batch_record *record)
{
    return (struct batch_series){.request = *request,
                                 .record = record,
                                 .search = batch_search_begin(request->policy, request->start),
                                 .result = {.policy = request->policy}};
}

/* How many tries of a batch there are, with those that another policy has made. */
static int tries_of(const struct batch_record *record, int64_t batch)
{
    int count = 0;
    for (int i = 0; i < record->count; i++) {
        count += record->tries[i].batch == batch;
    }
    return count;
}

enum status_code batch_series_next(struct batch_series *series, int64_t *batch, struct status *error)
{
    struct batch_result *result = &series->result;
    int index = 0;
    while (series->search.batch > 0 && (index = try_find(series->record, series->search.batch)) >= 0) {
        const struct batch_try *try_ = &series->record->tries[index];
        if (!result_add(result, index, try_->seconds)) {
            return no_memory(error);
        }
        try_judge(series, try_);
    }
    bool repeats = result->found > 0 && result->end != BATCH_END_INTERRUPTED &&
                   tries_of(series->record, result->found) < series->request.repeat;
    *batch = series->search.batch > 0 ? series->search.batch : repeats ? result->found : 0;
    return STATUS_OK;
}

enum status_code batch_series_take(struct batch_series *series, struct json *line, struct status *error)
{
    bool is_repetition = series->search.batch == 0;
    if (line == NULL) {
        series->search.batch = 0;
        series->result.end = BATCH_END_INTERRUPTED;
        return STATUS_OK;
    }
    struct batch_try *try_ = record_take(series->record);
    double seconds = json_real_or(json_get(line, "duration_s"), 0);
    if (try_ == NULL || (!is_repetition && !result_add(&series->result, series->record->count, seconds))) {
        return no_memory(error);
    }
    try_->batch = is_repetition ? series->result.found : series->search.batch;
    try_->policy = series->request.policy;
    try_->line = line;
    try_->cause = batch_cause_read(line);
    try_->seconds = seconds;
    try_->step_seconds =
        try_->cause.outcome == BATCH_OUTCOME_OK ? batch_step_seconds(line, series->request.workload) : 0;
    try_->is_repetition = is_repetition;
    series->record->count++;
    if (!is_repetition) {
        try_judge(series, try_);
        try_->next = series->search.batch;
    }
    return STATUS_OK;
}

static int seconds_compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The median of all tries of the batch that ran; 0: none is timed. */
static double step_seconds_of(const struct batch_record *record, int64_t batch, double *seconds)
{
    size_t count = 0;
    for (int i = 0; i < record->count; i++) {
        if (record->tries[i].batch == batch && record->tries[i].step_seconds > 0) {
            seconds[count++] = record->tries[i].step_seconds;
        }
    }
    qsort(seconds, count, sizeof *seconds, seconds_compare);
    return count == 0 ? 0 : (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
}

enum status_code batch_series_end(struct batch_series *series, struct batch_result *result, struct status *error)
{
    struct batch_result *made = &series->result;
    const struct batch_record *record = series->record;
    for (int i = 0; i < record->count && made->found > 0; i++) {
        bool is_its = record->tries[i].batch == made->found;
        made->repeat_count += is_its;
        made->repeat_failed_count += is_its && record->tries[i].cause.outcome != BATCH_OUTCOME_OK;
    }
    double *seconds = calloc((size_t)record->count + 1, sizeof *seconds);
    if (seconds == NULL) {
        return no_memory(error);
    }
    made->step_seconds = made->found > 0 ? step_seconds_of(record, made->found, seconds) : 0;
    free(seconds);
    *result = *made;
    *made = (struct batch_result){0};
    return STATUS_OK;
}

void batch_series_release(struct batch_series *series)
{
    batch_result_release(&series->result);
}

const char *batch_result_error(const struct batch_result *result, const struct batch_record *record)
{
    bool is_of_try = (result->end == BATCH_END_RAISED || result->end == BATCH_END_FAILED) && result->try_count > 0;
    return result->end == BATCH_END_ZERO ? batch_zero_text
           : is_of_try                   ? record->tries[result->tries[result->try_count - 1]].cause.reason
                                         : "";
}

void batch_result_release(struct batch_result *result)
{
    free(result->tries);
    *result = (struct batch_result){0};
}

void batch_record_release(struct batch_record *record)
{
    for (int i = 0; i < record->count; i++) {
        json_release(record->tries[i].line);
    }
    free(record->tries);
    *record = (struct batch_record){0};
}

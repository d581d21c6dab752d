/* Search, the parent's side: which try is next, and what is asked of replay. What comes of it is written by
 * search_line.c. */
#include "harness/run/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/question/batch_forecast.h"
#include "harness/question/batch_prediction.h"

bool case_searches(const struct suite_case *case_)
{
    return case_->identity.workload.find_batch != FIND_BATCH_NONE;
}

void search_begin(struct search *search, const struct suite_case *case_)
{
    const struct workload *workload = &case_->identity.workload;
    const struct batch_request request = {
        .policy = batch_policy_of(workload->find_batch), .start = workload->batch, .repeat = 1, .workload = workload};
    *search = (struct search){.case_ = case_, .started_ns = clock_ns()};
    search->series = batch_series_begin(&request, &search->record);
}

void search_release(struct search *search)
{
    batch_series_release(&search->series);
    batch_record_release(&search->record);
    text_release(&search->id);
    json_release(search->line);
    json_release(search->runs);
    free(search->batches);
    *search = (struct search){0};
}

static enum status_code no_memory(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a search");
}

/* The case as it is tried: an ordinary one, with an id of its own. */
static enum status_code try_prepare(struct search *search, int64_t batch, struct status *error)
{
    search->try_ = *search->case_;
    search->try_.identity.workload.batch = batch;
    search->try_.identity.workload.find_batch = FIND_BATCH_NONE;
    text_release(&search->id);
    identity_id(&search->try_.identity, &search->id);
    search->try_.id = text_string(&search->id);
    return search->id.failed ? no_memory(error) : STATUS_OK;
}

static void question_ask(struct search *search, struct search_question question, struct case_job *job)
{
    search->question = question;
    search->question.target = search->target;
    search->question.least_bytes = search->least_bytes;
    search->question.most_bytes = search->most_bytes;
    job->step = CASE_SEARCH_PREDICT;
    job->case_ = search->case_;
    job->question = &search->question;
}

static bool can_predict(const struct search *search, const struct case_runner *runner)
{
    return runner->predict != NULL && search->least_bytes > 0 && search->target != NULL && search->note[0] == '\0';
}

/* The series learns of a try once it is known what replay says of the device that has made it. */
static enum status_code line_tell(struct search *search, struct status *error)
{
    search->series.search.hint = search->limit;
    enum status_code code = search->line != NULL ? batch_series_take(&search->series, search->line, error) : STATUS_OK;
    search->line = code == STATUS_OK ? NULL : search->line;
    return code;
}

static enum status_code tries_ask(struct search *search, struct case_job *job, struct status *error)
{
    int count = search->record.count;
    search->batches = calloc((size_t)count, sizeof *search->batches);
    if (search->batches == NULL) {
        return no_memory(error);
    }
    for (int i = 0; i < count; i++) {
        search->batches[i] = search->record.tries[i].batch;
    }
    question_ask(search, (struct search_question){.batches = search->batches, .batch_count = count}, job);
    return STATUS_OK;
}

enum status_code search_next(struct search *search, const struct case_runner *runner, struct case_job *job,
                             bool *has_next, struct status *error)
{
    int64_t batch = 0;
    *has_next = true;
    if (search->line != NULL && can_predict(search, runner) && search->least_bytes != search->predicted_bytes) {
        question_ask(search, (struct search_question){.wants_limit = true}, job);
        return STATUS_OK;
    }
    enum status_code code = line_tell(search, error);
    if (code == STATUS_OK) {
        code = batch_series_next(&search->series, &batch, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    if (batch > 0) {
        job->step = CASE_MEASURE;
        job->case_ = &search->try_;
        return try_prepare(search, batch, error);
    }
    if (can_predict(search, runner) && search->runs == NULL) {
        return tries_ask(search, job, error);
    }
    *has_next = false;
    const struct batch_result *result = &search->series.result;
    return result->end == BATCH_END_FOUND ? try_prepare(search, result->found, error) : STATUS_OK;
}

/* What the device of a try says of its memory. */
static void bytes_note(struct search *search, const struct json *line)
{
    int64_t bytes = batch_segment_bytes(line);
    const char *target = json_string_or(json_get(json_get(line, "device"), "target"), NULL);
    search->target = search->target != NULL ? search->target : target;
    if (bytes > 0) {
        search->least_bytes = search->least_bytes == 0 || bytes < search->least_bytes ? bytes : search->least_bytes;
        search->most_bytes = bytes > search->most_bytes ? bytes : search->most_bytes;
    }
}

static bool is_prediction(const struct json *runs, int count)
{
    bool is_whole = json_kind(runs) == JSON_KIND_ARRAY && json_count(runs) == (size_t)count;
    for (int i = 0; is_whole && i < count; i++) {
        enum json_kind kind = json_kind(json_at(runs, (size_t)i));
        is_whole = kind == JSON_KIND_BOOLEAN || kind == JSON_KIND_NULL;
    }
    return is_whole;
}

/* Not trusted: a child may have sent anything. */
static enum status_code prediction_take(struct search *search, const struct case_job *job, const struct child *child,
                                        struct status *error)
{
    struct json *fields = NULL;
    struct case_ending ending = case_ending_read(job, child, &fields);
    struct json *prediction = json_get(fields, "prediction"), *runs = json_get(prediction, "runs");
    int64_t limit = json_integer_or(json_get(prediction, "limit"), -1);
    const struct search_question *question = job->question;
    enum status_code code = fields != NULL ? STATUS_OK : no_memory(error);
    if (ending.status != CASE_STATUS_OK || !is_prediction(runs, question->batch_count) ||
        (question->wants_limit && limit < 0)) {
        snprintf(search->note, sizeof search->note, "what replay says of it is not known: %.400s",
                 ending.reason[0] != '\0' ? ending.reason : "the child sent something that is no prediction");
    } else if (question->wants_limit) {
        search->limit = limit;
        search->predicted_bytes = question->least_bytes;
    } else {
        search->runs = json_share(runs);
    }
    json_release(fields);
    return code;
}

enum status_code search_take(struct search *search, const struct case_job *job, const struct child *child,
                             struct status *error)
{
    enum case_status status;
    if (job->step == CASE_SEARCH_PREDICT) {
        return prediction_take(search, job, child, error);
    }
    enum status_code code = case_line_make(job, child, &search->line, &status, error);
    if (code == STATUS_OK) {
        bytes_note(search, search->line);
    }
    return code;
}

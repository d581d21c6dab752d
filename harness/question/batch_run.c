/* Batch run: the loop around a search. How a batch is tried is the runner's affair, what is printed of it the command's. */
#include "harness/question/batch_run.h"

#include <stdlib.h>
#include <string.h>

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
    if (record->count == record->room) {
        int room = record->room > 0 ? record->room * 2 : 16;
        struct batch_try *tries = realloc(record->tries, (size_t)room * sizeof *tries);
        if (tries == NULL) {
            return NULL;
        }
        record->tries = tries;
        record->room = room;
    }
    struct batch_try *taken = &record->tries[record->count];
    *taken = (struct batch_try){0};
    return taken;
}

struct batch_work {
    const struct batch_request *request;
    const struct batch_runner *runner;
    struct batch_record *record;
    struct status *error;
};

static enum status_code no_memory(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory to note a try");
}

/* Makes a try. *index is -1 where it was interrupted. */
static enum status_code try_make(struct batch_work *work, int64_t batch, int *index)
{
    struct batch_try *made = record_take(work->record);
    *index = -1;
    if (made == NULL) {
        return no_memory(work->error);
    }
    made->batch = batch;
    made->policy = work->request->policy;
    enum status_code code = work->runner->attempt(work->runner->context, batch, &made->line, work->error);
    if (code != STATUS_OK || made->line == NULL) {
        return code;
    }
    made->cause = batch_cause_read(made->line);
    made->seconds = json_real_or(json_get(made->line, "duration_s"), 0);
    made->step_seconds =
        made->cause.outcome == BATCH_OUTCOME_OK ? batch_step_seconds(made->line, work->request->workload) : 0;
    *index = work->record->count++;
    return STATUS_OK;
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
    int *tries = realloc(result->tries, (size_t)(result->try_count + 1) * sizeof *tries);
    if (tries != NULL) {
        result->tries = tries;
        tries[result->try_count++] = index;
        result->seconds += seconds;
    }
    return tries != NULL;
}

/* What a try comes to: goes on with the search, or ends it. */
static void try_judge(struct batch_work *work, const struct batch_try *try_, struct batch_search *search,
                      struct batch_result *result)
{
    const struct batch_cause *cause = &try_->cause;
    bool is_raised =
        cause->outcome == BATCH_OUTCOME_MEMORY && work->request->as_accelerate && !cause->accelerate_reduces;
    if (cause->outcome == BATCH_OUTCOME_OTHER || is_raised) {
        result->end = is_raised ? BATCH_END_RAISED : BATCH_END_FAILED;
        search->batch = 0;
        return;
    }
    if (work->runner->hint != NULL && search->policy == BATCH_BISECT) {
        search->hint = work->runner->hint(work->runner->context, try_->line);
    }
    batch_search_tell(search, cause->outcome == BATCH_OUTCOME_OK);
    result->end = search->batch == 0 && search->found == 0 ? BATCH_END_ZERO : BATCH_END_FOUND;
}

static enum status_code search_carry_out(struct batch_work *work, struct batch_result *result)
{
    struct batch_search search = batch_search_begin(work->request->policy, work->request->start);
    while (search.batch > 0) {
        int index = try_find(work->record, search.batch);
        bool is_new = index < 0;
        enum status_code code = is_new ? try_make(work, search.batch, &index) : STATUS_OK;
        if (code != STATUS_OK) {
            return code;
        }
        if (index < 0) {
            result->end = BATCH_END_INTERRUPTED;
            break;
        }
        struct batch_try *try_ = &work->record->tries[index];
        if (!result_add(result, index, try_->seconds)) {
            return no_memory(work->error);
        }
        try_judge(work, try_, &search, result);
        if (is_new) {
            try_->next = search.batch;
            if (work->runner->ended != NULL) {
                work->runner->ended(work->runner->context, try_);
            }
        }
    }
    result->found = search.found;
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

/* So many tries of a batch as are asked for; those that another policy has made count. */
static enum status_code found_repeat(struct batch_work *work, struct batch_result *result)
{
    int made = 0;
    for (int i = 0; i < work->record->count; i++) {
        made += work->record->tries[i].batch == result->found;
    }
    for (; made < work->request->repeat; made++) {
        int index = -1;
        enum status_code code = try_make(work, result->found, &index);
        if (code != STATUS_OK) {
            return code;
        }
        if (index < 0) {
            result->end = BATCH_END_INTERRUPTED;
            break;
        }
        work->record->tries[index].is_repetition = true;
        if (work->runner->ended != NULL) {
            work->runner->ended(work->runner->context, &work->record->tries[index]);
        }
    }
    for (int i = 0; i < work->record->count; i++) {
        const struct batch_try *try_ = &work->record->tries[i];
        bool is_its = try_->batch == result->found;
        result->repeat_count += is_its;
        result->repeat_failed_count += is_its && try_->cause.outcome != BATCH_OUTCOME_OK;
    }
    double *seconds = calloc((size_t)work->record->count + 1, sizeof *seconds);
    if (seconds == NULL) {
        return no_memory(work->error);
    }
    result->step_seconds = step_seconds_of(work->record, result->found, seconds);
    free(seconds);
    return STATUS_OK;
}

enum status_code batch_run(const struct batch_request *request, const struct batch_runner *runner,
                           struct batch_record *record, struct batch_result *result, struct status *error)
{
    struct batch_work work = {.request = request, .runner = runner, .record = record, .error = error};
    struct batch_result made = {.policy = request->policy};
    enum status_code code = search_carry_out(&work, &made);
    if (code == STATUS_OK && made.found > 0 && made.end != BATCH_END_INTERRUPTED) {
        code = found_repeat(&work, &made);
    }
    if (code != STATUS_OK) {
        batch_result_release(&made);
        return code;
    }
    *result = made;
    return STATUS_OK;
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

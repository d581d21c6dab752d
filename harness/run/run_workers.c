/* Run workers: which attempt is started when, by which worker, and what becomes of its line. Not what is written before
 * and behind them. */
#include <poll.h>
#include <stdlib.h>

#include "harness/base/clock.h"
#include "harness/run/case_line.h"
#include "harness/run/child_tell.h"
#include "harness/run/device_specs.h"
#include "harness/run/run_inside.h"

enum { WAIT_MS_MAXIMUM = 250, WAIT_MS_ENDING = 2 };

/* The next attempt, or false if all have been started. */
static bool job_next(struct run *run, const struct gpu_lane *lane, struct case_job *job)
{
    const struct suite *suite = run->options->suite;
    while (run->next_case < suite->case_count) {
        const struct suite_case *case_ = &suite->cases[run->next_case];
        while (run->next_attempt < case_choice_attempts(run->options->choice, suite, run->next_case) &&
               run->resumption.made != NULL && run->resumption.made[run->next_number]) {
            run->next_attempt++;
            run->next_number++;
        }
        if (run->next_attempt < case_choice_attempts(run->options->choice, suite, run->next_case)) {
            run->next_attempt++;
            run->next_number++;
            *job =
                (struct case_job){.case_ = case_,
                                  .case_number = run->next_case,
                                  .device = device_spec_of(run->options, case_),
                                  .lane = lane,
                                  .catalogue_dir = run->options->catalogue_dir,
                                  .model_folder = suite->folder,
                                  .constants = run->options->constants,
                                  .reference_dir = run->options->reference_dir,
                                  .version = run->options->version,
                                  .external = run->external.cases != NULL ? run->external.cases[run->next_case] : NULL,
                                  .attempt = run->next_attempt,
                                  .proof = run->options->proof,
                                  .shared = run->options->jobs > 1 || run->options->share_device,
                                  .fitting = run->options->fitting && !case_searches(case_),
                                  .note_calibrated = run->options->note_calibrated};
            return true;
        }
        run->next_case++;
        run->next_attempt = 0;
    }
    return false;
}

static struct worker_means means_of(const struct run *run)
{
    return (struct worker_means){.runner = run->options->runner, .mask = &run->signals.mask};
}

/* Of a case that looks for its batch, which one its child tries. */
static void try_tell(const struct run *run, const struct worker *worker)
{
    const struct run_progress *progress = &run->options->progress;
    int64_t batch = worker_batch(worker);
    if (progress->tried != NULL && batch > 0) {
        progress->tried(progress->context, worker->search.case_, batch, run->done, run->result.total);
    }
}

static enum status_code workers_fill(struct run *run)
{
    const struct run_progress *progress = &run->options->progress;
    const struct worker_means means = means_of(run);
    for (int i = 0; i < run->worker_count; i++) {
        struct worker *worker = &run->workers[i];
        const struct gpu_lane *lane = run->lanes.count > 0 ? &run->lanes.lanes[i % run->lanes.count] : NULL;
        struct case_job job;
        if (worker->busy || run->result.stopped || !job_next(run, lane, &job)) {
            continue;
        }
        enum status_code code = worker_start(worker, &job, &means, run->error);
        if (code != STATUS_OK) {
            return code;
        }
        if (progress->started != NULL) {
            progress->started(progress->context, job.case_, job.attempt, run->done, run->result.total);
        }
        try_tell(run, worker);
    }
    return STATUS_OK;
}

/* Counts cases that failed, and stops the run after so many. Attempts that are under way are waited for. */
static void failure_note(struct run *run, int case_number, enum case_status status)
{
    if (case_status_is_failure(status) && !run->failed[case_number]) {
        run->failed[case_number] = true;
        run->failed_count++;
    }
    int most = run->options->max_failures;
    run->result.stopped = most > 0 && run->failed_count >= most && run->done < run->result.total;
}

/* A signal for all processes of a job may come to a child before it comes to the run: then its end says nothing. */
static bool is_going_down(struct run *run, const struct json *line)
{
    enum { GOING_DOWN_MS = 100 };
    if (case_went_down(line) && !run->result.interrupted) {
        run->result.interrupted = run_signals_came(&run->signals, GOING_DOWN_MS);
    }
    return case_went_down(line) && run->result.interrupted;
}

/* The line of an attempt that is whole. */
static enum status_code line_deliver(struct run *run, int case_number, struct json *line, enum case_status status)
{
    const struct run_progress *progress = &run->options->progress;
    if (is_going_down(run, line)) {
        json_release(line);
        return STATUS_OK;
    }
    enum status_code code = record_writer_append(run->writer, line, run->error);
    if (code == STATUS_OK) {
        run->done++;
        run->result.counts[status]++;
        outcome_add(&run->outcome, line);
        failure_note(run, case_number, status);
        if (progress->ended != NULL) {
            progress->ended(progress->context, line, run->done, run->result.total);
        }
    }
    json_release(line);
    return code;
}

/* Never beyond an end that is asked for: then nothing is begun. */
static bool is_to_retry(struct run *run, const struct worker *worker, const struct json *line, enum case_status status)
{
    return worker_may_retry(status) && worker_retry_count(worker) < run->options->retries &&
           !is_going_down(run, line) && !run->result.interrupted && !run->result.stopped;
}

static enum status_code attempt_retry(struct run *run, struct worker *worker, struct json *line)
{
    const struct run_progress *progress = &run->options->progress;
    const struct worker_means means = means_of(run);
    if (progress->warned != NULL) {
        struct text words = {0};
        text_format(&words, "%s: %s; retry %d of %d", worker->first.case_->id,
                    json_string_or(json_get(line, "reason"), json_string_or(json_get(line, "status"), "")),
                    worker_retry_count(worker) + 1, run->options->retries);
        progress->warned(progress->context, text_string(&words));
        text_release(&words);
    }
    enum status_code code = worker_retry(worker, &means, line, run->error);
    if (code == STATUS_OK) {
        try_tell(run, worker);
    }
    return code;
}

/* Its child has ended: the attempt goes on with another, or is recorded. */
static enum status_code worker_finish(struct run *run, struct worker *worker)
{
    struct json *line = NULL;
    enum case_status status = CASE_STATUS_ERROR;
    const struct worker_means means = means_of(run);
    int case_number = worker->job.case_number;
    enum status_code code = worker_go_on(worker, &means, &line, &status, run->error);
    if (code == STATUS_OK && line == NULL) {
        try_tell(run, worker);
    }
    if (code != STATUS_OK || line == NULL) {
        return code;
    }
    if (is_to_retry(run, worker, line, status)) {
        return attempt_retry(run, worker, line);
    }
    code = worker_retries_tell(worker, line, status, run->error);
    if (code != STATUS_OK) {
        json_release(line);
        return code;
    }
    return line_deliver(run, case_number, line, status);
}

/* Waits until something may have happened: a pipe, a signal, a deadline, a child that has closed its pipe. */
static void workers_wait(struct run *run, struct pollfd *polls)
{
    int64_t now = clock_ns(), wait_ms = WAIT_MS_MAXIMUM;
    nfds_t count = 0;
    polls[count++] = (struct pollfd){.fd = run->signals.file, .events = POLLIN};
    for (int i = 0; i < run->worker_count; i++) {
        const struct worker *worker = &run->workers[i];
        if (!worker->busy) {
            continue;
        }
        int64_t left_ms = (worker->child.deadline_ns - now) / 1000000 + 1;
        wait_ms = left_ms < wait_ms ? left_ms : wait_ms;
        if (worker->child.pipe >= 0 && !worker->child.timed_out) {
            polls[count++] = (struct pollfd){.fd = worker->child.pipe, .events = POLLIN};
        } else {
            wait_ms = WAIT_MS_ENDING; /* it is about to end */
        }
    }
    poll(polls, count, wait_ms > WAIT_MS_ENDING ? (int)wait_ms : WAIT_MS_ENDING);
    run->result.interrupted = run->result.interrupted || run_signals_came(&run->signals, 0);
}

static enum status_code workers_tend(struct run *run, int *busy)
{
    *busy = 0;
    for (int i = 0; i < run->worker_count; i++) {
        struct worker *worker = &run->workers[i];
        if (!worker->busy) {
            continue;
        }
        child_tend(&worker->child);
        child_tell(&worker->child, worker->job.case_, &run->options->progress);
        if (!worker->child.ended) {
            (*busy)++;
            continue;
        }
        enum status_code code = worker_finish(run, worker);
        if (code != STATUS_OK) {
            return code;
        }
        *busy += worker->busy ? 1 : 0; /* with the next child of its attempt */
    }
    return STATUS_OK;
}

/* Kills what still runs and waits for it; a second signal ends the waiting. */
static void workers_end(struct run *run)
{
    bool impatient = false;
    int busy = 0;
    for (int i = 0; i < run->worker_count; i++) {
        if (run->workers[i].busy) {
            child_kill(&run->workers[i].child);
        }
    }
    do {
        busy = 0;
        for (int i = 0; i < run->worker_count; i++) {
            struct worker *worker = &run->workers[i];
            if (worker->busy) {
                child_tend(&worker->child);
                busy += !worker->child.ended;
            }
        }
        impatient = busy > 0 && run_signals_came(&run->signals, WAIT_MS_ENDING);
    } while (busy > 0 && !impatient);
    for (int i = 0; i < run->worker_count; i++) {
        worker_release(&run->workers[i]);
    }
}

enum status_code run_attempts_make(struct run *run)
{
    size_t jobs = (size_t)run->worker_count;
    struct pollfd *polls = calloc(jobs + 1, sizeof *polls);
    run->workers = calloc(jobs, sizeof *run->workers);
    enum status_code code = STATUS_OK;
    if (polls == NULL || run->workers == NULL) {
        code = status_set(run->error, STATUS_OUT_OF_MEMORY, "no memory for %zu workers", jobs);
    }
    for (int busy = 1; code == STATUS_OK && busy > 0 && !run->result.interrupted;) {
        code = workers_fill(run);
        if (code == STATUS_OK) {
            workers_wait(run, polls);
            code = workers_tend(run, &busy);
            busy += run->done < run->result.total && !run->result.stopped ? 1 : 0;
        }
    }
    if (run->workers != NULL) {
        workers_end(run);
    }
    free(run->workers);
    free(polls);
    return code;
}

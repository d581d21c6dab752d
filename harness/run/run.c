/* Run: which attempts are made, when, and what is written about them. Not how a case is measured. */
#include "harness/run/run.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/run/case_line.h"
#include "harness/run/child_tell.h"
#include "harness/run/constants_check.h"
#include "harness/run/device_claim.h"
#include "harness/run/device_specs.h"
#include "harness/run/external_estimates.h"
#include "harness/run/gpu_lanes.h"
#include "harness/run/resumption.h"
#include "harness/run/run_check.h"
#include "harness/run/run_line.h"
#include "harness/run/run_signals.h"
#include "harness/run/worker.h"

enum { WAIT_MS_MAXIMUM = 250, WAIT_MS_ENDING = 2 };

struct run {
    const struct run_options *options;
    struct run_options own; /* these, with the lanes of the run */
    struct gpu_lanes lanes; /* of --device cuda:all; none: the workers are alike */
    int worker_count;
    struct record_writer *writer;
    struct worker *workers;
    int next_case, next_attempt; /* what is to be started next */
    int next_number;             /* of that attempt among all of the run */
    int done;
    bool *failed; /* by case of the suite: an attempt at it failed or could not be measured */
    int failed_count;
    struct resumption resumption; /* of the run that goes on; all zero: this one begins */
    struct outcome outcome;       /* of the attempts that have ended */
    struct run_signals signals;
    struct device_claim claim;
    struct external_estimates external;
    struct run_result result;
    struct status *error;
};

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
    return code == STATUS_OK && line != NULL ? line_deliver(run, case_number, line, status) : code;
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

/* Every attempt, until all have ended, a signal comes, or a record cannot be written. */
static enum status_code attempts_make(struct run *run)
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

/* The outcome and its reason, once all attempts that will be made have been. */
static void result_settle(struct run *run)
{
    struct run_result *result = &run->result;
    struct text reason = {0};
    run->outcome.missing_count = result->total - run->done;
    run->outcome.missing_cause = run->outcome.missing_count == 0 ? NULL
                                 : result->stopped               ? OUTCOME_STOPPED
                                                                 : OUTCOME_INTERRUPTED;
    for (int i = 0; i < run->options->suite->case_count; i++) {
        run->outcome.unit =
            case_choice_attempts(run->options->choice, run->options->suite, i) > 1 ? "attempt" : run->outcome.unit;
    }
    result->outcome = outcome_decide(&run->outcome);
    outcome_words_append(&reason, &run->outcome);
    if (result->outcome != RUN_PASS && run->outcome.first.length > 0) {
        text_format(&reason, "; first %s", text_string(&run->outcome.first));
    }
    snprintf(result->reason, sizeof result->reason, "%s", text_string(&reason));
    text_release(&reason);
}

static enum status_code line_append(struct run *run, struct json *line)
{
    enum status_code code = line != NULL ? record_writer_append(run->writer, line, run->error)
                                         : status_set(run->error, STATUS_OUT_OF_MEMORY, "no memory for a record");
    json_release(line);
    return code;
}

/* Which cases were selected, so that those that an interrupted run lacks have a name. */
static enum status_code selection_record(struct run *run)
{
    enum status_code code = STATUS_OK;
    int next = 0;
    while (code == STATUS_OK && next < run->options->suite->case_count) {
        struct json *line = selected_line_make(run->options, &next);
        if (line != NULL && json_count(json_get(line, "ids")) == 0) {
            json_release(line);
        } else {
            code = line_append(run, line);
        }
    }
    return code;
}

/* The run line, the selection, the attempts, the end line. */
static enum status_code run_record(struct run *run)
{
    const struct resumption *resumption = run->resumption.run != NULL ? &run->resumption : NULL;
    bool is_listed = resumption != NULL && resumption->selected_count == run->result.total;
    struct json *line = run_line_make(run->options, &run->claim, run->result.total, resumption);
    snprintf(run->result.run_id, sizeof run->result.run_id, "%s", json_string_or(json_get(line, "run_id"), ""));
    enum status_code code = line_append(run, line);
    if (code == STATUS_OK && !is_listed) {
        code = selection_record(run);
    }
    if (code == STATUS_OK) {
        code =
            external_estimates_make(run->options, &run->signals, &run->external, &run->result.interrupted, run->error);
    }
    if (code == STATUS_OK) {
        code = attempts_make(run);
    }
    if (code == STATUS_OK) {
        result_settle(run);
        code = line_append(run, end_line_make(&run->result, run->done));
    }
    return code;
}

/* As many workers as GPUs, or a multiple of that. */
static enum status_code lanes_find(struct run *run)
{
    enum status_code code = gpu_lanes_find(run->options, &run->signals, &run->lanes, run->error);
    if (code == STATUS_OK && run->lanes.count > 0) {
        run->worker_count = run->lanes.count * run->options->jobs;
        run->own = *run->options;
        run->own.lanes = &run->lanes;
        run->options = &run->own;
        code = children_afford(run->worker_count, run->error);
    }
    return code;
}

static enum status_code devices_claim(struct run *run)
{
    struct device_specs specs = {0};
    enum status_code code = device_specs_collect(run->options, &specs, run->error);
    if (code != STATUS_OK) {
        return code;
    }
    const struct device_claim_request request = {.options = run->options,
                                                 .specs = specs.specs,
                                                 .spec_count = specs.count,
                                                 .case_ = &run->options->suite->cases[0],
                                                 .signals = &run->signals};
    code = device_claim_take(&request, &run->claim, run->error);
    device_specs_release(&specs);
    return code;
}

/* What the interrupted run has done already counts as done. */
static void resumption_take(struct run *run)
{
    const struct resumption *resumption = &run->resumption;
    run->done = resumption->made_count;
    run->outcome = resumption->outcome;
    run->resumption.outcome = (struct outcome){0};
    for (int i = 0; i < CASE_STATUS_COUNT; i++) {
        run->result.counts[i] = resumption->counts[i];
    }
    for (int i = 0; i < run->options->suite->case_count; i++) {
        run->failed[i] = resumption->failed[i];
        run->failed_count += resumption->failed[i] ? 1 : 0;
    }
}

/* Opens the records of the folder, if there are any, and finds the run that goes on. result.finished: none does. */
static enum status_code resumption_begin(struct run *run)
{
    const struct run_options *options = run->options;
    enum status_code code = STATUS_OK;
    bool is_there = record_is_in(options->folder);
    if (is_there) {
        code = record_writer_open(options->folder, &run->writer, run->error);
    }
    if (code == STATUS_OK && is_there) {
        code = resumption_read(options, &run->resumption, run->error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    if (run->resumption.run != NULL) {
        resumption_take(run);
        run->result.stopped =
            options->max_failures > 0 && run->failed_count >= options->max_failures && run->done < run->result.total;
        run->result.finished = resumption_is_finished(&run->resumption) || run->result.stopped;
    }
    resumption_tell(options, &run->resumption, &run->result);
    return STATUS_OK;
}

/* The last run of the folder has nothing left to do: the result is its own. */
static void finished_settle(struct run *run)
{
    snprintf(run->result.run_id, sizeof run->result.run_id, "%s",
             json_string_or(json_get(run->resumption.run, "run_id"), ""));
    result_settle(run);
}

/* Devices, records, attempts. */
static enum status_code run_make(struct run *run)
{
    const struct run_options *options = run->options;
    enum status_code code = options->all_gpus ? lanes_find(run) : STATUS_OK;
    if (code == STATUS_OK) {
        code = devices_claim(run);
    }
    if (code == STATUS_OK) {
        code = constants_check(options, run->claim.devices, run->error);
    }
    if (code == STATUS_OK && run->resumption.run != NULL) {
        code = resumption_devices_check(options, &run->resumption, run->claim.devices, run->error);
    }
    if (code == STATUS_OK && run->writer == NULL) {
        code = record_writer_open(options->folder, &run->writer, run->error);
    }
    if (code == STATUS_OK && options->shards != NULL) {
        code = shard_plan_keep(options->shards, options->folder, run->error);
    }
    if (code == STATUS_OK && run->resumption.run != NULL) {
        code = record_writer_cut(run->writer, run->resumption.whole_bytes, run->error);
    }
    return code == STATUS_OK ? run_record(run) : code;
}

static void run_release(struct run *run)
{
    record_writer_close(run->writer);
    device_claim_release(&run->claim);
    external_estimates_release(&run->external);
    run_signals_close(&run->signals);
    outcome_release(&run->outcome);
    resumption_release(&run->resumption);
    gpu_lanes_release(&run->lanes);
    free(run->failed);
}

enum status_code run_suite(const struct run_options *options, struct run_result *result, struct status *error)
{
    struct run run = {.options = options, .worker_count = options->jobs, .error = error};
    *result = (struct run_result){0};
    enum status_code code = run_options_check(options, &run.result.total, error);
    if (code == STATUS_OK) {
        code = children_afford(options->jobs, error);
    }
    if (code == STATUS_OK) {
        code = run_signals_open(&run.signals, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    run.failed = calloc((size_t)options->suite->case_count, sizeof *run.failed);
    if (run.failed == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a run");
    }
    if (code == STATUS_OK && options->resume) {
        code = resumption_begin(&run);
    }
    if (code == STATUS_OK && run.result.finished) {
        finished_settle(&run);
    } else if (code == STATUS_OK) {
        code = run_make(&run);
    }
    if (code == STATUS_OK) {
        *result = run.result;
    } else if (code == STATUS_IO && run.done > 0) {
        status_extend(error, "; %d of %d cases are in the records", run.done, run.result.total);
    }
    memcpy(result->run_id, run.result.run_id, sizeof result->run_id);
    run_release(&run);
    return code;
}

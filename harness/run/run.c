/* Run: which attempts are made, when, and what is written about them. Not how a case is measured. */
#include "harness/run/run.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/base/nearest.h"
#include "harness/device/device_spec.h"
#include "harness/estimate/estimate.h"
#include "harness/run/case_line.h"
#include "harness/run/constants_check.h"
#include "harness/run/device_claim.h"
#include "harness/run/device_specs.h"
#include "harness/run/external_estimates.h"
#include "harness/run/run_line.h"
#include "harness/run/run_signals.h"
#include "harness/run/worker.h"
#include "harness/suite/suite_external.h"

enum { WAIT_MS_MAXIMUM = 250, WAIT_MS_ENDING = 2 };

struct run {
    const struct run_options *options;
    struct record_writer *writer;
    struct worker *workers;
    int next_case, next_attempt; /* what is to be started next */
    int done;
    struct outcome outcome; /* of the attempts that have ended */
    struct run_signals signals;
    struct device_claim claim;
    struct external_estimates external;
    struct run_result result;
    struct status *error;
};

static bool case_selected(const struct run_options *options, int index)
{
    return case_choice_attempts(options->choice, options->suite, index) > 0;
}

static bool external_is_known(const struct suite *suite, const char *name)
{
    for (int i = 0; i < suite->external_count; i++) {
        if (strcmp(suite->externals[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Two estimators of one name could not be told apart in records. */
static enum status_code externals_check(const struct suite *suite, const struct case_runner *runner,
                                        struct status *error)
{
    for (int i = 0; i < suite->external_count; i++) {
        const struct suite_external *external = &suite->externals[i];
        if (runner->knows_estimator(external->name)) {
            const struct file_place place = {suite->path, external->line, external->column};
            return status_set_at(error, STATUS_INVALID, place,
                                 "external: '%s' is the name of an estimator of assay's own; choose another",
                                 external->name);
        }
    }
    return STATUS_OK;
}

enum { ESTIMATORS_MAXIMUM = 64 };

static enum status_code estimator_unknown(const struct suite *suite, const struct suite_tolerance *entry,
                                          struct status *error)
{
    const char *names[ESTIMATORS_MAXIMUM + EXTERNALS_MAXIMUM + 1] = {NULL}, *meant[NAMES_MEANT_MAXIMUM];
    int count = 0;
    for (; count < ESTIMATORS_MAXIMUM && estimator_at(count) != NULL; count++) {
        names[count] = estimator_at(count)->name;
    }
    for (int i = 0; i < suite->external_count; i++) {
        names[count++] = suite->externals[i].name;
    }
    struct text words = {0};
    names_meant_append(meant, names_meant(entry->estimator, names, meant), "'", "'", &words);
    enum status_code code =
        status_set_at(error, STATUS_INVALID, (struct file_place){suite->path, entry->line, entry->column},
                      "there is no estimator '%s'; %s%s%s", entry->estimator,
                      words.length > 0 ? "did you mean " : "assay estimators lists them", text_string(&words),
                      words.length > 0 ? "?" : "");
    text_release(&words);
    return code;
}

static enum status_code case_tolerances_check(const struct suite *suite, const struct suite_case *case_,
                                              const struct case_runner *runner, struct status *error)
{
    for (int i = 0; i < case_->settings->tolerance_count; i++) {
        const struct suite_tolerance *entry = &case_->settings->tolerances[i];
        if (strcmp(entry->estimator, "expected") != 0 && strcmp(entry->estimator, TOLERANCE_CALIBRATED_GPU) != 0 &&
            !external_is_known(suite, entry->estimator) && !runner->knows_estimator(entry->estimator)) {
            return estimator_unknown(suite, entry, error);
        }
    }
    return STATUS_OK;
}

enum status_code suite_tolerances_check(const struct suite *suite, const struct case_runner *runner,
                                        struct status *error)
{
    enum status_code code = runner->knows_estimator != NULL ? externals_check(suite, runner, error) : STATUS_OK;
    for (int i = 0; i < suite->case_count && code == STATUS_OK && runner->knows_estimator != NULL; i++) {
        code = case_tolerances_check(suite, &suite->cases[i], runner, error);
    }
    return code;
}

/* Without a bound there is no largest batch on meta, and a search there would have no end. */
static enum status_code searches_check(const struct run_options *options, struct status *error)
{
    for (int i = 0; i < options->suite->case_count; i++) {
        const struct suite_case *case_ = &options->suite->cases[i];
        struct device_spec spec = {0};
        bool is_meta = case_selected(options, i) && case_searches(case_) &&
                       device_spec_parse(device_spec_of(options, case_), &spec, NULL) == STATUS_OK &&
                       spec.kind == DEVICE_KIND_META;
        if (is_meta && spec.memory_bytes == 0 && case_->settings->memory_bytes == 0) {
            return status_set(error, STATUS_INVALID,
                              "%s: %s looks for a batch, and on meta without a bound every batch runs; give it "
                              "'memory', or --device meta:mem=SIZE",
                              options->suite->path, case_->id);
        }
    }
    return STATUS_OK;
}

static enum status_code options_check(const struct run_options *options, int *total, struct status *error)
{
    *total = 0;
    if (options->jobs < 1 || options->jobs > RUN_JOBS_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "%d jobs at a time are out of range; give 1 to %d", options->jobs,
                          RUN_JOBS_MAXIMUM);
    }
    if (options->proof != RUN_PROOF_NONE && options->share_device) {
        return status_set(error, STATUS_INVALID,
                          "a proof fills the device, and others share it; leave out --prove or --share-device");
    }
    enum status_code code = suite_tolerances_check(options->suite, options->runner, error);
    if (code == STATUS_OK) {
        code = searches_check(options, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    for (int i = 0; i < options->suite->case_count; i++) {
        *total += case_choice_attempts(options->choice, options->suite, i);
    }
    if (*total == 0) {
        return status_set(error, STATUS_INVALID, "no case of %s is left to measure", options->suite->path);
    }
    return STATUS_OK;
}

/* The next attempt, or false if all have been started. */
static bool job_next(struct run *run, struct case_job *job)
{
    const struct suite *suite = run->options->suite;
    while (run->next_case < suite->case_count) {
        const struct suite_case *case_ = &suite->cases[run->next_case];
        if (run->next_attempt < case_choice_attempts(run->options->choice, suite, run->next_case)) {
            run->next_attempt++;
            *job =
                (struct case_job){.case_ = case_,
                                  .device = device_spec_of(run->options, case_),
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
    for (int i = 0; i < run->options->jobs; i++) {
        struct worker *worker = &run->workers[i];
        struct case_job job;
        if (worker->busy || !job_next(run, &job)) {
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

/* The line of an attempt that is whole. */
static enum status_code line_deliver(struct run *run, struct json *line, enum case_status status)
{
    const struct run_progress *progress = &run->options->progress;
    enum status_code code = record_writer_append(run->writer, line, run->error);
    if (code == STATUS_OK) {
        run->done++;
        run->result.counts[status]++;
        outcome_add(&run->outcome, line);
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
    enum status_code code = worker_go_on(worker, &means, &line, &status, run->error);
    if (code == STATUS_OK && line == NULL) {
        try_tell(run, worker);
    }
    return code == STATUS_OK && line != NULL ? line_deliver(run, line, status) : code;
}

/* Waits until something may have happened: a pipe, a signal, a deadline, a child that has closed its pipe. */
static void workers_wait(struct run *run, struct pollfd *polls)
{
    int64_t now = clock_ns(), wait_ms = WAIT_MS_MAXIMUM;
    nfds_t count = 0;
    polls[count++] = (struct pollfd){.fd = run->signals.file, .events = POLLIN};
    for (int i = 0; i < run->options->jobs; i++) {
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
    for (int i = 0; i < run->options->jobs; i++) {
        struct worker *worker = &run->workers[i];
        if (!worker->busy) {
            continue;
        }
        child_tend(&worker->child);
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
    for (int i = 0; i < run->options->jobs; i++) {
        if (run->workers[i].busy) {
            child_kill(&run->workers[i].child);
        }
    }
    do {
        busy = 0;
        for (int i = 0; i < run->options->jobs; i++) {
            struct worker *worker = &run->workers[i];
            if (worker->busy) {
                child_tend(&worker->child);
                busy += !worker->child.ended;
            }
        }
        impatient = busy > 0 && run_signals_came(&run->signals, WAIT_MS_ENDING);
    } while (busy > 0 && !impatient);
    for (int i = 0; i < run->options->jobs; i++) {
        worker_release(&run->workers[i]);
    }
}

/* Every attempt, until all have ended, a signal comes, or a record cannot be written. */
static enum status_code attempts_make(struct run *run)
{
    size_t jobs = (size_t)run->options->jobs;
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
            busy += run->done < run->result.total ? 1 : 0;
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
    run->outcome.missing_cause = run->outcome.missing_count > 0 ? OUTCOME_INTERRUPTED : NULL;
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
    enum status_code code = line_append(run, run_line_make(run->options, &run->claim, run->result.total));
    if (code == STATUS_OK) {
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

enum status_code run_suite(const struct run_options *options, struct run_result *result, struct status *error)
{
    struct run run = {.options = options, .error = error};
    enum status_code code = options_check(options, &run.result.total, error);
    if (code == STATUS_OK) {
        code = children_afford(options->jobs, error);
    }
    if (code == STATUS_OK) {
        code = run_signals_open(&run.signals, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    code = devices_claim(&run);
    if (code == STATUS_OK) {
        code = constants_check(options, run.claim.devices, error);
    }
    if (code == STATUS_OK) {
        code = record_writer_open(options->folder, &run.writer, error);
    }
    if (code == STATUS_OK) {
        code = run_record(&run);
    }
    record_writer_close(run.writer);
    device_claim_release(&run.claim);
    external_estimates_release(&run.external);
    run_signals_close(&run.signals);
    outcome_release(&run.outcome);
    if (code == STATUS_OK) {
        *result = run.result;
    } else if (code == STATUS_IO && run.done > 0) {
        status_extend(error, "; %d of %d cases are in the records", run.done, run.result.total);
    }
    return code;
}

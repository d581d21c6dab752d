/* Run: what is claimed, read and written before and behind its attempts, and what they come to. Which attempt is made
 * when is run_workers.c's; not how a case is measured. */
#include "harness/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/run/constants_check.h"
#include "harness/run/device_specs.h"
#include "harness/run/run_check.h"
#include "harness/run/run_inside.h"
#include "harness/run/run_line.h"

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
        code = run_attempts_make(run);
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
                                                 .answers = run->lanes.count > 0 ? run->lanes.answers : NULL,
                                                 .case_ = &run->options->suite->cases[0],
                                                 .signals = &run->signals,
                                                 .looks_only = run->result.finished};
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
    if (!run->result.finished) {
        resumption_tell(options, &run->resumption, &run->result);
    }
    return STATUS_OK;
}

/* What the attempts that are there were made on and judged by is what is here now. */
static enum status_code resumption_check(struct run *run)
{
    enum status_code code = resumption_devices_check(run->options, &run->resumption, run->claim.devices, run->error);
    return code == STATUS_OK ? resumption_constants_check(run->options, &run->resumption, run->error) : code;
}

/* The last run of the folder has nothing left to do: the result is its own, if it would be made of the same today. A
 * night that begins with --resume must not pass for good because one of last week, under another driver, did. */
static enum status_code finished_settle(struct run *run)
{
    enum status_code code = run->options->all_gpus ? lanes_find(run) : STATUS_OK;
    if (code == STATUS_OK) {
        code = devices_claim(run);
    }
    if (code == STATUS_OK) {
        code = resumption_check(run);
    }
    if (code != STATUS_OK) {
        return code;
    }
    snprintf(run->result.run_id, sizeof run->result.run_id, "%s",
             json_string_or(json_get(run->resumption.run, "run_id"), ""));
    resumption_tell(run->options, &run->resumption, &run->result);
    result_settle(run);
    return STATUS_OK;
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
        code = constants_check(run->options, run->claim.devices, run->error);
    }
    if (code == STATUS_OK && run->resumption.run != NULL) {
        code = resumption_check(run);
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
        code = finished_settle(&run);
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

/* Assumptions: what records say of a GPU, gathered line by line. What is made of it is in assumptions_rows.c. */
#include "harness/report/assumptions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/record/constants.h"
#include "harness/record/record.h"
#include "harness/report/assumptions_view.h"

static void spread_add(struct figure_spread *spread, int64_t value)
{
    spread->low = spread->known_count == 0 || value < spread->low ? value : spread->low;
    spread->high = spread->known_count == 0 || value > spread->high ? value : spread->high;
    spread->run_low = spread->run_count == 0 || value < spread->run_low ? value : spread->run_low;
    spread->run_high = spread->run_count == 0 || value > spread->run_high ? value : spread->run_high;
    spread->known_count++;
    spread->run_count++;
    int64_t width = spread->run_high - spread->run_low;
    spread->widest = width > spread->widest ? width : spread->widest;
}

/* Adds a figure, or that it is null. */
static bool figure_add(struct figure_spread *spread, const struct json *figure, int64_t less)
{
    if (json_kind(figure) != JSON_KIND_INTEGER) {
        spread->unknown_count++;
        return false;
    }
    spread_add(spread, json_integer_or(figure, 0) - less);
    return true;
}

static void run_begin(struct assumption_evidence *evidence)
{
    struct figure_spread *const spreads[] = {
        &evidence->baseline,  &evidence->context, &evidence->process, &evidence->apart,
        &evidence->remainder, &evidence->kernel,  &evidence->library, &evidence->start_ms,
    };
    for (size_t i = 0; i < sizeof spreads / sizeof spreads[0]; i++) {
        spreads[i]->run_count = 0;
    }
}

static const char *string_of(const struct json *object, const char *key)
{
    return json_string_or(json_get(object, key), "");
}

static void first_note(char *first, size_t bytes, const struct json *line, const char *why)
{
    if (first[0] == '\0') {
        snprintf(first, bytes, "%s: %s", string_of(line, "id"), why);
    }
}

/* ---- stages ---- */

static void stage_take(struct assumption_evidence *evidence, const struct json *stage)
{
    const struct json *items = json_get(stage, "device_items");
    const struct json *baseline = json_get(items, "baseline_bytes");
    int64_t reserved = json_integer_or(json_get(stage, "reserved_bytes"), 0);
    int64_t process = json_integer_or(json_get(stage, "process_bytes"), -1);
    if (json_kind(json_get(stage, "device_bytes")) != JSON_KIND_INTEGER) {
        return; /* of a stage that another device ran */
    }
    if (figure_add(&evidence->process, json_get(stage, "process_bytes"), 0)) {
        evidence->under_reserved_count += process < reserved ? 1 : 0;
        if (json_kind(baseline) == JSON_KIND_INTEGER) {
            figure_add(&evidence->apart, json_get(stage, "device_bytes"), json_integer_or(baseline, 0) + process);
        }
    }
    if (json_kind(json_get(items, "context_bytes")) == JSON_KIND_INTEGER) { /* else it is in the remainder */
        figure_add(&evidence->remainder, json_get(items, "remainder_bytes"), 0);
    }
    figure_add(&evidence->kernel, json_get(items, "kernel_bytes"), 0);
    if (json_integer_or(json_get(items, "library_bytes"), 0) != 0) {
        figure_add(&evidence->library, json_get(items, "library_bytes"), 0);
    }
}

/* The highest of the stages; -1: none is known. */
static int64_t stages_highest(const struct json *line, const char *key)
{
    const struct json *stages = json_get(line, "stages");
    int64_t highest = -1;
    for (const char *name = json_key_after(stages, NULL); name != NULL; name = json_key_after(stages, name)) {
        int64_t figure = json_integer_or(json_get(json_get(stages, name), key), -1);
        highest = figure > highest ? figure : highest;
    }
    return highest;
}

/* ---- attempts ---- */

static bool attempt_take(struct assumptions *assumptions, const struct json *line, int run)
{
    struct assumption_evidence *evidence = &assumptions->evidence;
    int64_t device = stages_highest(line, "device_bytes"), process = stages_highest(line, "process_bytes");
    size_t before = evidence->ids.count;
    int number = name_table_add(&evidence->ids, &assumptions->arena, string_of(line, "id"));
    struct attempt_spread *attempts =
        array_extend(evidence->attempts, before, &evidence->attempt_room, sizeof *attempts);
    evidence->attempts = attempts != NULL ? attempts : evidence->attempts;
    if (number < 0 || attempts == NULL) {
        return false;
    }
    struct attempt_spread *of = &attempts[number];
    if ((size_t)number == before || of->run != run) {
        *of = (struct attempt_spread){.run = run};
    }
    of->count++;
    if (device >= 0) {
        spread_add(&of->device, device);
    }
    if (process >= 0) {
        spread_add(&of->process, process);
    }
    int64_t width = of->device.widest > of->process.widest ? of->device.widest : of->process.widest;
    evidence->repeated_count += of->count == 2 ? 2 : of->count > 2 ? 1 : 0;
    evidence->repeated_widest = width > evidence->repeated_widest ? width : evidence->repeated_widest;
    return true;
}

/* ---- predictions ---- */

/* What replay said with constants that hold for this device; others say nothing of it. */
static void verdicts_take(struct assumption_evidence *evidence, const struct json *line)
{
    const struct json *constants = json_get(line, "constants"), *verdicts = json_get(line, "verdicts");
    const char *mismatch = json_string_or(json_get(constants, "mismatch"), NULL);
    if (mismatch != NULL) {
        snprintf(evidence->mismatch, sizeof evidence->mismatch, "%s", mismatch);
    }
    if (json_kind(constants) != JSON_KIND_OBJECT || mismatch != NULL ||
        json_boolean_or(json_get(constants, "calibrated"), false)) {
        return;
    }
    for (size_t i = 0; i < json_count(verdicts); i++) {
        const struct json *verdict = json_at(verdicts, i), *error = json_get(verdict, "signed_error_bytes");
        if (strcmp(string_of(verdict, "estimator"), "replay") != 0 || json_kind(error) != JSON_KIND_INTEGER) {
            continue;
        }
        if (strcmp(string_of(verdict, "quantity"), "device_bytes") == 0) {
            figure_add(&evidence->device_error, error, 0);
        } else if (strcmp(string_of(verdict, "quantity"), "process_bytes") == 0) {
            figure_add(&evidence->process_error, error, 0);
        }
    }
}

/* ---- tries ---- */

static void trial_add(struct trial_sum *sum, const struct json *line, bool right, const char *what)
{
    sum->count++;
    sum->right_count += right ? 1 : 0;
    if (!right) {
        first_note(sum->first, sizeof sum->first, line, what);
    }
}

static void limit_try_take(struct trial_sum *sum, const struct json *line, const struct json *limit, bool less)
{
    const struct json *ran = json_get(limit, less ? "less_runs" : "runs");
    const struct json *predicted = json_get(limit, less ? "predicted_less_runs" : "predicted_runs");
    if (json_kind(predicted) != JSON_KIND_BOOLEAN) {
        return; /* it was not to be tried */
    }
    if (json_kind(ran) != JSON_KIND_BOOLEAN) {
        sum->other_count++;
        trial_add(sum, line, false, json_string_or(json_get(limit, "note"), "it neither ran nor was refused"));
        return;
    }
    bool runs = json_boolean_or(ran, false), right = runs == json_boolean_or(predicted, false);
    sum->refused_count += runs ? 0 : 1;
    trial_add(sum, line, right,
              less   ? "it ran with a granule less than it needs"
              : runs ? "it ran where it was to be refused"
                     : "it was refused with the bytes that it needs");
}

static void proof_take(struct assumption_evidence *evidence, const struct json *line)
{
    const struct json *limits = json_get(json_get(line, "proof"), "limits");
    const struct json *taken = json_get(json_get(line, "proof"), "taken_bytes");
    if (json_kind(taken) == JSON_KIND_INTEGER) {
        evidence->taken_bytes = json_integer_or(taken, 0);
        evidence->has_other_granule = true;
        return; /* nothing was tried */
    }
    for (size_t i = 0; i < json_count(limits); i++) {
        limit_try_take(&evidence->proof, line, json_at(limits, i), false);
        limit_try_take(&evidence->proof, line, json_at(limits, i), true);
    }
}

static void search_take(struct assumption_evidence *evidence, const struct json *line)
{
    const struct json *tries = json_get(json_get(line, "search"), "tries");
    for (size_t i = 0; i < json_count(tries); i++) {
        const struct json *one = json_at(tries, i), *predicted = json_get(one, "predicted_runs");
        const char *ended = string_of(one, "ended");
        bool refused = strcmp(ended, "refused") == 0, runs = !refused && strcmp(ended, "ran") == 0;
        char what[160];
        evidence->search.refused_count += refused ? 1 : 0;
        evidence->search.other_count += refused || runs ? 0 : 1;
        snprintf(what, sizeof what, "batch %lld ended in '%s', and was predicted to %s",
                 (long long)json_integer_or(json_get(one, "batch"), 0), ended,
                 json_boolean_or(predicted, false) ? "run" : "be refused");
        bool right = (refused || runs) &&
                     (json_kind(predicted) != JSON_KIND_BOOLEAN || json_boolean_or(predicted, false) == runs);
        trial_add(&evidence->search, line, right, what);
    }
}

/* ---- lines ---- */

static void device_note(struct assumption_evidence *evidence, const struct json *device)
{
    snprintf(evidence->device, sizeof evidence->device, "%s, driver %s, %s", string_of(device, "name"),
             json_string_or(json_get(device, "driver"), "unknown"),
             json_string_or(json_get(device, "runtime"), "runtime unknown"));
    snprintf(evidence->uuid, sizeof evidence->uuid, "%s", string_of(device, "uuid"));
    snprintf(evidence->name, sizeof evidence->name, "%s", string_of(device, "name"));
}

/* Whether the figures of the whole device are this case's; notes why not. */
static bool line_is_usable(struct assumption_evidence *evidence, const struct json *line)
{
    const struct json *validity = json_get(line, "validity");
    const char *status = string_of(line, "status");
    evidence->line_count++;
    if (strcmp(status, "ok") != 0 && strcmp(status, "fail") != 0) {
        evidence->broken_count++;
        first_note(evidence->broken, sizeof evidence->broken, line, string_of(line, "reason"));
    }
    if (json_boolean_or(json_get(json_get(line, "device"), "shared"), false)) {
        evidence->shared_count++;
        return false;
    }
    if (!json_boolean_or(json_get(validity, "valid"), true)) {
        evidence->disturbed_count++;
        first_note(evidence->disturbed, sizeof evidence->disturbed, line,
                   json_string_or(json_at(json_get(validity, "reasons"), 0), "its row is invalid"));
        return false;
    }
    if (strcmp(status, "fail") == 0) {
        evidence->failed_count++;
        first_note(evidence->failed, sizeof evidence->failed, line, string_of(line, "reason"));
    }
    return strcmp(status, "ok") == 0 || strcmp(status, "fail") == 0;
}

/* Skipped, or measured on something that is no GPU. A case without a device is one that the GPU broke. */
static bool line_is_elsewhere(struct assumption_evidence *evidence, const struct json *line)
{
    bool skipped = strcmp(string_of(line, "status"), "skip") == 0;
    const char *kind = json_string_or(json_get(json_get(line, "device"), "kind"), "cuda");
    if (skipped) {
        first_note(evidence->skipped, sizeof evidence->skipped, line, string_of(line, "reason"));
    }
    return skipped || strcmp(kind, "cuda") != 0;
}

static bool line_take(struct assumptions *assumptions, const struct json *line, int run, bool first)
{
    struct assumption_evidence *evidence = &assumptions->evidence;
    const struct json *device = json_get(line, "device"), *context = json_get(line, "context");
    const struct json *stages = json_get(line, "stages");
    if (line_is_elsewhere(evidence, line)) {
        return true;
    }
    if (json_kind(device) == JSON_KIND_OBJECT) {
        device_note(evidence, device);
    }
    if (!line_is_usable(evidence, line)) {
        return true;
    }
    evidence->usable_count++;
    bool searched = json_kind(json_get(line, "search")) == JSON_KIND_OBJECT;
    if (first && !searched) {
        spread_add(&evidence->start_ms, (int64_t)(json_real_or(json_get(line, "duration_s"), 0) * 1e3));
    }
    if (json_kind(json_get(context, "device_bytes")) == JSON_KIND_INTEGER &&
        figure_add(&evidence->baseline, json_get(context, "baseline_bytes"), 0)) {
        figure_add(&evidence->context, json_get(context, "device_bytes"),
                   json_integer_or(json_get(context, "baseline_bytes"), 0));
    }
    for (const char *name = json_key_after(stages, NULL); name != NULL; name = json_key_after(stages, name)) {
        stage_take(evidence, json_get(stages, name));
    }
    verdicts_take(evidence, line);
    proof_take(evidence, line);
    search_take(evidence, line);
    return searched || attempt_take(assumptions, line, run);
}

/* A later run than those that were read so far makes them count no more, if only the last is asked for. */
static void evidence_clear(struct assumptions *assumptions)
{
    struct assumption_evidence *evidence = &assumptions->evidence;
    name_table_release(&evidence->ids);
    free(evidence->attempts);
    *evidence = (struct assumption_evidence){0};
}

static enum status_code stream_take(struct record_stream *stream, bool last_run, struct assumptions *assumptions,
                                    struct status *error)
{
    struct record_line line = {0};
    int run = -1;
    bool first = true;
    enum status_code code = record_stream_next(stream, &line, error);
    while (code == STATUS_OK && line.type != RECORD_LINE_NONE) {
        if (line.run != run) {
            run = line.run;
            first = true;
            run_begin(&assumptions->evidence);
            if (last_run) {
                evidence_clear(assumptions);
            }
        }
        if (line.type == RECORD_LINE_CASE) {
            if (!line_take(assumptions, line.value, run, first)) {
                return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the records");
            }
            first = false;
        }
        code = record_stream_next(stream, &line, error);
    }
    return code;
}

enum status_code assumptions_read(const char *path, bool last_run, const char *reference_dir,
                                  struct assumptions **assumptions, struct status *error)
{
    struct record_stream *stream = NULL;
    struct assumptions *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory for its records", path);
    }
    enum status_code code = record_stream_open(path, &stream, error);
    if (code == STATUS_OK) {
        code = stream_take(stream, last_run, made, error);
    }
    record_stream_close(stream);
    if (code != STATUS_OK) {
        assumptions_release(made);
        return code;
    }
    made->evidence.class_is_measured =
        reference_dir != NULL && device_class_is_measured(reference_dir, "cuda", made->evidence.name);
    assumption_rows_judge(made);
    *assumptions = made;
    return STATUS_OK;
}

void assumptions_release(struct assumptions *assumptions)
{
    if (assumptions == NULL) {
        return;
    }
    for (int i = 0; i < ASSUMPTION_ROWS_MAXIMUM; i++) {
        text_release(&assumptions->seen[i]);
    }
    evidence_clear(assumptions);
    arena_release(&assumptions->arena);
    free(assumptions);
}

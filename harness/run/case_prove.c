/* Case proof, the child's side: figures to bounds, and a case under one bound. What follows from it is decided in
 * proof.c. */
#include "harness/run/case_prove.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/device/ballast.h"
#include "harness/record/quantity.h"
#include "harness/replay/least_memory.h"
#include "harness/replay/replay.h"
#include "harness/run/measuring.h"
#include "models/workload/workload_tape.h"

static enum status_code tape_prepare(const struct measuring *measuring, struct tape **tape, struct status *error)
{
    return workload_tape(&measuring->model.config, &measuring->skeleton, &measuring->job->case_->identity.workload,
                         measuring->target, tape, error);
}

/* -- the plan */

struct planning {
    const struct tape_view *view;
    struct least_memory least;
    struct json *limits; /* NULL: memory ran out */
    struct status *error;
};

/* What is not less than the case can take without a refusal is not tried by replay: it runs. */
static enum status_code bound_predict(const struct planning *planning, int64_t bytes, bool *runs)
{
    *runs = bytes >= planning->least.held_bytes;
    return *runs || bytes < 1 ? STATUS_OK : least_memory_try(planning->view, bytes, runs, planning->error);
}

/* with_less: one step less is tried too. */
static enum status_code limit_add(struct planning *planning, const char *estimator, const char *quantity, int64_t bytes,
                                  bool with_less)
{
    bool runs = false, less_runs = false;
    enum status_code code = bound_predict(planning, bytes, &runs);
    if (code == STATUS_OK && with_less) {
        code = bound_predict(planning, bytes - LEAST_MEMORY_STEP_BYTES, &less_runs);
    }
    if (code != STATUS_OK) {
        return code;
    }
    struct json *limit = json_object_new();
    bool made = json_set(limit, "estimator", json_string_new(estimator)) &&
                json_set(limit, "quantity", json_string_new(quantity)) &&
                json_set(limit, "bytes", json_integer_new(bytes)) &&
                json_set(limit, "predicted_runs", json_boolean_new(runs)) &&
                json_set(limit, "predicted_less_runs", with_less ? json_boolean_new(less_runs) : json_null_new());
    made = json_append(planning->limits, json_made(limit, made));
    return made ? STATUS_OK : status_set(planning->error, STATUS_OUT_OF_MEMORY, "the host has no memory left");
}

/* As in the league: an estimator's total, or else its allocated peak. */
static enum status_code estimators_add(struct planning *planning, const struct json *estimates)
{
    enum status_code code = STATUS_OK;
    const char *name = NULL;
    while (code == STATUS_OK && (name = json_key_after(estimates, name)) != NULL) {
        const char *const quantities[] = {quantity_name(QUANTITY_TOTAL_BYTES),
                                          quantity_name(QUANTITY_ALLOCATED_BYTES_PEAK)};
        for (size_t i = 0; strcmp(name, "replay") != 0 && strcmp(name, "expected") != 0 && i < 2; i++) {
            int64_t bytes = json_integer_or(json_get(json_get(estimates, name), quantities[i]), -1);
            if (bytes >= 0) {
                code = limit_add(planning, name, quantities[i], bytes, false);
                break;
            }
        }
    }
    return code;
}

static enum status_code limits_add(struct planning *planning, const struct case_job *job)
{
    const struct json *estimates = json_get(job->line, "estimates");
    const char *reserved = quantity_name(QUANTITY_RESERVED_BYTES_PEAK);
    int64_t reserved_bytes = json_integer_or(json_get(json_get(estimates, "replay"), reserved), -1);
    enum status_code code = limit_add(planning, "replay", "least_bytes", planning->least.bytes, true);
    if (code == STATUS_OK && reserved_bytes >= 0) {
        code = limit_add(planning, "replay", reserved, reserved_bytes, true);
    }
    return code == STATUS_OK && job->proof == RUN_PROOF_ESTIMATORS ? estimators_add(planning, estimates) : code;
}

/* What bounds the search: the bound that the case was measured with; else what its segments held then, which on a GPU
 * may be less than they would hold on a larger one. */
static int64_t search_bound(const struct json *line)
{
    struct device_spec spec = {0};
    const char *words = json_string_or(json_get(json_get(line, "device"), "spec"), "auto");
    bool bounded = device_spec_parse(words, &spec, NULL) == STATUS_OK && spec.memory_bytes > 0;
    return bounded ? spec.memory_bytes : json_integer_or(json_get(line, level_peak_key(LEVEL_RESERVED)), 0);
}

static enum status_code plan_send(const struct measuring *measuring, const struct planning *planning,
                                  struct status *error)
{
    struct json *proof = json_object_new(), *object = json_object_new();
    bool made =
        json_set(proof, "granule_bytes", json_integer_new(LEAST_MEMORY_STEP_BYTES)) &&
        json_set(proof, "least_bytes", json_integer_new(planning->least.bytes)) &&
        json_set(proof, "larger_run", planning->least.is_threshold ? json_boolean_new(true) : json_null_new()) &&
        json_set(proof, "limits", json_share(planning->limits));
    made = json_set(object, "proof", json_made(proof, made));
    return measuring_send(measuring, json_made(object, made), error);
}

static enum status_code plan_make(struct measuring *measuring, struct status *error)
{
    const struct case_job *job = measuring->job;
    struct tape *tape = NULL;
    struct planning planning = {.limits = json_array_new(), .error = error};
    enum status_code code =
        target_find(json_string_or(json_get(json_get(job->line, "device"), "target"), ""), &measuring->target, error);
    if (code == STATUS_OK) {
        code = tape_prepare(measuring, &tape, error);
    }
    if (code == STATUS_OK) {
        struct tape_view view = tape_view(tape);
        planning.view = &view;
        code = least_memory_find(&view, search_bound(job->line), &planning.least, error);
        if (code == STATUS_OK) {
            code = limits_add(&planning, job);
        }
    }
    if (code == STATUS_OK) {
        code = plan_send(measuring, &planning, error);
    }
    json_release(planning.limits);
    tape_release(tape);
    return code;
}

/* -- a try */

static enum status_code outcome_send(const struct measuring *measuring, bool runs, const struct status *refusal,
                                     struct status *error)
{
    char line[STATUS_LINE_BYTES];
    struct json *object = json_object_new();
    bool made = json_set(object, "runs", json_boolean_new(runs)) &&
                json_set(object, "refusal", runs ? json_null_new() : json_string_new(status_line(refusal, line)));
    return measuring_send(measuring, json_made(object, made), error);
}

/* Whatever refuses memory counts: a segment, a library, a kernel. */
static enum status_code bounded_replay(const struct measuring *measuring, const struct tape_view *view,
                                       struct status *error)
{
    struct replay_result result;
    struct status refusal = {0};
    enum status_code code = replay_run(view, measuring->device, NULL, &result, &refusal);
    if (code != STATUS_OK && code != STATUS_OUT_OF_MEMORY) {
        return status_copy(error, code, &refusal);
    }
    return outcome_send(measuring, code == STATUS_OK, &refusal, error);
}

/* A driver that hands out memory in other granules than those by which the least memory was found: how much a bound
 * leaves there is not known. Told as taken_bytes, so that it is no fault of the case. */
static enum status_code granule_check(const struct measuring *measuring, struct status *error)
{
    char taken[SIZE_TEXT_BYTES];
    int64_t bytes = 0;
    enum status_code code = ballast_step_taken(measuring->device, &bytes, error);
    if (code != STATUS_OK || bytes < 0 || bytes == BALLAST_STEP_BYTES) {
        return code;
    }
    struct json *object = json_object_new();
    code =
        measuring_send(measuring, json_made(object, json_set(object, "taken_bytes", json_integer_new(bytes))), error);
    return code != STATUS_OK
               ? code
               : status_set(
                     error, STATUS_INVALID,
                     "the driver takes %s for a segment of 2 MiB, so that nobody can say what is left for others; "
                     "the bytes are those of a driver that hands out 2 MiB",
                     size_format(bytes, taken));
}

/* On a device that has no bound of its own. */
static enum status_code filled_replay(const struct measuring *measuring, const struct tape_view *view,
                                      struct status *error)
{
    struct ballast *ballast = calloc(1, sizeof *ballast);
    struct replay_result result;
    if (ballast == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory left");
    }
    enum status_code code = replay_run(view, measuring->device, NULL, &result, error);
    if (code != STATUS_OK) {
        status_prefix(error, "before anything was bounded");
    } else {
        code = granule_check(measuring, error);
    }
    if (code == STATUS_OK) {
        code = ballast_take(measuring->device, measuring->job->available_bytes, ballast, error);
    }
    if (code == STATUS_OK) {
        struct status unsaid;
        code = bounded_replay(measuring, view, error);
        enum status_code released = ballast_release(ballast, code == STATUS_OK ? error : &unsaid);
        code = code == STATUS_OK ? released : code;
    }
    free(ballast);
    return code;
}

static enum status_code try_make(struct measuring *measuring, struct status *error)
{
    struct tape *tape = NULL;
    enum status_code code = measuring_device_prepare(measuring, error);
    if (code == STATUS_OK && measuring->device == NULL) {
        return status_copy(error, measuring->unopened.code, &measuring->unopened);
    }
    bool is_filled = strcmp(measuring->place.properties.kind, "cuda") == 0;
    if (code == STATUS_OK && is_filled && measuring->job->shared) {
        code =
            status_set(error, STATUS_INVALID,
                       "others use the GPU meanwhile, so that nobody can say what is left of it; prove with --jobs 1");
    }
    if (code == STATUS_OK) {
        code = tape_prepare(measuring, &tape, error);
    }
    if (code == STATUS_OK) {
        struct tape_view view = tape_view(tape);
        code = (is_filled ? filled_replay : bounded_replay)(measuring, &view, error);
    }
    tape_release(tape);
    return code;
}

void case_prove(void *context, const struct case_job *job, int file)
{
    struct measuring measuring = {.job = job, .file = file};
    struct status error = {0};
    enum status_code code = measuring_model_prepare(&measuring, &error);
    (void)context;
    if (code == STATUS_OK) {
        model_headers_release(&measuring.model);
        code = job->step == CASE_PROOF_PLAN ? plan_make(&measuring, &error) : try_make(&measuring, &error);
    }
    measuring_status_send(&measuring, code, &error);
    measuring_release(&measuring);
}

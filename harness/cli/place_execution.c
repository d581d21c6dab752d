/* Execution of assay place: the case, the plans, the devices and their locks. No line is written here. */
#include "harness/cli/place_execution.h"

#include <stdio.h>
#include <string.h>

#include "harness/cli/model_notes.h"
#include "harness/cli/placed_gpus.h"
#include "harness/cli/placed_json.h"

static const char *const case_keys[] = {"batch", "seq", "attention", "padding", "logits"};

enum { CASE_KEYS = sizeof case_keys / sizeof case_keys[0] };

enum status_code place_execution_wanted(const struct arguments *arguments, bool *wanted, struct status *error)
{
    static const char *const others[] = {"mode", "for"};
    if (arguments_value(arguments, "offload-folder") != NULL && arguments_value(arguments, "run") == NULL) {
        return status_set(error, STATUS_INVALID,
                          "place: --offload-folder is where a run puts what goes to the disk; add --run, or leave it "
                          "out");
    }
    *wanted = arguments_value(arguments, "run") != NULL || arguments_value(arguments, "predict") != NULL ||
              arguments_value(arguments, "exact") != NULL;
    for (int i = 0; i < CASE_KEYS + 2 && !*wanted; i++) {
        const char *key = i < CASE_KEYS ? case_keys[i] : others[i - CASE_KEYS];
        if (arguments_value(arguments, key) != NULL) {
            return status_set(
                error, STATUS_INVALID,
                "place: accelerate's plan does not look at --%s; add --predict, --run or --exact, or leave "
                "it out",
                key);
        }
    }
    return STATUS_OK;
}

/* -- the case */

static enum status_code workload_read(const struct arguments *arguments, const struct place_case *place,
                                      struct workload *workload, struct status *error)
{
    const char *mode = arguments_value(arguments, "mode");
    struct workload made = workload_default(MODE_INFER);
    enum status_code code = workload_set(&made, "mode", mode != NULL ? mode : "infer", error);
    if (code == STATUS_OK) {
        made = workload_default(made.mode);
        made.head = place->skeleton.head;
        code = workload_set(&made, "precision", place->request.width->name, error);
    }
    for (int i = 0; i < CASE_KEYS && code == STATUS_OK; i++) {
        const char *value = arguments_value(arguments, case_keys[i]);
        code = value != NULL ? workload_set(&made, case_keys[i], value, error) : STATUS_OK;
    }
    if (code == STATUS_OK) {
        code = workload_check(&made, error);
    }
    if (code == STATUS_OK && place->request.special_count > 0) {
        code = status_set(error, STATUS_INVALID,
                          "tensors of a type of their own are planned, and not carried out; leave --special-dtypes "
                          "out, or --run, --predict and --exact");
    }
    if (code == STATUS_OK) {
        *workload = made;
    }
    return code;
}

static enum status_code gpu_look(const struct arguments *arguments, const struct place_case *place,
                                 struct place_execution *execution, const char **target, struct status *error)
{
    int first = -1;
    for (int i = 0; i < place->request.budget_count; i++) {
        const struct placement_budget *budget = &place->budgets[i];
        bool is_gpu = budget->device.kind == PLACEMENT_GPU && budget->bits > 0;
        first = is_gpu && (first < 0 || budget->device.index < first) ? budget->device.index : first;
    }
    return placed_gpu_look(arguments, first, &execution->host_stands_in, target, error);
}

static enum status_code question_make(const struct arguments *arguments, const struct place_case *place,
                                      struct place_execution *execution, struct status *error)
{
    const char *target = arguments_value(arguments, "for");
    enum status_code code = workload_read(arguments, place, &execution->workload, error);
    if (code == STATUS_OK) {
        code = gpu_look(arguments, place, execution, &target, error);
    }
    execution->place = place;
    execution->runs = arguments_value(arguments, "run") != NULL;
    execution->is_exact = arguments_value(arguments, "exact") != NULL;
    execution->question = (struct placed_question){.config = &place->model.config,
                                                   .skeleton = &place->skeleton,
                                                   .workload = &execution->workload,
                                                   .target = target_at(0),
                                                   .budgets = place->request.budgets,
                                                   .budget_count = place->request.budget_count,
                                                   .offload_buffers = place->request.offload_buffers};
    if (code == STATUS_OK && target != NULL) {
        code = target_find(target, &execution->question.target, error);
    }
    return code;
}

/* -- plans and predictions */

/* A map that cannot run is an answer of its own, where it is accelerate's beside ours. */
static enum status_code trial_predict(const struct place_execution *execution, const struct device_map *map,
                                      struct place_trial *trial, struct status *error)
{
    struct status why = {0};
    enum status_code code = placed_tape_build(&execution->question, map, &trial->placed, &why);
    trial->is_built = code == STATUS_OK;
    if (code != STATUS_OK) {
        snprintf(trial->why, sizeof trial->why, "%s", why.text);
        return code == STATUS_INVALID ? STATUS_OK : status_set(error, code, "%s", why.text);
    }
    code = placed_tape_predict(&trial->placed, &trial->predicted, error);
    for (int i = 0; i < trial->placed.place_count && code == STATUS_OK; i++) {
        trial->need_bytes[i] = -1;
        if (trial->placed.budget_bytes[i] != BUDGET_NONE) {
            code = placed_need_find(&trial->placed, i, &trial->need_bytes[i], error);
        }
    }
    return code;
}

static enum status_code accelerate_plan(struct place_execution *execution, struct status *error)
{
    struct status why = {0};
    enum status_code code =
        device_plan_make(&execution->place->skeleton, &execution->place->request, &execution->plan, &why);
    execution->has_plan = code == STATUS_OK;
    snprintf(execution->raised, sizeof execution->raised, "%s", why.text);
    if (code == STATUS_INVALID && execution->is_exact) {
        return STATUS_OK;
    }
    return code == STATUS_OK ? STATUS_OK : status_set(error, code, "%s", why.text);
}

static enum status_code plans_make(struct place_execution *execution, struct status *error)
{
    const struct exact_request request = {execution->question, &execution->place->request};
    enum status_code code = accelerate_plan(execution, error);
    if (code == STATUS_OK && execution->is_exact) {
        code = exact_plan_make(&request, &execution->exact, error);
    }
    if (code == STATUS_OK && execution->is_exact && execution->has_plan) {
        code = trial_predict(execution, &execution->plan.map, &execution->other, error);
    }
    const struct device_map *map = execution->is_exact ? &execution->exact.map : &execution->plan.map;
    if (code == STATUS_OK) {
        code = trial_predict(execution, map, &execution->main, error);
    }
    if (code == STATUS_OK && !execution->main.is_built) {
        code = status_set(error, STATUS_INVALID, "this map cannot run: %.1900s", execution->main.why);
    }
    return code;
}

/* -- the run */

static enum status_code main_run(const struct arguments *arguments, struct place_execution *execution,
                                 struct status *error)
{
    struct place_trial *trial = &execution->main;
    execution->site.who = "assay place";
    execution->site.host_stands_in = execution->host_stands_in;
    execution->site.offload_folder = arguments_value(arguments, "offload-folder");
    return placed_site_run(&execution->site, &trial->placed, &trial->measured, error);
}

enum status_code place_execution_make(const struct arguments *arguments, const struct place_case *place,
                                      struct place_execution *execution, struct status *error)
{
    *execution = (struct place_execution){0};
    enum status_code code = question_make(arguments, place, execution, error);
    if (code == STATUS_OK) {
        code = plans_make(execution, error);
    }
    if (code == STATUS_OK && execution->runs) {
        code = main_run(arguments, execution, error);
    }
    if (code != STATUS_OK) {
        place_execution_release(execution);
        status_prefix(error, "place");
    }
    return code;
}

void place_execution_release(struct place_execution *execution)
{
    placed_tape_release(&execution->main.placed);
    placed_tape_release(&execution->other.placed);
    exact_plan_release(&execution->exact);
    if (execution->has_plan) {
        device_plan_release(&execution->plan);
    }
    execution->has_plan = false;
}

/* -- what it came to */

bool place_trial_agrees(const struct place_execution *execution)
{
    const struct place_trial *trial = &execution->main;
    bool agrees = !execution->runs || (trial->predicted.fits == trial->measured.fits &&
                                       trial->predicted.result.oom_lane == trial->measured.result.oom_lane);
    for (int i = 0; i < trial->placed.place_count && execution->runs; i++) {
        for (int stage = 0; stage < STAGE_COUNT; stage++) {
            agrees = agrees && placed_stage_agrees(&trial->predicted.result.lanes[i].stages[stage],
                                                   &trial->measured.result.lanes[i].stages[stage]);
        }
    }
    return agrees;
}

int64_t place_kept_needed(const struct place_trial *trial, const struct placement_share *share)
{
    int place = trial->is_built ? placed_tape_place(&trial->placed, share->device) : -1;
    if (place < 0 || !share->is_main || trial->need_bytes[place] < 0 || share->reserved_bits == 0) {
        return -1;
    }
    int64_t beyond_bytes = trial->need_bytes[place] - trial->placed.placed_bytes[place];
    return beyond_bytes > 0 ? beyond_bytes : 0;
}

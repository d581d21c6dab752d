/* Execution of assay place: the case, the plans, the devices and their locks. No line is written here. */
#include "harness/cli/place_execution.h"

#include <stdio.h>
#include <string.h>

#include "harness/cli/model_notes.h"
#include "harness/cli/placed_gpus.h"
#include "harness/cli/placed_json.h"

static const char *const case_keys[] = {"batch", "seq", "attention", "padding", "logits", "new_tokens"};

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
                strcmp(key, "new_tokens") == 0 ? "new-tokens" : key);
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
    if (code == STATUS_OK && made.mode != MODE_GENERATE && arguments_value(arguments, "new-tokens") != NULL) {
        code = status_set(error, STATUS_INVALID,
                          "--new-tokens belongs to a generation; add --mode generate, or leave it out");
    }
    if (code == STATUS_OK && place->request.special_count > 0) {
        code = status_set(error, STATUS_INVALID,
                          "a plan with tensors of another type cannot be carried out; leave --special-dtypes out, or "
                          "--run, --predict and --exact");
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
    return placed_gpu_look(arguments, first, &execution->site.ground, target, error);
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
    execution->request.question = (struct placed_question){.config = &place->model.config,
                                                           .skeleton = &place->skeleton,
                                                           .workload = &execution->workload,
                                                           .target = target_at(0),
                                                           .budgets = place->request.budgets,
                                                           .budget_count = place->request.budget_count,
                                                           .offload_buffers = place->request.offload_buffers};
    execution->request.map = execution->is_exact ? PLACED_MAP_EXACT : PLACED_MAP_ACCELERATE;
    execution->request.planner = &place->request;
    if (code == STATUS_OK && target != NULL) {
        code = target_find(target, &execution->request.question.target, error);
    }
    return code;
}

/* -- the run */

static enum status_code main_run(const struct arguments *arguments, struct place_execution *execution,
                                 struct status *error)
{
    struct placed_trial *trial = &execution->plan.main;
    execution->site.who = "assay place";
    execution->site.offload_folder = arguments_value(arguments, "offload-folder");
    return placed_site_run(&execution->site, &trial->placed, &trial->measured, error);
}

enum status_code place_execution_make(const struct arguments *arguments, const struct place_case *place,
                                      struct place_execution *execution, struct status *error)
{
    *execution = (struct place_execution){0};
    enum status_code code = question_make(arguments, place, execution, error);
    if (code == STATUS_OK) {
        code = placed_plan_make(&execution->request, &execution->plan, error);
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
    placed_plan_release(&execution->plan);
}

/* -- what it came to */

bool place_trial_agrees(const struct place_execution *execution)
{
    const struct placed_trial *trial = &execution->plan.main;
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

/* Placed plan: planners and replays put together. It does not decide which module goes to which device. */
#include "harness/question/placed_plan.h"

#include <stdio.h>
#include <string.h>

/* A map that cannot run is an answer of its own, if it is accelerate's beside ours. */
static enum status_code trial_predict(const struct placed_question *question, const struct device_map *map,
                                      struct placed_trial *trial, struct status *error)
{
    struct status why = {.spelling = error != NULL ? error->spelling : STATUS_SPELLING_KEYS};
    char line[STATUS_LINE_BYTES];
    enum status_code code = placed_tape_build(question, map, &trial->placed, &why);
    trial->is_built = code == STATUS_OK;
    if (code != STATUS_OK) {
        snprintf(trial->why, sizeof trial->why, "%.*s", (int)sizeof trial->why - 1, status_line(&why, line));
        return code == STATUS_INVALID ? STATUS_OK : status_copy(error, code, &why);
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

static enum status_code accelerate_make(const struct placed_request *request, struct placed_plan *plan,
                                        struct status *error)
{
    struct status why = {0};
    char line[STATUS_LINE_BYTES];
    enum status_code code = device_plan_make(request->question.skeleton, request->planner, &plan->accelerate, &why);
    plan->has_accelerate = code == STATUS_OK;
    if (code == STATUS_INVALID) {
        snprintf(plan->raised, sizeof plan->raised, "%.*s", (int)sizeof plan->raised - 1, status_line(&why, line));
    }
    if (code == STATUS_OK || (code == STATUS_INVALID && request->map == PLACED_MAP_EXACT)) {
        return STATUS_OK;
    }
    return status_copy(error, code, &why);
}

static enum status_code map_make(const struct placed_request *request, struct placed_plan *plan, struct status *error)
{
    const struct exact_request exact = {request->question, request->planner};
    if (request->map == PLACED_MAP_WHOLE) {
        plan->whole = (struct device_map_entry){"", request->whole};
        plan->map = (struct device_map){.entries = &plan->whole, .count = 1};
        return STATUS_OK;
    }
    enum status_code code = accelerate_make(request, plan, error);
    plan->map = plan->accelerate.map;
    if (code == STATUS_OK && request->map == PLACED_MAP_EXACT) {
        code = exact_plan_make(&exact, &plan->exact, error);
        plan->map = plan->exact.map;
        if (code == STATUS_OK && plan->has_accelerate) {
            code = trial_predict(&request->question, &plan->accelerate.map, &plan->other, error);
        }
    }
    return code;
}

enum status_code placed_plan_make(const struct placed_request *request, struct placed_plan *plan, struct status *error)
{
    *plan = (struct placed_plan){0};
    enum status_code code = map_make(request, plan, error);
    if (code == STATUS_OK) {
        code = trial_predict(&request->question, &plan->map, &plan->main, error);
    }
    if (code == STATUS_OK && !plan->main.is_built) {
        code = status_set(error, STATUS_INVALID, "this map cannot run: %.1900s", plan->main.why);
    }
    if (code != STATUS_OK) {
        placed_plan_release(plan);
    }
    return code;
}

void placed_plan_release(struct placed_plan *plan)
{
    placed_tape_release(&plan->main.placed);
    placed_tape_release(&plan->other.placed);
    exact_plan_release(&plan->exact);
    if (plan->has_accelerate) {
        device_plan_release(&plan->accelerate);
    }
    plan->has_accelerate = false;
    plan->map = (struct device_map){0};
}

int64_t placed_kept_needed(const struct placed_trial *trial, const struct placement_share *share)
{
    int place = trial->is_built ? placed_tape_place(&trial->placed, share->device) : -1;
    if (place < 0 || !share->is_main || trial->need_bytes[place] < 0 || share->reserved_bits == 0) {
        return -1;
    }
    int64_t beyond_bytes = trial->need_bytes[place] - trial->placed.placed_bytes[place];
    return beyond_bytes > 0 ? beyond_bytes : 0;
}

const struct replay_stage *placed_stage(const struct placed_outcome *outcome, int place, enum stage stage)
{
    const struct replay_stage *figures = &outcome->result.lanes[place].stages[stage];
    bool is_refused = !outcome->fits && outcome->result.lanes[outcome->result.oom_lane].oom_stage == stage;
    return figures->present && !is_refused ? figures : NULL;
}

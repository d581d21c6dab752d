/* An execution of assay place as one JSON document: names of members stand here, and nowhere else. */
#include "harness/cli/model_notes.h"
#include "harness/cli/place_execution.h"
#include "harness/cli/placed_json.h"
#include "harness/placement/plan_json.h"
#include "models/config/family.h"

/* Of a lane, the stages that ended: if memory ran out, what stands there is of an earlier pass. */
static struct json *stages_json(const struct placed_outcome *outcome, int place)
{
    struct json *object = json_object_new();
    bool made = true;
    for (int i = STAGE_LOAD; i < STAGE_COUNT && made; i++) {
        const struct replay_stage *figures = placed_stage(outcome, place, (enum stage)i);
        made = figures == NULL || json_set(object, stage_name((enum stage)i), placed_stage_json(figures));
    }
    return json_made(object, made);
}

static struct json *place_json(const struct placed_trial *trial, int place, bool runs, const char *spec)
{
    const struct placed_tape *placed = &trial->placed;
    struct json *object = json_object_new();
    bool made = json_set(object, "device", placement_device_json(placed->devices[place])) &&
                json_set(object, "spec", runs ? json_string_new(spec) : json_null_new()) &&
                json_set(object, "budget_bytes", bytes_or_null_json(placed->budget_bytes[place])) &&
                json_set(object, "placed_bytes", json_integer_new(placed->placed_bytes[place])) &&
                json_set(object, "need_bytes", bytes_or_null_json(trial->need_bytes[place])) &&
                json_set(object, "predicted", stages_json(&trial->predicted, place)) &&
                json_set(object, "measured", runs ? stages_json(&trial->measured, place) : json_null_new());
    return json_made(object, made);
}

static struct json *kept_json(const struct place_execution *execution, const struct placed_trial *trial)
{
    struct json *list = json_array_new();
    bool made = true;
    for (int i = 0; i < execution->plan.accelerate.share_count && made && execution->plan.has_accelerate; i++) {
        const struct placement_share *share = &execution->plan.accelerate.shares[i];
        int64_t needed_bytes = placed_kept_needed(trial, share), kept_bytes = bits_to_bytes(share->reserved_bits);
        if (needed_bytes >= 0) {
            struct json *object = json_object_new();
            bool filled = json_set(object, "device", placement_device_json(share->device)) &&
                          json_set(object, "kept_bytes", json_integer_new(kept_bytes)) &&
                          json_set(object, "needed_bytes", json_integer_new(needed_bytes)) &&
                          json_set(object, "wasted_bytes",
                                   json_integer_new(kept_bytes > needed_bytes ? kept_bytes - needed_bytes : 0));
            made = json_append(list, json_made(object, filled));
        }
    }
    return json_made(list, made);
}

/* One map carried out; runs: it was measured too. */
static struct json *trial_json(const struct place_execution *execution, const struct placed_trial *trial, bool runs)
{
    struct json *object = json_object_new(), *devices = json_array_new();
    bool made = true;
    if (!trial->is_built) {
        made = json_set(object, "cannot_run", json_string_new(trial->why));
        json_release(devices);
        return json_made(object, made);
    }
    for (int i = 0; i < trial->placed.place_count; i++) {
        made = json_append(devices, place_json(trial, i, runs, execution->site.lanes.specs[i])) && made;
    }
    made = json_set(object, "devices", devices) && made;
    made = made && json_set(object, "predicted_fits", json_boolean_new(trial->predicted.fits)) &&
           json_set(object, "predicted_out_of_memory", placed_refusal_json(&trial->placed, &trial->predicted)) &&
           json_set(object, "predicted_copies", placed_copies_json(&trial->placed, &trial->predicted.result, false));
    if (runs) {
        made = made && json_set(object, "measured_fits", json_boolean_new(trial->measured.fits)) &&
               json_set(object, "measured_out_of_memory", placed_refusal_json(&trial->placed, &trial->measured)) &&
               json_set(object, "measured_copies", placed_copies_json(&trial->placed, &trial->measured.result, true)) &&
               json_set(object, "measured_seconds", json_real_new(trial->measured.seconds)) &&
               json_set(object, "agrees", json_boolean_new(place_trial_agrees(execution)));
    }
    return json_made(object, made);
}

static bool exact_set(const struct place_execution *execution, struct json *document)
{
    const struct exact_plan *plan = &execution->plan.exact;
    struct json *map = json_object_new(), *memory = json_object_new(), *theirs = json_object_new();
    char name[DEVICE_TEXT_BYTES];
    bool made = true;
    for (int i = 0; i < plan->map.count; i++) {
        const struct device_map_entry *entry = &plan->map.entries[i];
        made = json_set(map, entry->path, placement_device_json(entry->device)) && made;
    }
    for (int i = 0; i < execution->request.question.budget_count; i++) {
        const struct placement_budget *budget = &execution->request.question.budgets[i];
        made = json_set(memory, placement_device_name(budget->device, name),
                        json_integer_new(budget->bits / BITS_PER_BYTE)) &&
               made;
    }
    made = json_set(document, "device_map", map) && made;
    made = json_set(document, "max_memory", memory) && made;
    made = made && json_set(document, "piece_count", json_integer_new(plan->unit_count)) &&
           json_set(document, "gpu_piece_count", json_integer_new(plan->gpu_unit_count)) &&
           json_set(document, "cpu_piece_count", json_integer_new(plan->host_unit_count)) &&
           json_set(document, "trial_count", json_integer_new(plan->trial_count));
    if (execution->plan.has_accelerate) {
        made = device_plan_set(&execution->plan.accelerate, theirs) && made;
        made = json_set(theirs, "execution", trial_json(execution, &execution->plan.other, false)) && made;
        made = json_set(theirs, "kept_free", kept_json(execution, &execution->plan.other)) && made;
    } else {
        made = json_set(theirs, "raised", json_string_new(execution->plan.raised)) && made;
    }
    return json_set(document, "accelerate", json_made(theirs, made)) && made;
}

/* The folder that stays, and what it got. */
static struct json *offload_json(const struct place_execution *execution)
{
    const struct offload_totals *totals = &execution->site.offloaded;
    if (totals->written_count + totals->kept_count == 0) {
        return json_null_new();
    }
    struct json *object = json_object_new();
    bool made = json_set(object, "path", json_string_new(execution->site.lanes.folder)) &&
                json_set(object, "written_count", json_integer_new(totals->written_count)) &&
                json_set(object, "written_bytes", json_integer_new(totals->written_bytes)) &&
                json_set(object, "kept_count", json_integer_new(totals->kept_count)) &&
                json_set(object, "kept_bytes", json_integer_new(totals->kept_bytes));
    return json_made(object, made);
}

struct json *place_execution_json(const struct place_execution *execution)
{
    static const char *const strategies[] = {"balanced", "balanced_low_0", "sequential"};
    const struct place_case *place = execution->place;
    const struct workload *workload = &execution->workload;
    struct json *document = json_object_new(), *done = trial_json(execution, &execution->plan.main, execution->runs);
    bool made =
        execution->is_exact ? exact_set(execution, document) : device_plan_set(&execution->plan.accelerate, document);
    made = made && json_set(done, "mode", json_string_new(mode_name(workload->mode))) &&
           json_set(done, "batch", json_integer_new(workload->batch)) &&
           json_set(done, "seq",
                    place->model.config.family->is_image ? json_null_new() : json_integer_new(workload->seq)) &&
           json_set(done, "new_tokens",
                    workload->mode == MODE_GENERATE ? json_integer_new(workload->new_tokens) : json_null_new()) &&
           json_set(done, "target", json_string_new(execution->request.question.target->name)) &&
           json_set(done, "host_stands_in",
                    execution->runs ? json_boolean_new(execution->site.ground == PLACED_ON_HOST) : json_null_new()) &&
           json_set(done, "offload_folder", offload_json(execution)) &&
           json_set(done, "kept_free",
                    execution->is_exact ? json_null_new() : kept_json(execution, &execution->plan.main));
    made = json_set(document, "execution", json_made(done, made)) && made;
    made = made &&
           json_set(document, "strategy",
                    json_string_new(execution->is_exact ? "exact" : strategies[place->request.strategy])) &&
           json_set(document, "model", json_string_new(place->model.config.name)) &&
           json_set(document, "head", json_string_new(head_name(place->skeleton.head))) &&
           json_set(document, "precision", json_string_new(place->request.width->name)) &&
           json_set(document, "warnings",
                    execution->plan.has_accelerate ? notes_json(&execution->plan.accelerate.warnings)
                                                   : json_array_new()) &&
           json_set(document, "notes", notes_json(&place->notes));
    return json_made(document, made);
}

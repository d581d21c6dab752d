/* Placed members: structs into JSON, unknown figures as null. Nothing is measured or judged here. */
#include "harness/run/placed_members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/estimate/replay_quantities.h"
#include "harness/run/measurement.h"

static struct json *bytes_or_null(int64_t bytes)
{
    return bytes >= 0 ? json_integer_new(bytes) : json_null_new();
}

static struct json *place_name_json(const struct placed_tape *placed, int place)
{
    char name[DEVICE_TEXT_BYTES];
    return json_string_new(placement_device_name(placed->devices[place], name));
}

/* What accelerate planned for a place; NULL: the map is not accelerate's, or it has no such device. */
static const struct placement_share *share_of(const struct place_request *asked, const struct placed_plan *plan,
                                              int place)
{
    for (int i = 0; asked->request.map == PLACED_MAP_ACCELERATE && i < plan->accelerate.share_count; i++) {
        if (placement_device_equal(plan->accelerate.shares[i].device, plan->main.placed.devices[place])) {
            return &plan->accelerate.shares[i];
        }
    }
    return NULL;
}

/* -- what was predicted */

static void replay_fill(const struct placed_trial *trial, int place, struct estimate *estimate)
{
    bool is_bounded = false;
    for (int i = 0; i < trial->placed.place_count; i++) {
        is_bounded = is_bounded || trial->placed.budget_bytes[i] != BUDGET_NONE;
    }
    if (trial->placed.budget_bytes[place] != BUDGET_NONE) {
        estimate_add(estimate, "memory_bytes", trial->placed.budget_bytes[place]);
    }
    if (is_bounded) { /* it runs in all places or in none */
        estimate_add_text(estimate, "fits", trial->predicted.fits ? "yes" : "no");
    }
    if (trial->predicted.fits) {
        estimate_add_replay(estimate, &trial->predicted.result.lanes[place]);
    } else {
        char name[DEVICE_TEXT_BYTES];
        estimate_add_no_peaks(estimate);
        placement_device_name(trial->placed.devices[trial->predicted.result.oom_lane], name);
        snprintf(estimate->note, sizeof estimate->note, "it does not fit on %s: %.900s", name, trial->predicted.reason);
    }
}

static struct json *replay_json(const struct placed_trial *trial, int place)
{
    struct estimate *estimate = calloc(1, sizeof *estimate);
    struct json *object = NULL;
    if (estimate != NULL) {
        estimate->estimator = estimator_replay.name;
        replay_fill(trial, place, estimate);
        object = estimate_to_json(estimate);
    }
    free(estimate);
    return object;
}

struct json *place_estimates_json(const struct place_request *asked, const struct placed_plan *plan, int place)
{
    const struct placement_share *share = share_of(asked, plan, place);
    struct json *object = json_object_new();
    bool made = json_set(object, estimator_replay.name, replay_json(&plan->main, place));
    if (share != NULL) {
        struct json *theirs = json_object_new();
        int64_t total_bytes =
            bits_to_bytes(share->placed_bits) + bits_to_bytes(share->is_main ? share->reserved_bits : 0);
        made = made && json_set(object, estimator_accelerate.name,
                                json_made(theirs, json_set(theirs, "total_bytes", json_integer_new(total_bytes))));
    }
    return json_made(object, made);
}

/* -- places */

static struct json *stage_levels_json(const struct replay_stage *stage)
{
    const struct device_reading *reading = &stage->reading;
    struct json *object = json_object_new();
    bool made = level_figures_set(object, stage->levels) &&
                json_set(object, level_peak_key(LEVEL_PROCESS),
                         bytes_or_null(reading->process_peak_valid ? reading->process_peak_bytes : -1));
    return json_made(object, made);
}

static struct json *place_stages_json(const struct placed_trial *trial, int place)
{
    struct json *object = json_object_new();
    bool made = true;
    for (int i = STAGE_LOAD; i < STAGE_COUNT && made; i++) {
        const struct replay_stage *stage = placed_stage(&trial->measured, place, (enum stage)i);
        made = stage == NULL || json_set(object, stage_name((enum stage)i), stage_levels_json(stage));
    }
    return json_made(object, made);
}

/* Of the last stage that ended there. */
static struct json *place_declined_json(const struct placed_trial *trial, const struct placed_lanes *lanes, int place)
{
    bool is_gpu = lanes != NULL && strncmp(lanes->specs[place], "cuda", strlen("cuda")) == 0;
    const struct device_reading *last = NULL;
    for (int i = STAGE_LOAD; i < STAGE_COUNT; i++) {
        const struct replay_stage *stage = placed_stage(&trial->measured, place, (enum stage)i);
        last = stage != NULL ? &stage->reading : last;
    }
    return declined_products_json(is_gpu ? "cuda" : "host", last);
}

static struct json *place_json(const struct place_request *asked, const struct placed_plan *plan, int place,
                               const struct placed_lanes *lanes)
{
    const struct placed_tape *placed = &plan->main.placed;
    const struct placement_share *share = share_of(asked, plan, place);
    bool keeps = share != NULL && share->is_main && share->reserved_bits > 0;
    struct json *object = json_object_new();
    bool made = json_set(object, "place", place_name_json(placed, place)) &&
                json_set(object, "spec", lanes != NULL ? json_string_new(lanes->specs[place]) : json_null_new()) &&
                json_set(object, "budget_bytes", bytes_or_null(placed->budget_bytes[place])) &&
                json_set(object, "placed_bytes", json_integer_new(placed->placed_bytes[place])) &&
                json_set(object, "kept_bytes", bytes_or_null(keeps ? bits_to_bytes(share->reserved_bits) : -1)) &&
                json_set(object, "needed_bytes", bytes_or_null(keeps ? placed_kept_needed(&plan->main, share) : -1)) &&
                json_set(object, "stages", lanes != NULL ? place_stages_json(&plan->main, place) : json_null_new()) &&
                json_set(object, "declined_products", place_declined_json(&plan->main, lanes, place)) &&
                json_set(object, "estimates", place_estimates_json(asked, plan, place));
    return json_made(object, made);
}

struct json *places_json(const struct place_request *asked, const struct placed_plan *plan,
                         const struct placed_lanes *lanes)
{
    struct json *list = json_array_new();
    bool made = true;
    for (int i = 0; i < plan->main.placed.place_count && made; i++) {
        made = json_append(list, place_json(asked, plan, i, lanes));
    }
    return json_made(list, made);
}

/* -- transfers */

static struct json *transfer_json(const struct placed_trial *trial, const struct transfer_plain *plain, int from,
                                  int to)
{
    const struct placed_result *result = &trial->measured.result;
    bool is_carried_out = result->copy_seconds[from][to] > 0.0;
    bool has_plain = plain != NULL && plain->what != NULL;
    struct json *object = json_object_new();
    bool made =
        json_set(object, "from", place_name_json(&trial->placed, from)) &&
        json_set(object, "to", place_name_json(&trial->placed, to)) &&
        json_set(object, "count", json_integer_new(result->copy_counts[from][to])) &&
        json_set(object, "bytes", json_integer_new(result->copied_bytes[from][to])) &&
        json_set(object, "seconds", is_carried_out ? json_real_new(result->copy_seconds[from][to]) : json_null_new()) &&
        json_set(object, "plain_bytes", has_plain ? json_integer_new(plain->bytes) : json_null_new()) &&
        json_set(object, "plain_seconds", has_plain ? json_real_new(plain->seconds) : json_null_new()) &&
        json_set(object, "plain", has_plain ? json_string_new(plain->what) : json_null_new());
    return json_made(object, made);
}

struct json *transfers_json(const struct placed_plan *plan, const struct placed_transfers *plain)
{
    const struct placed_trial *trial = &plan->main;
    int count = trial->placed.place_count;
    struct json *list = json_array_new();
    bool made = true;
    for (int i = 0; i < count * count && made; i++) {
        int from = i / count, to = i % count;
        if (trial->measured.result.copied_bytes[from][to] > 0) {
            made = json_append(list, transfer_json(trial, plain != NULL ? &plain->plain[from][to] : NULL, from, to));
        }
    }
    return json_made(list, made);
}

/* -- the plan */

static struct json *map_json(const struct device_map *map)
{
    struct json *object = json_object_new();
    bool made = true;
    for (int i = 0; i < map->count && made; i++) {
        char name[DEVICE_TEXT_BYTES];
        made = json_set(object, map->entries[i].path,
                        json_string_new(placement_device_name(map->entries[i].device, name)));
    }
    return json_made(object, made);
}

static struct json *accelerate_runs_json(const struct place_request *asked, const struct placed_plan *plan)
{
    bool is_known = asked->request.map == PLACED_MAP_EXACT && plan->map.count > 0;
    bool runs = plan->has_accelerate && plan->other.is_built && plan->other.predicted.fits;
    return is_known ? json_boolean_new(runs) : json_null_new();
}

struct json *placement_json(const struct place_request *asked, const struct placed_plan *plan)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "strategy", json_string_new(place_way_name(asked->text.way))) &&
                json_set(object, "map", plan->map.count > 0 ? map_json(&plan->map) : json_null_new()) &&
                json_set(object, "raised", plan->raised[0] != '\0' ? json_string_new(plan->raised) : json_null_new()) &&
                json_set(object, "accelerate_runs", accelerate_runs_json(asked, plan));
    return json_made(object, made);
}

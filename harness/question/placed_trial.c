/* Placed trial: from a map to places, lanes and figures. It does not judge which map is a good one. */
#include "harness/question/placed_trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/device/bounded.h"
#include "harness/device/meta.h"
#include "models/workload/workload_tape.h"

enum { GPUS_MAXIMUM = PLACE_MAXIMUM - 2 }; /* the host and the disk have a place too */

static int64_t budget_given(const struct placed_question *question, struct placement_device device)
{
    for (int i = 0; i < question->budget_count; i++) {
        if (placement_device_equal(question->budgets[i].device, device)) {
            return question->budgets[i].bits / BITS_PER_BYTE;
        }
    }
    return BUDGET_NONE;
}

/* Whether a GPU has less memory than its budget says. */
static bool memory_binds(const struct placed_question *question, struct placement_device device)
{
    int64_t budget_bytes = budget_given(question, device);
    return device.kind == PLACEMENT_GPU && question->gpu_memory_bytes > 0 &&
           (budget_bytes == BUDGET_NONE || question->gpu_memory_bytes < budget_bytes);
}

int64_t placed_budget_bytes(const struct placed_question *question, struct placement_device device)
{
    return memory_binds(question, device) ? question->gpu_memory_bytes : budget_given(question, device);
}

/* -- places */

static bool map_uses(const struct device_map *map, struct placement_device device)
{
    bool found = false;
    for (int i = 0; i < map->count && !found; i++) {
        found = placement_device_equal(map->entries[i].device, device);
    }
    return found;
}

static void place_add(const struct placed_question *question, struct placement_device device,
                      struct placed_tape *placed)
{
    char name[DEVICE_TEXT_BYTES];
    int place = placed->place_count++;
    placed->devices[place] = device;
    placed->budget_bytes[place] = placed_budget_bytes(question, device);
    snprintf(placed->budget_words[place], sizeof placed->budget_words[place], "the %s of %s",
             memory_binds(question, device) ? "memory" : "budget", placement_device_name(device, name));
}

static int device_compare(const void *a, const void *b)
{
    return placement_device_order(*(const struct placement_device *)a, *(const struct placement_device *)b);
}

/* The GPUs of the map, by number, each once. */
static enum status_code gpus_add(const struct placed_question *question, const struct device_map *map,
                                 struct placed_tape *placed, struct status *error)
{
    struct placement_device found[GPUS_MAXIMUM] = {0};
    int count = 0;
    for (int i = 0; i < map->count; i++) {
        struct placement_device device = map->entries[i].device;
        bool is_known = device.kind == PLACEMENT_CPU || device.kind == PLACEMENT_DISK;
        for (int k = 0; k < count && !is_known; k++) {
            is_known = placement_device_equal(found[k], device);
        }
        if (device.kind == PLACEMENT_MPS) {
            return status_set(error, STATUS_INVALID,
                              "the map uses mps, whose allocator is not modelled; give GPUs by their numbers");
        }
        if (!is_known && count == GPUS_MAXIMUM) {
            return status_set(error, STATUS_INVALID, "the map uses more than %d GPUs, which is more than can be run",
                              GPUS_MAXIMUM);
        }
        if (!is_known) {
            found[count++] = device;
        }
    }
    qsort(found, (size_t)count, sizeof *found, device_compare);
    for (int i = 0; i < count; i++) {
        place_add(question, found[i], placed);
    }
    return STATUS_OK;
}

static enum status_code places_make(const struct placed_question *question, const struct device_map *map,
                                    struct placed_tape *placed, struct status *error)
{
    static const struct placement_device first = {.kind = PLACEMENT_GPU}, cpu = {.kind = PLACEMENT_CPU},
                                         disk = {.kind = PLACEMENT_DISK};
    enum status_code code = gpus_add(question, map, placed, error);
    if (code == STATUS_OK && question->form == PLACEMENT_OFFLOAD) {
        place_add(question, first, placed);
    }
    if (code == STATUS_OK) {
        place_add(question, cpu, placed);
        if (map_uses(map, disk)) {
            place_add(question, disk, placed);
        }
    }
    return code;
}

int placed_tape_place(const struct placed_tape *placed, struct placement_device device)
{
    for (int i = 0; i < placed->place_count; i++) {
        if (placement_device_equal(placed->devices[i], device)) {
            return i;
        }
    }
    return -1;
}

/* -- the tape */

static enum status_code placement_make(const struct placed_question *question, const struct device_map *map,
                                       struct placed_tape *placed, struct status *error)
{
    struct placement_plan plan = {.form = question->form,
                                  .place_count = placed->place_count,
                                  .main = question->form == PLACEMENT_OFFLOAD ? 0 : -1,
                                  .offload_buffers = question->offload_buffers};
    struct placement_entry *entries = calloc((size_t)map->count + 1, sizeof *entries);
    if (entries == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a device map");
    }
    for (int i = 0; i < placed->place_count; i++) {
        enum placement_device_kind kind = placed->devices[i].kind;
        plan.places[i].kind = kind == PLACEMENT_GPU ? PLACE_DEVICE : kind == PLACEMENT_CPU ? PLACE_HOST : PLACE_DISK;
        placement_device_name(placed->devices[i], plan.places[i].name);
    }
    for (int i = 0; i < map->count; i++) {
        entries[i] = (struct placement_entry){map->entries[i].path, placed_tape_place(placed, map->entries[i].device)};
    }
    plan.entries = entries;
    plan.entry_count = map->count;
    enum status_code code = placement_build(question->skeleton, &plan, &placed->placement, error);
    free(entries);
    return code;
}

/* What a load leaves in each place: the tensors as the tape stores them. */
void placed_bytes_note(struct placed_tape *placed)
{
    struct tape_view view = tape_view(placed->tape);
    bool is_load = false;
    for (int i = 0; i < view.event_count; i++) {
        const struct event *event = &view.events[i];
        is_load = event->kind == EVENT_STAGE ? event->index == STAGE_LOAD : is_load;
        if (is_load && (event->kind == EVENT_ALLOC || event->kind == EVENT_FREE)) {
            const struct storage *storage = &view.storages[event->index];
            placed->placed_bytes[storage->place] += event->kind == EVENT_ALLOC ? storage->bytes : -storage->bytes;
        }
    }
}

/* A map without a GPU runs on the host, which has no library's workspaces. */
static enum status_code target_choose(const struct placed_question *question, const struct placed_tape *placed,
                                      const struct target **target, struct status *error)
{
    *target = question->target;
    return placed->devices[0].kind == PLACEMENT_GPU ? STATUS_OK : target_find("host", target, error);
}

enum status_code placed_tape_build(const struct placed_question *question, const struct device_map *map,
                                   struct placed_tape *placed, struct status *error)
{
    const struct target *target = NULL;
    *placed = (struct placed_tape){0};
    enum status_code code = places_make(question, map, placed, error);
    if (code == STATUS_OK) {
        code = target_choose(question, placed, &target, error);
    }
    if (code == STATUS_OK) {
        code = placement_make(question, map, placed, error);
    }
    if (code == STATUS_OK) {
        code = workload_tape_placed(question->config, question->skeleton, question->workload, target,
                                    &placed->placement, &placed->tape, error);
    }
    if (code == STATUS_OK) {
        placed_bytes_note(placed);
    } else {
        placed_tape_release(placed);
    }
    return code;
}

void placed_tape_release(struct placed_tape *placed)
{
    tape_release(placed->tape);
    placement_release(&placed->placement);
    placed->tape = NULL;
}

/* -- replays */

static enum allocator_policy policy_of(const struct placed_tape *placed, int place)
{
    return placed->devices[place].kind == PLACEMENT_GPU ? ALLOCATOR_CACHING : ALLOCATOR_PLAIN;
}

struct pass_note {
    int pass_count;
    struct placed_outcome *outcome;
    const struct replay_observer *next; /* who is told of place 0 besides; NULL: nobody */
};

/* The first forward stage of a chain makes what the models are fed; then a stage for each model, turn by turn. */
static void pass_ended(void *context, enum stage stage, const struct replay_stage *figures)
{
    struct pass_note *note = context;
    if (note->next != NULL) {
        note->next->stage_ended(note->next->context, stage, figures);
    }
    if (stage != STAGE_FORWARD || note->pass_count == 0) {
        return;
    }
    if (note->outcome->forward_count > 0) {
        note->outcome->passes[(note->outcome->forward_count - 1) % note->pass_count] = *figures;
    }
    note->outcome->forward_count++;
}

enum status_code placed_tape_run(const struct placed_tape *placed, const struct replay_lane *lanes,
                                 struct placed_outcome *outcome, struct status *error)
{
    const struct placed_options none = {0};
    return placed_tape_run_with(placed, lanes, &none, outcome, error);
}

enum status_code placed_tape_run_with(const struct placed_tape *placed, const struct replay_lane *lanes,
                                      const struct placed_options *options, struct placed_outcome *outcome,
                                      struct status *error)
{
    struct tape_view view = tape_view(placed->tape);
    struct placed_order order = {&view, lanes, placed->place_count, *options};
    struct placed_outcome made = {0};
    struct status refusal = {0};
    struct pass_note note = {placed->pass_count, &made, options->observers};
    struct replay_observer watched[PLACE_MAXIMUM] = {{pass_ended, &note}};
    for (int i = 1; i < placed->place_count && options->observers != NULL; i++) {
        watched[i] = options->observers[i];
    }
    order.options.observers = watched;
    char line[STATUS_LINE_BYTES];
    double start_seconds = clock_seconds();
    enum status_code code = placed_replay_carry_out(&order, &made.result, &refusal);
    bool is_refused = code == STATUS_OUT_OF_MEMORY && made.result.lanes[made.result.oom_lane].oom_label != NULL;
    made.fits = code == STATUS_OK;
    made.seconds = clock_seconds() - start_seconds;
    if (code != STATUS_OK && !is_refused) {
        return status_copy(error, code, &refusal);
    }
    snprintf(made.reason, sizeof made.reason, "%.*s", (int)sizeof made.reason - 1, status_line(&refusal, line));
    *outcome = made;
    return STATUS_OK;
}

/* A meta device of so many bytes; BUDGET_NONE: without a bound. */
static enum status_code meta_lane_open(int64_t bytes, const char *what, struct device **device, struct status *error)
{
    struct device *inner = NULL;
    enum status_code code = meta_open(0, &inner, error);
    if (code == STATUS_OK && bytes != BUDGET_NONE) {
        struct device *wrapped = NULL;
        code = device_bound_wrap(inner, bytes, what, &wrapped, error);
        if (code != STATUS_OK) {
            device_close(inner);
        }
        inner = code == STATUS_OK ? wrapped : NULL;
    }
    *device = inner;
    return code;
}

enum status_code placed_meta_lanes_open(const struct placed_tape *placed, const int64_t *bound_bytes,
                                        struct replay_lane lanes[PLACE_MAXIMUM], struct status *error)
{
    enum status_code code = STATUS_OK;
    memset(lanes, 0, PLACE_MAXIMUM * sizeof *lanes);
    for (int i = 0; i < placed->place_count && code == STATUS_OK; i++) {
        lanes[i].policy = policy_of(placed, i);
        code = meta_lane_open(bound_bytes[i], placed->budget_words[i], &lanes[i].device, error);
    }
    if (code != STATUS_OK) {
        placed_meta_lanes_close(lanes);
    }
    return code;
}

void placed_meta_lanes_close(struct replay_lane lanes[PLACE_MAXIMUM])
{
    for (int i = 0; i < PLACE_MAXIMUM; i++) {
        device_close(lanes[i].device);
        lanes[i].device = NULL;
    }
}

/* Within these bounds, by place. */
static enum status_code bounds_predict(const struct placed_tape *placed, const int64_t *bound_bytes,
                                       struct placed_outcome *outcome, struct status *error)
{
    struct replay_lane lanes[PLACE_MAXIMUM];
    enum status_code code = placed_meta_lanes_open(placed, bound_bytes, lanes, error);
    if (code == STATUS_OK) {
        code = placed_tape_run(placed, lanes, outcome, error);
        placed_meta_lanes_close(lanes);
    }
    return code;
}

enum status_code placed_tape_predict(const struct placed_tape *placed, struct placed_outcome *outcome,
                                     struct status *error)
{
    return bounds_predict(placed, placed->budget_bytes, outcome, error);
}

/* -- what a place needs */

int64_t placed_peak_reserved(const struct replay_result *lane)
{
    int64_t peak_bytes = 0;
    for (int i = 0; i < STAGE_COUNT; i++) {
        const struct replay_stage *stage = &lane->stages[i];
        peak_bytes =
            stage->present && stage->reserved_bytes_peak > peak_bytes ? stage->reserved_bytes_peak : peak_bytes;
    }
    return peak_bytes;
}

static enum status_code bound_try(const struct placed_tape *placed, int place, int64_t bytes,
                                  struct placed_outcome *outcome, struct status *error)
{
    int64_t bounds[PLACE_MAXIMUM];
    for (int i = 0; i < placed->place_count; i++) {
        bounds[i] = i == place ? bytes : BUDGET_NONE;
    }
    return bounds_predict(placed, bounds, outcome, error);
}

enum status_code placed_need_find(const struct placed_tape *placed, int place, int64_t *need_bytes,
                                  struct status *error)
{
    struct placed_outcome outcome;
    int64_t granule = policy_of(placed, place) == ALLOCATOR_CACHING ? ALLOCATOR_SMALL_SEGMENT_BYTES : 1;
    enum status_code code = bound_try(placed, place, BUDGET_NONE, &outcome, error);
    if (code != STATUS_OK) {
        return code;
    }
    /* Reserved bytes of every stage, also those that came before the last pass: with as much nothing is refused. */
    int64_t most = INT64_MAX / granule / 2, high = most, low = 0;
    const struct replay_result *lane = &outcome.result.lanes[place];
    int64_t guess = placed_peak_reserved(lane) / granule + (placed_peak_reserved(lane) % granule > 0);
    low = lane->requested_bytes_peak / granule - 1; /* less than the tensors themselves never does */
    while (code == STATUS_OK && high - low > 1) {
        int64_t middle = high == most ? guess : low + (high - low) / 2;
        code = bound_try(placed, place, middle * granule, &outcome, error);
        low = code == STATUS_OK && !outcome.fits ? middle : low;
        high = code == STATUS_OK && outcome.fits ? middle : high;
        guess = guess > most / 4 ? guess : guess * 2 + 1;
    }
    if (code == STATUS_OK) {
        *need_bytes = high * granule;
    }
    return code;
}

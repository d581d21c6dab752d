/* Placed load: a load and a replay on the same lanes. load_plan.c and the tape decide what goes to which place; both
 * follow one map. */
#include "harness/question/placed_load.h"

#include <stdio.h>
#include <string.h>

enum status_code placed_load_check(const struct placed_load *load, struct status *error)
{
    const struct load_plan *plan = load->plan;
    if (plan->missing.count > 0) {
        return status_set(error, STATUS_INVALID,
                          "the checkpoint lacks %d tensors that a pass needs, '%s' among them; run a model of which it "
                          "has all tensors (another --head), or only load it",
                          plan->missing.count, plan->missing.names[0]);
    }
    if (plan->unloaded.count > 0) {
        return status_set(
            error, STATUS_INVALID,
            "%d buffers would lie on the disk and are not loaded, '%s' among them, and a pass needs them; add "
            "--offload-buffers",
            plan->unloaded.count, plan->unloaded.names[0]);
    }
    return STATUS_OK;
}

/* The lanes of the plan's places among those of the tape. */
static enum status_code lanes_match(const struct placed_load *load, const struct replay_lane *lanes,
                                    struct replay_lane *own, int *lane_of, struct status *error)
{
    static const struct placed_store no_store = {.write =
                                                     NULL}; /* says that it is the disk, to a load that reads nothing */
    const struct load_plan *plan = load->plan;
    char name[DEVICE_TEXT_BYTES];
    for (int i = 0; i < plan->place_count; i++) {
        struct placement_device device = plan->places[i].device;
        lane_of[i] = i < PLACE_MAXIMUM ? placed_tape_place(load->placed, device) : -1;
        if (lane_of[i] < 0) {
            return status_set(error, STATUS_INTERNAL, "the loaded model has the device %s, and the tape does not",
                              placement_device_name(device, name));
        }
        own[i] = lanes[lane_of[i]];
        if (device.kind == PLACEMENT_DISK && own[i].store == NULL) {
            own[i].store = &no_store;
        }
    }
    return STATUS_OK;
}

static enum status_code result_keep(const struct placed_load *load, const struct loaded *loaded, struct arena *arena,
                                    struct load_result *kept, struct status *error)
{
    size_t bytes = ((size_t)load->plan->place_count + 1) * sizeof *kept->shares;
    *kept = *loaded_result(loaded);
    kept->shares = arena_alloc(arena, bytes);
    if (kept->shares == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the figures");
    }
    memcpy(kept->shares, loaded_result(loaded)->shares, bytes);
    return STATUS_OK;
}

/* The passes on what is loaded. */
static enum status_code passes_run(const struct placed_load *load, struct loaded *loaded, const int *lane_of,
                                   const struct replay_lane *lanes, const struct load_watch *watch,
                                   struct placed_load_outcome *outcome, struct status *error)
{
    struct placed_weights weights;
    loaded_hand_over(loaded, lane_of, &weights);
    const struct placed_options options = {.stops = watch != NULL ? watch->stops : NULL,
                                           .context = watch != NULL ? watch->context : NULL,
                                           .observers = load->observers,
                                           .weights = &weights};
    return placed_tape_run_with(load->placed, lanes, &options, &outcome->run, error);
}

/* Out of memory while it is loaded is an outcome, of this lane. */
static enum status_code refusal_note(enum status_code code, const struct status *refusal, int lane,
                                     struct placed_load_outcome *outcome, struct status *error)
{
    char line[STATUS_LINE_BYTES];
    if (code != STATUS_OUT_OF_MEMORY) {
        return status_copy(error, code, refusal);
    }
    *outcome = (struct placed_load_outcome){.run.result.oom_lane = lane};
    outcome->run.result.lanes[lane].oom_stage = STAGE_LOAD;
    snprintf(outcome->run.reason, sizeof outcome->run.reason, "%.*s", (int)sizeof outcome->run.reason - 1,
             status_line(refusal, line));
    return STATUS_OK;
}

enum status_code placed_load_predict(const struct placed_load *load, struct arena *arena,
                                     struct placed_load_outcome *outcome, struct status *error)
{
    struct replay_lane lanes[PLACE_MAXIMUM], own[PLACE_MAXIMUM] = {0};
    int lane_of[PLACE_MAXIMUM], full_place = 0;
    const struct load_watch watch = {.full_place = &full_place};
    struct loaded *loaded = NULL;
    struct status refusal = {0};
    struct placed_load_outcome made = {.is_loaded = true};
    enum status_code code = placed_meta_lanes_open(load->placed, load->placed->budget_bytes, lanes, error);
    if (code != STATUS_OK) {
        return code;
    }
    code = lanes_match(load, lanes, own, lane_of, error);
    if (code == STATUS_OK) {
        code = load_lay(load->plan, own, &watch, &loaded, &refusal);
        if (code != STATUS_OK) {
            code = refusal_note(code, &refusal, lane_of[full_place], &made, error);
        } else {
            code = result_keep(load, loaded, arena, &made.load, error);
            code = code == STATUS_OK ? passes_run(load, loaded, lane_of, lanes, NULL, &made, error) : code;
            enum status_code released = loaded_release(loaded, code == STATUS_OK ? error : NULL);
            code = code == STATUS_OK ? released : code;
        }
    }
    placed_meta_lanes_close(lanes);
    if (code == STATUS_OK) {
        *outcome = made;
    }
    return code;
}

/* -- with bytes */

/* What this process held at most beside what it held before. */
struct growth {
    struct device *host;
    bool known;
    int64_t before_bytes;
};

static struct growth growth_begin(struct device *host)
{
    struct device_reading reading = {0};
    bool known = host->table->reset_peak != NULL && host->table->reset_peak(host, NULL) == STATUS_OK &&
                 host->table->read_memory(host, &reading, NULL) == STATUS_OK && reading.process_valid;
    return (struct growth){host, known, reading.process_bytes};
}

static int64_t growth_read(struct growth *growth)
{
    struct device_reading reading = {0};
    growth->known = growth->known && growth->host->table->read_memory(growth->host, &reading, NULL) == STATUS_OK &&
                    reading.process_peak_valid;
    return growth->known ? reading.process_peak_bytes - growth->before_bytes : 0;
}

/* Each stage of a replay begins a new peak. */
static int64_t stages_grown(const struct replay_result *lane, const struct growth *growth)
{
    int64_t most = 0;
    for (int i = 0; i < STAGE_COUNT && growth->known; i++) {
        const struct device_reading *reading = &lane->stages[i].reading;
        int64_t grown = lane->stages[i].present && reading->process_peak_valid
                            ? reading->process_peak_bytes - growth->before_bytes
                            : 0;
        most = grown > most ? grown : most;
    }
    return most;
}

static enum status_code run_measured(const struct placed_load *load, const struct placed_lanes *lanes,
                                     const struct load_watch *watch, struct arena *arena,
                                     struct placed_load_outcome *made, struct status *error)
{
    struct replay_lane own[PLACE_MAXIMUM] = {0};
    int lane_of[PLACE_MAXIMUM],
        host = placed_tape_place(load->placed, (struct placement_device){.kind = PLACEMENT_CPU});
    struct loaded *loaded = NULL;
    struct status refusal = {0};
    enum status_code code = lanes_match(load, lanes->lanes, own, lane_of, error);
    if (code != STATUS_OK) {
        return code;
    }
    int full_place = -1; /* a tensor on its way to the disk has no lane: the host has no memory for it */
    struct load_watch own_watch = watch != NULL ? *watch : (struct load_watch){.stops = NULL};
    own_watch.full_place = &full_place;
    struct growth growth = growth_begin(lanes->lanes[host].device);
    code = load_run(load->plan, load->files, own, &own_watch, &loaded, &refusal);
    if (code != STATUS_OK) {
        return refusal_note(code, &refusal, full_place >= 0 ? lane_of[full_place] : host, made, error);
    }
    made->load_grown_bytes = growth_read(&growth);
    code = result_keep(load, loaded, arena, &made->load, error);
    code = code == STATUS_OK ? passes_run(load, loaded, lane_of, lanes->lanes, watch, made, error) : code;
    if (code == STATUS_OK) {
        made->run_grown_bytes = stages_grown(&made->run.result.lanes[host], &growth);
        made->host_known = growth.known;
    }
    enum status_code released = loaded_release(loaded, code == STATUS_OK ? error : NULL);
    return code == STATUS_OK ? released : code;
}

enum status_code placed_load_run(const struct placed_load *load, const struct placed_lanes *lanes,
                                 const struct load_watch *watch, struct arena *arena,
                                 struct placed_load_outcome *outcome, struct status *error)
{
    struct placed_load_outcome made = {.is_loaded = true};
    enum status_code code = run_measured(load, lanes, watch, arena, &made, error);
    if (code == STATUS_OK) {
        *outcome = made;
    }
    return code;
}

/* GPUs of a placed run: a look at the first one, and who else is on them. */
#include "harness/cli/placed_gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cli/gpu_locks.h"
#include "harness/run/run_signals.h"
#include "harness/tape/target.h"

enum status_code placed_gpu_look(const struct arguments *arguments, int gpu, enum placed_ground *ground,
                                 const char **target, struct status *error)
{
    const char *on = arguments_value(arguments, "run");
    struct device *device = NULL;
    struct device_properties properties = {0};
    char spec[DEVICE_SPEC_BYTES];
    *ground = PLACED_ON_HOST;
    if (on == NULL || strcmp(on, "host") == 0 || gpu < 0) {
        return STATUS_OK;
    }
    snprintf(spec, sizeof spec, "cuda:%d", gpu);
    enum status_code code = device_open(spec, &device, error);
    if (code == STATUS_UNAVAILABLE && strcmp(on, "cuda") != 0) {
        return STATUS_OK;
    }
    if (code == STATUS_OK) {
        code = device->table->properties(device, &properties, error);
    }
    device_close(device);
    const struct target *found = NULL;
    if (code == STATUS_OK && arguments_value(arguments, "for") == NULL) {
        code = target_find(properties.target, &found, error);
        *target = found != NULL ? found->name : NULL;
    }
    *ground = PLACED_ON_GPUS;
    return code;
}

static enum status_code locks_take(const struct placed_lanes *lanes, const char *who, struct gpu_locks *locks,
                                   struct status *error)
{
    enum status_code code = STATUS_OK;
    for (int i = 0; i < lanes->count && code == STATUS_OK; i++) {
        code = gpu_locks_add(lanes->lanes[i].device, who, locks, error);
    }
    return code;
}

enum status_code placed_lanes_run(const struct placed_tape *placed, const struct placed_lanes *lanes, const char *who,
                                  struct placed_outcome *outcome, struct status *error)
{
    struct gpu_locks locks = {0};
    enum status_code code = locks_take(lanes, who, &locks, error);
    if (code == STATUS_OK) {
        code = placed_tape_run(placed, lanes->lanes, outcome, error);
    }
    gpu_locks_release(&locks);
    return code;
}

struct attendance {
    struct run_signals signals;
    bool came;
};

static bool attendance_stops(void *context)
{
    struct attendance *self = context;
    self->came = self->came || run_signals_came(&self->signals, 0);
    return self->came;
}

/* What lies in the folder stays if all of it is there. */
static enum status_code site_lanes_run(struct placed_site *site, const struct placed_tape *placed,
                                       const struct placed_options *options, struct placed_outcome *outcome,
                                       struct status *error)
{
    struct gpu_locks locks = {0};
    enum status_code code = locks_take(&site->lanes, site->who, &locks, error);
    if (code == STATUS_OK) {
        code = placed_tape_run_with(placed, site->lanes.lanes, options, outcome, error);
    }
    if (code == STATUS_OK && outcome->result.lanes[0].stages[STAGE_LOAD].present) {
        code = placed_lanes_keep(&site->lanes, &site->offloaded, error);
    }
    gpu_locks_release(&locks);
    return code;
}

enum status_code placed_site_run(struct placed_site *site, const struct placed_tape *placed,
                                 struct placed_outcome *outcome, struct status *error)
{
    struct attendance attendance = {.came = false};
    bool has_disk = placed->devices[placed->place_count - 1].kind == PLACEMENT_DISK;
    const struct placed_options options = {.stops = has_disk ? attendance_stops : NULL, .context = &attendance};
    enum status_code code = has_disk ? run_signals_open(&attendance.signals, error) : STATUS_OK;
    if (code != STATUS_OK) {
        return code;
    }
    code = placed_lanes_open_in(placed, site->ground, site->offload_folder, &site->lanes, error);
    if (code == STATUS_OK) {
        code = site_lanes_run(site, placed, &options, outcome, error);
    }
    placed_lanes_close(&site->lanes);
    if (has_disk) {
        run_signals_close(&attendance.signals);
    }
    site->is_interrupted = attendance.came && code == STATUS_UNAVAILABLE;
    return code;
}

/* Placed lanes: opening and closing. What runs on them is placed_trial.c's. */
#include "harness/question/placed_lanes.h"

#include <inttypes.h>
#include <stdio.h>

#include "harness/device/bounded.h"

static enum status_code lane_open(const struct placed_tape *placed, int place, const char *spec,
                                  struct replay_lane *lane, struct status *error)
{
    struct device *inner = NULL, *wrapped = NULL;
    enum status_code code = device_open(spec, &inner, error);
    if (code == STATUS_OK && placed->budget_bytes[place] == BUDGET_NONE) {
        lane->device = inner;
        return STATUS_OK;
    }
    if (code == STATUS_OK) {
        code = device_bound_wrap(inner, placed->budget_bytes[place], placed->budget_words[place], &wrapped, error);
    }
    if (code == STATUS_OK) {
        lane->device = wrapped;
    } else {
        device_close(inner);
    }
    return code;
}

static void spec_write(const struct placed_tape *placed, int place, const char *spec, struct placed_lanes *lanes)
{
    bool is_bounded = placed->budget_bytes[place] != BUDGET_NONE && spec[0] == 'h';
    snprintf(lanes->specs[place], sizeof lanes->specs[place], is_bounded ? "%s:mem=%" PRId64 "B" : "%s", spec,
             placed->budget_bytes[place]);
}

static enum status_code place_open(const struct placed_tape *placed, int place, bool host_stands_in,
                                   struct placed_lanes *lanes, struct status *error)
{
    struct placement_device device = placed->devices[place];
    struct replay_lane *lane = &lanes->lanes[place];
    char name[DEVICE_TEXT_BYTES], spec[DEVICE_SPEC_BYTES] = "host";
    enum status_code code = STATUS_OK;
    lane->policy = device.kind == PLACEMENT_GPU ? ALLOCATOR_CACHING : ALLOCATOR_PLAIN;
    if (device.kind == PLACEMENT_DISK) {
        snprintf(spec, sizeof spec, "meta");
        code = scratch_store_open(NULL, &lanes->store, error);
        lane->store = code == STATUS_OK ? scratch_store_table(lanes->store) : NULL;
    } else if (device.kind == PLACEMENT_GPU && !host_stands_in) {
        snprintf(spec, sizeof spec, "cuda:%d", device.index);
    }
    spec_write(placed, place, device.kind == PLACEMENT_DISK ? "disk" : spec, lanes);
    code = code == STATUS_OK ? lane_open(placed, place, spec, lane, error) : code;
    if (code != STATUS_OK) {
        status_prefix(error, "device %s", placement_device_name(device, name));
    }
    return code;
}

enum status_code placed_lanes_open(const struct placed_tape *placed, bool host_stands_in, struct placed_lanes *lanes,
                                   struct status *error)
{
    enum status_code code = STATUS_OK;
    *lanes = (struct placed_lanes){.count = placed->place_count};
    for (int i = 0; i < placed->place_count && code == STATUS_OK; i++) {
        code = place_open(placed, i, host_stands_in, lanes, error);
    }
    if (code != STATUS_OK) {
        placed_lanes_close(lanes);
    }
    return code;
}

void placed_lanes_close(struct placed_lanes *lanes)
{
    for (int i = 0; i < lanes->count; i++) {
        device_close(lanes->lanes[i].device);
    }
    scratch_store_close(lanes->store);
    *lanes = (struct placed_lanes){0};
}

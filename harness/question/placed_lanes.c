/* Placed lanes: opening and closing. What runs on them is placed_trial.c's. */
#include "harness/question/placed_lanes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/device/bounded.h"

/* -- the disk */

/* The error of a full disk names the remedy. */
static enum status_code disk_write(void *context, const struct stored_tensor *tensor, const void *bytes,
                                   struct status *error)
{
    struct placed_lanes *lanes = context;
    struct status cause = {0};
    enum status_code code = lanes->offload.store.write(lanes->offload.store.context, tensor, bytes, &cause);
    if (code != STATUS_OK) {
        status_copy(error, code, &cause);
    }
    if (code == STATUS_IO && lanes->is_temporary) {
        status_extend(error, "; set TMPDIR to a folder with room, or name one for what goes to the disk with "
                             "--offload-folder");
    }
    return code;
}

static enum status_code disk_read(void *context, const struct stored_tensor *tensor, void *bytes, struct status *error)
{
    struct placed_lanes *lanes = context;
    return lanes->offload.store.read(lanes->offload.store.context, tensor, bytes, error);
}

static enum status_code temporary_folder_make(struct placed_lanes *lanes, struct status *error)
{
    const char *wish = getenv("TMPDIR");
    const char *parent = wish != NULL && wish[0] != '\0' ? wish : "/tmp";
    int length = snprintf(lanes->folder, sizeof lanes->folder, "%s/assay-offload-XXXXXX", parent);
    bool fits = length > 0 && length < (int)sizeof lanes->folder;
    if (!fits || mkdtemp(lanes->folder) == NULL) {
        int cause = fits ? errno : ENAMETOOLONG;
        lanes->folder[0] = '\0';
        return status_set(
            error, STATUS_IO,
            "%s: no folder can be made for what lies on the disk: %s; set TMPDIR to a folder with room, or "
            "name one with --offload-folder",
            parent, strerror(cause));
    }
    lanes->is_temporary = true;
    return STATUS_OK;
}

static enum status_code disk_open(const char *folder, struct placed_lanes *lanes, struct status *error)
{
    enum status_code code = STATUS_OK;
    if (folder == NULL) {
        code = temporary_folder_make(lanes, error);
    } else if (snprintf(lanes->folder, sizeof lanes->folder, "%s", folder) >= (int)sizeof lanes->folder) {
        code = status_set(error, STATUS_INVALID, "the path of an offload folder is longer than %zu bytes",
                          sizeof lanes->folder - 1);
    }
    if (code == STATUS_OK) {
        code = offload_store_open(lanes->folder, OFFLOAD_KEEP, &lanes->offload, error);
    }
    lanes->disk = (struct placed_store){.write = disk_write, .read = disk_read, .context = lanes};
    return code;
}

static void disk_close(struct placed_lanes *lanes)
{
    offload_store_abandon(&lanes->offload);
    if (lanes->is_temporary) {
        rmdir(lanes->folder);
        lanes->is_temporary = false;
    }
}

enum status_code placed_lanes_keep(struct placed_lanes *lanes, struct offload_totals *totals, struct status *error)
{
    *totals = (struct offload_totals){0};
    if (lanes->offload.writer == NULL || lanes->is_temporary) {
        return STATUS_OK;
    }
    *totals = offload_writer_totals(lanes->offload.writer);
    return offload_store_finish(&lanes->offload, error);
}

/* -- lanes */

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

/* What is opened for a place; the disk counts on meta. */
static void spec_choose(struct placement_device device, enum placed_ground ground, char spec[DEVICE_SPEC_BYTES])
{
    if (device.kind == PLACEMENT_GPU && ground == PLACED_ON_GPUS) {
        snprintf(spec, DEVICE_SPEC_BYTES, "cuda:%d", device.index);
    } else {
        bool counts = device.kind == PLACEMENT_DISK || ground == PLACED_ON_META;
        snprintf(spec, DEVICE_SPEC_BYTES, "%s", counts ? "meta" : "host");
    }
}

/* "cuda:1", "host:mem=300000000B", "disk" */
static void spec_write(const struct placed_tape *placed, int place, const char *spec, struct placed_lanes *lanes)
{
    bool is_disk = placed->devices[place].kind == PLACEMENT_DISK;
    bool is_bounded = placed->budget_bytes[place] != BUDGET_NONE && !is_disk && strncmp(spec, "cuda", 4) != 0;
    snprintf(lanes->specs[place], sizeof lanes->specs[place], is_bounded ? "%s:mem=%" PRId64 "B" : "%s",
             is_disk ? "disk" : spec, placed->budget_bytes[place]);
}

/* What the lanes are opened for. */
struct opening {
    const struct placed_tape *placed;
    enum placed_ground ground;
    const char *folder;
};

static enum status_code place_open(const struct opening *opening, int place, struct placed_lanes *lanes,
                                   struct status *error)
{
    const struct placed_tape *placed = opening->placed;
    struct placement_device device = placed->devices[place];
    struct replay_lane *lane = &lanes->lanes[place];
    char name[DEVICE_TEXT_BYTES], spec[DEVICE_SPEC_BYTES];
    enum status_code code = STATUS_OK;
    lane->policy = device.kind == PLACEMENT_GPU ? ALLOCATOR_CACHING : ALLOCATOR_PLAIN;
    spec_choose(device, opening->ground, spec);
    spec_write(placed, place, spec, lanes);
    if (device.kind == PLACEMENT_DISK && opening->ground != PLACED_ON_META) {
        code = disk_open(opening->folder, lanes, error);
        lane->store = &lanes->disk;
    }
    code = code == STATUS_OK ? lane_open(placed, place, spec, lane, error) : code;
    if (code != STATUS_OK) {
        status_prefix(error, "device %s", placement_device_name(device, name));
    }
    return code;
}

enum status_code placed_lanes_open_in(const struct placed_tape *placed, enum placed_ground ground, const char *folder,
                                      struct placed_lanes *lanes, struct status *error)
{
    const struct opening opening = {placed, ground, folder};
    enum status_code code = STATUS_OK;
    *lanes = (struct placed_lanes){.count = placed->place_count};
    for (int i = 0; i < placed->place_count && code == STATUS_OK; i++) {
        code = place_open(&opening, i, lanes, error);
        if (code != STATUS_OK) {
            placed_lanes_close(lanes);
            lanes->count = i;
        }
    }
    return code;
}

enum status_code placed_lanes_open(const struct placed_tape *placed, enum placed_ground ground,
                                   struct placed_lanes *lanes, struct status *error)
{
    return placed_lanes_open_in(placed, ground, NULL, lanes, error);
}

void placed_lanes_close(struct placed_lanes *lanes)
{
    for (int i = 0; i < lanes->count; i++) {
        device_close(lanes->lanes[i].device);
        lanes->lanes[i] = (struct replay_lane){0};
    }
    disk_close(lanes);
}

/* Load run: memory first, then bytes. How one piece is moved is load_piece.c's. */
#include "harness/load/load_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/base/size.h"
#include "harness/load/load_inside.h"

/* -- lanes */

static enum status_code device_segment_alloc(void *context, int64_t bytes, void **address, struct status *error)
{
    struct device *device = context;
    return device->table->segment_alloc(device, bytes, address, error);
}

static enum status_code device_segment_free(void *context, void *address, int64_t bytes, struct status *error)
{
    struct device *device = context;
    return device->table->segment_free(device, address, bytes, error);
}

static const struct segment_source_table device_segments = {.alloc = device_segment_alloc, .free = device_segment_free};

static enum status_code lane_open(struct load_lane *lane, const struct replay_lane *given, bool is_virtual,
                                  struct status *error)
{
    struct device_properties properties = {0};
    struct segment_source source = {.table = &device_segments, .context = given->device, .descends = true};
    lane->given = given;
    lane->is_disk = given->store != NULL;
    if (lane->is_disk) {
        return STATUS_OK;
    }
    enum status_code code = given->device->table->properties(given->device, &properties, error);
    if (code != STATUS_OK) {
        return code;
    }
    lane->is_host = strcmp(properties.kind, "host") == 0;
    lane->computes = properties.computes;
    return allocator_open(given->policy, is_virtual ? segment_source_virtual : source, &lane->allocator, error);
}

enum status_code lanes_open(struct loaded *loaded, const struct replay_lane *lanes, bool is_virtual,
                            struct status *error)
{
    const struct load_plan *plan = loaded->plan;
    size_t places = (size_t)plan->place_count + 1, targets = (size_t)plan->target_count + 1;
    loaded->lanes = arena_alloc(&loaded->arena, places * sizeof *loaded->lanes);
    loaded->blocks = arena_alloc(&loaded->arena, targets * sizeof *loaded->blocks);
    loaded->result.shares = arena_alloc(&loaded->arena, places * sizeof *loaded->result.shares);
    if (loaded->lanes == NULL || loaded->blocks == NULL || loaded->result.shares == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for the list of what is loaded");
    }
    enum status_code code = STATUS_OK;
    for (int i = 0; i < plan->place_count && code == STATUS_OK; i++) {
        code = lane_open(&loaded->lanes[i], &lanes[i], is_virtual, error);
    }
    return code;
}

/* -- memory */

static bool is_host_place(const struct load_plan *plan, int place)
{
    return plan->places[place].device.kind == PLACEMENT_CPU;
}

enum status_code blocks_take(struct loaded *loaded, bool is_host, struct status *error)
{
    const struct load_plan *plan = loaded->plan;
    for (int i = 0; i < plan->target_count; i++) {
        const struct load_target *target = &plan->targets[i];
        const struct load_lane *lane = &loaded->lanes[target->place];
        char name[DEVICE_TEXT_BYTES];
        if (lane->is_disk || is_host_place(plan, target->place) != is_host) {
            continue;
        }
        enum status_code code = allocator_alloc(lane->allocator, target->bytes, &loaded->blocks[i], error);
        if (code != STATUS_OK) {
            if (loaded->watch != NULL && loaded->watch->full_place != NULL) {
                *loaded->watch->full_place = target->place;
            }
            int64_t held = allocator_counters(lane->allocator)->requested_bytes;
            status_prefix(error,
                          "device %s of the map, which holds %" PRId64 " of the %" PRId64
                          " bytes that are placed there: tensor '%s' of %" PRId64 " bytes",
                          placement_device_name(plan->places[target->place].device, name), held,
                          plan->places[target->place].bytes, target->path, target->bytes);
            return code;
        }
    }
    return STATUS_OK;
}

void shares_read(struct loaded *loaded)
{
    const struct load_plan *plan = loaded->plan;
    for (int i = 0; i < plan->place_count; i++) {
        if (loaded->lanes[i].allocator != NULL) {
            const struct allocator_counters *counters = allocator_counters(loaded->lanes[i].allocator);
            loaded->result.shares[i].requested_bytes = counters->levels[LEVEL_REQUESTED].bytes;
            level_peaks_raise(loaded->result.shares[i].peaks, counters->levels);
        }
    }
}

int64_t in_flight_bytes(const struct loaded *loaded)
{
    int64_t largest = 0;
    for (int i = 0; i < loaded->plan->target_count; i++) {
        const struct load_target *target = &loaded->plan->targets[i];
        largest = loaded->lanes[target->place].is_disk && target->bytes > largest ? target->bytes : largest;
    }
    return largest;
}

/* GPUs that the host stands for lie in its memory all the time; its own part and what is in flight never together. */
static int64_t host_bytes(const struct loaded *loaded)
{
    int64_t stands = LOAD_STAGING_BYTES, own = 0, flight = in_flight_bytes(loaded);
    for (int i = 0; i < loaded->plan->place_count; i++) {
        const struct load_lane *lane = &loaded->lanes[i];
        int64_t reserved = loaded->result.shares[i].reserved_bytes_peak;
        if (lane->is_host) {
            int64_t *sum = is_host_place(loaded->plan, i) ? &own : &stands;
            *sum = size_add(*sum, reserved, sum) ? *sum : INT64_MAX;
        }
    }
    int64_t larger = own > flight ? own : flight, all = 0;
    return size_add(stands, larger, &all) ? all : INT64_MAX;
}

void result_complete(struct loaded *loaded)
{
    shares_read(loaded);
    loaded->result.in_flight_bytes_peak = in_flight_bytes(loaded);
    loaded->result.host_bytes_predicted = host_bytes(loaded);
}

/* -- bytes */

/* What is not for the disk, as it lies in the files. */
static enum status_code devices_load(struct loaded *loaded, struct status *error)
{
    const struct load_plan *plan = loaded->plan;
    enum status_code code = STATUS_OK;
    for (int i = 0; i < plan->piece_count && code == STATUS_OK; i++) {
        const struct load_piece *piece = &plan->pieces[i];
        const struct load_lane *lane = &loaded->lanes[plan->targets[piece->target].place];
        if (!lane->is_disk && lane->computes) {
            code = piece_load(loaded, piece, block_address(loaded->blocks[piece->target]), error);
        }
    }
    for (int i = 0; i < plan->place_count && code == STATUS_OK; i++) {
        struct device *device = loaded->lanes[i].given->device;
        code = loaded->lanes[i].is_disk ? STATUS_OK : device->table->synchronize(device, error);
    }
    return code;
}

/* Memory first, then the bytes, of the disk before the host's. */
static enum status_code parts_load(struct loaded *loaded, struct status *error)
{
    double begin = clock_seconds();
    enum status_code code = blocks_take(loaded, false, error);
    double filled = clock_seconds();
    loaded->result.allocate_seconds = filled - begin;
    code = code == STATUS_OK ? disk_load(loaded, error) : code;
    begin = clock_seconds();
    loaded->result.transfer_seconds = begin - filled;
    code = code == STATUS_OK ? blocks_take(loaded, true, error) : code;
    filled = clock_seconds();
    loaded->result.allocate_seconds += filled - begin;
    code = code == STATUS_OK ? devices_load(loaded, error) : code;
    loaded->result.transfer_seconds += clock_seconds() - filled - loaded->result.store_seconds;
    return code;
}

/* The first device that has staging memory of its own, which is good for all of its kind; NULL: none. */
static struct device *staging_device(const struct loaded *loaded)
{
    for (int i = 0; i < loaded->plan->place_count; i++) {
        const struct load_lane *lane = &loaded->lanes[i];
        if (!lane->is_disk && lane->computes && lane->given->device->table->staging_alloc != NULL) {
            return lane->given->device;
        }
    }
    return NULL;
}

static enum status_code load_all(struct loaded *loaded, struct status *error)
{
    enum status_code code = staging_take(staging_device(loaded), LOAD_STAGING_BYTES, &loaded->staging, error);
    if (code != STATUS_OK) {
        return code;
    }
    loaded->result.staging_is_pinned = loaded->staging.is_pinned;
    code = parts_load(loaded, error);
    enum status_code given = staging_give_back(&loaded->staging, code == STATUS_OK ? error : NULL);
    code = code == STATUS_OK ? given : code;
    return code == STATUS_OK ? load_files_check(loaded->files, error) : code;
}

enum status_code load_run(const struct load_plan *plan, const struct load_files *files, const struct replay_lane *lanes,
                          const struct load_watch *watch, struct loaded **made, struct status *error)
{
    struct loaded *loaded = calloc(1, sizeof *loaded);
    if (loaded == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory to load anything");
    }
    loaded->plan = plan;
    loaded->files = files;
    loaded->watch = watch;
    enum status_code code = lanes_open(loaded, lanes, false, error);
    code = code == STATUS_OK ? load_all(loaded, error) : code;
    if (code != STATUS_OK) {
        loaded_release(loaded, NULL);
        return code;
    }
    shares_read(loaded);
    loaded->result.host_bytes_predicted = host_bytes(loaded);
    *made = loaded;
    return STATUS_OK;
}

const struct load_result *loaded_result(const struct loaded *loaded)
{
    return &loaded->result;
}

const void *loaded_address(const struct loaded *loaded, int target)
{
    return block_address(loaded->blocks[target]);
}

enum status_code loaded_release(struct loaded *loaded, struct status *error)
{
    enum status_code code = STATUS_OK;
    if (loaded == NULL) {
        return STATUS_OK;
    }
    for (int i = 0; loaded->lanes != NULL && i < loaded->plan->place_count; i++) {
        enum status_code closed = allocator_close(loaded->lanes[i].allocator, code == STATUS_OK ? error : NULL);
        code = code == STATUS_OK ? closed : code;
    }
    arena_release(&loaded->arena);
    free(loaded);
    return code;
}

enum status_code load_predict(const struct load_plan *plan, const struct replay_lane *lanes, struct arena *arena,
                              struct load_result *result, struct status *error)
{
    struct loaded loaded = {.plan = plan};
    size_t bytes = ((size_t)plan->place_count + 1) * sizeof *result->shares;
    struct load_share *shares = arena_alloc(arena, bytes);
    enum status_code code = shares == NULL
                                ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a prediction")
                                : lanes_open(&loaded, lanes, true, error);
    code = code == STATUS_OK ? blocks_take(&loaded, false, error) : code;
    code = code == STATUS_OK ? blocks_take(&loaded, true, error) : code;
    if (code == STATUS_OK) {
        result_complete(&loaded);
        for (int i = 0; i < plan->place_count; i++) {
            loaded.result.shares[i].stored_bytes = loaded.lanes[i].is_disk ? plan->places[i].bytes : 0;
        }
        *result = loaded.result;
        memcpy(shares, loaded.result.shares, bytes);
        result->shares = shares;
    }
    for (int i = 0; loaded.lanes != NULL && i < plan->place_count; i++) {
        allocator_close(loaded.lanes[i].allocator, NULL);
    }
    arena_release(&loaded.arena);
    return code;
}

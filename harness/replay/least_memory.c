/* Least memory: bounds tried from above on the meta device. It looks at no model and gives no advice. */
#include "harness/replay/least_memory.h"

#include "harness/device/meta.h"
#include "harness/replay/replay.h"

struct look {
    bool runs;
    int64_t held_bytes; /* at most, if it runs */
};

/* bound_bytes 0: none, and everything runs. */
static enum status_code bound_look(const struct tape_view *tape, int64_t bound_bytes, struct look *look,
                                   struct status *error)
{
    struct device *device = NULL;
    struct replay_result result = {0};
    enum status_code code = meta_open(bound_bytes, &device, error);
    if (code == STATUS_OK) {
        code = replay_run(tape, device, NULL, &result, error);
    }
    if (code == STATUS_OK) {
        /* Without a bound nothing is given back, so that the last stage of each kind holds most. */
        int64_t held_bytes = bound_bytes > 0 ? meta_held_peak_bytes(device) : result.reserved_bytes_peak;
        *look = (struct look){.runs = true, .held_bytes = held_bytes};
    } else if (code == STATUS_OUT_OF_MEMORY && device != NULL && bound_bytes > 0 && result.oom_wanted_bytes > 0) {
        *look = (struct look){.runs = false};
        code = STATUS_OK;
    }
    device_close(device);
    return code;
}

enum status_code least_memory_try(const struct tape_view *tape, int64_t bytes, bool *runs, struct status *error)
{
    struct look look = {0};
    enum status_code code = bound_look(tape, bytes, &look, error);
    if (code == STATUS_OK) {
        *runs = look.runs;
    }
    return code;
}

/* The largest multiple of a step that is less. */
static int64_t step_below(int64_t bytes)
{
    return (bytes - 1) / LEAST_MEMORY_STEP_BYTES * LEAST_MEMORY_STEP_BYTES;
}

/* least->bytes runs. Goes down until a bound fails; false in *is_open if one has, or nothing is left. */
static enum status_code bounds_descend(const struct tape_view *tape, struct least_memory *least, bool *is_open,
                                       struct status *error)
{
    enum status_code code = STATUS_OK;
    *is_open = true;
    while (code == STATUS_OK && *is_open && least->replay_count < LEAST_MEMORY_REPLAYS) {
        struct look look = {0};
        int64_t below_bytes = step_below(least->bytes);
        if (below_bytes > 0) {
            code = bound_look(tape, below_bytes, &look, error);
            least->replay_count++;
        }
        *is_open = look.runs;
        least->bytes = look.runs ? look.held_bytes : least->bytes;
    }
    return code;
}

/* least->bytes runs, and with nothing it does not: a step between that runs while the one below fails. */
static enum status_code bounds_bisect(const struct tape_view *tape, struct least_memory *least, struct status *error)
{
    enum status_code code = STATUS_OK;
    int64_t failing = 0;
    while (code == STATUS_OK && step_below(least->bytes) > failing) {
        struct look look = {0};
        int64_t steps = (step_below(least->bytes) - failing) / LEAST_MEMORY_STEP_BYTES;
        int64_t bytes = failing + (steps + 1) / 2 * LEAST_MEMORY_STEP_BYTES;
        code = bound_look(tape, bytes, &look, error);
        least->replay_count++;
        if (look.runs) {
            least->bytes = look.held_bytes;
        } else {
            failing = bytes;
        }
    }
    return code;
}

enum status_code least_memory_find(const struct tape_view *tape, int64_t bound_bytes, struct least_memory *least,
                                   struct status *error)
{
    struct look look = {0};
    struct least_memory found = {.replay_count = 1};
    bool is_open = false;
    enum status_code code = bound_look(tape, bound_bytes, &look, error);
    if (code == STATUS_OK && !look.runs) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the case does not run with %lld bytes", (long long)bound_bytes);
    }
    if (code == STATUS_OK) {
        found.bytes = found.held_bytes = look.held_bytes;
        code = bounds_descend(tape, &found, &is_open, error);
        found.is_threshold = !is_open;
    }
    if (code == STATUS_OK && is_open) {
        code = bounds_bisect(tape, &found, error);
    }
    if (code == STATUS_OK) {
        *least = found;
    }
    return code;
}

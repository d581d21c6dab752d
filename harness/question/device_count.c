/* Device count: a sum over a tape and a search over an estimator. No rule of its own for what a rank holds. */
#include "harness/question/device_count.h"

#include <stdlib.h>

#include "harness/base/size.h"
#include "harness/estimate/parallel.h"
#include "harness/question/trial.h"
#include "harness/tape/tape_cursor.h"
#include "harness/tape/target.h"

static bool is_divided(enum category category)
{
    return category == CATEGORY_WEIGHTS || category == CATEGORY_BUFFERS || category == CATEGORY_GRADIENTS ||
           category == CATEGORY_OPTIMIZER || category == CATEGORY_MASTER_WEIGHTS;
}

/* The most at one moment of what devices do not divide, without what the optimizer's step makes for itself, which has
 * the sizes of parameters: away from such tensors, beside them, and they themselves. */
struct undivided {
    int64_t away_bytes, beside_bytes, step_bytes;
};

/* Of so many devices. */
static int64_t undivided_most(const struct undivided *undivided, int64_t devices)
{
    int64_t shared_bytes = undivided->step_bytes / devices + (undivided->step_bytes % devices > 0 ? 1 : 0);
    int64_t beside_bytes = undivided->beside_bytes + shared_bytes;
    return beside_bytes > undivided->away_bytes ? beside_bytes : undivided->away_bytes;
}

static int64_t larger_of(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

/* is_of_step: false for each storage of the tape. The sums fit, because the tape was replayed. */
static enum status_code undivided_of(const struct tape_view *tape, bool *is_of_step, struct undivided *most,
                                     struct status *error)
{
    struct tape_cursor cursor;
    struct tape_step step;
    int64_t rest_bytes = 0, step_bytes = 0;
    bool steps = false;
    enum status_code code = tape_cursor_open(tape, &cursor, error);
    cursor.ends_only = true;
    while (code == STATUS_OK && tape_cursor_next(&cursor, &step)) {
        int index = step.event.index;
        if (step.kind == TAPE_STEP_EVENT && step.event.kind == EVENT_STAGE) {
            steps = index == STAGE_STEP;
        }
        if (step.change_bytes == 0 || is_divided(tape->storages[index].category)) {
            continue;
        }
        if (step.kind == TAPE_STEP_EVENT && step.event.kind == EVENT_ALLOC) {
            is_of_step[index] = steps && tape->storages[index].category == CATEGORY_TEMPORARIES;
        }
        *(is_of_step[index] ? &step_bytes : &rest_bytes) += step.change_bytes;
        if (step.kind == TAPE_STEP_EVENT) {
            int64_t *rest_most = step_bytes > 0 ? &most->beside_bytes : &most->away_bytes;
            *rest_most = larger_of(*rest_most, rest_bytes);
            most->step_bytes = larger_of(most->step_bytes, step_bytes);
        }
    }
    tape_cursor_close(&cursor);
    return code;
}

static enum status_code undivided_find(const struct estimate_input *input, struct undivided *undivided,
                                       struct status *error)
{
    const struct target *target = NULL;
    struct tape *tape = NULL;
    enum status_code code = target_find(input->target, &target, error);
    if (code == STATUS_OK) {
        code = workload_tape_brief(input->config, input->skeleton, input->workload, target, false, &tape, error);
    }
    if (code == STATUS_OK) {
        struct tape_view view = tape_view(tape);
        bool *is_of_step = calloc((size_t)view.storage_count + 1, sizeof *is_of_step);
        code = is_of_step == NULL
                   ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for the storages of a tape")
                   : undivided_of(&view, is_of_step, undivided, error);
        free(is_of_step);
    }
    tape_release(tape);
    return code;
}

static bool quantity_take(const struct estimate *estimate, const char *name, int64_t *bytes)
{
    const struct estimate_quantity *quantity = estimate_get(estimate, name);
    bool known = quantity != NULL && quantity->known;
    *bytes = known ? quantity->value : 0;
    return known;
}

/* What a device needs when there are so many. */
static enum status_code needed_find(const struct estimate_input *input, const struct undivided *undivided,
                                    int64_t devices, struct device_count *count, struct status *error)
{
    const struct estimator *shares = estimator_find("shares");
    struct parallel parallel = parallel_single();
    struct estimate_input divided = *input;
    parallel.data = devices;
    parallel.fsdp = true;
    divided.parallel = &parallel;
    count->has_rule = shares != NULL && estimator_applies(shares, &divided);
    if (!count->has_rule) {
        return STATUS_OK;
    }
    struct estimate *estimate = malloc(sizeof *estimate);
    enum status_code code = estimate == NULL
                                ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for an estimate")
                                : estimate_compute(shares, &divided, estimate, error);
    if (code == STATUS_OK) {
        int64_t states = 0;
        count->count = devices;
        count->undivided_bytes = undivided_most(undivided, devices);
        count->has_rule = quantity_take(estimate, "states_bytes", &count->states_bytes) &&
                          quantity_take(estimate, "gathered_bytes", &count->gathered_bytes) &&
                          size_add(count->states_bytes, count->gathered_bytes, &states) &&
                          size_add(states, count->undivided_bytes, &states) &&
                          size_add(states, count->slack_bytes, &count->bytes);
    }
    free(estimate);
    return code;
}

/* Doubles until it fits, then halves what lies between: a rank of more devices never holds more. */
static enum status_code count_search(const struct estimate_input *input, const struct undivided *undivided,
                                     int64_t memory_bytes, struct device_count *count, struct status *error)
{
    int64_t low = 1, high = 2;
    enum status_code code = needed_find(input, undivided, high, count, error);
    while (code == STATUS_OK && count->has_rule && count->bytes > memory_bytes && high < DEVICE_COUNT_MAXIMUM) {
        low = high;
        high *= 2;
        code = needed_find(input, undivided, high, count, error);
    }
    count->found = code == STATUS_OK && count->has_rule && count->bytes <= memory_bytes;
    while (code == STATUS_OK && count->found && high - low > 1) {
        struct device_count middle = *count;
        code = needed_find(input, undivided, low + (high - low) / 2, &middle, error);
        if (code == STATUS_OK && middle.has_rule && middle.bytes <= memory_bytes) {
            *count = middle;
            high = middle.count;
        } else {
            low = middle.count;
        }
    }
    return code;
}

/* Reserved less requested bytes if memory is scarce: replays the case with 1/64 more than its tensors, then with 1/32
 * more, and so on, until it runs. It runs at the latest with what it reserves without a bound. */
static enum status_code slack_find(const struct estimate_input *input, const struct replay_result *single,
                                   int64_t *slack_bytes, struct status *error)
{
    int64_t requested_bytes = single->requested_bytes_peak;
    int64_t unbounded_bytes = single->reserved_bytes_peak - requested_bytes;
    int64_t more_bytes = requested_bytes / 64 + 1;
    enum status_code code = STATUS_OK;
    for (*slack_bytes = unbounded_bytes; more_bytes < unbounded_bytes; more_bytes *= 2) {
        struct trial trial;
        code = trial_run_bounded(input, requested_bytes + more_bytes, &trial, error);
        if (code != STATUS_OK || trial.fits) {
            *slack_bytes = code == STATUS_OK ? trial.bounded.reserved_bytes_peak - requested_bytes : 0;
            break;
        }
    }
    return code;
}

enum status_code device_count_find(const struct estimate_input *input, const struct replay_result *single,
                                   int64_t memory_bytes, struct device_count *count, struct status *error)
{
    struct device_count found = {0};
    struct undivided undivided = {0};
    enum status_code code = undivided_find(input, &undivided, error);
    code = code == STATUS_OK ? slack_find(input, single, &found.slack_bytes, error) : code;
    code = code == STATUS_OK ? count_search(input, &undivided, memory_bytes, &found, error) : code;
    if (code == STATUS_OK) {
        *count = found;
    }
    return code;
}

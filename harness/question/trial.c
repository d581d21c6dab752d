/* Trial: one tape, one or two replays. It looks for no size and gives no advice. */
#include "harness/question/trial.h"

#include <stdio.h>

#include "harness/device/meta.h"
#include "harness/tape/target.h"

/* bound_bytes 0: none. */
static enum status_code view_replay(const struct tape_view *view, int64_t bound_bytes, struct replay_result *result,
                                    struct status *error)
{
    struct device *device = NULL;
    enum status_code code = meta_open(bound_bytes, &device, error);
    if (code == STATUS_OK) {
        code = replay_run(view, device, NULL, result, error);
    }
    device_close(device);
    return code;
}

static void refusal_note(struct trial *trial, const struct replay_result *result)
{
    trial->wanted_bytes = result->oom_wanted_bytes;
    trial->held_bytes = result->oom_held_bytes;
    trial->segment_bytes = result->oom_segment_bytes;
    trial->stage = result->oom_stage;
    trial->token_count = result->token_count;
    trial->live_bytes = result->oom_live_bytes;
    snprintf(trial->label, sizeof trial->label, "%s", result->oom_label != NULL ? result->oom_label : "");
}

static enum status_code bound_try(const struct tape_view *view, int64_t memory_bytes, struct trial *trial,
                                  struct status *error)
{
    struct replay_result result;
    enum status_code code = view_replay(view, memory_bytes, &result, error);
    if (code == STATUS_OK) {
        trial->fits = true;
        trial->bounded = result;
    } else if (code == STATUS_OUT_OF_MEMORY && result.oom_wanted_bytes > 0) {
        refusal_note(trial, &result);
        code = STATUS_OK;
    }
    return code;
}

/* Storages and lifetimes alone: no operation runs. */
static enum status_code tape_open(const struct estimate_input *input, struct tape **tape, struct status *error)
{
    const struct target *target = NULL;
    enum status_code code = target_find(input->target, &target, error);
    return code == STATUS_OK
               ? workload_tape_brief(input->config, input->skeleton, input->workload, target, false, tape, error)
               : code;
}

enum status_code trial_run(const struct estimate_input *input, int64_t memory_bytes, struct trial *trial,
                           struct status *error)
{
    struct tape *tape = NULL;
    struct tape_view view = {0};
    struct trial made = {0};
    enum status_code code = tape_open(input, &tape, error);
    if (code == STATUS_OK) {
        view = tape_view(tape);
        code = view_replay(&view, 0, &made.unbounded, error);
    }
    if (code == STATUS_OK && made.unbounded.reserved_bytes_peak <= memory_bytes) {
        made.fits = true;
        made.bounded = made.unbounded;
    } else if (code == STATUS_OK) {
        code = bound_try(&view, memory_bytes, &made, error);
    }
    tape_release(tape);
    if (code == STATUS_OK) {
        *trial = made;
    }
    return code;
}

static void view_cut(struct tape_view *view)
{
    for (int i = 0; i < view->event_count; i++) {
        if (view->events[i].kind == EVENT_REPEAT) {
            view->event_count = i;
        }
    }
}

static enum status_code bounded_run(const struct estimate_input *input, int64_t memory_bytes, bool beginning,
                                    struct trial *trial, struct status *error)
{
    struct tape *tape = NULL;
    struct trial made = {0};
    enum status_code code = tape_open(input, &tape, error);
    if (code == STATUS_OK) {
        struct tape_view view = tape_view(tape);
        if (beginning) {
            view_cut(&view);
        }
        code = bound_try(&view, memory_bytes, &made, error);
    }
    tape_release(tape);
    if (code == STATUS_OK) {
        *trial = made;
    }
    return code;
}

enum status_code trial_run_bounded(const struct estimate_input *input, int64_t memory_bytes, struct trial *trial,
                                   struct status *error)
{
    return bounded_run(input, memory_bytes, false, trial, error);
}

enum status_code trial_run_beginning(const struct estimate_input *input, int64_t memory_bytes, struct trial *trial,
                                     struct status *error)
{
    return bounded_run(input, memory_bytes, true, trial, error);
}

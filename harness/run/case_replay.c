/* Case replay: a case that is one tape on one device, which is every case that says nothing else. */
#include <malloc.h>

#include "harness/run/case_kind.h"
#include "harness/run/convolution_choice.h"
#include "models/workload/workload_tape.h"

static bool replay_applies(const struct workload *workload)
{
    (void)workload;
    return true;
}

static void reading_look(void *validity, enum stage stage, const struct replay_stage *figures)
{
    validity_add(validity, stage, &figures->reading);
}

/* The replay and what came of it. An out of memory is measured too: the stages that ended. */
static enum status_code replay_measure(const struct measuring *measuring, struct status *error)
{
    struct tape *tape = NULL;
    struct replay_result result;
    struct validity validity = {.shared = measuring->job->shared};
    const struct replay_observer observer = {.stage_ended = reading_look, .context = &validity};
    enum status_code code = workload_tape(&measuring->model.config, &measuring->skeleton,
                                          &measuring->job->case_->identity.workload, measuring->target, &tape, error);
    if (code != STATUS_OK) {
        return code;
    }
    struct tape_view view = tape_view(tape);
    malloc_trim(0); /* what the predictions used must not count as already there */
    code = replay_run(&view, measuring->device, &observer, &result, error);
    if (code == STATUS_OK || code == STATUS_OUT_OF_MEMORY) {
        struct status unsent;
        struct json *figures = measurement_json(&measuring->place, &result, &validity, code == STATUS_OUT_OF_MEMORY);
        bool made = figures != NULL && convolution_choice_set(figures, measuring->device);
        enum status_code sent = measuring_send(measuring, json_made(figures, made), &unsent);
        if (code == STATUS_OK && sent != STATUS_OK) {
            code = status_copy(error, sent, &unsent);
        }
    }
    tape_release(tape);
    return code;
}

const struct case_kind case_kind_replay = {
    .applies = replay_applies, .predict = prediction_by_estimators, .measure = replay_measure};

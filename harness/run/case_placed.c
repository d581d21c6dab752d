/* Case placed: a model that lies in several places: planned, predicted by a replay, and measured on as many devices.
 * Not the planning itself (harness/placement, harness/question). */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/run/case_checkpoint.h"
#include "harness/run/case_kind.h"
#include "harness/run/placed_members.h"
#include "harness/run/placed_plain.h"

struct placed_case {
    struct place_request asked;
    struct placed_plan plan;
    struct checkpoint_case *checkpoint; /* what it is loaded from; NULL: it makes its weights */
    struct placed_lanes lanes;
    enum placed_ground ground;
    struct measurement_place place; /* of the main place */
    struct validity validities[PLACE_MAXIMUM];
    struct replay_observer observers[PLACE_MAXIMUM];
    struct placed_transfers transfers;
};

static bool placed_applies(const struct workload *workload)
{
    return workload->place != NULL && workload->checkpoint == NULL;
}

static bool checkpoint_applies(const struct workload *workload)
{
    return workload->checkpoint != NULL;
}

static enum status_code case_open(struct placed_case **placed, struct status *error)
{
    *placed = calloc(1, sizeof **placed);
    return *placed != NULL ? STATUS_OK : status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a plan");
}

static void case_close(struct placed_case *placed)
{
    placed_lanes_close(&placed->lanes);
    checkpoint_case_close(placed->checkpoint);
    placed_plan_release(&placed->plan);
    free(placed);
}

static enum status_code case_plan(const struct placed_question *question, struct placed_case *placed,
                                  struct status *error)
{
    enum status_code code = place_request_make(question, &placed->asked, error);
    code = code == STATUS_OK ? placed_plan_make(&placed->asked.request, &placed->plan, error) : code;
    if (code == STATUS_OK && question->workload->checkpoint != NULL) {
        code = checkpoint_case_open(&placed->asked.request.question, &placed->plan, &placed->checkpoint, error);
    }
    return code;
}

static int main_place(const struct placed_case *placed)
{
    return placed->plan.main.placed.placement.main;
}

/* -- prediction */

static enum status_code question_of(const struct estimate_input *input, struct placed_question *question,
                                    struct status *error)
{
    *question = (struct placed_question){.config = input->config,
                                         .skeleton = input->skeleton,
                                         .workload = input->workload,
                                         .gpu_memory_bytes = input->memory_bytes};
    return target_find(input->target, &question->target, error);
}

static struct prediction prediction_of(const struct placed_case *placed)
{
    const struct placed_outcome *outcome = &placed->plan.main.predicted;
    struct prediction result = {.peak = {.is_known = outcome->fits, .is_refused = !outcome->fits}};
    if (outcome->fits) {
        result.peak.allocated_bytes = outcome->result.lanes[main_place(placed)].allocated_bytes_peak;
    }
    return result;
}

/* What cannot be planned or built is a prediction that is missing, and no error. */
static enum status_code placed_predict(const struct estimate_input *input, struct json **estimates,
                                       struct prediction *prediction, struct status *error)
{
    struct placed_case *placed = NULL;
    struct placed_question question;
    struct prediction result = {0};
    struct json *object = NULL;
    enum status_code code = case_open(&placed, error);
    if (code != STATUS_OK) {
        return code;
    }
    code = question_of(input, &question, &result.failure);
    if (code == STATUS_OK) {
        code = case_plan(&question, placed, &result.failure);
    }
    if (code == STATUS_OK) {
        result = prediction_of(placed);
        object = estimates != NULL ? place_estimates_json(&placed->asked, &placed->plan, main_place(placed)) : NULL;
    } else if (estimates != NULL) {
        object = json_object_new();
        object = json_made(object, json_set(object, estimator_replay.name, json_null_new()));
    }
    case_close(placed);
    if (estimates != NULL && object == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the predictions of a case");
    }
    if (estimates != NULL) {
        *estimates = object;
    }
    *prediction = result;
    return STATUS_OK;
}

/* -- what it stands on */

/* What the GPUs of the text are, and the spec of the main place. Of auto GPUs, where the first that the driver shows is
 * here. */
static enum status_code ground_find(const char *wish, const struct place_text *text, enum placed_ground *ground,
                                    char spec[DEVICE_SPEC_BYTES], struct status *error)
{
    struct device_spec parsed;
    struct device_identity identity;
    enum status_code code = device_spec_parse(wish, &parsed, error);
    int first = place_text_first_gpu(text);
    if (code == STATUS_OK && parsed.kind == DEVICE_KIND_CUDA && parsed.index > 0) {
        return status_set(error, STATUS_INVALID,
                          "a case with place has its GPUs by their numbers there; write --device cuda, not %s", wish);
    }
    if (code != STATUS_OK) {
        return code;
    }
    bool is_auto = parsed.kind == DEVICE_KIND_AUTO;
    bool on_gpus = first >= 0 && (parsed.kind == DEVICE_KIND_CUDA ||
                                  (is_auto && device_identify("cuda", &identity, NULL) != STATUS_UNAVAILABLE));
    *ground = parsed.kind == DEVICE_KIND_META ? PLACED_ON_META : on_gpus ? PLACED_ON_GPUS : PLACED_ON_HOST;
    if (on_gpus) {
        snprintf(spec, DEVICE_SPEC_BYTES, "cuda:%d", first);
    } else {
        snprintf(spec, DEVICE_SPEC_BYTES, "%s", *ground == PLACED_ON_META ? "meta" : "host");
    }
    return STATUS_OK;
}

/* That segments of a GPU may take: of the device's spec, else of the suite. */
static int64_t memory_of(const struct case_job *job)
{
    struct device_spec parsed = {0};
    bool is_bounded = device_spec_parse(job->device, &parsed, NULL) == STATUS_OK && parsed.memory_bytes > 0;
    return is_bounded ? parsed.memory_bytes : job->case_->settings->memory_bytes;
}

/* What the text asks for; without one, everything is on GPU 0. */
static enum status_code text_read(const char *place, struct place_text *text, struct status *error)
{
    if (place != NULL) {
        return place_text_parse(place, text, error);
    }
    *text = (struct place_text){.way = PLACE_WAY_CPU_OFFLOAD}; /* whose GPU is 0, too */
    return STATUS_OK;
}

static enum status_code placed_look(struct measuring *measuring, struct status *error)
{
    struct place_text text;
    enum placed_ground ground;
    char spec[DEVICE_SPEC_BYTES];
    enum status_code code = text_read(measuring->job->case_->identity.workload.place, &text, error);
    if (code == STATUS_OK) {
        code = ground_find(measuring->job->device, &text, &ground, spec, error);
    }
    measuring->memory_bytes = memory_of(measuring->job);
    return code == STATUS_OK ? measuring_device_look(measuring, spec, error) : code;
}

/* -- measurement */

static enum status_code measuring_plan(const struct measuring *measuring, struct placed_case *placed,
                                       struct status *error)
{
    char spec[DEVICE_SPEC_BYTES];
    const struct placed_question question = {.config = &measuring->model.config,
                                             .skeleton = &measuring->skeleton,
                                             .workload = &measuring->job->case_->identity.workload,
                                             .target = measuring->target,
                                             .gpu_memory_bytes = measuring->memory_bytes};
    struct place_text text;
    enum status_code code = case_plan(&question, placed, error);
    code = code == STATUS_OK ? text_read(question.workload->place, &text, error) : code;
    return code == STATUS_OK ? ground_find(measuring->job->device, &text, &placed->ground, spec, error) : code;
}

/* A map that puts nothing on a GPU runs on the host, whatever is here. */
static void main_place_settle(const struct measuring *measuring, struct placed_case *placed)
{
    struct device_properties *properties = &placed->place.properties;
    struct device_identity identity;
    placed->place = measuring->place;
    if (placed->plan.map.count == 0 || placed->ground == PLACED_ON_META ||
        placed->plan.main.placed.devices[main_place(placed)].kind == PLACEMENT_GPU) {
        return;
    }
    if (device_identify("host", &identity, NULL) == STATUS_OK) {
        *properties = (struct device_properties){0};
        device_properties_look("host", &identity, properties);
        placed->place.spec = "host";
    }
}

/* What is known before a device is opened, or why there is no map. */
static enum status_code plan_send(const struct measuring *measuring, struct placed_case *placed, struct status *error)
{
    struct json *object = json_object_new();
    main_place_settle(measuring, placed);
    bool has_text = placed->asked.request.question.workload->place != NULL;
    bool has_device = placed->place.properties.kind[0] != '\0';
    bool made =
        (!has_text || json_set(object, "placement", placement_json(&placed->asked, &placed->plan))) &&
        (placed->plan.map.count == 0 || json_set(object, "places", places_json(&placed->asked, &placed->plan, NULL))) &&
        (!has_device || json_set(object, "device", device_json(&placed->place)));
    return measuring_send(measuring, json_made(object, made), error);
}

static struct json *refusal_json(const struct placed_case *placed, int place, const struct replay_result *lane)
{
    char name[DEVICE_TEXT_BYTES];
    struct json *object = oom_json(lane);
    bool made = json_set(object, "place",
                         json_string_new(placement_device_name(placed->plan.main.placed.devices[place], name)));
    return json_made(object, made);
}

/* A GPU that has no memory to be opened: nothing is held yet. */
static enum status_code opening_refusal_send(const struct measuring *measuring, const struct placed_case *placed,
                                             struct status *error)
{
    const struct replay_result nothing = {.oom_stage = STAGE_CONTEXT};
    struct json *object = json_object_new();
    bool made = json_set(object, "oom", refusal_json(placed, placed->lanes.count, &nothing));
    return measuring_send(measuring, json_made(object, made), error);
}

static enum status_code lanes_open(const struct measuring *measuring, struct placed_case *placed, struct status *error)
{
    enum status_code code =
        placed_lanes_open_in(&placed->plan.main.placed, placed->ground, measuring->job->folder, &placed->lanes, error);
    if (code == STATUS_OUT_OF_MEMORY) {
        struct status unsent;
        enum status_code sent = opening_refusal_send(measuring, placed, &unsent);
        return sent == STATUS_OK ? code : status_copy(error, sent, &unsent);
    }
    return code;
}

static void reading_look(void *validity, enum stage stage, const struct replay_stage *figures)
{
    validity_add(validity, stage, &figures->reading);
}

static void watch(const struct measuring *measuring, struct placed_case *placed)
{
    for (int i = 0; i < PLACE_MAXIMUM; i++) {
        placed->validities[i].shared = measuring->job->shared;
        placed->observers[i] = (struct replay_observer){.stage_ended = reading_look, .context = &placed->validities[i]};
    }
}

/* What disturbed any place disturbed the case. */
static const struct validity *validity_of(struct placed_case *placed)
{
    const struct placed_tape *tape = &placed->plan.main.placed;
    struct validity *whole = &placed->validities[main_place(placed)];
    for (int i = 0; i < tape->place_count; i++) {
        char name[DEVICE_TEXT_BYTES];
        if (i != main_place(placed)) {
            validity_join(whole, &placed->validities[i], placement_device_name(tape->devices[i], name));
        }
    }
    return whole;
}

/* The main place, as a replay of one device: without the stage in which memory ran out, of which an earlier pass is
 * told. */
static struct json *main_json(struct placed_case *placed)
{
    const struct placed_outcome *outcome = &placed->plan.main.measured;
    struct replay_result result = outcome->result.lanes[main_place(placed)];
    struct measurement_place place = placed->place;
    for (int i = 0; i < STAGE_COUNT; i++) {
        result.stages[i].present = placed_stage(outcome, main_place(placed), (enum stage)i) != NULL;
    }
    place.is_part = placed->ground == PLACED_ON_HOST;
    struct json *object = measurement_json(&place, &result, validity_of(placed), !outcome->fits);
    if (!outcome->fits) {
        int refused = outcome->result.oom_lane;
        object =
            json_made(object, json_set(object, "oom", refusal_json(placed, refused, &outcome->result.lanes[refused])));
    }
    return object;
}

static enum status_code figures_send(const struct measuring *measuring, struct placed_case *placed,
                                     struct status *error)
{
    struct json *object = main_json(placed);
    bool made = json_set(object, "places", places_json(&placed->asked, &placed->plan, &placed->lanes)) &&
                json_set(object, "transfers",
                         placed->checkpoint != NULL ? checkpoint_transfers_json(placed->checkpoint)
                                                    : transfers_json(&placed->plan, NULL));
    return measuring_send(measuring, json_made(object, made), error);
}

/* Sent after the figures, for these are there whatever becomes of it. */
static enum status_code plain_send(const struct measuring *measuring, struct placed_case *placed, struct status *error)
{
    if (placed->checkpoint != NULL) {
        return STATUS_OK; /* has its own, of its files */
    }
    struct json *object = json_object_new();
    placed_plain_measure(&placed->plan.main, &placed->lanes, &placed->transfers);
    bool made = json_set(object, "transfers", transfers_json(&placed->plan, &placed->transfers));
    return measuring_send(measuring, json_made(object, made), error);
}

static enum status_code lanes_run(const struct measuring *measuring, struct placed_case *placed, struct status *error)
{
    struct placed_trial *trial = &placed->plan.main;
    const struct placed_options options = {.observers = placed->observers};
    char name[DEVICE_TEXT_BYTES];
    watch(measuring, placed);
    malloc_trim(0); /* what the predictions used must not count as already there */
    enum status_code code =
        placed->checkpoint != NULL
            ? checkpoint_case_measure(placed->checkpoint, measuring, &placed->lanes, placed->observers, error)
            : placed_tape_run_with(&trial->placed, placed->lanes.lanes, &options, &trial->measured, error);
    if (code == STATUS_IO && placed->checkpoint == NULL) {
        status_extend(error, "; set TMPDIR to a folder with room");
        return code;
    }
    if (code == STATUS_OK) {
        code = figures_send(measuring, placed, error);
    }
    if (code == STATUS_OK && !trial->measured.fits) {
        int refused = trial->measured.result.oom_lane;
        code = status_set(error, STATUS_OUT_OF_MEMORY, "on %s: %s",
                          placement_device_name(trial->placed.devices[refused], name), trial->measured.reason);
    }
    return code == STATUS_OK ? plain_send(measuring, placed, error) : code;
}

static enum status_code placed_measure(const struct measuring *measuring, struct status *error)
{
    struct placed_case *placed = NULL;
    struct status unsent = {0};
    enum status_code code = case_open(&placed, error);
    if (code != STATUS_OK) {
        return code;
    }
    code = measuring_plan(measuring, placed, error);
    enum status_code sent = plan_send(measuring, placed, &unsent);
    if (code == STATUS_OK && sent != STATUS_OK) {
        code = status_copy(error, sent, &unsent);
    }
    if (code == STATUS_OK) {
        code = lanes_open(measuring, placed, error);
    }
    if (code == STATUS_OK) {
        code = lanes_run(measuring, placed, error);
    }
    case_close(placed);
    return code;
}

const struct case_kind case_kind_placed = {
    .applies = placed_applies,
    .predict = placed_predict,
    .measure = placed_measure,
    .look = placed_look,
    .writes_files = true,
    .unproved = "the least memory is not looked for if a model lies in several places",
};

const struct case_kind case_kind_checkpoint = {
    .applies = checkpoint_applies,
    .predict = placed_predict,
    .measure = placed_measure,
    .look = placed_look,
    .writes_files = true,
    .unproved = "the least memory is not looked for if weights come from a checkpoint",
};

/* Measuring runner: in a child, from the name of a model to what its replay occupied on the device. What was predicted
 * and where it was measured is sent before the replay begins, so that a crash in it does not take them along. */
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/question/bounds.h"
#include "harness/run/case_fitting.h"
#include "harness/run/case_kind.h"
#include "harness/run/case_prove.h"
#include "harness/run/measurement.h"
#include "harness/run/measuring.h"
#include "harness/run/prediction.h"
#include "harness/run/run.h"
#include "harness/run/search_predict.h"
#include "models/config/family.h"

/* The constants of the device. meta stands for any device, so that it takes whichever it is given. The parent has
 * refused those of another device already, if it could be told which device this is (constants_check.h). */
static enum status_code constants_prepare(struct measuring *measuring, struct status *error)
{
    const struct device_properties *properties = &measuring->place.properties;
    const struct constants *given = measuring->job->constants;
    bool found = false;
    if (given != NULL) {
        bool fits = constants_are_of(given, properties->kind, properties->name, properties->thread_count);
        if (properties->computes && !fits) {
            char ours[CONSTANTS_WORDS_BYTES], theirs[CONSTANTS_WORDS_BYTES];
            const struct constants_device *other = &given->device;
            return status_set(
                error, STATUS_INVALID, "the constants of %.200s are of %s, and the device is %s; leave --constants out",
                given->path, constants_device_words(other->kind, other->name, other->thread_count, theirs),
                constants_device_words(properties->kind, properties->name, properties->thread_count, ours));
        }
        measuring->constants = given;
        return STATUS_OK;
    }
    if (measuring->device == NULL || measuring->job->reference_dir == NULL) {
        return STATUS_OK;
    }
    enum status_code code = constants_find(measuring->job->reference_dir, properties->kind, properties->name,
                                           properties->thread_count, &measuring->found, &found, error);
    measuring->constants = code == STATUS_OK && found ? &measuring->found : NULL;
    return code;
}

/* On meta nothing is measured that could be judged by them, whatever they were measured under. */
static struct json *constants_used_json(const struct measuring *measuring)
{
    const struct device_properties *properties = &measuring->place.properties;
    const struct constants_place place = {
        .driver = properties->driver, .runtime = properties->runtime, .tool_version = measuring->job->version};
    struct text mismatch = {0};
    bool differs = measuring->constants != NULL && measuring->device != NULL && properties->computes &&
                   constants_mismatch_append(&mismatch, measuring->constants, &place);
    struct json *object = mismatch.failed ? NULL
                                          : constants_json(measuring->constants, measuring->job->case_->id,
                                                           differs ? text_string(&mismatch) : NULL);
    text_release(&mismatch);
    return object;
}

/* What a program of PyTorch would be seen to take there: of a GPU alone. NULL: it is none. */
static struct json *bounds_of(const struct measuring *measuring, const struct json *estimates)
{
    const struct device_properties *properties = &measuring->place.properties;
    struct bounds_device device = {.target = measuring->target};
    struct bounds bounds;
    if (!properties->computes || measuring->target->capability == 0) {
        return NULL;
    }
    if (gpu_find(properties->name, &device.gpu, NULL) != STATUS_OK) {
        device.gpu = NULL;
    }
    bool found = bounds_find(json_get(estimates, "replay"), &device, &measuring->model.config,
                             &measuring->job->case_->identity.workload, &bounds);
    return bounds_to_json(found ? &bounds : NULL);
}

/* Then, of a case that must fit, whether it does: STATUS_UNAVAILABLE if not. */
static enum status_code prediction_send(const struct measuring *measuring, struct status *error)
{
    const struct estimate_input input = {.config = &measuring->model.config,
                                         .checkpoint = measuring->model.checkpoint,
                                         .skeleton = &measuring->skeleton,
                                         .workload = &measuring->job->case_->identity.workload,
                                         .target = measuring->target->name,
                                         .memory_bytes = measuring->memory_bytes,
                                         .constants = measuring->constants};
    struct json *estimates = NULL;
    enum status_code code = prediction_json(&input, &estimates, error);
    if (code != STATUS_OK) {
        return code;
    }
    struct json *object = json_object_new(), *bounds = bounds_of(measuring, estimates);
    bool made =
        (bounds == NULL || json_set(object, "bounds", bounds)) &&
        json_set(object, "family", json_string_new(measuring->model.config.family->name)) &&
        json_set(object, "estimates", estimates) && json_set(object, "constants", constants_used_json(measuring)) &&
        json_set(object, "device",
                 measuring->place.properties.kind[0] != '\0' ? device_json(&measuring->place) : json_null_new());
    struct json *kept = json_share(estimates);
    code = measuring_send(measuring, json_made(object, made), error);
    if (code == STATUS_OK && measuring->job->fitting) {
        code = case_fitting_check(measuring, kept, error);
    }
    json_release(kept);
    return code;
}

/* A device that has no memory to be opened: nothing is held yet, and who asks for how much is the driver's secret. */
static enum status_code opening_refusal_send(const struct measuring *measuring, struct status *error)
{
    struct replay_result nothing = {.oom_stage = STAGE_CONTEXT};
    struct device_identity identity;
    if (device_identify(measuring->spec, &identity, NULL) == STATUS_OK) {
        nothing.oom_free_valid = identity.free_valid;
        nothing.oom_free_bytes = identity.free_bytes;
    }
    struct json *object = json_object_new();
    return measuring_send(measuring, json_made(object, json_set(object, "oom", oom_json(&nothing))), error);
}

/* On the device that was asked for, which is open. */
static enum status_code measure_there(const struct measuring *measuring, const struct case_kind *kind,
                                      struct status *error)
{
    enum status_code code = STATUS_OK;
    if (measuring->unopened.code == STATUS_OUT_OF_MEMORY) {
        code = opening_refusal_send(measuring, error);
    }
    if (code == STATUS_OK && measuring->device == NULL) {
        *error = measuring->unopened;
        code = error->code;
    }
    return code == STATUS_OK ? kind->measure(measuring, error) : code;
}

static void measure_run(void *context, const struct case_job *job, int file)
{
    (void)context;
    struct measuring measuring = {.job = job, .file = file};
    struct status error = {0};
    const struct case_kind *kind = case_kind_of(&job->case_->identity.workload);
    enum status_code code = measuring_model_prepare(&measuring, &error);
    if (code == STATUS_OK) {
        code = (kind->look != NULL ? kind->look : measuring_device_prepare)(&measuring, &error);
    }
    if (code == STATUS_OK && kind->look == NULL) {
        code = constants_prepare(&measuring, &error);
    }
    if (code == STATUS_OK) {
        code = prediction_send(&measuring, &error);
        model_headers_release(&measuring.model); /* what they used must not count as the case's */
    }
    if (code == STATUS_OK) {
        code = kind->look != NULL ? kind->measure(&measuring, &error) : measure_there(&measuring, kind, &error);
    }
    measuring_status_send(&measuring, code, &error);
    measuring_release(&measuring);
}

static struct json *text_or_null(const char *text)
{
    return text[0] != '\0' ? json_string_new(text) : json_null_new();
}

/* What else the bytes of a process depend on: the libraries that it loads. */
static struct json *libraries_json(const struct device_identity *identity)
{
    char libc[40];
    struct json *libraries = json_array_new();
    const char *const told[] = {identity->libraries, identity->convolution_library};
    bool made = true;
    for (int i = 0; i < 2; i++) {
        made = made && (told[i][0] == '\0' || json_append(libraries, json_string_new(told[i])));
    }
    snprintf(libc, sizeof libc, "glibc %.30s", gnu_get_libc_version());
    return json_made(libraries, made && json_append(libraries, json_string_new(libc)));
}

static void measure_identify(void *context, const struct case_job *job, int file)
{
    struct device_identity identity = {0};
    struct device_properties properties = {0};
    enum status_code code = device_identify(job->device, &identity, NULL);
    (void)context;
    if (code != STATUS_OK && code != STATUS_UNAVAILABLE) {
        return;
    }
    if (code == STATUS_OK) {
        device_properties_look(job->device, &identity, &properties);
    }
    struct json *object = json_object_new();
    bool made = json_set(object, "kind", code == STATUS_OK ? json_string_new(identity.kind) : json_null_new()) &&
                json_set(object, "name", text_or_null(properties.name)) &&
                json_set(object, "threads",
                         properties.thread_count > 0 ? json_integer_new(properties.thread_count) : json_null_new()) &&
                json_set(object, "driver", text_or_null(properties.driver)) &&
                json_set(object, "runtime", text_or_null(properties.runtime)) &&
                json_set(object, "libraries", libraries_json(&identity)) &&
                json_set(object, "uuid", text_or_null(identity.uuid)) &&
                json_set(object, "pci_bus_id", text_or_null(identity.pci_bus_id));
    if (made) {
        case_send(file, object, NULL);
    }
    json_release(object);
}

static bool estimator_known(const char *name)
{
    return estimator_find(name) != NULL;
}

const struct case_runner case_runner_measure = {.run = measure_run,
                                                .prove = case_prove,
                                                .predict = search_predict,
                                                .identify = measure_identify,
                                                .knows_estimator = estimator_known};

/* Batch scene: a runner around the fault shim, and the search around it. Holds no test. */
#include "tests/run/batch_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "harness/device/fault.h"
#include "harness/device/host.h"
#include "harness/run/measurement.h"
#include "models/config/family.h"
#include "models/family/family_table.h"
#include "tests/support/modelled.h"

static void object_send(int file, struct json *object)
{
    if (case_send(file, object, NULL) != STATUS_OK) {
        _exit(9);
    }
    json_release(object);
}

static void outcome_send(int file, enum status_code code, const char *text)
{
    struct json *object = json_object_new();
    json_set(object, "status",
             json_string_new(code == STATUS_OK              ? "ok"
                             : code == STATUS_OUT_OF_MEMORY ? "oom"
                                                            : "error"));
    json_set(object, "reason", code == STATUS_OK ? json_null_new() : json_string_new(text));
    object_send(file, object);
}

static void fault_happen(const struct batch_fault *fault)
{
    if (fault->signal != 0) {
        kill(getppid(), fault->signal);
    }
    if (fault->kills) {
        kill(getpid(), SIGKILL);
    }
    while (fault->signal != 0 || fault->hangs) {
        pause();
    }
}

/* The case on a host, wrapped. */
static void scene_child(void *context, const struct case_job *job, int file)
{
    const struct batch_fault *fault = context;
    const struct workload *workload = &job->case_->identity.workload;
    bool fails = workload->batch > fault->limit;
    struct modelled modelled = {0};
    struct device *host = NULL, *device = NULL;
    struct replay_result result;
    struct validity validity = {0};
    struct status error = {0};
    struct measurement_place place = {.spec = job->device};
    if (fails) {
        fault_happen(fault);
    }
    if (modelled_open(&modelled, job->case_->identity.model, workload, "host", &error) != STATUS_OK ||
        host_open(0, &host, &error) != STATUS_OK ||
        host->table->properties(host, &place.properties, &error) != STATUS_OK ||
        device_fault_wrap(host, 0, &device, &error) != STATUS_OK) {
        outcome_send(file, STATUS_INTERNAL, error.text);
        return;
    }
    if (fails && fault->call != NULL) {
        device_fault_say(device, fault->call, fault->code, fault->text);
    }
    struct tape_view view = tape_view(modelled.tape);
    enum status_code code = replay_run(&view, device, NULL, &result, &error);
    if (code == STATUS_OK || code == STATUS_OUT_OF_MEMORY) {
        object_send(file, measurement_json(&place, &result, &validity, code == STATUS_OUT_OF_MEMORY));
    }
    outcome_send(file, code, error.text);
    device_close(device);
    modelled_close(&modelled);
}

static enum status_code scene_attempt(void *context, int64_t batch, struct json **line, struct status *error)
{
    struct batch_scene *scene = context;
    char id[64];
    snprintf(id, sizeof id, "tiny-gpt2/b%lld", (long long)batch);
    scene->identity.workload.batch = batch;
    const struct suite_case case_ = {.id = id, .identity = scene->identity, .settings = &scene->settings};
    return attempts_measure(scene->attempts, &case_, line, error);
}

static void scene_ended(void *context, const struct batch_try *try_)
{
    struct batch_scene *scene = context;
    assert_non_null(try_->line);
    scene->told++;
}

void batch_scene_run(struct batch_scene *scene, const struct case_runner *runner, const char *device,
                     const struct batch_request *request)
{
    struct status error = {0};
    struct workload workload = workload_default(MODE_TRAIN);
    workload.seq = 4;
    scene->runner = (struct case_runner){.run = scene_child, .context = &scene->fault};
    scene->settings.repeat = 1;
    scene->settings.timeout_seconds = scene->fault.hangs ? 0.2 : 60;
    scene->identity = identity_make("tiny-gpt2", &workload, family_find("gpt2"));
    const struct suite_case case_ = {.id = "first", .identity = scene->identity, .settings = &scene->settings};
    const struct attempts_options options = {.runner = runner != NULL ? runner : &scene->runner,
                                             .device = device,
                                             .catalogue_dir = "models/catalogue",
                                             .purpose = "a test"};
    struct batch_request whole = *request;
    whole.workload = &scene->identity.workload;
    whole.repeat = whole.repeat > 0 ? whole.repeat : 1;
    const struct batch_runner batch_runner = {.context = scene, .attempt = scene_attempt, .ended = scene_ended};
    if (attempts_open(&options, &case_, &scene->attempts, &error) != STATUS_OK ||
        batch_run(&whole, &batch_runner, &scene->record, &scene->result, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

void batch_scene_close(struct batch_scene *scene)
{
    batch_result_release(&scene->result);
    batch_record_release(&scene->record);
    attempts_close(scene->attempts);
    *scene = (struct batch_scene){0};
}

void batch_scene_expect(const struct batch_scene *scene, const int64_t *batches)
{
    int count = 0;
    for (; batches[count] != 0; count++) {
        assert_true(count < scene->result.try_count);
        assert_int_equal(scene->record.tries[scene->result.tries[count]].batch, batches[count]);
    }
    assert_int_equal(scene->result.try_count, count);
}

/* Trial scene: the long way from a case to a device. */
#include "tests/question/trial_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "harness/question/limit.h"
#include "harness/replay/replay.h"
#include "harness/tape/target.h"
#include "models/find/catalogue.h"
#include "tests/support/device_use.h"

void trial_scene_open(struct trial_scene *scene, const char *model, const struct workload *workload, const char *target)
{
    *scene = (struct trial_scene){.workload = *workload};
    struct status error = {0};
    if (config_find("models/catalogue", model, &scene->config, &error) != STATUS_OK ||
        workload_skeleton(&scene->config, workload, &scene->skeleton, &error) != STATUS_OK) {
        fail_msg("%s: %s", model, error.text);
    }
    scene->input = (struct estimate_input){
        .config = &scene->config, .skeleton = &scene->skeleton, .workload = &scene->workload, .target = target};
}

void trial_scene_close(struct trial_scene *scene)
{
    skeleton_release(&scene->skeleton);
}

static struct tape *scene_tape(const struct trial_scene *scene, const struct workload *workload)
{
    const struct target *target = NULL;
    struct tape *tape = NULL;
    struct status error = {0};
    if (target_find(scene->input.target, &target, &error) != STATUS_OK ||
        workload_tape(&scene->config, &scene->skeleton, workload, target, &tape, &error) != STATUS_OK) {
        fail_msg("%s: %s", scene->config.name, error.text);
    }
    return tape;
}

bool trial_scene_runs(const struct trial_scene *scene, enum case_field field, int64_t size, const char *kind,
                      int64_t memory_bytes)
{
    char spec[64];
    snprintf(spec, sizeof spec, "%s:mem=%lldB", kind, (long long)memory_bytes);
    struct workload workload = scene->workload;
    *(field == FIELD_BATCH ? &workload.batch : field == FIELD_SEQ ? &workload.seq : &workload.new_tokens) = size;
    struct tape *tape = scene_tape(scene, &workload);
    struct tape_view view = tape_view(tape);
    struct device *device = device_open_or_skip(spec);
    struct replay_result result;
    struct status error = {0};
    enum status_code code = replay_run(&view, device, NULL, &result, &error);
    if (code != STATUS_OK && code != STATUS_OUT_OF_MEMORY) {
        fail_msg("%s on %s: %s", scene->config.name, spec, error.text);
    }
    device_close(device);
    tape_release(tape);
    return code == STATUS_OK;
}

int64_t trial_scene_reserved(const struct trial_scene *scene)
{
    struct tape *tape = scene_tape(scene, &scene->workload);
    struct tape_view view = tape_view(tape);
    int64_t bytes = replay_on(&view, "meta").reserved_bytes_peak;
    tape_release(tape);
    return bytes;
}

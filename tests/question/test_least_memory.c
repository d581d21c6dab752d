/* Least memory: the figure is what trying every bound finds; it is safe, and tight, and every larger bound is safe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "harness/replay/least_memory.h"
#include "harness/tape/target.h"
#include "models/workload/workload_tape.h"
#include "tests/question/trial_scene.h"

enum { STEP = LEAST_MEMORY_STEP_BYTES };

struct least_scene {
    struct trial_scene trial;
    struct tape *tape;
    struct tape_view view;
};

static void least_scene_open(struct least_scene *scene, const char *model, const struct workload *workload)
{
    const struct target *target = NULL;
    struct status error = {0};
    trial_scene_open(&scene->trial, model, workload, "host");
    if (target_find("host", &target, &error) != STATUS_OK ||
        workload_tape(&scene->trial.config, &scene->trial.skeleton, workload, target, &scene->tape, &error) !=
            STATUS_OK) {
        fail_msg("%s: %s", model, error.text);
    }
    scene->view = tape_view(scene->tape);
}

static void least_scene_close(struct least_scene *scene)
{
    tape_release(scene->tape);
    trial_scene_close(&scene->trial);
}

static struct least_memory least_of(const struct least_scene *scene, int64_t bound_bytes)
{
    struct least_memory least = {0};
    struct status error = {0};
    if (least_memory_find(&scene->view, bound_bytes, &least, &error) != STATUS_OK) {
        fail_msg("%s: %s", scene->trial.config.name, error.text);
    }
    return least;
}

static bool runs_with(const struct least_scene *scene, int64_t bytes)
{
    bool runs = false;
    struct status error = {0};
    if (least_memory_try(&scene->view, bytes, &runs, &error) != STATUS_OK) {
        fail_msg("%s with %lld bytes: %s", scene->trial.config.name, (long long)bytes, error.text);
    }
    return runs;
}

/* The least bound from which all run, by trying every one up to what is held without a bound. */
static int64_t threshold_tried(const struct least_scene *scene, int64_t held_bytes)
{
    int64_t threshold = STEP;
    for (int64_t bytes = STEP; bytes <= held_bytes; bytes += STEP) {
        threshold = runs_with(scene, bytes) ? threshold : bytes + STEP;
    }
    return threshold;
}

static void check_threshold(const char *model, const struct workload *workload)
{
    struct least_scene scene;
    least_scene_open(&scene, model, workload);
    struct least_memory least = least_of(&scene, 0);
    assert_true(least.is_threshold);
    assert_int_equal(least.held_bytes, trial_scene_reserved(&scene.trial));
    if (least.bytes != threshold_tried(&scene, least.held_bytes)) {
        fail_msg("%s b%lld: %lld bytes, and trying every bound finds %lld", model, (long long)workload->batch,
                 (long long)least.bytes, (long long)threshold_tried(&scene, least.held_bytes));
    }
    /* Bounds within a step do the same: the byte below is the step below. */
    assert_true(runs_with(&scene, least.bytes + STEP - 1));
    assert_false(runs_with(&scene, least.bytes - 1));
    least_scene_close(&scene);
}

static void the_figure_is_what_trying_every_bound_finds(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny-llama", "tiny-resnet", "tiny-vit", "tiny-resnet-bottleneck", "resnet18"};
    static const int64_t batches[] = {1, 3, 17};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct workload workload = workload_default(MODE_LOAD);
        check_threshold(models[i], &workload);
        for (size_t k = 0; k < sizeof batches / sizeof batches[0]; k++) {
            workload = workload_default(MODE_INFER);
            workload.batch = batches[k];
            check_threshold(models[i], &workload);
            workload = workload_default(MODE_TRAIN);
            workload.batch = batches[k];
            check_threshold(models[i], &workload);
        }
    }
    struct workload workload = workload_default(MODE_GENERATE);
    workload.new_tokens = 60;
    check_threshold("tiny-llama", &workload);
}

/* The worked number of docs/NUMBERS.md: what is reserved without a bound is safe and not tight. */
static void cached_segments_are_not_needed(void **state)
{
    (void)state;
    struct least_scene scene;
    struct workload workload = workload_default(MODE_TRAIN);
    workload.batch = 4;
    least_scene_open(&scene, "gpt2", &workload);
    struct least_memory least = least_of(&scene, 0);
    assert_int_equal(least.held_bytes, 1405 * INT64_C(2097152));
    assert_int_equal(least.bytes, 1233 * INT64_C(2097152));
    assert_true(runs_with(&scene, least.held_bytes - STEP));
    least_scene_close(&scene);
}

/* With more memory segments are given back later, and what was given back later lies elsewhere. */
static void a_larger_bound_may_fail_below_the_figure_alone(void **state)
{
    (void)state;
    struct least_scene scene;
    struct workload workload = workload_default(MODE_TRAIN);
    workload.batch = 8;
    least_scene_open(&scene, "google-t5/t5-small", &workload);
    struct least_memory least = least_of(&scene, 0);
    assert_int_equal(least.bytes, 873 * INT64_C(2097152));
    assert_false(runs_with(&scene, least.bytes - STEP));
    for (int64_t bytes = 861 * INT64_C(2097152); bytes < least.bytes - STEP; bytes += STEP) {
        assert_true(runs_with(&scene, bytes));
    }
    for (int64_t bytes = least.bytes; bytes <= least.held_bytes; bytes += STEP) {
        assert_true(runs_with(&scene, bytes));
    }
    least_scene_close(&scene);
}

static void a_bound_is_where_the_search_begins(void **state)
{
    (void)state;
    struct least_scene scene;
    struct workload workload = workload_default(MODE_TRAIN);
    workload.batch = 17;
    least_scene_open(&scene, "resnet18", &workload);
    struct least_memory free = least_of(&scene, 0), bounded = least_of(&scene, free.held_bytes - 3 * STEP), none;
    assert_int_equal(bounded.bytes, free.bytes);
    assert_true(bounded.held_bytes <= free.held_bytes - 3 * STEP);
    struct status error = {0};
    assert_int_equal(least_memory_find(&scene.view, free.bytes - STEP, &none, &error), STATUS_OUT_OF_MEMORY);
    least_scene_close(&scene);
}

/* A figure that the meta device gives is one for a device that holds memory. */
static void the_host_is_bound_as_meta_is(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny-llama", "tiny-resnet", "resnet18"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct least_scene scene;
        struct workload workload = workload_default(i == 2 ? MODE_INFER : MODE_TRAIN);
        workload.batch = 4;
        least_scene_open(&scene, models[i], &workload);
        int64_t bytes = least_of(&scene, 0).bytes;
        assert_true(trial_scene_runs(&scene.trial, FIELD_BATCH, 4, "host", bytes));
        assert_false(trial_scene_runs(&scene.trial, FIELD_BATCH, 4, "host", bytes - STEP));
        least_scene_close(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_figure_is_what_trying_every_bound_finds),
        cmocka_unit_test(cached_segments_are_not_needed),
        cmocka_unit_test(a_larger_bound_may_fail_below_the_figure_alone),
        cmocka_unit_test(a_bound_is_where_the_search_begins),
        cmocka_unit_test(the_host_is_bound_as_meta_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

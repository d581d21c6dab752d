/* Cases of placed models on emulated GPUs, each with memory, kernels and handles of its own: a suite runs over two of
 * them, holds the locks of both, and tells which GPU is not here, is taken or has no memory left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "tests/cuda_emulation/gpus_need.h"
#include "tests/run/run_scene.h"

#define TWO_GPUS                                                                                                       \
    "  - {model: tiny-llama, mode: [load, infer], seq: 16, place: \"0=100MB,1=100MB,cpu=1MB\",\n"                      \
    "     tolerances: {replay: {requested_bytes_peak: 0, allocated_bytes_peak: 0, reserved_bytes_peak: 0}}}\n"

static int apart(void **state)
{
    (void)state;
    return setenv("EMULATED_APART", "1", 1);
}

static int gpu_unbound(void **state)
{
    unsetenv("EMULATED_DEVICE_BYTES");
    unsetenv("EMULATED_NVML");
    unsetenv("EMULATED_DRIVER");
    return scene_close(state);
}

static const struct json *run_line(const struct scene *scene)
{
    return scene->records.runs[scene->records.run_count - 1].run;
}

static void a_suite_runs_over_two_gpus(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(setenv("EMULATED_NVML", "older", 1), 0);
    assert_int_equal(setenv("EMULATED_DRIVER", "context:1000000", 1), 0);
    cases_set(scene, TWO_GPUS);
    if (measure(scene, "cuda") != RUN_PASS) {
        fail_msg("%s", scene->result.reason);
    }
    const struct json *line = case_at(scene, 1), *places = json_get(line, "places");
    assert_string_equal(text_at(json_get(line, "device"), "kind"), "cuda");
    assert_string_equal(text_at(json_get(line, "device"), "spec"), "cuda:0");
    assert_true(integer_at(json_get(line, "device"), "total_bytes") > 0);
    assert_int_equal(json_count(places), 3);
    assert_string_equal(text_at(json_at(places, 0), "spec"), "cuda:0");
    assert_string_equal(text_at(json_at(places, 1), "spec"), "cuda:1");
    for (size_t i = 0; i < 2; i++) {
        assert_true(integer_at(json_at(places, i), "placed_bytes") > 0);
        assert_int_equal(json_count(json_get(json_at(places, i), "stages")), 2);
    }
    assert_int_equal(json_count(json_get(line, "verdicts")), 3 * 3 + 3); /* replay's, and accelerate's total */
    assert_true(json_count(json_get(line, "transfers")) > 0);
    /* What the driver counts is of the GPU that the line is about, and nothing of it was there before the lanes were
     * opened. */
    assert_int_equal(integer_at(json_get(line, "context"), "baseline_bytes"), 0);
    assert_int_equal(integer_at(json_get(line, "context"), "device_bytes"), 1000000);
    assert_int_equal(json_count(json_get(json_get(run_line(scene), "device_lock"), "paths")), 2);
}

/* Somebody else measures on GPU 1, which the first case alone would not need. */
static void a_run_waits_for_the_second_gpu_too(void **state)
{
    struct scene *scene = *state;
    char path[160];
    snprintf(path, sizeof path, "%s/assay-GPU-00000000-0000-0000-0000-000000000002.lock", scene->folder);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(file, LOCK_EX | LOCK_NB), 0);
    cases_set(scene, "  - {model: tiny-llama, mode: load}\n" TWO_GPUS);
    struct run_options options = options_of(scene);
    options.runner = &case_runner_measure;
    options.device = "cuda";
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_BUSY);
    assert_non_null(strstr(scene->error.text, "GPU-00000000-0000-0000-0000-000000000002"));
    struct case_choice choice = {0};
    const char *const first[] = {"tiny-llama/load/float32"};
    const struct case_rules rules = {.filters = first, .filter_count = 1};
    assert_int_equal(case_choice_make(&scene->suite, &rules, &choice, &scene->error), STATUS_OK);
    options.choice = &choice;
    assert_int_equal(run_with(scene, &options), RUN_PASS); /* GPU 0 is free */
    case_choice_release(&choice);
    close(file);
}

static void a_gpu_that_is_not_here_skips_its_case_alone(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-llama, mode: load, place: [cpu-offload, \"50=100MB,cpu=1GB\"]}\n");
    assert_int_equal(measure(scene, "cuda"), RUN_PASS);
    assert_string_equal(text_at(case_at(scene, 0), "status"), "ok");
    assert_string_equal(text_at(case_at(scene, 1), "status"), "skip");
    assert_memory_equal(text_at(case_at(scene, 1), "reason"), "device 50: cuda: there is no device 50", 38);
}

/* The budget says 100 MB, and the GPU has less: predicted to run, and out of memory there. */
static void a_gpu_without_memory_is_named(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(setenv("EMULATED_DEVICE_BYTES", "9000000", 1), 0);
    cases_set(scene, TWO_GPUS);
    assert_int_equal(measure(scene, "cuda"), RUN_INCONCLUSIVE);
    const struct json *line = case_at(scene, 1);
    assert_string_equal(text_at(line, "status"), "oom");
    assert_string_equal(text_at(json_get(line, "oom"), "place"), "0");
    assert_string_equal(text_at(json_get(json_get(line, "estimates"), "replay"), "fits"), "yes");
}

static void offloaded_weights_come_to_the_gpu(void **state)
{
    struct scene *scene = *state;
    cases_set(
        scene,
        "  - {model: tiny-llama, mode: infer, seq: 16, place: [cpu-offload, disk-offload],\n"
        "     tolerances: {replay: {requested_bytes_peak: 0, allocated_bytes_peak: 0, reserved_bytes_peak: 0}}}\n");
    assert_int_equal(measure(scene, "auto"), RUN_PASS);
    for (int i = 0; i < 2; i++) {
        const struct json *line = case_at(scene, i);
        assert_string_equal(text_at(json_at(json_get(line, "places"), 0), "spec"), "cuda:0");
        assert_true(json_real_or(json_get(json_at(json_get(line, "transfers"), 0), "seconds"), 0.0) > 0.0);
    }
}

/* Our own plan may leave a GPU empty that has no room for any of it: then nothing is told of a GPU. */
static void a_map_without_a_gpu_is_a_case_of_the_host(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-llama, mode: infer, seq: 16, place: \"exact:0=1MB,cpu=1GB\"}\n");
    assert_int_equal(measure(scene, "cuda"), RUN_PASS);
    const struct json *line = case_at(scene, 0);
    assert_int_equal(json_count(json_get(line, "places")), 1);
    assert_string_equal(text_at(json_at(json_get(line, "places"), 0), "place"), "cpu");
    assert_string_equal(text_at(json_get(line, "device"), "kind"), "host");
    assert_string_equal(text_at(json_get(line, "device"), "target"), "host");
}

/* GPUs of two kinds: constants of the first say nothing about a placed case, and are not held against the second. */
static void constants_of_one_gpu_do_not_refuse_another(void **state)
{
    struct scene *scene = *state;
    struct constants *constants = calloc(1, sizeof *constants);
    assert_non_null(constants);
    snprintf(constants->device.kind, sizeof constants->device.kind, "cuda");
    snprintf(constants->device.name, sizeof constants->device.name, "emulated sm_75");
    cases_set(scene, TWO_GPUS);
    struct run_options options = options_of(scene);
    options.runner = &case_runner_measure;
    options.device = "cuda";
    options.constants = constants;
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    assert_int_equal(json_kind(json_get(case_at(scene, 0), "constants")), JSON_KIND_NULL);
    snprintf(constants->device.name, sizeof constants->device.name, "another GPU");
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_INVALID);
    free(constants);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, gpu_unbound)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_suite_runs_over_two_gpus),
        TEST(a_run_waits_for_the_second_gpu_too),
        TEST(a_gpu_that_is_not_here_skips_its_case_alone),
        TEST(a_gpu_without_memory_is_named),
        TEST(offloaded_weights_come_to_the_gpu),
        TEST(a_map_without_a_gpu_is_a_case_of_the_host),
        TEST(constants_of_one_gpu_do_not_refuse_another),
    };
    gpus_need_two();
    return cmocka_run_group_tests(tests, apart, NULL);
}

/* A suite over all GPUs of a machine: each has a worker whose children see it alone, and the figures are those of one
 * GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/report/environment.h"
#include "tests/run/run_scene.h"
#include "tests/support/status_said.h"

#define CASES                                                                                                          \
    "  - {model: tiny-llama, mode: [load, infer, train], batch: [1, 2], seq: [8, 16, 24], precision: float32}\n"

static int machine_open(void **state)
{
    setenv("EMULATED_APART", "1", 1);
    setenv("EMULATED_GPUS", "4", 1);
    setenv("EMULATED_ALIKE", "1", 1);
    return scene_open(state);
}

static int machine_close(void **state)
{
    unsetenv("EMULATED_APART");
    unsetenv("EMULATED_GPUS");
    unsetenv("EMULATED_ALIKE");
    return scene_close(state);
}

static struct run_options options_all(const struct scene *scene)
{
    struct run_options options = options_of(scene);
    options.runner = &case_runner_measure;
    options.device = "cuda";
    options.all_gpus = true;
    return options;
}

static const struct json *line_of(const struct scene *scene, int run, const char *id)
{
    for (int i = 0; i < scene->records.runs[run].case_count; i++) {
        if (strcmp(text_at(scene->records.runs[run].cases[i], "id"), id) == 0) {
            return scene->records.runs[run].cases[i];
        }
    }
    fail_msg("no %s in run %d", id, run);
    return NULL;
}

/* How many different GPUs the cases of the last run were measured on. */
static int gpus_count(const struct scene *scene)
{
    const struct record_run *run = &scene->records.runs[scene->records.run_count - 1];
    int count = 0;
    for (int i = 0; i < run->case_count; i++) {
        const char *uuid = text_at(json_get(run->cases[i], "device"), "uuid");
        bool is_new = true;
        for (int k = 0; k < i; k++) {
            is_new = is_new && strcmp(text_at(json_get(run->cases[k], "device"), "uuid"), uuid) != 0;
        }
        count += is_new;
    }
    return count;
}

static void every_gpu_measures_and_the_figures_are_those_of_one(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, CASES);
    assert_int_equal(measure(scene, "cuda"), RUN_PASS);
    assert_int_equal(gpus_count(scene), 1);
    struct run_options options = options_all(scene);
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    assert_int_equal(gpus_count(scene), 4);
    const struct json *run = scene->records.runs[1].run;
    assert_string_equal(text_at(run, "device"), "cuda:all");
    assert_int_equal(json_count(json_get(run, "devices")), 4);
    assert_int_equal(json_count(json_get(json_get(run, "device_lock"), "paths")), 4);
    assert_false(json_boolean_or(json_get(run, "shared"), true));
    assert_int_equal(scene->records.runs[1].case_count, scene->records.runs[0].case_count);
    for (int i = 0; i < scene->records.runs[0].case_count; i++) {
        const struct json *one = scene->records.runs[0].cases[i];
        const struct json *other = line_of(scene, 1, text_at(one, "id"));
        assert_string_equal(text_at(other, "status"), "ok");
        assert_string_equal(text_at(json_get(other, "device"), "spec"), "cuda"); /* the one that it sees */
        assert_false(json_boolean_or(json_get(json_get(other, "device"), "shared"), true));
        assert_string_equal(text_at(other, "sequence_hash"), text_at(one, "sequence_hash"));
        assert_int_equal(integer_at(other, "reserved_bytes_peak"), integer_at(one, "reserved_bytes_peak"));
        assert_int_equal(integer_at(other, "requested_bytes_peak"), integer_at(one, "requested_bytes_peak"));
    }
}

/* What is compared of two runs is the same, however many GPUs one of them had. */
static void the_environment_is_that_of_one_gpu(void **state)
{
    struct scene *scene = *state;
    struct report *report = NULL;
    struct arena arena = {0};
    const char *one[ENVIRONMENT_COUNT], *all[ENVIRONMENT_COUNT];
    cases_set(scene, "  - {model: tiny-llama, mode: load, precision: [float32, float16]}\n");
    assert_int_equal(measure(scene, "cuda"), RUN_PASS);
    assert_int_equal(report_open_side(scene->folder, &report, &scene->error), STATUS_OK);
    assert_true(environment_read(report, &arena, one));
    report_release(report);
    struct run_options options = options_all(scene);
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    assert_int_equal(report_open_side(scene->folder, &report, &scene->error), STATUS_OK);
    assert_true(environment_read(report, &arena, all));
    report_release(report);
    for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
        assert_string_equal(all[i] != NULL ? all[i] : "", one[i] != NULL ? one[i] : "");
    }
    assert_string_not_equal(one[ENVIRONMENT_LIBRARIES], "");
    arena_release(&arena);
}

static void jobs_are_of_each_gpu_and_a_run_goes_on_there(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, CASES);
    struct run_options options = options_all(scene);
    options.jobs = 2;
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    assert_int_equal(gpus_count(scene), 4);
    assert_true(json_boolean_or(json_get(json_get(case_at(scene, 0), "device"), "shared"), false));
    options.resume = true;
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    assert_true(scene->result.finished);
    options.all_gpus = false;
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_INVALID);
    assert_non_null(strstr(STATUS_SAID(&scene->error), "--device was cuda:all, and is cuda"));
}

static void gpus_of_two_kinds_are_refused(void **state)
{
    struct scene *scene = *state;
    unsetenv("EMULATED_ALIKE");
    cases_set(scene, CASES);
    struct run_options options = options_all(scene);
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&scene->error),
                        "--device cuda:all: cuda:0 is 'emulated sm_75' and cuda:1 'emulated sm_90', and where a case "
                        "is measured would decide its figures; name one of them, or show those of one kind with "
                        "CUDA_VISIBLE_DEVICES");
}

static void constants_of_another_gpu_are_refused(void **state)
{
    struct scene *scene = *state;
    struct constants constants = {.path = "c.json", .device = {.kind = "cuda", .name = "another"}};
    cases_set(scene, "  - {model: tiny-llama, mode: load}\n");
    struct run_options options = options_all(scene);
    options.constants = &constants;
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_INVALID);
    assert_non_null(strstr(STATUS_SAID(&scene->error), "--constants: those of c.json are of "));
}

static void a_case_that_lies_on_several_is_refused(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-llama, mode: load, place: \"0=100MB,1=100MB,cpu=1MB\"}\n");
    struct run_options options = options_all(scene);
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_INVALID);
    assert_non_null(strstr(STATUS_SAID(&scene->error), "lies on several; leave such cases out with --not"));
}

/* As one that has fallen off the bus, whose child ends without a word. */
static void identify_but_the_third(void *context, const struct case_job *job, int file)
{
    if (strcmp(job->device, "cuda:2") == 0) {
        _exit(1);
    }
    case_runner_measure.identify(context, job, file);
}

static void a_gpu_that_gives_no_answer_is_not_left_out(void **state)
{
    struct scene *scene = *state;
    struct case_runner runner = case_runner_measure;
    cases_set(scene, "  - {model: tiny-llama, mode: load}\n");
    struct run_options options = options_all(scene);
    runner.identify = identify_but_the_third;
    options.runner = &runner;
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_DEVICE);
    assert_non_null(strstr(STATUS_SAID(&scene->error), "--device cuda:all: cuda:2 gives no answer, "));
}

static void without_a_gpu_every_case_is_skipped(void **state)
{
    struct scene *scene = *state;
    setenv("EMULATED_GPUS", "0", 1);
    cases_set(scene, "  - {model: tiny-llama, mode: load}\n");
    struct run_options options = options_all(scene);
    assert_int_equal(run_with(scene, &options), RUN_SKIPPED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, machine_open, machine_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_gpu_measures_and_the_figures_are_those_of_one),
        TEST(the_environment_is_that_of_one_gpu),
        TEST(jobs_are_of_each_gpu_and_a_run_goes_on_there),
        TEST(gpus_of_two_kinds_are_refused),
        TEST(constants_of_another_gpu_are_refused),
        TEST(a_case_that_lies_on_several_is_refused),
        TEST(a_gpu_that_gives_no_answer_is_not_left_out),
        TEST(without_a_gpu_every_case_is_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

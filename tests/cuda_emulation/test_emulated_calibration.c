/* Calibration of a GPU, from its readings to verdicts, where every byte is known: an emulated driver takes so many
 * bytes for the context, for each kernel and for each handle (EMULATED_DRIVER). What was calibrated on one length of
 * sequence is exact for another, because the same kernels run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/calibration.h"
#include "tests/run/run_scene.h"

/* Numbers that no sum of others makes. */
enum { CONTEXT_BYTES = 300000007, KERNEL_BYTES = 10007, HANDLE_BYTES = 7000003 };

static const char *const READINGS[] = {"device_bytes", "process_bytes", "footprint_bytes"};
#define EXACTLY ", for: sm_75, tolerances: {replay: {device_bytes: 0, process_bytes: 0, footprint_bytes: 0}}}\n"

static void driver_set(void)
{
    char text[96];
    snprintf(text, sizeof text, "context:%d kernel:%d handle:%d", CONTEXT_BYTES, KERNEL_BYTES, HANDLE_BYTES);
    assert_int_equal(setenv("EMULATED_DRIVER", text, 1), 0);
    assert_int_equal(setenv("EMULATED_NVML", "older", 1), 0);
}

static int driver_unset(void **state)
{
    unsetenv("EMULATED_DRIVER");
    unsetenv("EMULATED_NVML");
    return scene_close(state);
}

/* Two modes at one length of sequence, and what they leave. */
static struct constants calibrated(struct scene *scene)
{
    struct constants constants;
    const char *const paths[] = {scene->folder};
    driver_set();
    cases_set(scene, "  - {model: tiny-gpt2, mode: [load, infer], seq: 4, for: sm_75}\n");
    assert_int_equal(measure(scene, "cuda:0"), RUN_PASS);
    if (calibration_make(paths, 1, NULL, &constants, &scene->error) != STATUS_OK) {
        fail_msg("%s", scene->error.text);
    }
    return constants;
}

static enum run_outcome measure_with(struct scene *scene, const struct constants *constants, const char *cases)
{
    struct run_options options = options_of(scene);
    cases_set(scene, cases);
    options.runner = &case_runner_measure;
    options.device = "cuda:0";
    options.constants = constants;
    return run_with(scene, &options);
}

static void the_context_and_the_handles_come_out(void **state)
{
    struct constants constants = calibrated(*state);
    const struct constants_spread *context = &constants.context.process;
    assert_int_equal(context->count, 2);
    assert_int_equal((context->median - CONTEXT_BYTES) % KERNEL_BYTES, 0); /* kernels of the opening */
    assert_int_equal(constants.context.device.median, context->median);
    const struct constants_levels *load = constants_growth_of(&constants, "load");
    const struct constants_levels *infer = constants_growth_of(&constants, "infer");
    assert_int_equal(load->process.median % KERNEL_BYTES, 0);
    assert_int_equal(infer->device.median, infer->process.median);
    int64_t kernels = infer->process.median - load->process.median - 2 * (int64_t)HANDLE_BYTES; /* cuBLAS, cublasLt */
    assert_true(kernels > 0);
    assert_int_equal(kernels % KERNEL_BYTES, 0);
}

static void another_length_is_predicted_to_the_byte(void **state)
{
    struct scene *scene = *state;
    struct constants constants = calibrated(scene);
    enum run_outcome outcome =
        measure_with(scene, &constants, "  - {model: tiny-gpt2, mode: infer, seq: [8, 16], batch: [1, 2]" EXACTLY);
    for (int i = 0; i < 4; i++) {
        for (size_t j = 0; j < sizeof READINGS / sizeof READINGS[0]; j++) {
            const struct json *verdict = verdict_at(case_at(scene, i), "replay", READINGS[j]);
            assert_int_equal(json_integer_or(json_get(verdict, "signed_error_bytes"), -1), 0);
            assert_true(json_boolean_or(json_get(verdict, "pass"), false));
        }
    }
    assert_int_equal(outcome, RUN_PASS);
}

/* A case on a GPU says what a program of PyTorch would be seen to take there; on the host no case does. */
static void a_case_on_a_gpu_has_bounds(void **state)
{
    struct scene *scene = *state;
    struct constants constants = calibrated(scene);
    assert_int_equal(measure_with(scene, &constants, "  - {model: tiny-gpt2, mode: infer, seq: 8" EXACTLY), RUN_PASS);
    const struct json *line = case_at(scene, 0), *bounds = json_get(line, "bounds");
    const struct json *process = json_get(bounds, "process_bytes"), *segments = json_get(bounds, "segments");
    int64_t reserved = json_integer_or(json_get(line, "reserved_bytes_peak"), -1);
    assert_int_equal(json_integer_or(json_get(segments, "likely_bytes"), 0), reserved);
    assert_int_equal(json_integer_or(json_get(bounds, "certain_bytes"), 0) +
                         json_integer_or(json_get(bounds, "rule_bytes"), 0),
                     reserved);
    assert_true(json_integer_or(json_get(process, "low_bytes"), 0) > reserved);
    assert_true(json_integer_or(json_get(process, "high_bytes"), 0) >
                json_integer_or(json_get(process, "likely_bytes"), INT64_MAX));
}

/* A byte more in the context is a byte too many, and the case that calibrated it says nothing of it. */
static void a_byte_is_seen_by_others_and_not_by_the_case_itself(void **state)
{
    struct scene *scene = *state;
    struct constants constants = calibrated(scene);
    constants.context.process.median++;
    assert_int_equal(measure_with(scene, &constants, "  - {model: tiny-gpt2, mode: infer, seq: 4" EXACTLY), RUN_PASS);
    const struct json *verdict = verdict_at(case_at(scene, 0), "replay", "footprint_bytes");
    assert_int_equal(json_integer_or(json_get(verdict, "signed_error_bytes"), 0), 1);
    assert_int_equal(json_kind(json_get(verdict, "pass")), JSON_KIND_NULL);
    assert_string_equal(text_at(verdict, "note"), "the case calibrated the constants");
    assert_int_equal(measure_with(scene, &constants, "  - {model: tiny-gpt2, mode: infer, seq: 8" EXACTLY), RUN_FAIL);
    verdict = verdict_at(case_at(scene, 0), "replay", "footprint_bytes");
    assert_int_equal(json_integer_or(json_get(verdict, "signed_error_bytes"), 0), 1);
    assert_false(json_boolean_or(json_get(verdict, "pass"), true));
    assert_true(json_boolean_or(json_get(verdict_at(case_at(scene, 0), "replay", "process_bytes"), "pass"), false));
}

/* Another process on the GPU: the row calibrates nothing, and is not judged. */
static void a_disturbed_row_neither_calibrates_nor_is_judged(void **state)
{
    struct scene *scene = *state;
    struct constants constants = calibrated(scene), unused;
    assert_int_equal(setenv("EMULATED_NVML", "process=4242:1048577@3", 1), 0);
    assert_int_equal(measure_with(scene, &constants, "  - {model: tiny-gpt2, mode: infer, seq: 8" EXACTLY),
                     RUN_INCONCLUSIVE);
    const struct json *verdict = verdict_at(case_at(scene, 0), "replay", "device_bytes");
    assert_string_equal(text_at(verdict, "note"), "the row is invalid");
    assert_int_equal(json_kind(json_get(verdict, "pass")), JSON_KIND_NULL);
    const char *const paths[] = {scene->folder};
    assert_int_equal(calibration_make(paths, 1, NULL, &unused, &scene->error), STATUS_INVALID);
    assert_non_null(strstr(scene->error.text, "the row is invalid: another process (4242) held"));
}

#define CALIBRATED(bytes)                                                                                              \
    ", for: sm_75, tolerances: {calibrated-gpu: {device_bytes: " bytes ", process_bytes: " bytes "}}}\n"
#define LONGER "  - {model: tiny-gpt2, mode: infer, seq: 8"

static enum json_kind pass_kind(struct scene *scene, const char *quantity)
{
    return json_kind(json_get(verdict_at(case_at(scene, 0), "replay", quantity), "pass"));
}

/* A suite that judges a GPU that was calibrated judges no other, and nothing is missing there. */
static void constants_that_hold_are_judged_and_nothing_else(void **state)
{
    struct scene *scene = *state;
    struct constants constants = calibrated(scene);
    assert_int_equal(measure_with(scene, &constants, LONGER CALIBRATED("0")), RUN_PASS);
    assert_int_equal(pass_kind(scene, "device_bytes"), JSON_KIND_BOOLEAN);
    assert_int_equal(pass_kind(scene, "process_bytes"), JSON_KIND_BOOLEAN);
    assert_int_equal(measure_with(scene, NULL, LONGER CALIBRATED("0")), RUN_PASS);
    assert_int_equal(pass_kind(scene, "device_bytes"), JSON_KIND_NULL);
    constants.growth[0].levels.device.median++;
    constants.growth[1].levels.device.median++;
    assert_int_equal(measure_with(scene, &constants, LONGER CALIBRATED("0")), RUN_FAIL);
    assert_int_equal(measure_with(scene, &constants, LONGER CALIBRATED("1B")), RUN_PASS);
    assert_int_equal(measure_with(scene, &constants, "  - {model: tiny-gpt2, mode: infer, seq: 4" CALIBRATED("0")),
                     RUN_PASS); /* it calibrated them itself */
    snprintf(constants.device.driver, sizeof constants.device.driver, "another");
    assert_int_equal(measure_with(scene, &constants, LONGER CALIBRATED("0")), RUN_PASS);
    assert_int_equal(pass_kind(scene, "device_bytes"), JSON_KIND_NULL);
}

/* On a class of GPU that no other has shown the bytes of, what is beyond is noted, and nothing is open for it. */
static void what_is_beyond_may_be_noted_and_not_judged(void **state)
{
    struct scene *scene = *state;
    struct constants constants = calibrated(scene);
    struct run_options options = options_of(scene);
    constants.growth[0].levels.device.median++;
    constants.growth[1].levels.device.median++;
    cases_set(scene, LONGER CALIBRATED("0"));
    options.runner = &case_runner_measure;
    options.device = "cuda:0";
    options.constants = &constants;
    assert_int_equal(run_with(scene, &options), RUN_FAIL);
    options.note_calibrated = true;
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    const struct json *verdict = verdict_at(case_at(scene, 0), "replay", "device_bytes");
    assert_string_equal(text_at(verdict, "note"), "beyond calibrated-gpu, and not judged: --note-calibrated");
    assert_int_equal(json_integer_or(json_get(verdict, "signed_error_bytes"), 0), 1);
    assert_int_equal(pass_kind(scene, "device_bytes"), JSON_KIND_NULL);
    assert_int_equal(pass_kind(scene, "process_bytes"), JSON_KIND_BOOLEAN);              /* within */
    cases_set(scene, LONGER ", for: sm_75, tolerances: {replay: {device_bytes: 0}}}\n"); /* another tolerance judges */
    assert_int_equal(run_with(scene, &options), RUN_FAIL);
}

/* Whose bytes they are that the device counts cannot be told there. */
static void a_gpu_whose_processes_are_hidden_is_not_judged(void **state)
{
    struct scene *scene = *state;
    struct constants constants = calibrated(scene);
    constants.growth[0].levels.device.median++;
    constants.growth[1].levels.device.median++;
    assert_int_equal(setenv("EMULATED_NVML", "hidden", 1), 0);
    assert_int_equal(measure_with(scene, &constants, LONGER CALIBRATED("0")), RUN_PASS);
    assert_int_equal(pass_kind(scene, "device_bytes"), JSON_KIND_NULL);
}

/* The levels that replay has a tolerance of its own for stay with it. */
static void a_word_for_replay_goes_before(void **state)
{
    struct scene *scene = *state;
    struct constants constants = calibrated(scene);
    constants.growth[0].levels.device.median++;
    constants.growth[1].levels.device.median++;
    assert_int_equal(measure_with(scene, &constants,
                                  LONGER ", for: sm_75, tolerances: {replay: {device_bytes: 1B}, calibrated-gpu: "
                                         "{device_bytes: 0}}}\n"),
                     RUN_PASS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, driver_unset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_context_and_the_handles_come_out),
        TEST(another_length_is_predicted_to_the_byte),
        TEST(a_case_on_a_gpu_has_bounds),
        TEST(a_byte_is_seen_by_others_and_not_by_the_case_itself),
        TEST(constants_that_hold_are_judged_and_nothing_else),
        TEST(what_is_beyond_may_be_noted_and_not_judged),
        TEST(a_gpu_whose_processes_are_hidden_is_not_judged),
        TEST(a_word_for_replay_goes_before),
        TEST(a_disturbed_row_neither_calibrates_nor_is_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

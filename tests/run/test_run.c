/* Runs: rows and verdicts of measured cases, outcomes, selection, progress. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/run/run_scene.h"
#include "tests/support/status_said.h"

static void assert_near(double value, double wanted)
{
    assert_true(fabs(value - wanted) < 1e-12);
}

static void a_measured_case_is_a_row_with_its_verdicts(void **state)
{
    struct scene *scene = *state;
    enum run_outcome outcome =
        run_of(scene, "batch: 1, tags: [quick], tolerances: {replay: {allocated_bytes_peak: 0, process_bytes: 10%}}");
    assert_int_equal(outcome, RUN_PASS);
    const struct json *line = case_at(scene, 0);
    assert_string_equal(text_at(line, "status"), "ok");
    assert_string_equal(text_at(line, "id"), "m/infer/float32/b1/s128"); /* not what the child claimed */
    assert_null(json_get(line, "surprise"));
    assert_int_equal(json_kind(json_get(line, "reason")), JSON_KIND_NULL);
    assert_int_equal(json_integer_or(json_get(line, "attempt"), 0), 1);
    assert_string_equal(json_string_or(json_at(json_get(line, "tags"), 0), ""), "quick");
    assert_int_equal(json_integer_or(json_get(line, "suite_line"), 0), 4);
    const struct json *exact = verdict_at(line, "replay", "allocated_bytes_peak");
    assert_int_equal(json_integer_or(json_get(exact, "predicted"), -1), 2048);
    assert_int_equal(json_integer_or(json_get(exact, "measured"), -1), 2048);
    assert_true(json_boolean_or(json_get(exact, "pass"), false));
    /* 9500 at the highest less 5000 of the context are 4500; 4096 is 8.98 % less */
    const struct json *process = verdict_at(line, "replay", "process_bytes");
    assert_int_equal(json_integer_or(json_get(process, "measured"), -1), 4500);
    assert_int_equal(json_integer_or(json_get(process, "signed_error_bytes"), 0), -404);
    assert_near(json_real_or(json_get(process, "signed_error"), 0), -404.0 / 4500.0);
    assert_near(json_real_or(json_get(json_get(process, "tolerance"), "fraction"), 0), 0.1);
    /* reported, not judged: no tolerance */
    const struct json *rule = verdict_at(line, "rule", "total_bytes");
    assert_int_equal(json_integer_or(json_get(rule, "measured"), -1), 2048);
    assert_near(json_real_or(json_get(rule, "signed_error"), 0), -0.5);
    assert_int_equal(json_kind(json_get(rule, "tolerance")), JSON_KIND_NULL);
    assert_int_equal(json_kind(json_get(rule, "pass")), JSON_KIND_NULL);
    assert_null(verdict_at(line, "silent", "total_bytes")); /* an unknown that nobody asked for is no row */
    assert_null(verdict_at(line, "replay", "device_bytes"));
    assert_null(verdict_at(line, "replay", "saved_for_backward_bytes")); /* nothing is trained */
}

static void the_run_and_end_lines_say_what_was_run(void **state)
{
    struct scene *scene = *state;
    run_of(scene, "batch: [1, 4], repeat: 2");
    const struct json *run = scene->records.runs[0].run, *end = scene->records.runs[0].end;
    assert_string_equal(text_at(json_get(run, "suite"), "name"), "t");
    assert_string_equal(text_at(json_get(run, "suite"), "plan_hash"), scene->suite.plan_hash);
    assert_int_equal(json_integer_or(json_get(json_get(run, "suite"), "selected_count"), -1), 4);
    const struct json *selected = json_at(scene->records.runs[0].selected, 0);
    assert_int_equal(json_count(scene->records.runs[0].selected), 1);
    assert_int_equal(json_count(json_get(selected, "ids")), 2);
    assert_string_equal(json_string_or(json_at(json_get(selected, "ids"), 1), ""), text_at(case_at(scene, 2), "id"));
    assert_int_equal(json_integer_or(json_at(json_get(selected, "attempts"), 1), -1), 2);
    assert_string_equal(text_at(json_get(run, "tool"), "version"), "1.2.3");
    assert_int_equal(strlen(text_at(run, "run_id")), 32);
    assert_string_equal(text_at(end, "outcome"), "pass");
    assert_int_equal(json_integer_or(json_get(json_get(end, "counts"), "ok"), -1), 2);
    assert_int_equal(json_integer_or(json_get(json_get(end, "counts"), "skip"), -1), 2);
    assert_int_equal(json_integer_or(json_get(case_at(scene, 1), "attempt"), -1), 2);
}

/* Those that may change a figure, and no others: an environment has secrets too. */
static void the_run_line_has_the_variables_that_matter(void **state)
{
    struct scene *scene = *state;
    setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8", 1);
    setenv("ASSAY_TEST_SECRET", "x", 1);
    unsetenv("GLIBC_TUNABLES");
    run_of(scene, "batch: 1");
    unsetenv("CUBLAS_WORKSPACE_CONFIG");
    unsetenv("ASSAY_TEST_SECRET");
    const struct json *variables = json_get(scene->records.runs[0].run, "variables");
    assert_string_equal(text_at(variables, "CUBLAS_WORKSPACE_CONFIG"), ":16:8");
    assert_null(json_get(variables, "ASSAY_TEST_SECRET"));
    assert_null(json_get(variables, "GLIBC_TUNABLES"));
}

/* The kernel's own count is always shown beside what the allocator was predicted to take, judged or not. */
static void the_process_is_compared_without_being_asked_for(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_of(scene, "batch: 1"), RUN_PASS);
    const struct json *process = verdict_at(case_at(scene, 0), "replay", "process_bytes");
    assert_int_equal(json_integer_or(json_get(process, "predicted"), -1), 4096);
    assert_int_equal(json_integer_or(json_get(process, "measured"), -1), 4500);
    assert_int_equal(json_kind(json_get(process, "pass")), JSON_KIND_NULL);
    assert_null(verdict_at(case_at(scene, 0), "rule", "process_bytes"));
}

static void a_wrong_prediction_fails(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_of(scene, "batch: 1, expect: {allocated_bytes_peak: 2047}"), RUN_FAIL);
    const struct json *line = case_at(scene, 0);
    assert_string_equal(text_at(line, "status"), "fail");
    assert_string_equal(text_at(line, "reason"),
                        "expected: allocated peak 2.00 KiB predicted, 2.00 KiB measured in load: -0.05 % (-1 B), "
                        "tolerance 0 B");
    assert_int_equal(
        json_integer_or(json_get(json_get(json_get(line, "estimates"), "expected"), "allocated_bytes_peak"), -1), 2047);
    assert_int_equal(scene->result.counts[CASE_STATUS_FAIL], 1);
}

static void a_prediction_within_its_tolerance_passes(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_of(scene, "batch: 1, expect: {allocated_bytes_peak: 2047, requested_bytes_peak: 1100}, "
                                   "tolerances: {expected: {allocated_bytes_peak: 1B, requested_bytes_peak: 10%}}"),
                     RUN_PASS);
}

static void a_judged_figure_that_is_unknown_is_inconclusive(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_of(scene, "batch: 1, tolerances: {replay: {device_bytes: 1%}}"), RUN_INCONCLUSIVE);
    const struct json *verdict = verdict_at(case_at(scene, 0), "replay", "device_bytes");
    assert_int_equal(json_kind(json_get(verdict, "measured")), JSON_KIND_NULL);
    assert_int_equal(json_kind(json_get(verdict, "pass")), JSON_KIND_NULL);
    assert_string_equal(text_at(verdict, "note"), "the device gives no such reading; take the tolerance away");
    assert_string_equal(text_at(case_at(scene, 0), "status"), "ok");
    const char *reason =
        "INCONCLUSIVE: 1 of 1 case left open (a figure that has a tolerance could not be judged); first "
        "m/infer/float32/b1/s128: replay: device 4.00 KiB predicted, not measured, tolerance 1 %: not judged, the "
        "device gives no such reading; take the tolerance away";
    assert_string_equal(scene->result.reason, reason);
    assert_string_equal(text_at(scene->records.runs[0].end, "reason"), reason);
}

#define TIGHT "tolerances: {replay: {process_bytes: 0, footprint_bytes: 0}}"

/* 9500 at the highest are 4500 more than the context: 4400 and 9400 are wrong, and a tolerance of 0 says so. */
static void constants_of_other_cases_are_judged(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_of(scene, "batch: 17, " TIGHT), RUN_FAIL);
    const struct json *line = case_at(scene, 0);
    const struct json *process = verdict_at(line, "replay", "process_bytes");
    assert_int_equal(json_integer_or(json_get(process, "predicted"), -1), 4400);
    assert_false(json_boolean_or(json_get(process, "pass"), true));
    assert_int_equal(json_kind(json_get(process, "note")), JSON_KIND_NULL);
    const struct json *footprint = verdict_at(line, "replay", "footprint_bytes");
    assert_int_equal(json_integer_or(json_get(footprint, "measured"), -1), 9500);
    assert_int_equal(json_integer_or(json_get(footprint, "signed_error_bytes"), 0), -100);
    assert_false(json_boolean_or(json_get(footprint, "pass"), true));
    assert_string_equal(text_at(json_get(line, "constants"), "path"), "c.json");
}

/* The same figures and the same tolerance; but the prediction was made from this case, so that it cannot judge it. */
static void a_case_that_calibrated_is_never_judged(void **state)
{
    struct scene *scene = *state;
    static const char *const readings[] = {"process_bytes", "footprint_bytes"};
    assert_int_equal(run_of(scene, "batch: 16, " TIGHT), RUN_PASS);
    const struct json *line = case_at(scene, 0);
    assert_string_equal(text_at(line, "status"), "ok");
    for (size_t i = 0; i < 2; i++) {
        const struct json *verdict = verdict_at(line, "replay", readings[i]);
        assert_int_equal(json_integer_or(json_get(verdict, "signed_error_bytes"), 0), -100); /* shown all the same */
        assert_int_equal(json_kind(json_get(verdict, "pass")), JSON_KIND_NULL);
        assert_string_equal(text_at(verdict, "note"), "the case calibrated the constants");
    }
}

/* The figures of a case that is judged and fails; but under another driver the constants may be other ones. */
static void constants_of_another_driver_judge_nothing(void **state)
{
    struct scene *scene = *state;
    static const char *const readings[] = {"process_bytes", "footprint_bytes"};
    assert_int_equal(run_of(scene, "batch: 20, " TIGHT), RUN_INCONCLUSIVE);
    const struct json *line = case_at(scene, 0);
    assert_string_equal(text_at(line, "status"), "ok");
    for (size_t i = 0; i < 2; i++) {
        const struct json *verdict = verdict_at(line, "replay", readings[i]);
        assert_int_equal(json_integer_or(json_get(verdict, "signed_error_bytes"), 0), -100); /* shown all the same */
        assert_int_equal(json_kind(json_get(verdict, "pass")), JSON_KIND_NULL);
        assert_int_equal(json_kind(json_get(verdict, "tolerance")), JSON_KIND_OBJECT);
        assert_string_equal(text_at(verdict, "note"), "the constants were measured under driver 1, not 2");
    }
    suite_release(&scene->suite); /* a figure of the reading that is no figure of the constants */
    assert_int_equal(run_of(scene, "batch: 20, expect: {process_bytes: 4500}"), RUN_PASS);
    suite_release(&scene->suite);
    assert_int_equal(run_of(scene, "batch: 20, tolerances: {replay: {reserved_bytes_peak: 0}}"), RUN_PASS);
    suite_release(&scene->suite);
    assert_int_equal(run_of(scene, "batch: 20"), RUN_PASS); /* nothing was to be judged */
}

/* Constants are made of cases in float32, which cuDNN does not compute; the same figures are judged without it. */
static void constants_know_nothing_of_cudnn(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_of(scene, "batch: 21, " TIGHT), RUN_INCONCLUSIVE);
    const struct json *verdict = verdict_at(case_at(scene, 0), "replay", "process_bytes");
    assert_int_equal(json_kind(json_get(verdict, "pass")), JSON_KIND_NULL);
    assert_string_equal(text_at(verdict, "note"),
                        "cuDNN computed convolutions, and what it loads is no part of the constants");
    suite_release(&scene->suite);
    assert_int_equal(run_of(scene, "batch: 21, expect: {reserved_bytes_peak: 4095}"), RUN_FAIL);
}

/* What the allocator counts is no reading: it is judged whatever disturbed the device or calibrated the constants. */
static void what_is_no_reading_is_judged_all_the_same(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_of(scene, "batch: 16, tolerances: {replay: {reserved_bytes_peak: 0}}"), RUN_PASS);
    const struct json *reserved = verdict_at(case_at(scene, 0), "replay", "reserved_bytes_peak");
    assert_true(json_boolean_or(json_get(reserved, "pass"), false));
    suite_release(&scene->suite);
    assert_int_equal(run_of(scene, "batch: 16, expect: {reserved_bytes_peak: 4095}"), RUN_FAIL);
    suite_release(&scene->suite);
    assert_int_equal(run_of(scene, "batch: 18, expect: {reserved_bytes_peak: 4095}"), RUN_FAIL);
}

static void an_invalid_row_has_no_verdict_on_its_readings(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_of(scene, "batch: 18, " TIGHT), RUN_INCONCLUSIVE);
    const struct json *verdict = verdict_at(case_at(scene, 0), "replay", "footprint_bytes");
    assert_int_equal(json_kind(json_get(verdict, "pass")), JSON_KIND_NULL);
    assert_int_equal(json_integer_or(json_get(verdict, "measured"), -1), 9500);
    assert_string_equal(text_at(verdict, "note"), "the row is invalid");
}

/* No figure of the process: 11500 on the device, where 2000 were before the context. */
static void a_footprint_is_of_the_device_where_no_process_is_known(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_of(scene, "batch: 19, tolerances: {replay: {footprint_bytes: 100B}}"), RUN_PASS);
    const struct json *line = case_at(scene, 0);
    assert_int_equal(json_integer_or(json_get(verdict_at(line, "replay", "footprint_bytes"), "measured"), -1), 9500);
    assert_int_equal(json_integer_or(json_get(verdict_at(line, "replay", "device_bytes"), "measured"), -1), 4500);
}

/* The allocator's segments stand for what a process grows by, but not for its context. */
static void a_footprint_is_not_predicted_without_constants(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_of(scene, "batch: 1"), RUN_PASS);
    assert_null(verdict_at(case_at(scene, 0), "replay", "footprint_bytes"));
    suite_release(&scene->suite);
    assert_int_equal(run_of(scene, "batch: 1, tolerances: {replay: {footprint_bytes: 1%}}"), RUN_INCONCLUSIVE);
}

static void a_skipped_suite_says_so(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_of(scene, "batch: 4"), RUN_SKIPPED);
    assert_string_equal(text_at(case_at(scene, 0), "reason"), "no such device; plug one in");
    assert_string_equal(text_at(scene->records.runs[0].end, "outcome"), "skipped");
}

static void a_choice_selects_and_an_empty_one_is_an_error(void **state)
{
    struct scene *scene = *state;
    suite_set(scene, "batch: [1, 2]");
    struct run_options options = options_of(scene);
    const char *const first[] = {"*/b1/*"};
    const struct case_rules rules = {.filters = first, .filter_count = 1};
    struct case_choice choice = {0};
    assert_int_equal(case_choice_make(&scene->suite, &rules, &choice, &scene->error), STATUS_OK);
    options.choice = &choice;
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    assert_int_equal(scene->records.runs[0].case_count, 1);
    assert_string_equal(text_at(json_get(scene->records.runs[0].run, "suite"), "filter"), "*/b1/*");
    case_choice_drop(&choice, 0);
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&scene->error), "no case of s.yaml is left to measure");
    case_choice_release(&choice);
    options.choice = NULL;
    options.jobs = 0;
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_INVALID);
}

static void an_unknown_estimator_is_found_before_anything_is_written(void **state)
{
    struct scene *scene = *state;
    suite_set(scene, "batch: 1, tolerances: {relpay: {allocated_bytes_peak: 0}}");
    struct run_options options = options_of(scene);
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_INVALID);
    assert_int_equal(strncmp(STATUS_SAID(&scene->error), "s.yaml:4:", strlen("s.yaml:4:")), 0);
    assert_non_null(strstr(STATUS_SAID(&scene->error), "there is no estimator 'relpay'"));
    struct stat file;
    assert_int_not_equal(stat(scene->file, &file), 0);
}

static void the_device_asked_for_wins_over_the_suite(void **state)
{
    struct scene *scene = *state;
    static const char *const asked[] = {NULL, "auto", "meta", NULL, "host"};
    static const char *const rest[] = {"batch: 15", "batch: 15, device: host", "batch: 15, device: host",
                                       "batch: 15, device: host", "batch: 15"};
    static const char *const used[] = {"auto", "host", "meta", "host", "host"};
    for (int i = 0; i < 5; i++) {
        suite_release(&scene->suite);
        suite_set(scene, rest[i]);
        struct run_options options = options_of(scene);
        options.device = asked[i];
        run_with(scene, &options);
        assert_string_equal(text_at(case_at(scene, 0), "reason"), used[i]);
    }
}

struct tally {
    int started, ended, last_done, total;
};

static void tally_started(void *context, const struct suite_case *case_, int attempt, int done, int total)
{
    struct tally *tally = context;
    assert_non_null(case_);
    assert_true(attempt >= 1 && done < total);
    tally->started++;
}

static void tally_ended(void *context, const struct json *line, int done, int total)
{
    struct tally *tally = context;
    assert_int_equal(json_kind(line), JSON_KIND_OBJECT);
    tally->ended++;
    tally->last_done = done;
    tally->total = total;
}

static void progress_is_told_of_every_attempt(void **state)
{
    struct scene *scene = *state;
    struct tally tally = {0};
    suite_set(scene, "batch: [1, 2, 4], repeat: 2");
    struct run_options options = options_of(scene);
    options.jobs = 3;
    options.progress = (struct run_progress){.context = &tally, .started = tally_started, .ended = tally_ended};
    run_with(scene, &options);
    assert_int_equal(tally.started, 6);
    assert_int_equal(tally.ended, 6);
    assert_int_equal(tally.last_done, 6);
    assert_int_equal(tally.total, 6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_measured_case_is_a_row_with_its_verdicts),
        TEST(the_run_and_end_lines_say_what_was_run),
        TEST(the_run_line_has_the_variables_that_matter),
        TEST(the_process_is_compared_without_being_asked_for),
        TEST(a_wrong_prediction_fails),
        TEST(a_prediction_within_its_tolerance_passes),
        TEST(a_judged_figure_that_is_unknown_is_inconclusive),
        TEST(constants_of_other_cases_are_judged),
        TEST(a_case_that_calibrated_is_never_judged),
        TEST(constants_know_nothing_of_cudnn),
        TEST(constants_of_another_driver_judge_nothing),
        TEST(what_is_no_reading_is_judged_all_the_same),
        TEST(an_invalid_row_has_no_verdict_on_its_readings),
        TEST(a_footprint_is_of_the_device_where_no_process_is_known),
        TEST(a_footprint_is_not_predicted_without_constants),
        TEST(a_skipped_suite_says_so),
        TEST(a_choice_selects_and_an_empty_one_is_an_error),
        TEST(an_unknown_estimator_is_found_before_anything_is_written),
        TEST(the_device_asked_for_wins_over_the_suite),
        TEST(progress_is_told_of_every_attempt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

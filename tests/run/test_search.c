/* Searches: a case that looks for its batch is a series of children, and ends as replay, and so a plan, said before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "harness/run/prediction.h"
#include "models/find/model.h"
#include "models/skeleton/skeleton.h"
#include "tests/run/search_scene.h"

/* -- what is found, and what was predicted */

/* As assay plan asks. */
static void case_predict(const struct suite_case *case_, struct json **estimates, struct prediction *prediction)
{
    struct status error = {0};
    struct model model = {0};
    struct skeleton skeleton = {0};
    const struct model_places places = {.catalogue_dir = "models/catalogue"};
    if (model_find(&places, case_->identity.model, &model, &error) != STATUS_OK ||
        model_skeleton(&model, &case_->identity.workload, &skeleton, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    const struct estimate_input input = {.config = &model.config,
                                         .checkpoint = model.checkpoint,
                                         .skeleton = &skeleton,
                                         .workload = &case_->identity.workload,
                                         .target = case_->settings->target,
                                         .memory_bytes = case_->settings->memory_bytes};
    if (prediction_make(&input, estimates, prediction, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    skeleton_release(&skeleton);
    model_release(&model);
}

/* The plan of the case says what the run has found, try for try, and the bytes of that batch. */
static void plan_check(const struct suite_case *case_, const struct json *line)
{
    struct json *estimates = NULL;
    struct prediction prediction = {0};
    char predicted[TRIES_WORDS_BYTES];
    case_predict(case_, &estimates, &prediction);
    const struct json *found = json_get(line, "search");
    static const char *const members[] = {"found", "predicted", "start"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        assert_int_equal(integer_at(prediction.search, members[i]), integer_at(found, members[i]));
    }
    assert_string_equal(text_at(prediction.search, "end"), text_at(found, "end"));
    tries_words(prediction.search, "predicted_runs", predicted);
    tries_expect(found, predicted);
    assert_int_equal(prediction.peak.is_refused, integer_at(found, "found") < 0);
    assert_int_equal(integer_at(json_get(estimates, "replay"), "reserved_bytes_peak"),
                     integer_at(line, "reserved_bytes_peak"));
    json_release(estimates);
    prediction_release(&prediction);
}

static void policies_find_what_was_predicted_in_every_mode(void **state)
{
    struct scene *scene = *state;
    static const int64_t found[] = {40, 74, 78, 19, 30, 32, 37, 63, 64};
    cases_set(scene,
              "  - {model: tiny-gpt2, mode: infer, seq: 64, batch: 160, " BOUNDED
              ", find_batch: [halve, 0.9, bisect]}\n"
              "  - {model: tiny-gpt2, mode: train, seq: 64, batch: 76, " BOUNDED ", find_batch: [halve, 0.9, bisect]}\n"
              "  - {model: tiny-llama, mode: generate, seq: 64, new_tokens: 8, batch: 150, for: host, memory: 8MiB,\n"
              "     find_batch: [halve, 0.9, bisect]}\n");
    if (search_measure(scene, &case_runner_measure, "host") != RUN_PASS) {
        fail_msg("%s", scene->result.reason);
    }
    for (int i = 0; i < 9; i++) {
        const struct json *line = case_at(scene, i), *of = search_at(scene, i);
        plan_check(&scene->suite.cases[i], line);
        assert_int_equal(integer_at(of, "found"), found[i]);
        assert_string_equal(text_at(of, "end"), "found");
        pass_expect(of, JSON_KIND_BOOLEAN, true);
        assert_true(json_real_or(json_get(of, "per_second"), 0) > 0);
        assert_true(json_real_or(json_get(of, "best_per_second"), 0) >= json_real_or(json_get(of, "per_second"), 0));
        assert_string_equal(text_at(line, "id"), scene->suite.cases[i].id);
    }
}

/* The other members are those of the case at the batch that was found. */
static void the_line_is_that_of_the_batch_that_was_found(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-gpt2, mode: infer, seq: 64, batch: 150, " BOUNDED ", find_batch: halve}\n"
                     "  - {model: tiny-gpt2, mode: infer, seq: 64, batch: 75, " BOUNDED "}\n");
    assert_int_equal(search_measure(scene, &case_runner_measure, "host"), RUN_PASS);
    const struct json *found = case_at(scene, 0), *plain = case_at(scene, 1);
    static const char *const members[] = {"requested_bytes_peak", "allocated_bytes_peak", "reserved_bytes_peak"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        assert_true(integer_at(plain, members[i]) > 0);
        assert_int_equal(integer_at(found, members[i]), integer_at(plain, members[i]));
    }
    assert_string_equal(text_at(found, "sequence_hash"), text_at(plain, "sequence_hash"));
    assert_int_equal(integer_at(json_get(found, "identity"), "batch"), 150);
    assert_string_equal(text_at(json_get(found, "identity"), "find_batch"), "halve");
    tries_expect(search_at(scene, 0), "150 refused, 75 ran");
    const struct json *first = json_at(json_get(search_at(scene, 0), "tries"), 0);
    assert_string_equal(text_at(first, "cause"), "segment");
    assert_string_equal(text_at(first, "stage"), "forward");
    assert_true(integer_at(first, "wanted_bytes") > 0);
    assert_true(json_boolean_or(json_get(first, "recognised"), false));
    assert_int_equal(integer_at(first, "next"), 75);
    assert_int_equal(json_kind(json_get(plain, "search")), JSON_KIND_NULL);
}

static void a_zero_that_was_predicted_is_in_order(void **state)
{
    struct scene *scene = *state;
    cases_set(scene,
              "  - {model: tiny-gpt2, mode: train, seq: 64, batch: 4, memory: 1MiB, for: host, find_batch: halve}\n");
    assert_int_equal(search_measure(scene, &case_runner_measure, "host"), RUN_PASS);
    const struct json *line = case_at(scene, 0), *of = search_at(scene, 0);
    plan_check(&scene->suite.cases[0], line);
    assert_string_equal(text_at(line, "status"), "ok");
    assert_string_equal(text_at(of, "end"), "zero");
    assert_string_equal(text_at(of, "error"), "No executable batch size found, reached zero.");
    tries_expect(of, "4 refused, 2 refused, 1 refused");
    pass_expect(of, JSON_KIND_BOOLEAN, true);
    assert_int_equal(integer_at(of, "predicted"), 0);
    assert_int_equal(json_kind(json_get(of, "found")), JSON_KIND_NULL);
    assert_true(integer_at(json_get(line, "oom"), "wanted_bytes") > 0);
}

static void nothing_is_predicted_of_a_plan_without_a_bound(void **state)
{
    struct scene *scene = *state;
    struct json *estimates = NULL;
    struct prediction prediction = {0};
    cases_set(scene, "  - {model: tiny-gpt2, mode: train, for: host, find_batch: halve}\n");
    case_predict(&scene->suite.cases[0], &estimates, &prediction);
    assert_null(prediction.search);
    assert_int_equal(prediction.failure.code, STATUS_INVALID);
    assert_non_null(strstr(prediction.failure.text, "no bound is known; give the case 'memory'"));
    json_release(estimates);
    prediction_release(&prediction);
}

static void on_meta_a_search_needs_a_bound(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-gpt2, mode: train, seq: 8, batch: 4, for: host, find_batch: bisect}\n");
    struct run_options options = options_of(scene);
    options.runner = &case_runner_measure;
    options.device = "meta";
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_INVALID);
    assert_non_null(strstr(scene->error.text, "on meta without a bound every batch runs"));
    assert_int_equal(search_measure(scene, &case_runner_measure, "meta:mem=32MiB"), RUN_PASS);
    const struct json *of = search_at(scene, 0);
    assert_int_equal(integer_at(of, "found"), integer_at(of, "predicted"));
    assert_int_equal(json_kind(json_get(of, "per_second")), JSON_KIND_NULL);
}

static void several_at_a_time_find_the_same(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, HALVE("") BISECT("") "  - {model: tiny-gpt2, mode: infer, seq: 64, " BOUNDED
                                          "}\n" HALVE(", repeat: 2, precision: bfloat16"));
    struct run_options options = options_of(scene);
    options.runner = &case_runner_measure;
    options.device = "host";
    options.jobs = 3;
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    int counts[3] = {0};
    for (int i = 0; i < scene->result.total; i++) {
        const struct json *line = case_at(scene, i);
        int64_t found = integer_at(json_get(line, "search"), "found");
        bool is_second = strstr(text_at(line, "id"), "bisect") != NULL;
        counts[0] += strstr(text_at(line, "id"), "find-") == NULL;
        counts[1] += is_second && found == 78;
        counts[2] += !is_second && (found == 75 || found == 150);
    }
    assert_int_equal(scene->result.total, 5);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 1);
    assert_int_equal(counts[2], 3);
}

/* A figure that is off in a try is no secret, though another batch is found. */
static void a_figure_that_is_off_in_any_try_fails_the_case(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, BISECT(", tolerances: {accelerate: {total_bytes: 0}}"));
    assert_int_equal(search_measure(scene, &case_runner_measure, "host"), RUN_FAIL);
    assert_non_null(
        strstr(text_at(case_at(scene, 0), "reason"), "; search: batch 50: a figure is off what the suite allows"));
    assert_null(strstr(text_at(case_at(scene, 0), "reason"), "batch 78"));
    tries_expect(search_at(scene, 0), "50 fail, 100 refused, 75 fail, 87 refused, 81 refused, 78 fail, 79 refused");
}

/* What a suite expects, it expects of the batch that is found. */
static void expectations_are_of_the_batch_that_is_found(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, BISECT(""));
    assert_int_equal(search_measure(scene, &case_runner_measure, "meta"), RUN_PASS);
    long long bytes = (long long)integer_at(case_at(scene, 0), "allocated_bytes_peak");
    char cases[512];
    snprintf(cases, sizeof cases,
             BISECT(", expect: {allocated_bytes_peak: %lld}, tolerances: {expected: "
                    "{allocated_bytes_peak: 0}}"),
             bytes);
    cases_set(scene, cases);
    if (search_measure(scene, &case_runner_measure, "meta") != RUN_PASS) {
        fail_msg("%s", scene->result.reason);
    }
}

static void the_batch_that_is_found_is_proved(void **state)
{
    struct scene *scene = *state;
    cases_set(
        scene,
        HALVE(
            "") "  - {model: tiny-gpt2, mode: load, for: host}\n"
                "  - {model: tiny-gpt2, mode: train, seq: 64, batch: 2, memory: 1MiB, for: host, find_batch: halve}\n");
    struct run_options options = options_of(scene);
    options.runner = &case_runner_measure;
    options.device = "host";
    options.proof = RUN_PROOF_REPLAY;
    if (run_with(scene, &options) != RUN_PASS) {
        fail_msg("%s", scene->result.reason);
    }
    assert_true(json_boolean_or(json_get(json_get(case_at(scene, 0), "proof"), "pass"), false));
    assert_true(json_boolean_or(json_get(json_get(case_at(scene, 1), "proof"), "pass"), false));
    assert_int_equal(integer_at(search_at(scene, 0), "found"), 75);
    assert_int_equal(json_kind(json_get(case_at(scene, 2), "proof")), JSON_KIND_NULL); /* nothing ran */
}

/* Three policies of one case, one after the other. */
static void policies_differ(const struct scene *scene, int first)
{
    int64_t found[3];
    for (int i = 0; i < 3; i++) {
        found[i] = integer_at(search_at(scene, first + i), "found");
        assert_int_equal(
            strcmp(text_at(search_at(scene, first + i), "policy"), (const char *const[]){"halve", "0.9", "bisect"}[i]),
            0);
    }
    assert_true(0 < found[0] && found[0] < found[1] && found[1] < found[2]);
    assert_int_equal(found[2], integer_at(search_at(scene, first + 2), "predicted"));
}

static void the_suite_has_each_policy_end_elsewhere(void **state)
{
    struct scene *scene = *state;
    if (suite_read("suites/batch-size-gpu.yaml", "models/catalogue", &scene->suite, &scene->error) != STATUS_OK) {
        fail_msg("%s", scene->error.text);
    }
    suite_release(&scene->suite);
    if (suite_read("suites/batch-size.yaml", "models/catalogue", &scene->suite, &scene->error) != STATUS_OK) {
        fail_msg("%s", scene->error.text);
    }
    if (search_measure(scene, &case_runner_measure, "meta") != RUN_PASS) {
        fail_msg("%s", scene->result.reason);
    }
    assert_int_equal(scene->result.total, 20);
    for (int first = 0; first < 18; first += 3) {
        policies_differ(scene, first);
    }
    for (int i = 18; i < 20; i++) {
        assert_string_equal(text_at(search_at(scene, i), "end"), "zero");
        pass_expect(search_at(scene, i), JSON_KIND_BOOLEAN, true);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(policies_find_what_was_predicted_in_every_mode),
        TEST(the_line_is_that_of_the_batch_that_was_found),
        TEST(a_zero_that_was_predicted_is_in_order),
        TEST(nothing_is_predicted_of_a_plan_without_a_bound),
        TEST(on_meta_a_search_needs_a_bound),
        TEST(several_at_a_time_find_the_same),
        TEST(a_figure_that_is_off_in_any_try_fails_the_case),
        TEST(expectations_are_of_the_batch_that_is_found),
        TEST(the_batch_that_is_found_is_proved),
        TEST(the_suite_has_each_policy_end_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

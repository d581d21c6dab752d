/* Run figures: what is left of records when all that gates and histories do not need is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "harness/report/run_figures.h"
#include "tests/report/nights_fixture.h"
#include "tests/report/records_fixture.h"

static const int64_t mib = 1024 * 1024;

static struct run_figures read_figures(const char *path)
{
    struct run_figures figures;
    struct status error = {0};
    if (run_figures_read(path, &figures, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return figures;
}

/* The night has gpt2's load with 100 MiB, and an inference with the same load and 60 MiB in forward. */
static void a_night_is_its_environment_and_the_peaks_of_its_cases(void **state)
{
    const struct nights *nights = *state;
    night_write(nights->base, &(struct night){.libraries = "[\"cuBLAS 12.8.4\"]"});
    struct run_figures figures = read_figures(nights->base);
    assert_string_equal(figures.source, nights->base);
    assert_string_equal(figures.run_id, "90");
    assert_string_equal(figures.started, "2026-11-21T02:00:00Z");
    assert_string_equal(figures.suite_path, "nightly.yaml");
    assert_string_equal(figures.environment[ENVIRONMENT_DEVICE], "cuda (NVIDIA H200)");
    assert_string_equal(figures.environment[ENVIRONMENT_TARGET], "sm_90");
    assert_string_equal(figures.environment[ENVIRONMENT_DRIVER], "570.124.06");
    assert_string_equal(figures.environment[ENVIRONMENT_LIBRARIES], "cuBLAS 12.8.4");
    assert_string_equal(figures.environment[ENVIRONMENT_PLAN_HASH], "8d5a0f3b2c4e6172");
    assert_string_equal(figures.environment[ENVIRONMENT_PROGRAM], "assay 0.1.0");
    assert_null(figures.environment[ENVIRONMENT_REVISION]);
    assert_true(figures.ended);
    assert_int_equal(figures.case_count, 2);
    assert_int_equal(figures.absent_count, 0);
    const struct case_figures *infer = &figures.cases[0], *load = &figures.cases[1]; /* by id */
    assert_string_equal(infer->id, "gpt2/infer/float32/b8/s512");
    assert_string_equal(infer->label, "gpt2 infer float32 b8 s512");
    assert_string_equal(infer->machine, "cuda|NVIDIA H200|sm_90|0");
    assert_ptr_equal(infer->machine, load->machine);
    assert_int_equal(infer->standing, STANDING_OK);
    assert_int_equal(load->measured.of[LEVEL_REQUESTED], 100 * mib);
    assert_int_equal(load->measured.of[LEVEL_ALLOCATED], 100 * mib + 512);
    assert_int_equal(load->measured.of[LEVEL_RESERVED], 104 * mib);
    assert_int_equal(load->measured.of[LEVEL_PROCESS], 604 * mib);
    assert_int_equal(load->measured.of[LEVEL_DEVICE], 606 * mib);
    assert_int_equal(load->predicted.of[LEVEL_ALLOCATED], 100 * mib + 512);
    assert_int_equal(load->predicted.of[LEVEL_RESERVED], FIGURE_BYTES_UNKNOWN);
    assert_int_equal(load->spread.of[LEVEL_PROCESS], FIGURE_BYTES_UNKNOWN);
    run_figures_release(&figures);
    assert_int_equal(figures.case_count, 0);
    run_figures_release(&figures);
}

static void cases_are_found_by_id_and_matched_by_id_and_tag(void **state)
{
    const struct nights *nights = *state;
    night_write(nights->base, &(struct night){0});
    struct run_figures figures = read_figures(nights->base);
    const struct case_figures *load = run_figures_find(&figures, "gpt2/load/float32");
    assert_non_null(load);
    assert_string_equal(load->id, "gpt2/load/float32");
    assert_null(run_figures_find(&figures, "gpt2/load/float3"));
    assert_true(case_figures_match(load, "gpt2/*"));
    assert_false(case_figures_match(load, "gpt2/l"));
    assert_false(case_figures_match(load, "nightly"));
    struct case_figures tagged = *load;
    tagged.tags = "real\nnightly";
    assert_true(case_figures_match(&tagged, "nightly"));
    assert_true(case_figures_match(&tagged, "re?l"));
    assert_false(case_figures_match(&tagged, "night"));
    assert_false(case_figures_match(&tagged, "real\nnightly"));
    run_figures_release(&figures);
    assert_null(run_figures_find(&figures, "gpt2/load/float32"));
}

static void tags_come_from_the_record(void **state)
{
    const struct nights *nights = *state;
    char line[4096];
    records_fixture_run(nights->base, 1);
    snprintf(
        line, sizeof line,
        "{\"type\":\"case\",\"id\":\"a\",\"identity\":{\"model\":\"a\",\"mode\":\"load\",\"precision\":\"float32\","
        "\"batch\":null,\"seq\":null,\"attention\":null,\"optimizer\":null,\"checkpointing\":null,"
        "\"accumulate\":null,\"logits\":null,\"head\":null},\"status\":\"ok\",\"reason\":null,\"attempt\":1,"
        "\"duration_s\":null,\"tags\":[\"real\",\"slow\"],\"suite_line\":12,\"device\":null,\"stages\":{},\"context\":"
        "null,"
        "\"peak_stage\":null,\"categories_at_peak\":null,\"causes\":null,\"saved_for_backward_bytes\":null,"
        "\"loss\":null,\"sequence_hash\":null,\"oom\":null,\"estimates\":null,\"verdicts\":[]}\n");
    records_fixture_append(nights->base, line);
    struct run_figures figures = read_figures(nights->base);
    assert_string_equal(figures.cases[0].tags, "real\nslow");
    assert_int_equal(figures.cases[0].suite_line, 12);
    run_figures_release(&figures);
}

/* A killed night: the second case was selected and is not there. */
static void what_a_killed_run_did_not_make_is_absent(void **state)
{
    const struct nights *nights = *state;
    night_write(nights->base, &(struct night){.listed = true, .second_missing = true, .killed = true});
    records_fixture_append(nights->base, "{\"type\":\"case\",\"id\":\"gpt2/inf");
    struct run_figures figures = read_figures(nights->base);
    assert_false(figures.ended);
    assert_int_equal(figures.case_count, 1);
    assert_int_equal(figures.absent_count, 1);
    assert_string_equal(figures.absent[0].id, "gpt2/infer/float32/b8/s512");
    assert_int_equal(figures.absent[0].wanted_count, 1);
    assert_string_equal(figures.absent_cause, OUTCOME_NO_END);
    assert_int_equal(figures.damaged_line_count, 1);
    run_figures_release(&figures);
}

static void a_case_with_too_few_attempts_is_short_and_repeated_ones_have_a_spread(void **state)
{
    const struct nights *nights = *state;
    night_write(nights->base,
                &(struct night){.listed = true, .selected_attempts = 3, .attempts = 2, .attempt_bytes = 7 * mib});
    struct run_figures figures = read_figures(nights->base);
    assert_int_equal(figures.case_count, 2);
    assert_int_equal(figures.absent_count, 0);
    assert_int_equal(figures.cases[0].made_count, 2);
    assert_int_equal(figures.cases[0].wanted_count, 3);
    assert_int_equal(figures.cases[0].standing, STANDING_BROKEN);
    assert_non_null(strstr(figures.cases[0].reason, "made 2 of 3 attempts"));
    assert_int_equal(figures.cases[0].spread.of[LEVEL_PROCESS], 7 * mib);
    assert_int_equal(figures.cases[0].spread.of[LEVEL_REQUESTED], 0);
    run_figures_release(&figures);
}

static void what_did_not_end_has_no_figures_and_a_disturbance_is_told(void **state)
{
    const struct nights *nights = *state;
    night_write(nights->base, &(struct night){.load_status = "oom", .disturbance = "[\"somebody else was there\"]"});
    struct run_figures figures = read_figures(nights->base);
    const struct case_figures *load = run_figures_find(&figures, "gpt2/load/float32");
    const struct case_figures *infer = run_figures_find(&figures, "gpt2/infer/float32/b8/s512");
    assert_false(case_figures_measured(load));
    assert_true(case_figures_measured(infer));
    assert_string_equal(load->status, "oom");
    assert_int_equal(load->standing, STANDING_BROKEN);
    for (int level = 0; level < LEVEL_COUNT; level++) {
        assert_int_equal(load->measured.of[level], FIGURE_BYTES_UNKNOWN);
    }
    assert_true(infer->invalid);
    assert_string_equal(infer->disturbance, "somebody else was there");
    assert_false(load->invalid);
    run_figures_release(&figures);
}

static void what_cannot_be_read_is_said_and_leaves_nothing(void **state)
{
    const struct nights *nights = *state;
    struct run_figures figures;
    struct status error = {0};
    assert_int_equal(run_figures_read(nights->base, &figures, &error), STATUS_IO);
    assert_non_null(strstr(error.text, nights->base));
    run_figures_release(&figures);
    records_fixture_append(nights->base, "{\"no\": \"record\"}\n");
    assert_int_equal(run_figures_read(nights->base, &figures, &error), STATUS_INVALID);
    run_figures_release(&figures);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, nights_make, nights_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_night_is_its_environment_and_the_peaks_of_its_cases),
        TEST(cases_are_found_by_id_and_matched_by_id_and_tag),
        TEST(tags_come_from_the_record),
        TEST(what_a_killed_run_did_not_make_is_absent),
        TEST(a_case_with_too_few_attempts_is_short_and_repeated_ones_have_a_spread),
        TEST(what_did_not_end_has_no_figures_and_a_disturbance_is_told),
        TEST(what_cannot_be_read_is_said_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

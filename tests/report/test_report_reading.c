/* Reading records: what is there, what is damaged, what is missing; and writing a report to a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/report/case_view.h"
#include "harness/report/report.h"
#include "tests/report/records_fixture.h"

struct place {
    char *folder;
    char path[128];
};

static int place_make(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    place->folder = folder_fixture_make();
    snprintf(place->path, sizeof place->path, "%s/records.jsonl", place->folder);
    *state = place;
    return 0;
}

static int place_remove(void **state)
{
    struct place *place = *state;
    folder_fixture_remove(place->folder);
    free(place);
    return 0;
}

static struct report *opened(const char *path)
{
    struct report *report = NULL;
    struct status error = {0};
    if (report_open(path, &report, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return report;
}

static void folder_and_file_are_the_same(void **state)
{
    const struct place *place = *state;
    records_fixture_write(place->path, RECORDS_SMALL);
    struct report *by_folder = opened(place->folder), *by_file = opened(place->path);
    struct report_counts counts = report_count(by_folder);
    assert_int_equal(counts.cases, 4);
    assert_int_equal(counts.ok, 0); /* something disturbed what it was to be judged by */
    assert_int_equal(counts.open, 1);
    assert_int_equal(counts.fail, 1);
    assert_int_equal(counts.oom, 1);
    assert_int_equal(counts.skip, 1);
    assert_int_equal(counts.error, 0);
    assert_true(counts.ended);
    assert_int_equal(report_count(by_file).cases, 4);
    report_release(by_folder);
    report_release(by_file);
}

static void figures_of_a_load_are_read(void **state)
{
    const struct place *place = *state;
    records_fixture_write(place->path, RECORDS_SMALL);
    struct report *report = opened(place->path);
    const struct case_view *view = &report->cases[0];
    assert_string_equal(view->label, "bert-base-cased load float32");
    assert_int_equal(view->measured.peak_bytes[LEVEL_REQUESTED], 433249280);
    assert_int_equal(view->measured.peak_bytes[LEVEL_ALLOCATED], 433773568);
    assert_int_equal(view->measured.stages[STAGE_LOAD]->end_bytes[LEVEL_DEVICE], 438304768 + 518 * 1048576);
    assert_int_equal(view->measured.category_bytes[CATEGORY_WEIGHTS], 433241088);
    assert_int_equal(view->causes_at_load.remainder_bytes, 524288);
    assert_int_equal(view->oom_wanted_bytes, BYTES_UNKNOWN);
    assert_int_equal(report->cases[2].oom_wanted_bytes, 112 * 1048576);
    report_release(report);
}

/* Median and worst of -0.12 % and -65.31 %; a judgement that failed is counted. */
static void accuracy_is_summed_per_estimator(void **state)
{
    const struct place *place = *state;
    struct arena arena = {0};
    struct accuracy *rows = NULL;
    int count = 0;
    records_fixture_write(place->path, RECORDS_SMALL);
    struct report *report = opened(place->path);
    assert_int_equal(report_accuracy(report, &arena, &rows, &count, NULL), STATUS_OK);
    assert_int_equal(count, 7);
    assert_string_equal(rows[0].estimator, "replay");
    assert_int_equal(rows[1].failed_count, 1);
    assert_string_equal(rows[3].quantity, "device_bytes"); /* the reading of an invalid row counts in nothing */
    assert_int_equal(rows[3].case_count + rows[3].under_count + rows[3].failed_count, 0);
    const struct accuracy *accelerate = &rows[4];
    assert_string_equal(accelerate->estimator, "accelerate");
    assert_int_equal(accelerate->case_count, 2);
    assert_int_equal(accelerate->under_count, 2);
    assert_true(accelerate->worst_error < -0.65 && accelerate->worst_error > -0.66);
    assert_true(accelerate->median_error < -0.32 && accelerate->median_error > -0.33);
    arena_release(&arena);
    report_release(report);
}

/* Strangers come last, as they appeared, also of a case that was read before the others were known. */
static void comparisons_stand_in_the_order_of_the_report(void **state)
{
    static const char *const wanted[2][4] = {{"replay", "anatomy", "hf-mem", "zeppelin"},
                                             {"accelerate", "anatomy", "zeppelin", "airship"}};
    const struct place *place = *state;
    records_fixture_write(place->path, RECORDS_EMPTY);
    records_fixture_run(place->path, 2);
    records_fixture_estimates(place->path, "a", "ok", "1024",
                              "{\"zeppelin\": {\"total_bytes\": 1}, \"hf-mem\": {\"total_bytes\": 2}, \"anatomy\": "
                              "{\"total_bytes\": 3}, \"replay\": {\"allocated_bytes_peak\": 4}}",
                              "[]");
    records_fixture_estimates(place->path, "b", "ok", "1024",
                              "{\"airship\": {\"total_bytes\": 1}, \"anatomy\": {\"total_bytes\": 2}, \"zeppelin\": "
                              "{\"total_bytes\": 3}, \"accelerate\": {\"total_bytes\": 4}}",
                              "[]");
    struct report *report = opened(place->path);
    assert_int_equal(report->case_count, 2);
    for (int index = 0; index < report->case_count; index++) {
        assert_int_equal(report->cases[index].comparison_count, 4);
        for (int at = 0; at < 4; at++) {
            assert_string_equal(report->cases[index].comparisons[at].estimator, wanted[index][at]);
        }
    }
    report_release(report);
}

static void empty_records_are_a_report(void **state)
{
    const struct place *place = *state;
    records_fixture_write(place->path, RECORDS_EMPTY);
    struct report *report = opened(place->path);
    assert_int_equal(report_count(report).cases, 0);
    for (int format = REPORT_TABLE; format < REPORT_FORMAT_COUNT; format++) {
        struct text text = {0};
        assert_int_equal(report_render(report, (enum report_format)format, NULL, &text, NULL), STATUS_OK);
        assert_true(text.length > 0);
        text_release(&text);
    }
    report_release(report);
}

static void unknown_stays_unknown(void **state)
{
    const struct place *place = *state;
    records_fixture_write(place->path, RECORDS_NULLS);
    struct report *report = opened(place->path);
    assert_int_equal(report->case_count, 3);
    const struct case_view *view = &report->cases[0];
    assert_int_equal(view->measured.peak_bytes[LEVEL_REQUESTED], 1024);
    assert_int_equal(view->measured.peak_bytes[LEVEL_ALLOCATED], BYTES_UNKNOWN);
    assert_int_equal(view->measured.peak_bytes[LEVEL_DEVICE], BYTES_UNKNOWN);
    assert_int_equal(view->total_count, 0);
    assert_false(view->comparisons[0].error_known);
    assert_int_equal(report->cases[1].predicted.peak_bytes[LEVEL_REQUESTED], BYTES_UNKNOWN); /* a string */
    assert_int_equal(report->cases[1].predicted.peak_bytes[LEVEL_ALLOCATED], BYTES_UNKNOWN); /* negative */
    assert_false(report->cases[2].comparisons[0].error_known);                               /* measured 0: no ratio */
    for (int format = REPORT_TABLE; format < REPORT_FORMAT_COUNT; format++) {
        struct text text = {0};
        assert_int_equal(report_render(report, (enum report_format)format, NULL, &text, NULL), STATUS_OK);
        assert_null(strstr(text_string(&text), "nan"));
        text_release(&text);
    }
    report_release(report);
}

/* A case that ended badly once in a run is not shown as one that never did: its run did not pass either. What happened
 * in an earlier run is past. */
static void the_worst_attempt_of_the_last_run_counts(void **state)
{
    const struct place *place = *state;
    records_fixture_write(place->path, RECORDS_EMPTY);
    records_fixture_run(place->path, 1);
    records_fixture_case(place->path, "b", "error", "null");
    records_fixture_run(place->path, 6);
    records_fixture_case(place->path, "a", "ok", "512");
    records_fixture_case(place->path, "a", "timeout", "null");
    records_fixture_case(place->path, "b", "skip", "null");
    records_fixture_case(place->path, "a", "ok", "1024");
    struct report *report = opened(place->path);
    assert_int_equal(report->case_count, 2);
    assert_string_equal(report->cases[1].id, "a");
    assert_string_equal(report->cases[1].status, "timeout");
    assert_string_equal(report->cases[0].id, "b");
    assert_string_equal(report->cases[0].status, "skip");
    assert_false(report_count(report).ended);          /* the second run has no end line */
    assert_int_equal(report_count(report).missing, 2); /* of six attempts four were made, three of them at a */
    report_release(report);
}

/* repeat: 2 selects four attempts at two cases; nothing is missing when they have been made. */
static void attempts_that_were_asked_for_are_not_missing(void **state)
{
    const struct place *place = *state;
    records_fixture_write(place->path, RECORDS_EMPTY);
    records_fixture_run(place->path, 4);
    for (int attempt = 0; attempt < 2; attempt++) {
        records_fixture_case(place->path, "a", "ok", "1024");
        records_fixture_case(place->path, "b", "ok", "1024");
    }
    struct report *report = opened(place->path);
    assert_int_equal(report_count(report).cases, 2);
    assert_int_equal(report_count(report).missing, 0);
    report_release(report);
    records_fixture_run(place->path, 4);
    records_fixture_case(place->path, "a", "ok", "1024");
    report = opened(place->path);
    assert_int_equal(report_count(report).missing, 3); /* of four one was made; that b was measured before is past */
    report_release(report);
}

static void unfinished_line_is_left_out(void **state)
{
    const struct place *place = *state;
    records_fixture_write(place->path, RECORDS_SMALL);
    records_fixture_append(place->path, "{\"type\":\"case\",\"id\":\"cut");
    struct report *report = opened(place->path);
    struct report_counts counts = report_count(report);
    assert_int_equal(counts.cases, 4);
    assert_int_equal(counts.damaged_lines, 1);
    struct text text = {0};
    const struct report_style wide = {.width = 200};
    assert_int_equal(report_render(report, REPORT_TABLE, &wide, &text, NULL), STATUS_OK);
    assert_non_null(strstr(text_string(&text), "; 1 with invalid readings; "));
    assert_non_null(strstr(text_string(&text), "1 line could not be read"));
    text_release(&text);
    report_release(report);
}

static void what_cannot_be_read_is_an_error(void **state)
{
    const struct place *place = *state;
    struct report *report = NULL;
    struct status error = {0};
    assert_int_equal(report_open("/nonexistent/folder", &report, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "/nonexistent/folder"));
    assert_int_equal(report_open(place->folder, &report, &error), STATUS_IO); /* holds no records.jsonl */
    assert_int_equal(mkdir(place->path, 0700), 0);
    assert_int_equal(report_open(place->path, &report, &error), STATUS_IO);
    assert_null(report);
}

static void what_is_no_record_is_an_error(void **state)
{
    const struct place *place = *state;
    struct report *report = NULL;
    struct status error = {0};
    records_fixture_append(place->path, "model,bytes\ngpt2,3\n");
    assert_int_equal(report_open(place->path, &report, &error), STATUS_INVALID);
    assert_null(report);
}

static void formats_have_names(void **state)
{
    (void)state;
    enum report_format format = REPORT_TABLE;
    struct status error = {0};
    assert_int_equal(report_format_parse("junit", &format, &error), STATUS_OK);
    assert_int_equal(format, REPORT_JUNIT);
    assert_int_equal(report_format_parse("md", &format, &error), STATUS_OK);
    assert_int_equal(format, REPORT_MARKDOWN);
    assert_int_equal(report_format_parse("pdf", &format, &error), STATUS_INVALID);
    assert_string_equal(error.text, "'pdf' is not a format; use " REPORT_FORMAT_WORDS);
    assert_int_equal(format, REPORT_MARKDOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(folder_and_file_are_the_same, place_make, place_remove),
        cmocka_unit_test_setup_teardown(figures_of_a_load_are_read, place_make, place_remove),
        cmocka_unit_test_setup_teardown(accuracy_is_summed_per_estimator, place_make, place_remove),
        cmocka_unit_test_setup_teardown(comparisons_stand_in_the_order_of_the_report, place_make, place_remove),
        cmocka_unit_test_setup_teardown(empty_records_are_a_report, place_make, place_remove),
        cmocka_unit_test_setup_teardown(unknown_stays_unknown, place_make, place_remove),
        cmocka_unit_test_setup_teardown(the_worst_attempt_of_the_last_run_counts, place_make, place_remove),
        cmocka_unit_test_setup_teardown(attempts_that_were_asked_for_are_not_missing, place_make, place_remove),
        cmocka_unit_test_setup_teardown(unfinished_line_is_left_out, place_make, place_remove),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_is_an_error, place_make, place_remove),
        cmocka_unit_test_setup_teardown(what_is_no_record_is_an_error, place_make, place_remove),
        cmocka_unit_test(formats_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

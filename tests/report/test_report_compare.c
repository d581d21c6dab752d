/* Comparing two reports: what is the same, changed, missing or new, and what decides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/difference.h"
#include "harness/report/escape.h"
#include "harness/report/report.h"
#include "tests/report/records_fixture.h"

struct sides {
    char *folder;
    char base[128], other[128];
};

static int sides_make(void **state)
{
    struct sides *sides = calloc(1, sizeof *sides);
    sides->folder = folder_fixture_make();
    snprintf(sides->base, sizeof sides->base, "%s/base.jsonl", sides->folder);
    snprintf(sides->other, sizeof sides->other, "%s/other.jsonl", sides->folder);
    *state = sides;
    return 0;
}

static int sides_remove(void **state)
{
    struct sides *sides = *state;
    folder_fixture_remove(sides->folder);
    free(sides);
    return 0;
}

static struct text compared(const struct sides *sides, double limit, int width, enum run_outcome *outcome)
{
    struct report *base = NULL, *other = NULL;
    struct text text = {0};
    assert_int_equal(report_open(sides->base, &base, NULL), STATUS_OK);
    assert_int_equal(report_open(sides->other, &other, NULL), STATUS_OK);
    const struct difference_options options = {.within = limit};
    const struct difference_style style = {.width = width};
    struct difference *difference = NULL;
    assert_int_equal(difference_make(base, other, &options, &difference, NULL), STATUS_OK);
    assert_int_equal(difference_render(difference, &style, &text, NULL), STATUS_OK);
    *outcome = difference_outcome(difference);
    difference_release(difference);
    report_release(base);
    report_release(other);
    return text;
}

static void compared_contains(const struct sides *sides, enum run_outcome expected, const char *const *parts)
{
    enum run_outcome outcome = RUN_PASS;
    struct text text = compared(sides, -1.0, 80, &outcome);
    assert_int_equal(outcome, expected);
    for (; *parts != NULL; parts++) {
        if (strstr(text_string(&text), *parts) == NULL) {
            fail_msg("'%s' is not in:\n%s", *parts, text_string(&text));
        }
    }
    text_release(&text);
}

static void equal_records_are_the_same(void **state)
{
    const struct sides *sides = *state;
    records_fixture_write(sides->base, RECORDS_LARGE);
    records_fixture_write(sides->other, RECORDS_LARGE);
    compared_contains(sides, RUN_PASS, (const char *const[]){"0 changed, 0 missing", NULL});
}

/* Its figures are shown; in the summary of device and process it does not count. */
static void an_invalid_row_says_so(void **state)
{
    const struct sides *sides = *state;
    records_fixture_write(sides->base, RECORDS_SMALL);
    records_fixture_write(sides->other, RECORDS_SMALL);
    compared_contains(sides, RUN_PASS,
                      (const char *const[]){
                          "device used          936.00 MiB   936.00 MiB", "invalid in old: another process (4242) held",
                          "invalid in new: another process (4242) held", "reserved peak             2      2 ",
                          "device used               1      1 ", "process peak              1      1 ", NULL});
}

static void a_byte_is_a_change(void **state)
{
    const struct sides *sides = *state;
    records_fixture_run(sides->base, 2);
    records_fixture_run(sides->other, 2);
    records_fixture_case(sides->base, "a", "ok", "1048576");
    records_fixture_case(sides->other, "a", "ok", "1572864");
    records_fixture_case(sides->base, "b", "ok", "1000");
    records_fixture_case(sides->other, "b", "ok", "1000");
    compared_contains(sides, RUN_FAIL,
                      (const char *const[]){"1.00 MiB     1.50 MiB   +512.00 KiB    +50.00 %", "changed  a load",
                                            "same     b load", "1 same, 1 changed, 0 missing", NULL});
}

static void cases_that_vanish_or_appear_are_listed(void **state)
{
    const struct sides *sides = *state;
    records_fixture_run(sides->base, 1);
    records_fixture_run(sides->other, 1);
    records_fixture_case(sides->base, "old-one", "ok", "1000");
    records_fixture_case(sides->other, "new-one", "ok", "1000");
    compared_contains(sides, RUN_INCONCLUSIVE,
                      (const char *const[]){"missing  old-one", "new      new-one", "1 missing", "1 only in", NULL});
}

static void a_new_case_alone_changes_nothing(void **state)
{
    const struct sides *sides = *state;
    records_fixture_run(sides->base, 1);
    records_fixture_run(sides->other, 1);
    records_fixture_case(sides->base, "a", "ok", "1000");
    records_fixture_case(sides->other, "a", "ok", "1000");
    records_fixture_case(sides->other, "b", "ok", "1000");
    compared_contains(sides, RUN_PASS, (const char *const[]){"new      b load", NULL});
}

static void a_status_is_a_change(void **state)
{
    const struct sides *sides = *state;
    records_fixture_run(sides->base, 1);
    records_fixture_run(sides->other, 1);
    records_fixture_case(sides->base, "a", "ok", "1000");
    records_fixture_case(sides->other, "a", "timeout", "null");
    compared_contains(sides, RUN_FAIL, (const char *const[]){"status ok -> timeout", NULL});
}

/* PyTorch's records have no predictions, say, and ours no figure that PyTorch alone counts. */
static void what_one_side_knows_alone_is_named(void **state)
{
    const struct sides *sides = *state;
    records_fixture_run(sides->base, 1);
    records_fixture_run(sides->other, 1);
    records_fixture_case(sides->base, "a", "ok", "null");
    records_fixture_case(sides->other, "a", "ok", "1000");
    compared_contains(sides, RUN_PASS, (const char *const[]){"same     a load", "only in new: allocated peak", NULL});
}

static void a_measurement_that_is_gone_is_a_change(void **state)
{
    const struct sides *sides = *state;
    records_fixture_run(sides->base, 1);
    records_fixture_run(sides->other, 1);
    records_fixture_case(sides->base, "a", "ok", "1000");
    records_fixture_case(sides->other, "a", "ok", "null");
    compared_contains(sides, RUN_FAIL, (const char *const[]){"only in old: allocated peak 1000 B", NULL});
}

static void the_end_has_median_and_worst(void **state)
{
    const struct sides *sides = *state;
    static const char *const new_bytes[] = {"1000", "1010", "950"};
    records_fixture_run(sides->base, 3);
    records_fixture_run(sides->other, 3);
    for (int i = 0; i < 3; i++) {
        const char id[] = {(char)('a' + i), '\0'};
        records_fixture_case(sides->base, id, "ok", "1000");
        records_fixture_case(sides->other, id, "ok", new_bytes[i]);
    }
    compared_contains(sides, RUN_FAIL,
                      (const char *const[]){"allocated peak            3      1   1.00 %    -5.00 %", "worst: c load",
                                            "requested peak            3      3   0.00 %    +0.00 %", NULL});
}

/* 1000 bytes and 1010: one part in a hundred. Statuses, predictions and other levels do not decide. */
static void two_programs_agree_within_a_limit(void **state)
{
    const struct sides *sides = *state;
    static const struct {
        double limit;
        enum run_outcome outcome;
        const char *totals;
    } rows[] = {{0.01, RUN_PASS, "0 allocated peaks beyond 1 %, 0 not"},
                {0.0099, RUN_FAIL, "1 allocated peaks beyond 0.99 %, 0 not"}};
    enum run_outcome outcome;
    records_fixture_run(sides->base, 3);
    records_fixture_run(sides->other, 4);
    records_fixture_case(sides->base, "a", "ok", "1000");
    records_fixture_case(sides->base, "b", "ok", "2000");
    records_fixture_case(sides->base, "c", "skip", "null");
    records_fixture_case(sides->other, "a", "fail", "1010");
    records_fixture_case(sides->other, "b", "ok", "2000");
    records_fixture_case(sides->other, "d", "ok", "1");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text text = compared(sides, rows[i].limit, 200, &outcome);
        assert_int_equal(outcome, rows[i].outcome);
        assert_non_null(strstr(text_string(&text), rows[i].totals));
        text_release(&text);
    }
    records_fixture_case(sides->base, "e", "ok", "1");
    struct text text = compared(sides, 0.01, 200, &outcome);
    assert_int_equal(outcome, RUN_INCONCLUSIVE);
    assert_non_null(strstr(text_string(&text), "0 allocated peaks beyond 1 %, 1 not"));
    text_release(&text);
    text = compared(sides, 0.0, 80, &outcome);
    assert_int_equal(outcome, RUN_FAIL);
    text_release(&text);
}

/* Rows without figures (a rehearsal, a GPU that was not there) agree with nothing, and no bytes are not near to
 * some. */
static void nothing_measured_is_no_agreement(void **state)
{
    const struct sides *sides = *state;
    enum run_outcome outcome = RUN_PASS;
    records_fixture_run(sides->base, 2);
    records_fixture_run(sides->other, 2);
    records_fixture_case(sides->base, "a", "ok", "null");
    records_fixture_case(sides->other, "a", "ok", "1000");
    struct text text = compared(sides, 0.01, 80, &outcome);
    assert_int_equal(outcome, RUN_INCONCLUSIVE);
    text_release(&text);
    records_fixture_case(sides->base, "b", "ok", "0");
    records_fixture_case(sides->other, "b", "ok", "512");
    text = compared(sides, 0.01, 80, &outcome);
    assert_int_equal(outcome, RUN_FAIL);
    text_release(&text);
}

static void hostile_names_stay_in_their_columns(void **state)
{
    const struct sides *sides = *state;
    enum run_outcome outcome = RUN_INCONCLUSIVE;
    static const int widths[] = {40, 71, 80};
    records_fixture_write(sides->base, RECORDS_HOSTILE);
    records_fixture_write(sides->other, RECORDS_HOSTILE);
    for (size_t index = 0; index < 3; index++) {
        struct text text = compared(sides, -1.0, widths[index], &outcome);
        assert_null(strchr(text_string(&text), '\x1b'));
        char *rest = text.data, *line;
        while ((line = strsep(&rest, "\n")) != NULL) {
            assert_true(width_measure(line) <= widths[index]);
        }
        text_release(&text);
    }
    assert_int_equal(outcome, RUN_PASS);
}

static void revision_run(const char *path, const char *revision)
{
    char line[512];
    snprintf(
        line, sizeof line,
        "{\"type\":\"run\",\"schema\":{\"name\":\"assay-record\",\"major\":1,\"minor\":4},\"run_id\":\"7\",\"started\":"
        "\"2026-11-21T02:00:00Z\",\"tool\":{\"name\":\"assay\",\"version\":\"0.1.0\",\"revision\":\"%s\"},\"suite\":{"
        "\"name\":\"quick\",\"path\":\"suites/"
        "quick.yaml\",\"plan_hash\":\"1\",\"case_count\":1,\"selected_count\":1}}\n",
        revision);
    records_fixture_append(path, line);
    records_fixture_case(path, "a", "ok", "1048576");
}

static void page_contains(const char *path, enum report_format format, const char *part)
{
    struct report *report = NULL;
    struct text page = {0};
    const struct report_style style = {0};
    assert_int_equal(report_open(path, &report, NULL), STATUS_OK);
    assert_int_equal(report_render(report, format, &style, &page, NULL), STATUS_OK);
    if (strstr(text_string(&page), part) == NULL) {
        fail_msg("'%s' is not in:\n%s", part, text_string(&page));
    }
    text_release(&page);
    report_release(report);
}

/* Of one version the revision says which sources measured: in a comparison, in what stands below a page, in JUnit. */
static void the_revision_is_told(void **state)
{
    const struct sides *sides = *state;
    revision_run(sides->base, "a35b9e5");
    revision_run(sides->other, "b46c2fe-dirty");
    compared_contains(sides, RUN_PASS,
                      (const char *const[]){"old: assay 0.1.0 (a35b9e5), 2026-11-21, ", "b46c2fe-dirty", NULL});
    page_contains(sides->other, REPORT_MARKDOWN, "assay 0.1.0 (b46c2fe-dirty)");
    page_contains(sides->other, REPORT_HTML, "assay 0.1.0 (b46c2fe-dirty)");
    page_contains(sides->other, REPORT_JUNIT, "<property name=\"revision\" value=\"b46c2fe-dirty\"/>");
}

/* Values of the environment are as long as they are: a list of suites, two revisions. */
static void the_environment_fits_its_width(void **state)
{
    const struct sides *sides = *state;
    static const int widths[] = {60, 80};
    enum run_outcome outcome = RUN_PASS;
    revision_run(sides->base, "v0.9.0-181-ga35b9e5, b46c2fe, 723446a");
    revision_run(sides->other, "v0.9.0-185-gb46c2fe, 9e2a1b0, dirty");
    for (size_t i = 0; i < 2; i++) {
        struct text text = compared(sides, -1.0, widths[i], &outcome);
        char *rest = text.data, *line;
        while ((line = strsep(&rest, "\n")) != NULL) {
            if (width_measure(line) > widths[i] && strchr(line, '/') == NULL) {
                fail_msg("%d columns: '%s'", widths[i], line);
            }
        }
        text_release(&text);
    }
}

/* A night without its GPU: that stands first, before the figures that are therefore gone. */
static void what_is_not_measured_any_more_stands_first(void **state)
{
    const struct sides *sides = *state;
    records_fixture_run(sides->base, 2);
    records_fixture_run(sides->other, 2);
    records_fixture_case(sides->base, "a", "ok", "1048576");
    records_fixture_case(sides->other, "a", "skip", "null");
    records_fixture_case(sides->base, "b", "ok", "1048576");
    records_fixture_case(sides->other, "b", "ok", "1048576");
    compared_contains(
        sides, RUN_FAIL,
        (const char *const[]){"NO-GO: 1 case that the old run measured was not measured in the new one;", NULL});
}

/* Of two results without a case that both measured nothing stands over all cases. */
static void no_table_is_empty(void **state)
{
    const struct sides *sides = *state;
    struct report *base = NULL, *other = NULL;
    struct difference *difference = NULL;
    struct text text = {0};
    records_fixture_run(sides->base, 1);
    records_fixture_run(sides->other, 1);
    records_fixture_case(sides->base, "a", "ok", "1048576");
    records_fixture_case(sides->other, "b", "ok", "1048576");
    assert_int_equal(report_open(sides->base, &base, NULL), STATUS_OK);
    assert_int_equal(report_open(sides->other, &other, NULL), STATUS_OK);
    const struct difference_options options = {.within = -1.0};
    const struct difference_style style = {.format = REPORT_MARKDOWN};
    assert_int_equal(difference_make(base, other, &options, &difference, NULL), STATUS_OK);
    assert_int_equal(difference_render(difference, &style, &text, NULL), STATUS_OK);
    assert_null(strstr(text_string(&text), "Levels over all cases"));
    assert_non_null(strstr(text_string(&text), "## Cases\n\n| case |"));
    text_release(&text);
    difference_release(difference);
    report_release(base);
    report_release(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_records_are_the_same, sides_make, sides_remove),
        cmocka_unit_test_setup_teardown(an_invalid_row_says_so, sides_make, sides_remove),
        cmocka_unit_test_setup_teardown(a_byte_is_a_change, sides_make, sides_remove),
        cmocka_unit_test_setup_teardown(cases_that_vanish_or_appear_are_listed, sides_make, sides_remove),
        cmocka_unit_test_setup_teardown(a_new_case_alone_changes_nothing, sides_make, sides_remove),
        cmocka_unit_test_setup_teardown(a_status_is_a_change, sides_make, sides_remove),
        cmocka_unit_test_setup_teardown(what_one_side_knows_alone_is_named, sides_make, sides_remove),
        cmocka_unit_test_setup_teardown(a_measurement_that_is_gone_is_a_change, sides_make, sides_remove),
        cmocka_unit_test_setup_teardown(the_end_has_median_and_worst, sides_make, sides_remove),
        cmocka_unit_test_setup_teardown(two_programs_agree_within_a_limit, sides_make, sides_remove),
        cmocka_unit_test_setup_teardown(nothing_measured_is_no_agreement, sides_make, sides_remove),
        cmocka_unit_test_setup_teardown(the_environment_fits_its_width, sides_make, sides_remove),
        cmocka_unit_test_setup_teardown(what_is_not_measured_any_more_stands_first, sides_make, sides_remove),
        cmocka_unit_test_setup_teardown(no_table_is_empty, sides_make, sides_remove),
        cmocka_unit_test_setup_teardown(the_revision_is_told, sides_make, sides_remove),
        cmocka_unit_test_setup_teardown(hostile_names_stay_in_their_columns, sides_make, sides_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

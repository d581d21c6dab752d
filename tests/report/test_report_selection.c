/* Selection: cases that were to be measured and were not have a name, an error of their own and an exit code; copies
 * and concatenations of records are told. JUnit is never greener than the exit code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/case_view.h"
#include "tests/report/records_fixture.h"
#include "tests/report/records_place.h"
#include "tests/support/command_run.h"

/* A run of the suite, or of a part of it that a filter chose. selected: the members of its `selected` line; NULL:
 * none. */
static void run_append(const struct place *place, const char *run_id, const char *suite, const char *filter, int count,
                       const char *selected)
{
    char line[1024];
    snprintf(line, sizeof line,
             "{\"type\":\"run\",\"schema\":{\"name\":\"assay-record\",\"major\":1,\"minor\":4},\"run_id\":\"%s\","
             "\"started\":\"2026-11-21T02:00:00Z\",\"suite\":{\"name\":\"%s\",\"path\":\"s.yaml\",\"plan_hash\":\"1\","
             "\"case_count\":%d,\"selected_count\":%d,\"filter\":%s}}\n",
             run_id, suite, count, count, filter);
    records_fixture_append(place->records, line);
    if (selected != NULL) {
        snprintf(line, sizeof line, "{\"type\":\"selected\",%s}\n", selected);
        records_fixture_append(place->records, line);
    }
}

static void end_append(const struct place *place, const char *interrupted)
{
    char line[256];
    snprintf(line, sizeof line,
             "{\"type\":\"end\",\"finished\":\"2026-11-21T02:10:00Z\",\"interrupted\":%s,\"counts\":{},"
             "\"outcome\":\"pass\"}\n",
             interrupted);
    records_fixture_append(place->records, line);
}

static struct report *report_of(const struct place *place)
{
    struct report *report = NULL;
    struct status error = {0};
    if (report_open(place->records, &report, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return report;
}

static void outcome_check(const struct place *place, enum run_outcome expected, const char *words)
{
    struct report *report = report_of(place);
    struct text reason = {0};
    assert_int_equal(report_outcome(report, &reason), expected);
    assert_string_equal(text_string(&reason), words);
    text_release(&reason);
    report_release(report);
}

static int pieces_count(const char *text, const char *piece)
{
    int count = 0;
    for (const char *found = strstr(text, piece); found != NULL; found = strstr(found + 1, piece)) {
        count++;
    }
    return count;
}

/* The counts of the test suite are those of its elements, whatever stands in it. */
static struct text junit_of(const struct place *place, int tests, int failures, int errors, int skipped)
{
    struct report *report = report_of(place);
    struct text text = {0};
    char counts[128];
    assert_int_equal(report_render(report, REPORT_JUNIT, NULL, &text, NULL), STATUS_OK);
    snprintf(counts, sizeof counts, " tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" ", tests, failures,
             errors, skipped);
    if (strstr(text_string(&text), counts) == NULL) {
        fail_msg("no%sin\n%s", counts, text_string(&text));
    }
    assert_int_equal(pieces_count(text_string(&text), "<testcase "), tests);
    assert_int_equal(pieces_count(text_string(&text), "</testcase>"), tests);
    assert_int_equal(pieces_count(text_string(&text), "<failure "), failures);
    assert_int_equal(pieces_count(text_string(&text), "<error "), errors);
    assert_int_equal(pieces_count(text_string(&text), "<skipped "), skipped);
    report_release(report);
    return text;
}

static void junit_has(const struct place *place, int tests, int errors, const char *piece)
{
    struct text text = junit_of(place, tests, 0, errors, 0);
    if (strstr(text_string(&text), piece) == NULL) {
        fail_msg("no %s in\n%s", piece, text_string(&text));
    }
    text_release(&text);
}

#define TWO "\"ids\":[\"gpt2/load/float32\",\"org/bert/train/float32/b1\"],\"attempts\":[1,1]"

static void an_interrupted_run_names_what_it_lacks(void **state)
{
    const struct place *place = *state;
    static const enum report_format formats[] = {REPORT_TABLE, REPORT_SUMMARY, REPORT_MARKDOWN,
                                                 REPORT_HTML,  REPORT_CSV,     REPORT_JSON};
    run_append(place, "1", "s", "null", 2, TWO);
    records_fixture_case(place->records, "gpt2/load/float32", "ok", "1024");
    end_append(place, "true");
    outcome_check(place, RUN_INCOMPLETE, "INCOMPLETE: 1 of 2 cases missing: the run was interrupted");
    junit_has(place, 2, 1,
              "<testcase classname=\"org/bert\" name=\"org/bert/train/float32/b1\" time=\"0.000\">\n      <error "
              "message=\"selected, but not attempted: the run was interrupted\" type=\"missing\"/>");
    struct report *report = report_of(place);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct text text = {0};
        assert_int_equal(report_render(report, formats[i], &(struct report_style){.width = 200}, &text, NULL),
                         STATUS_OK);
        assert_non_null(strstr(text_string(&text), "org/bert/train/float32/b1"));
        const char *head = strstr(text_string(&text), "INCOMPLETE: 1 of 2 cases missing");
        if (formats[i] != REPORT_CSV) {
            assert_non_null(head);
            assert_true(formats[i] == REPORT_JSON || head < strstr(text_string(&text), "gpt2"));
        }
        text_release(&text);
    }
    report_release(report);
}

static void a_killed_run_is_incomplete_even_where_no_case_is_missing(void **state)
{
    const struct place *place = *state;
    run_append(place, "1", "s", "null", 1, "\"ids\":[\"gpt2/load/float32\"],\"attempts\":[1]");
    records_fixture_case(place->records, "gpt2/load/float32", "ok", "1024");
    outcome_check(place, RUN_INCOMPLETE, "INCOMPLETE: the run was killed or still goes on");
    junit_has(place, 2, 1, "<testcase classname=\"assay\" name=\"the run\" time=\"0.000\">");
    end_append(place, "false");
    outcome_check(place, RUN_PASS, "");
    junit_has(place, 1, 0, " errors=\"0\"");
}

/* Records of before 1.4: how many, but not which. */
static void older_records_say_how_many_are_missing(void **state)
{
    const struct place *place = *state;
    run_append(place, "1", "s", "null", 3, NULL);
    records_fixture_case(place->records, "gpt2/load/float32", "ok", "1024");
    end_append(place, "true");
    outcome_check(place, RUN_INCOMPLETE, "INCOMPLETE: 2 of 3 cases missing: the run was interrupted");
    junit_has(place, 2, 1, "2 selected cases are missing, and the records do not say which: the run was interrupted");
}

/* Lines that were cut out of the middle, with the end line left in. */
static void lines_that_were_taken_out_are_missing(void **state)
{
    const struct place *place = *state;
    run_append(place, "1", "s", "null", 2, TWO);
    records_fixture_case(place->records, "gpt2/load/float32", "ok", "1024");
    end_append(place, "false");
    outcome_check(place, RUN_INCOMPLETE, "INCOMPLETE: 1 of 2 cases missing: their lines are not in the records");
}

/* Last night's figures are not tonight's. */
static void figures_of_an_earlier_run_do_not_stand_for_missing_ones(void **state)
{
    const struct place *place = *state;
    run_append(place, "1", "s", "null", 2, TWO);
    records_fixture_case(place->records, "gpt2/load/float32", "ok", "1024");
    records_fixture_case(place->records, "org/bert/train/float32/b1", "ok", "1024");
    end_append(place, "false");
    run_append(place, "2", "s", "null", 2, TWO);
    records_fixture_case(place->records, "gpt2/load/float32", "ok", "1024");
    end_append(place, "true");
    outcome_check(place, RUN_INCOMPLETE, "INCOMPLETE: 1 of 2 cases missing: the run was interrupted");
    junit_has(
        place, 2, 1,
        "name=\"org/bert/train/float32/b1\" time=\"0.000\">\n      <error message=\"the last run did not come to it; "
        "its figures are of the run of 2026-11-21T02:00:00Z\" type=\"missing\">");
}

static void a_later_run_makes_good_what_was_missing(void **state)
{
    const struct place *place = *state;
    run_append(place, "1", "s", "null", 2, TWO);
    records_fixture_case(place->records, "gpt2/load/float32", "ok", "1024");
    end_append(place, "true");
    run_append(place, "2", "s", "\"org*\"", 1, "\"ids\":[\"org/bert/train/float32/b1\"],\"attempts\":[1]");
    records_fixture_case(place->records, "org/bert/train/float32/b1", "ok", "1024");
    end_append(place, "false");
    outcome_check(place, RUN_PASS, "");
    junit_has(place, 2, 0, "2 cases: 2 ok");
    /* the suite has another case today: what yesterday's lacked is past */
    run_append(place, "3", "s", "null", 1, "\"ids\":[\"other/load/float32\"],\"attempts\":[1]");
    records_fixture_case(place->records, "other/load/float32", "ok", "1024");
    end_append(place, "false");
    outcome_check(place, RUN_PASS, "");
}

static void attempts_that_are_missing_are_an_error_too(void **state)
{
    const struct place *place = *state;
    run_append(place, "1", "s", "null", 3, "\"ids\":[\"gpt2/load/float32\"],\"attempts\":[3]");
    records_fixture_case(place->records, "gpt2/load/float32", "ok", "1024");
    records_fixture_case(place->records, "gpt2/load/float32", "ok", "1024");
    end_append(place, "true");
    outcome_check(place, RUN_INCOMPLETE, "INCOMPLETE: 1 of 3 attempts missing in 1 case: the run was interrupted");
    junit_has(place, 1, 1, "1 case: 1 ok; 1 of 3 attempts missing in 1 case; the run was interrupted");
    junit_has(place, 1, 1, "<error message=\"the last run made 2 of 3 attempts\" type=\"missing\">");
}

/* Cases are counted as cases, attempts as attempts. */
static void cases_and_attempts_are_not_mixed(void **state)
{
    const struct place *place = *state;
    run_append(place, "1", "s", "null", 6, "\"ids\":[\"a/load/float32\",\"b/load/float32\"],\"attempts\":[3,3]");
    records_fixture_case(place->records, "a/load/float32", "ok", "1024");
    end_append(place, "true");
    outcome_check(place, RUN_INCOMPLETE,
                  "INCOMPLETE: 1 of 2 cases missing, 2 of 3 attempts missing in 1 case: the run was interrupted");
    junit_has(place, 2, 2,
              "1 case: 1 ok; 1 selected case is missing; 2 of 3 attempts missing in 1 case; the run was interrupted");
}

static void a_failure_is_the_word_of_its_exit_code_whatever_is_missing(void **state)
{
    const struct place *place = *state;
    run_append(place, "1", "s", "null", 2, TWO);
    records_fixture_case(place->records, "gpt2/load/float32", "fail", "1024");
    end_append(place, "true");
    outcome_check(place, RUN_FAIL,
                  "FAIL: 1 of 2 cases failed, 1 missing: the run was interrupted; first gpt2/load/float32: fail");
}

static void a_case_that_failed_once_of_three_times_is_a_failure(void **state)
{
    const struct place *place = *state;
    run_append(place, "1", "s", "null", 3, "\"ids\":[\"gpt2/load/float32\"],\"attempts\":[3]");
    records_fixture_case(place->records, "gpt2/load/float32", "ok", "1024");
    records_fixture_case(place->records, "gpt2/load/float32", "fail", "1024");
    records_fixture_case(place->records, "gpt2/load/float32", "ok", "1024");
    end_append(place, "false");
    outcome_check(place, RUN_FAIL, "FAIL: 1 of 1 case failed; first gpt2/load/float32: fail");
    struct text text = junit_of(place, 1, 1, 0, 0);
    text_release(&text);
}

/* cat a/records.jsonl a/records.jsonl; and a run of another suite behind one that was killed. */
static void copies_count_once_and_are_told(void **state)
{
    const struct place *place = *state;
    for (int copy = 0; copy < 2; copy++) {
        run_append(place, "1", "s", "null", 2, TWO);
        records_fixture_case(place->records, "gpt2/load/float32", "ok", "1024");
        end_append(place, "true");
    }
    /* twice one of two is not two of two */
    outcome_check(place, RUN_INCOMPLETE, "INCOMPLETE: 1 of 2 cases missing: the run was interrupted");
    struct report *report = report_of(place);
    assert_string_equal(report->notes,
                        "the run of 2026-11-21T02:00:00Z stands 2 times in these records, and its cases count once");
    report_release(report);
    run_append(place, "2", "another", "null", 1, "\"ids\":[\"gpt2/load/float32\"],\"attempts\":[1]");
    records_fixture_case(place->records, "gpt2/load/float32", "ok", "1024");
    end_append(place, "false");
    outcome_check(place, RUN_INCOMPLETE, "INCOMPLETE: 1 of 2 cases missing: the run was interrupted");
    report = report_of(place);
    assert_non_null(strstr(report->notes, "; 1 case was attempted by several runs, of which the last counts"));
    report_release(report);
}

/* A tolerance on a figure that is not known: nothing failed, and the exit code is 3. */
static void a_figure_that_cannot_be_judged_is_an_error_in_junit(void **state)
{
    const struct place *place = *state;
    run_append(place, "1", "s", "null", 1, "\"ids\":[\"gpt2/load/float32\"],\"attempts\":[1]");
    records_fixture_estimates(
        place->records, "gpt2/load/float32", "ok", "1024", "{}",
        "[{\"estimator\":\"replay\",\"quantity\":\"footprint_bytes\",\"predicted\":null,"
        "\"measured\":2097152,\"stage\":\"load\",\"signed_error_bytes\":null,\"signed_error\":null,"
        "\"tolerance\":{\"fraction\":0.1},\"pass\":null,\"note\":\"no constants\"}]");
    end_append(place, "false");
    static const char why[] =
        "replay: footprint not predicted, 2.00 MiB measured in load, tolerance 10 %: not judged, no "
        "constants";
    char words[512];
    snprintf(words, sizeof words,
             "INCONCLUSIVE: 1 of 1 case left open (a figure that has a tolerance could not be judged); first "
             "gpt2/load/float32: %s",
             why);
    outcome_check(place, RUN_INCONCLUSIVE, words);
    snprintf(words, sizeof words, "<error message=\"%s\" type=\"open\">", why);
    junit_has(place, 1, 1, words);
}

static void report_ends_as(const struct place *place, const char *option, int exit_code, const char *error)
{
    const char *const words[] = {program_path(), "report", place->folder, "--format", "junit", option, NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(result.exit_code, exit_code);
    assert_string_equal(text_string(&result.error), error);
    command_result_release(&result);
}

static void the_command_ends_as_the_run_did(void **state)
{
    static const struct {
        const char *status;
        int exit_code;
        const char *error;
    } rows[] = {{"ok", 0, ""},
                {"fail", 1, "assay: report: exit code 1: FAIL: 1 of 1 case failed; first a: fail\n"},
                {"oom", 3, "assay: report: exit code 3: INCONCLUSIVE: 1 of 1 case ran out of memory; first a: oom\n"},
                {"skip", 77, "assay: report: exit code 77: SKIPPED: the only case was skipped; first a: skip\n"}};
    const struct place *place = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        remove(place->records);
        run_append(place, "1", "s", "null", 1, "\"ids\":[\"a\"],\"attempts\":[1]");
        records_fixture_case(place->records, "a", rows[i].status, "1024");
        end_append(place, "false");
        report_ends_as(place, NULL, rows[i].exit_code, rows[i].error);
        report_ends_as(place, "--exit-zero", 0, "");
    }
    remove(place->records);
    run_append(place, "1", "s", "null", 1, "\"ids\":[\"a\"],\"attempts\":[1]");
    report_ends_as(
        place, NULL, 7,
        "assay: report: exit code 7: INCOMPLETE: 1 of 1 case missing: the run was killed or still goes on\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_interrupted_run_names_what_it_lacks),
        TEST(a_killed_run_is_incomplete_even_where_no_case_is_missing),
        TEST(older_records_say_how_many_are_missing),
        TEST(lines_that_were_taken_out_are_missing),
        TEST(figures_of_an_earlier_run_do_not_stand_for_missing_ones),
        TEST(a_later_run_makes_good_what_was_missing),
        TEST(attempts_that_are_missing_are_an_error_too),
        TEST(cases_and_attempts_are_not_mixed),
        TEST(a_failure_is_the_word_of_its_exit_code_whatever_is_missing),
        TEST(a_case_that_failed_once_of_three_times_is_a_failure),
        TEST(copies_count_once_and_are_told),
        TEST(a_figure_that_cannot_be_judged_is_an_error_in_junit),
        TEST(the_command_ends_as_the_run_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

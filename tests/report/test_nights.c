/* Two nights compared: what they were measured under is told first, what driver and kernel count is judged by a
 * tolerance, and what cannot be judged never passes for a night without a change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/report/difference.h"
#include "harness/report/escape.h"
#include "tests/report/golden_text.h"
#include "tests/report/nights_fixture.h"
#include "tests/report/records_fixture.h"

enum { MIB = 1 << 20 };

static const struct night usual = {0};

static void another_driver_with_more_context_is_named_first_and_fails(void **state)
{
    night_check(*state, &usual, &(struct night){.driver = "580.65.06", .context_bytes = 64 * MIB}, NULL, RUN_FAIL,
                (const char *const[]){"environment: 1 difference\n", "driver             570.124.06 -> 580.65.06\n",
                                      "  equal: device, runtime, kernel of the host, program, suite, suite hash",
                                      "changed  gpt2 load float32\n", "device used", "+64.00 MiB", "beyond\n",
                                      "process peak", "+64.00 MiB", "beyond\n",
                                      "0 same, 2 changed, 0 missing from the new records, 0 only in them\n",
                                      "NO-GO: device beyond 4.00 MiB in 2 cases; process beyond 4.00 MiB in 2 cases; "
                                      "the environment differs in driver\n",
                                      NULL});
}

/* One byte more than the tolerance, which may come from an option, else from the suite, else from us. */
static void a_tolerance_ends_at_its_last_byte(void **state)
{
    static const struct {
        const char *option, *suite;
        int64_t bytes;
        enum run_outcome outcome;
        const char *says;
    } rows[] = {
        {NULL, NULL, 4 * MIB, RUN_PASS, "device, process: 4.00 MiB (default)"},
        {NULL, NULL, 4 * MIB + 1, RUN_FAIL, "device, process: 4.00 MiB (default)"},
        {NULL, NULL, -4 * MIB - 1, RUN_FAIL, "process beyond 4.00 MiB"},
        {NULL, "{\"device\":\"none\",\"process\":{\"bytes\":1000}}", 1000, RUN_PASS,
         "device: not judged (of the suite); process: 1000 B (of the suite)"},
        {NULL, "{\"device\":\"none\",\"process\":{\"bytes\":1000}}", 1001, RUN_FAIL, "process beyond"},
        {"device=none,process=2000", "{\"device\":\"none\",\"process\":{\"bytes\":1000}}", 2000, RUN_PASS,
         "device: not judged (--tolerance); process: 1.95 KiB (--tolerance)"},
        {"device=10%,process=10%", NULL, 50 * MIB, RUN_PASS, "device, process: 10 % (--tolerance)"},
        {"device=10%,process=10%", NULL, 50 * MIB + 1, RUN_FAIL, "process beyond 10 %"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct night other = {.context_bytes = rows[i].bytes, .compare = rows[i].suite};
        night_check(*state, &usual, &other, rows[i].option, rows[i].outcome, (const char *const[]){rows[i].says, NULL});
    }
}

static void what_the_allocator_counts_is_exact_unless_told_otherwise(void **state)
{
    const struct night other = {.allocated_bytes = 512};
    night_check(
        *state, &usual, &other, NULL, RUN_FAIL,
        (const char *const[]){"allocated peak", "+512 B", "beyond", "NO-GO: allocated not equal in 2 cases\n", NULL});
    night_check(*state, &usual, &other, "allocated=512B", RUN_PASS, (const char *const[]){"2 same", NULL});
    night_check(*state, &usual, &other, "allocated=none", RUN_PASS, (const char *const[]){"2 same", NULL});
}

/* The peak of the process is in load; a stage below it that grows is a change all the same. */
static void a_stage_below_the_peak_is_judged_too(void **state)
{
    night_check(*state, &usual, &(struct night){.forward_bytes = 16 * MIB}, NULL, RUN_FAIL,
                (const char *const[]){"same     gpt2 load", "changed  gpt2 infer float32 b8 s512", "forward process",
                                      "+16.00 MiB", "beyond", "NO-GO: process beyond 4.00 MiB in 1 case\n", NULL});
}

static void a_prediction_or_a_status_that_changed_is_named(void **state)
{
    night_check(*state, &usual, &(struct night){.total_bytes = 1}, NULL, RUN_FAIL,
                (const char *const[]){"accelerate total", "+1 B", "NO-GO: another prediction in 2 cases\n", NULL});
    night_check(*state, &usual, &(struct night){.status = "fail"}, NULL, RUN_FAIL,
                (const char *const[]){"status ok -> fail", "NO-GO: another status in 1 case\n", NULL});
}

/* Beyond, but nobody knows why: neither a change nor a night without one. Within, a disturbance does not matter. */
static void a_disturbed_reading_is_not_judged(void **state)
{
    static const char reason[] = "[\"another process (42) held 64 MiB\"]";
    const struct night other = {.disturbance = reason, .forward_bytes = 64 * MIB};
    night_check(*state, &usual, &other, NULL, RUN_INCONCLUSIVE,
                (const char *const[]){"unjudged gpt2 infer", "?\n", "invalid in new: another process (42) held 64 MiB",
                                      "1 same, 0 changed, 0 missing from the new records, 0 only in them, 1 not "
                                      "judged\n",
                                      "INCONCLUSIVE: process could not be judged in 1 case\n", NULL});
    night_check(*state, &(struct night){.disturbance = reason}, &(struct night){.forward_bytes = 64 * MIB}, NULL,
                RUN_INCONCLUSIVE, (const char *const[]){"invalid in old: another process", NULL});
    night_check(*state, &usual, &(struct night){.disturbance = reason}, NULL, RUN_PASS,
                (const char *const[]){"same     gpt2 infer", "invalid in new: another process", NULL});
    night_check(*state, &usual, &(struct night){.disturbance = reason, .allocated_bytes = 512}, NULL, RUN_FAIL,
                (const char *const[]){"allocated not equal in 2 cases", NULL});
}

static void another_device_is_not_judged_by_its_readings(void **state)
{
    const struct night other = {.device = "NVIDIA H100", .context_bytes = 64 * MIB};
    night_check(*state, &usual, &other, NULL, RUN_INCONCLUSIVE,
                (const char *const[]){"  device             cuda (NVIDIA H200) -> cuda (NVIDIA H100)\n",
                                      "warning: different devices are compared: cuda (NVIDIA H200) and cuda (NVIDIA "
                                      "H100)",
                                      "not judged: different devices", "INCONCLUSIVE: device could not be judged in 2",
                                      NULL});
    night_check(*state, &usual, &other, "device=none,process=none", RUN_PASS, (const char *const[]){"2 same", NULL});
}

static void a_reading_that_is_gone_is_inconclusive(void **state)
{
    night_check(*state, &usual, &(struct night){.shared = true}, NULL, RUN_INCONCLUSIVE,
                (const char *const[]){"not judged: a reading of the old records is not in the new ones",
                                      "only in old: device used 606.00 MiB",
                                      "INCONCLUSIVE: device could not be judged in 2 cases\n", NULL});
    night_check(*state, &(struct night){.shared = true}, &usual, NULL, RUN_PASS,
                (const char *const[]){"only in new: device used 606.00 MiB", NULL});
    night_check(*state, &usual, &(struct night){.shared = true}, "device=none", RUN_PASS,
                (const char *const[]){"2 same", NULL});
}

/* What is known to have changed comes before what is missing. */
static void a_missing_case_is_inconclusive_unless_something_changed(void **state)
{
    night_check(*state, &usual, &(struct night){.second_missing = true}, NULL, RUN_INCONCLUSIVE,
                (const char *const[]){"missing  gpt2 infer",
                                      "INCONCLUSIVE: 1 case of the old records is missing from the new ones\n", NULL});
    night_check(
        *state, &usual, &(struct night){.second_missing = true, .allocated_bytes = 512}, NULL, RUN_FAIL,
        (const char *const[]){"NO-GO: allocated not equal in 1 case; 1 case of the old records is missing", NULL});
    night_check(*state, &(struct night){.second_missing = true}, &usual, NULL, RUN_PASS,
                (const char *const[]){"new      gpt2 infer", NULL});
}

static void nothing_measured_in_both_is_inconclusive(void **state)
{
    const struct nights *nights = *state;
    const struct difference_style style = {.width = 300};
    enum run_outcome outcome = RUN_PASS;
    records_fixture_run(nights->base, 1);
    records_fixture_run(nights->other, 1);
    struct text text = nights_compared(nights, NULL, &style, &outcome);
    assert_non_null(strstr(text_string(&text), "INCOMPLETE: 1 case that the new run selected is missing, and its "
                                               "records do not say which; no case was measured in both; the old "
                                               "records are incomplete"));
    assert_int_equal(outcome, RUN_INCOMPLETE);
    text_release(&text);
}

/* A row of a case that ran out of memory has the reading of the bare context, and no measurement of the case. */
static void nights_that_ran_out_of_memory_measured_nothing(void **state)
{
    const struct night spent = {.load_status = "oom", .status = "oom"};
    night_check(*state, &spent, &spent, NULL, RUN_INCONCLUSIVE,
                (const char *const[]){"INCONCLUSIVE: no case was measured in both\n", NULL});
    night_check(*state, &usual, &(struct night){.status = "oom"}, NULL, RUN_FAIL,
                (const char *const[]){"status ok -> oom", NULL});
    night_check(*state, &(struct night){.status = "oom"}, &(struct night){.status = "oom"}, NULL, RUN_PASS,
                (const char *const[]){"2 same", NULL});
}

/* Behind the lines of one night those of another. */
static void night_join(const char *path, const char *scratch, const struct night *night)
{
    char line[8192];
    night_write(scratch, night);
    FILE *file = fopen(scratch, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        records_fixture_append(path, line);
    }
    fclose(file);
}

/* The folder has a whole night; the last one was killed after its first case. What the whole one measured is no figure
 * of it. */
static void cases_that_the_last_run_did_not_come_to_are_missing(void **state)
{
    const struct nights *nights = *state;
    const struct night killed = {.run_id = "91", .listed = true, .second_missing = true, .killed = true};
    char scratch[160];
    snprintf(scratch, sizeof scratch, "%s/killed.jsonl", nights->folder);
    night_write(nights->base, &usual);
    night_write(nights->other, &usual);
    night_join(nights->other, scratch, &killed);
    static const struct {
        enum report_format format;
        const char *row, *why;
    } rows[] = {{REPORT_TABLE, "missing  gpt2 infer float32 b8 s512\n", "INCOMPLETE: 1 case of the old records"},
                {REPORT_MARKDOWN, "| gpt2 infer float32 b8 s512 | missing | ", "**INCOMPLETE**: 1 case of the old"},
                {REPORT_JSON, "\"missing\": [\"gpt2/infer/float32/b8/s512\"]", "INCOMPLETE: 1 case of the old records"},
                {REPORT_HTML, "<td>gpt2 infer float32 b8 s512</td><td>missing</td>", "<strong>INCOMPLETE</strong>: 1"},
                {REPORT_LATEX, "gpt2 infer float32 b8 s512 & missing & ", "\\textbf{INCOMPLETE}: 1 case of the old"}};
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++) {
        const struct difference_style style = {.format = rows[at].format, .width = 300};
        enum run_outcome outcome = RUN_PASS;
        struct text text = nights_compared(nights, NULL, &style, &outcome);
        assert_int_equal(outcome, RUN_INCOMPLETE);
        const char *said = text_string(&text);
        if (strstr(said, rows[at].row) == NULL || strstr(said, rows[at].why) == NULL ||
            (rows[at].format != REPORT_JSON && strstr(said, "its figures are of the run of 2026") == NULL)) {
            fail_msg("%s", said);
        }
        text_release(&text);
    }
    night_write(nights->base, &usual); /* the other way round it is told, and no failure of the new night */
    night_join(nights->base, scratch, &killed);
    night_write(nights->other, &usual);
    const struct difference_style style = {.width = 300};
    enum run_outcome outcome = RUN_FAIL;
    struct text text = nights_compared(nights, NULL, &style, &outcome);
    assert_int_equal(outcome, RUN_PASS);
    assert_non_null(strstr(text_string(&text), "GO: no figure is beyond its tolerance; the old records are "
                                               "incomplete: the run was killed or still goes on\n"));
    text_release(&text);
}

static void a_case_with_fewer_attempts_than_selected_is_not_judged(void **state)
{
    const struct night partial = {.listed = true, .attempts = 1, .selected_attempts = 3};
    night_check(*state, &(struct night){.attempts = 3}, &partial, NULL, RUN_INCOMPLETE,
                (const char *const[]){
                    "unjudged gpt2 load float32\n",
                    "not judged: the last run of the new records made 1 of 3 attempts\n", "0 same", "2 not judged\n",
                    "INCOMPLETE: the new run made fewer attempts than it selected in 2 cases\n", NULL});
}

/* BASE does not have it either: what NEW was to measure is not there all the same. */
static void a_new_case_that_was_not_made_is_missing(void **state)
{
    const struct night first = {.second_missing = true};
    night_check(*state, &first, &(struct night){.second_missing = true, .listed = true, .killed = true}, NULL,
                RUN_INCOMPLETE,
                (const char *const[]){"missing  gpt2/infer/float32/b8/s512\n", "the run was killed or still goes on\n",
                                      "INCOMPLETE: 1 case that the new run selected is missing\n", NULL});
}

/* What the attempts of BASE differ by is noise that is known; attempts that begin to differ are a change. */
static void repeated_cases_know_their_noise(void **state)
{
    const struct night noisy = {.attempts = 3, .attempt_bytes = 10 * MIB};
    night_check(*state, &noisy, &(struct night){.attempts = 3, .attempt_bytes = 10 * MIB, .context_bytes = 0}, NULL,
                RUN_PASS, (const char *const[]){"2 same", NULL});
    night_check(*state, &noisy, &(struct night){.attempts = 1}, "device=none", RUN_PASS,
                (const char *const[]){"-20.00 MiB", "2 same", NULL}); /* no further than the first attempt of BASE */
    night_check(
        *state, &(struct night){.attempts = 3}, &noisy, NULL, RUN_FAIL,
        (const char *const[]){"process peak", "+20.00 MiB", "beyond", "process spread", "+20.00 MiB", "beyond", NULL});
    night_check(*state, &(struct night){.attempts = 2}, &(struct night){.attempts = 2, .attempt_reserved = 2 * MIB},
                "reserved=4MiB", RUN_PASS, (const char *const[]){"2 same", NULL});
    night_check(*state, &(struct night){.attempts = 2}, &(struct night){.attempts = 2, .attempt_reserved = 2 * MIB},
                NULL, RUN_FAIL, (const char *const[]){"reserved spread", "+2.00 MiB", "beyond", NULL});
}

/* Of two runs in one file both are told: half of the night had another driver. */
static void a_file_of_two_runs_has_two_drivers(void **state)
{
    const struct nights *nights = *state;
    char half[160];
    snprintf(half, sizeof half, "%s/half.jsonl", nights->folder);
    night_write(nights->base, &usual);
    night_write(nights->other, &usual);
    night_write(half, &(struct night){.driver = "580.65.06", .second_missing = true});
    FILE *file = fopen(half, "r");
    char line[8192];
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        records_fixture_append(nights->other, line);
    }
    fclose(file);
    const struct difference_style style = {.width = 80};
    enum run_outcome outcome = RUN_FAIL;
    struct text text = nights_compared(nights, NULL, &style, &outcome);
    assert_non_null(strstr(text_string(&text), "  driver             570.124.06 -> 570.124.06, 580.65.06\n"));
    assert_int_equal(outcome, RUN_PASS);
    text_release(&text);
}

static void cases_without_a_change_are_counted(void **state)
{
    const struct nights *nights = *state;
    enum run_outcome outcome;
    night_write(nights->base, &usual);
    night_write(nights->other, &(struct night){.forward_bytes = 16 * MIB});
    static const struct {
        enum report_format format;
        const char *listed;
    } rows[] = {{REPORT_TABLE, "same     gpt2 load float32"},
                {REPORT_MARKDOWN, "| gpt2 load float32 | same"},
                {REPORT_JSON, "\"gpt2/load/float32\""},
                {REPORT_HTML, "<td>gpt2 load float32</td><td>same</td>"},
                {REPORT_LATEX, "gpt2 load float32 & same & "}};
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++) {
        struct difference_style style = {.format = rows[at].format, .width = 80, .only_changed = true};
        struct text brief = nights_compared(nights, NULL, &style, &outcome);
        style.only_changed = false;
        struct text whole = nights_compared(nights, NULL, &style, &outcome);
        assert_null(strstr(text_string(&brief), rows[at].listed));
        assert_non_null(strstr(text_string(&whole), rows[at].listed));
        const bool is_told = strstr(text_string(&brief), "1 case without a change is not listed") != NULL;
        assert_int_equal(is_told, rows[at].format != REPORT_JSON);
        text_release(&brief);
        text_release(&whole);
    }
}

static int occurrences_count(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) {
        count++;
    }
    return count;
}

/* However much of a case changed, it is one row: its status, the first figure that is beyond, two others, and how many
 * more. */
static void a_changed_case_is_one_row_of_markdown(void **state)
{
    const struct nights *nights = *state;
    const struct difference_style style = {.format = REPORT_MARKDOWN, .only_changed = true};
    enum run_outcome outcome;
    night_write(nights->base, &usual);
    night_write(nights->other,
                &(struct night){.allocated_bytes = 512, .forward_bytes = 64 * MIB, .total_bytes = 1, .status = "fail"});
    struct text text = nights_compared(nights, NULL, &style, &outcome);
    assert_int_equal(outcome, RUN_FAIL);
    const char *cases = strstr(text_string(&text), "## Cases");
    assert_non_null(cases);
    assert_int_equal(occurrences_count(cases, "\n| "), 1 + 2); /* the head of the table, and two cases */
    assert_non_null(strstr(cases,
                           "| gpt2 infer float32 b8 s512 | **changed**: ok → fail | allocated peak | 100.00 MiB | "
                           "100.00 MiB | +512 B | +0.00 % | "));
    assert_non_null(strstr(cases, "process peak +24.00 MiB (+3.97 %); "));
    assert_non_null(strstr(cases, " more figure"));
    text_release(&text);
}

/* Records come from anywhere: what they say of a driver moves no cursor, forges no row and opens no tag. */
static void words_of_records_are_harmless(void **state)
{
    const struct nights *nights = *state;
    enum run_outcome outcome;
    night_write(nights->base, &usual);
    night_write(nights->other, &(struct night){.driver = "\\u001b[2J\\u202e|<b>\\nforged",
                                               .libraries = "[\"\\u001b[31m|<i>\"]",
                                               .disturbance = "[\"\\u001b[31m|<i>\"]",
                                               .forward_bytes = 64 * MIB});
    static const struct {
        enum report_format format;
        const char *bar; /* as it is escaped */
    } rows[] = {{REPORT_TABLE, "|"},
                {REPORT_MARKDOWN, "\\|"},
                {REPORT_JSON, "|"},
                {REPORT_HTML, "&lt;b&gt;"},
                {REPORT_LATEX, "\\textbar{}"}};
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++) {
        const struct difference_style style = {.format = rows[at].format, .width = 80};
        struct text text = nights_compared(nights, NULL, &style, &outcome);
        assert_null(strchr(text_string(&text), '\x1b'));
        assert_null(strstr(text_string(&text), "\nforged"));
        assert_true(rows[at].bar[0] == '|' || strstr(text_string(&text), "<b>") == NULL);
        assert_non_null(strstr(text_string(&text), rows[at].bar));
        text_release(&text);
    }
}

static void pages_are_as_they_were_read(void **state)
{
    const struct nights *nights = *state;
    static const struct {
        struct difference_style style;
        const char *path;
    } rows[] = {{{.format = REPORT_TABLE, .width = 80}, "tests/report/golden/nights-80.txt"},
                {{.format = REPORT_TABLE, .width = 40, .only_changed = true}, "tests/report/golden/nights-40.txt"},
                {{.format = REPORT_MARKDOWN, .only_changed = true}, "tests/report/golden/nights.md"}};
    const struct night other = {
        .driver = "580.65.06", .libraries = "[\"cuBLAS 12.9.0\"]", .forward_bytes = 64 * MIB, .status = "fail"};
    enum run_outcome outcome;
    night_write(nights->base, &usual);
    night_write(nights->other, &other);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text text = nights_compared(nights, NULL, &rows[i].style, &outcome);
        for (char *found = text.data; (found = strstr(found, nights->folder)) != NULL;) {
            memcpy(found, "/tmp/assay-report-XXXXXX", strlen(nights->folder)); /* of the same length */
        }
        golden_text_check(text, rows[i].path);
    }
}

static const struct json *member(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, key);
    if (value == NULL) {
        fail_msg("no member '%s'", key);
    }
    return value;
}

static void the_document_says_it_in_figures(void **state)
{
    const struct nights *nights = *state;
    const struct difference_style style = {.format = REPORT_JSON};
    enum run_outcome outcome;
    struct json *document = NULL;
    night_write(nights->base, &usual);
    night_write(nights->other, &(struct night){.driver = "580.65.06", .context_bytes = 64 * MIB});
    struct text text = nights_compared(nights, "process=none", &style, &outcome);
    assert_int_equal(json_parse_text("document", text_string(&text), text.length, &document, NULL), STATUS_OK);
    const struct json *driver = json_at(member(document, "environment"), 1);
    assert_string_equal(json_string_or(member(driver, "property"), ""), "driver");
    assert_string_equal(json_string_or(member(driver, "new"), ""), "580.65.06");
    assert_true(json_boolean_or(member(driver, "differs"), false));
    const struct json *device = json_at(member(document, "levels"), LEVEL_DEVICE);
    assert_int_equal(json_integer_or(member(member(device, "tolerance"), "bytes"), 0), 4 * MIB);
    assert_string_equal(json_string_or(member(device, "source"), ""), "default");
    assert_int_equal(json_integer_or(member(device, "beyond"), 0), 2);
    const struct json *process = json_at(member(document, "levels"), LEVEL_PROCESS);
    assert_string_equal(json_string_or(member(process, "tolerance"), ""), "none");
    assert_int_equal(json_integer_or(member(process, "beyond"), 9), 0);
    const struct json *first = json_at(member(document, "cases"), 0);
    assert_string_equal(json_string_or(member(first, "state"), ""), "changed");
    const struct json *figure = json_at(member(first, "figures"), LEVEL_DEVICE);
    assert_string_equal(json_string_or(member(figure, "quantity"), ""), "device_bytes");
    assert_int_equal(json_integer_or(member(figure, "base"), 0), 606 * MIB);
    assert_int_equal(json_integer_or(member(figure, "new"), 0), 670 * MIB);
    assert_string_equal(json_string_or(member(figure, "state"), ""), "beyond");
    assert_string_equal(json_string_or(member(document, "outcome"), ""), "NO-GO");
    json_release(document);
    text_release(&text);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, nights_make, nights_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(another_driver_with_more_context_is_named_first_and_fails),
        TEST(a_tolerance_ends_at_its_last_byte),
        TEST(what_the_allocator_counts_is_exact_unless_told_otherwise),
        TEST(a_stage_below_the_peak_is_judged_too),
        TEST(a_prediction_or_a_status_that_changed_is_named),
        TEST(a_disturbed_reading_is_not_judged),
        TEST(another_device_is_not_judged_by_its_readings),
        TEST(a_reading_that_is_gone_is_inconclusive),
        TEST(a_missing_case_is_inconclusive_unless_something_changed),
        TEST(nothing_measured_in_both_is_inconclusive),
        TEST(nights_that_ran_out_of_memory_measured_nothing),
        TEST(cases_that_the_last_run_did_not_come_to_are_missing),
        TEST(a_case_with_fewer_attempts_than_selected_is_not_judged),
        TEST(a_new_case_that_was_not_made_is_missing),
        TEST(repeated_cases_know_their_noise),
        TEST(a_file_of_two_runs_has_two_drivers),
        TEST(cases_without_a_change_are_counted),
        TEST(a_changed_case_is_one_row_of_markdown),
        TEST(words_of_records_are_harmless),
        TEST(pages_are_as_they_were_read),
        TEST(the_document_says_it_in_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

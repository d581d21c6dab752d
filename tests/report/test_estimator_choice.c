/* The estimators that were asked for: what a report shows of them, what stays whoever was asked for, and the sentence
 * that people quote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/report/report_page.h"
#include "tests/report/records_fixture.h"
#include "tests/report/records_place.h"

static enum status_code page_open(const struct place *place, const char *estimators, enum report_format format,
                                  struct report_page *page, struct status *error)
{
    const char *path = place->records;
    struct report_request request = {.paths = &path, .path_count = 1, .format = format};
    request.values[REPORT_OPTION_estimators] = estimators;
    return report_page_open(&request, page, error);
}

static struct text page_of(const struct place *place, const char *estimators, enum report_format format)
{
    struct text text = {0};
    struct status error = {0};
    struct report_page page = {0};
    assert_int_equal(page_open(place, estimators, format, &page, &error), STATUS_OK);
    assert_int_equal(report_page_render(&page, format, NULL, &text, &error), STATUS_OK);
    report_page_release(&page);
    return text;
}

static void page_says(const struct text *page, const char *words, bool expected)
{
    if ((strstr(text_string(page), words) != NULL) != expected) {
        fail_msg("%s'%s' in\n%.3000s", expected ? "no " : "", words, text_string(page));
    }
}

static void columns_are_those_asked_for_in_their_order(void **state)
{
    const struct place *place = *state;
    records_fixture_write(place->records, RECORDS_LARGE);
    struct text page = page_of(place, "anatomy,replay", REPORT_MARKDOWN);
    page_says(&page, "| case | status | measured | anatomy | replay |\n", true);
    page_says(&page, "accelerate", false);
    text_release(&page);
    page = page_of(place, "anatomy", REPORT_CSV);
    page_says(&page, ",anatomy_total_bytes,stage,", true);
    page_says(&page, "accelerate_total_bytes", false);
    text_release(&page);
    page = page_of(place, NULL, REPORT_CSV);
    page_says(&page, ",accelerate_total_bytes,", true);
    text_release(&page);
    page = page_of(place, "accelerate", REPORT_HTML);
    page_says(&page, "<span class=n>measured</span><span class=n>accelerate</span></div>", true);
    page_says(&page, "data-of=\"anatomy\"", false);
    text_release(&page);
}

/* Whoever asks for other estimators than the one that failed gets no green report. */
static void what_failed_stays(void **state)
{
    const struct place *place = *state;
    struct status error = {0};
    struct report_page page = {0};
    struct text reason = {0};
    records_fixture_write(place->records, RECORDS_SMALL);
    assert_int_equal(page_open(place, "accelerate", REPORT_MARKDOWN, &page, &error), STATUS_OK);
    assert_int_equal(report_page_outcome(&page, &reason), RUN_FAIL);
    text_release(&reason);
    report_page_release(&page);
    struct text all = page_of(place, "accelerate", REPORT_HTML);
    page_says(&all, "<span class=\"why fail\">replay ", true);
    page_says(&all, "FAIL: 1 of 4 cases failed", true);
    text_release(&all);
}

static void a_stranger_is_refused_with_those_that_are_there(void **state)
{
    static const struct {
        const char *names, *words;
    } rows[] = {{"acelerate", "--estimators: the records have no 'acelerate'; they have replay, accelerate, anatomy"},
                {"replay,,anatomy", "--estimators: the records have no ''; they have replay"},
                {"", "--estimators: the records have no ''; they have replay"},
                {"replay,replay", "--estimators: 'replay' stands there twice"}};
    const struct place *place = *state;
    records_fixture_write(place->records, RECORDS_SMALL);
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++) {
        struct status error = {0};
        struct report_page page = {0};
        char line[STATUS_LINE_BYTES];
        assert_int_equal(page_open(place, rows[at].names, REPORT_MARKDOWN, &page, &error), STATUS_INVALID);
        if (strstr(status_line(&error, line), rows[at].words) == NULL) {
            fail_msg("%s: %s", rows[at].names, line);
        }
        report_page_release(&page);
    }
}

/* Errors of accelerate: -50, -10 and +20 %; of replay 0, 0 and +1 %. */
static void the_first_sentence_says_what_was_found(void **state)
{
    static const char *const cases[][2] = {
        {"{\"accelerate\": {\"total_bytes\": 500}, \"replay\": {\"allocated_bytes_peak\": 1000}}", "a/load/float32"},
        {"{\"accelerate\": {\"total_bytes\": 900}, \"replay\": {\"allocated_bytes_peak\": 1000}}", "b/load/float32"},
        {"{\"accelerate\": {\"total_bytes\": 1200}, \"replay\": {\"allocated_bytes_peak\": 1010}}", "c/load/float32"}};
    const struct place *place = *state;
    records_fixture_run(place->records, 3);
    for (size_t at = 0; at < 3; at++) {
        records_fixture_estimates(place->records, cases[at][1], "ok", "1000", cases[at][0], "[]");
    }
    struct text page = page_of(place, "accelerate,replay", REPORT_MARKDOWN);
    page_says(&page,
              "Against the measured peaks, accelerate was off by 20 % in the median and 50 % low at worst, over 3 "
              "cases; replay met 2 of 3 cases to the byte and was 1.0 % high at worst.\n",
              true);
    text_release(&page);
}

/* A run without figures has nothing to find. */
static void nothing_measured_finds_nothing(void **state)
{
    const struct place *place = *state;
    records_fixture_write(place->records, RECORDS_EMPTY);
    struct text page = page_of(place, NULL, REPORT_MARKDOWN);
    page_says(&page, "Against the measured peaks", false);
    text_release(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(columns_are_those_asked_for_in_their_order, place_make, place_remove),
        cmocka_unit_test_setup_teardown(what_failed_stays, place_make, place_remove),
        cmocka_unit_test_setup_teardown(a_stranger_is_refused_with_those_that_are_there, place_make, place_remove),
        cmocka_unit_test_setup_teardown(the_first_sentence_says_what_was_found, place_make, place_remove),
        cmocka_unit_test_setup_teardown(nothing_measured_finds_nothing, place_make, place_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

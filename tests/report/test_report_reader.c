/* What a reader must see in figures and pages whatever the scale or the width: errors beyond the scale, what failed.
 * Not what stands in the records, which test_report_formats.c has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/plot_data.h"
#include "harness/report/plots.h"
#include "harness/report/report.h"
#include "tests/report/records_fixture.h"
#include "tests/support/command_run.h"

static struct report *report_of(const char *estimates, const char *comparisons, const char *word)
{
    char path[160];
    char *folder = folder_fixture_make();
    struct report *report = NULL;
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    records_fixture_run(path, 1);
    records_fixture_estimates(path, "one", word, "1000", estimates, comparisons);
    assert_int_equal(report_open(path, &report, NULL), STATUS_OK);
    folder_fixture_remove(folder);
    return report;
}

/* What has no bound is not drawn at a bound: the figure says that errors lie beyond its scale, and only where some
 * do. */
static void errors_beyond_the_scale_are_marked(void **state)
{
    static const char *const estimates[] = {"{\"accelerate\":{\"total_bytes\":2000}}",
                                            "{\"accelerate\":{\"total_bytes\":2001}}"};
    (void)state;
    command_needed("gnuplot");
    for (int beyond = 0; beyond < 2; beyond++) {
        struct plot_set set = {0};
        struct text notes = {0};
        struct report *report = report_of(estimates[beyond], "[]", "ok");
        const struct plot_place place = {.script_directory = "plots", .set = &set, .notes = &notes};
        assert_int_equal(report_plot(report, &place, NULL), STATUS_OK);
        const struct text *svg = plot_set_svg(&set, "accuracy");
        assert_non_null(svg);
        assert_int_equal(strstr(text_string(svg), "> +100 %</text>") != NULL, beyond);
        text_release(&notes);
        plot_set_release(&set);
        report_release(report);
    }
}

/* A narrow page hides the columns of class x; what failed is in none of them and carries the name of its estimator. */
static void what_failed_is_seen_at_every_width(void **state)
{
    (void)state;
    struct text page = {0};
    struct report *report = report_of(
        "{\"replay\":{\"allocated_bytes_peak\":1000},\"accelerate\":{\"total_bytes\":800}}",
        "[{\"estimator\":\"accelerate\",\"quantity\":\"total_bytes\",\"predicted\":800,\"measured\":1000,"
        "\"signed_error_bytes\":-200,\"signed_error\":-0.2,\"tolerance\":{\"bytes\":0},\"pass\":false,\"note\":null}]",
        "fail");
    assert_int_equal(report_render(report, REPORT_HTML, NULL, &page, NULL), STATUS_OK);
    assert_non_null(strstr(text_string(&page), "<span class=\"n fail\" data-of=\"accelerate\">-20.00 %</span>"));
    assert_non_null(strstr(text_string(&page), "content:attr(data-of)"));
    assert_null(strstr(text_string(&page), "n x fail"));
    text_release(&page);
    report_release(report);
}

static void expect_row(const char *estimates, const char *comparisons, const char *part)
{
    struct text page = {0};
    struct report *report = report_of(estimates, comparisons, "fail");
    assert_int_equal(report_render(report, REPORT_HTML, NULL, &page, NULL), STATUS_OK);
    const char *row = strstr(text_string(&page), "<summary"), *end = row != NULL ? strstr(row, "</summary>") : NULL;
    const char *found = row != NULL ? strstr(row, part) : NULL;
    if (found == NULL || found > end) {
        fail_msg("'%s' is not in the row: %.600s", part, row != NULL ? row : "(none)");
    }
    text_release(&page);
    report_release(report);
}

#define VERDICT(estimator, quantity, predicted, measured, error, pass, note)                                           \
    "{\"estimator\":\"" estimator "\",\"quantity\":\"" quantity "\",\"predicted\":" predicted                          \
    ",\"measured\":" measured ",\"signed_error_bytes\":null,\"signed_error\":" error                                   \
    ",\"tolerance\":{\"bytes\":0},\"pass\":" pass ",\"note\":" note "}"

/* The allocated peak is right and the process is not: the row of the case says which level failed, and by how much. */
static void the_level_that_failed_is_in_the_row(void **state)
{
    (void)state;
    static const char replay[] = "{\"replay\":{\"allocated_bytes_peak\":1000}}";
    static const char right[] = VERDICT("replay", "allocated_bytes_peak", "1000", "1000", "0.0", "true", "null");
    struct text both = {0};
    text_format(&both, "[%s,%s]", right,
                VERDICT("replay", "process_bytes", "3145728", "4194304", "-0.25", "false", "null"));
    expect_row(replay, text_string(&both),
               "<span class=\"why fail\">replay process: predicted 3.00 MiB, measured 4.00 MiB, -25.00 %</span>");
    text_release(&both);
    text_format(&both, "[%s,%s]", right,
                VERDICT("replay", "footprint_bytes", "2097152", "1048576", "1.0", "false", "null"));
    expect_row(replay, text_string(&both), "replay footprint: predicted 2.00 MiB, measured 1.00 MiB, +100.00 %</span>");
    text_release(&both);
}

/* A case that is there and has one stage is not called missing. */
static void a_timeline_says_why_it_is_not_drawn(void **state)
{
    static const char *const asked[] = {"one", "other"};
    static const char *const said[] = {"no case has that id or label and two stages with figures",
                                       "has that id or label\n"};
    (void)state;
    for (int index = 0; index < 2; index++) {
        struct plot_set set = {0};
        struct text notes = {0};
        struct report *report = report_of("{\"replay\":{\"allocated_bytes_peak\":1000}}", "[]", "ok");
        const struct plot_place place = {
            .script_directory = "plots", .timeline = asked[index], .set = &set, .notes = &notes};
        assert_int_equal(report_plot(report, &place, NULL), STATUS_OK);
        assert_non_null(strstr(text_string(&notes), said[index]));
        text_release(&notes);
        plot_set_release(&set);
        report_release(report);
    }
}

/* The pages of one figure say in the picture which they are; one alone says nothing. */
static void pages_of_a_figure_are_numbered(void **state)
{
    (void)state;
    command_needed("gnuplot");
    static const enum records_kind kinds[] = {RECORDS_SMALL, RECORDS_LARGE};
    for (int index = 0; index < 2; index++) {
        char path[160];
        char *folder = folder_fixture_make();
        struct plot_set set = {0};
        struct text notes = {0};
        struct report *report = NULL;
        const struct plot_place place = {.script_directory = "plots", .set = &set, .notes = &notes};
        snprintf(path, sizeof path, "%s/records.jsonl", folder);
        records_fixture_write(path, kinds[index]);
        assert_int_equal(report_open(path, &report, NULL), STATUS_OK);
        assert_int_equal(report_plot(report, &place, NULL), STATUS_OK);
        const struct text *first = plot_set_svg(&set, "anatomy"), *second = plot_set_svg(&set, "anatomy-2");
        assert_non_null(first);
        assert_int_equal(strstr(text_string(first), "Page 1 of ") != NULL, index);
        assert_int_equal(second != NULL && strstr(text_string(second), "Page 2 of ") != NULL, index);
        text_release(&notes);
        plot_set_release(&set);
        report_release(report);
        folder_fixture_remove(folder);
    }
}

static void sized_append(const char *path, const char *id, int requested_bytes, int reserved_bytes)
{
    char line[2048];
    snprintf(
        line, sizeof line,
        "{\"type\":\"case\",\"id\":\"%s\",\"identity\":{\"model\":\"%s\",\"mode\":\"load\",\"precision\":\"float32\","
        "\"batch\":1,\"seq\":null,\"attention\":null,\"optimizer\":null,\"checkpointing\":null,\"accumulate\":null,"
        "\"logits\":null,\"head\":null},\"status\":\"ok\",\"reason\":null,\"stages\":{\"load\":{\"requested_bytes\":%d,"
        "\"allocated_bytes\":%d,\"reserved_bytes\":%d,\"requested_bytes_peak\":null,\"allocated_bytes_peak\":null,"
        "\"reserved_bytes_peak\":null,\"device_bytes\":null,\"process_bytes\":null,\"process_bytes_peak\":null,"
        "\"seconds\":null,\"categories_at_peak\":null}},\"categories_at_peak\":null,\"estimates\":{},\"verdicts\":[],"
        "\"duration_s\":null,\"device\":null,\"oom\":null,\"attempt\":1,\"context\":null,\"peak_stage\":null,"
        "\"causes\":null,\"saved_for_backward_bytes\":null,\"loss\":null,\"sequence_hash\":null}\n",
        id, id, requested_bytes, requested_bytes, reserved_bytes);
    records_fixture_append(path, line);
}

static bool any_case(const struct case_view *view, const char *timeline)
{
    (void)view;
    (void)timeline;
    return true;
}

/* The label of a bar is the reserved peak, so a reader expects the largest of those first. */
static void cases_are_in_the_order_of_what_is_shown(void **state)
{
    (void)state;
    char path[160];
    char *folder = folder_fixture_make();
    struct report *report = NULL;
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    records_fixture_run(path, 2);
    sized_append(path, "tight", 3000, 4096);
    sized_append(path, "loose", 1000, 8192);
    assert_int_equal(report_open(path, &report, NULL), STATUS_OK);
    struct plot_cases *chosen = plot_cases_choose(report, NULL, any_case);
    assert_non_null(chosen);
    assert_int_equal(chosen->count, 2);
    assert_string_equal(chosen->cases[0]->id, "loose");
    assert_string_equal(chosen->cases[1]->id, "tight");
    free(chosen);
    report_release(report);
    folder_fixture_remove(folder);
}

/* -- skipped cases */

#define PREDICTED "{\"replay\":{\"allocated_bytes_peak\":5242880},\"accelerate\":{\"total_bytes\":4194304}}"

/* One or no case that was measured, and two that were not. */
static struct report *skipped_report(bool has_measured)
{
    char path[160];
    char *folder = folder_fixture_make();
    struct report *report = NULL;
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    records_fixture_run(path, has_measured ? 3 : 2);
    if (has_measured) {
        records_fixture_estimates(path, "one", "ok", "4194304", PREDICTED, "[]");
    }
    records_fixture_estimates(path, "two", "skip", "null", PREDICTED, "[]");
    records_fixture_estimates(path, "three", "skip", "null", PREDICTED, "[]");
    assert_int_equal(report_open(path, &report, NULL), STATUS_OK);
    folder_fixture_remove(folder);
    return report;
}

static struct text skipped_page(bool has_measured, enum report_format format)
{
    struct text page = {0};
    struct report *report = skipped_report(has_measured);
    const struct report_style style = {0};
    assert_int_equal(report_render(report, format, &style, &page, NULL), STATUS_OK);
    report_release(report);
    return page;
}

static int times_found(const char *page, const char *word)
{
    int count = 0;
    for (const char *at = page; (at = strstr(at, word)) != NULL; at += strlen(word)) {
        count++;
    }
    return count;
}

/* What was not measured stands below no heading that says so, has its prediction, and its reason once. */
static void skipped_cases_stand_apart(void **state)
{
    (void)state;
    struct text page = skipped_page(true, REPORT_MARKDOWN);
    const char *all = text_string(&page), *apart = strstr(all, "## Skipped, not measured\n");
    const char *table = "| case | peak that replay predicts |\n|---|--:|\n| two load float32 | 5.00 MiB |\n"
                        "| three load float32 | 5.00 MiB |\n";
    assert_non_null(apart);
    assert_non_null(strstr(apart, table));
    assert_int_equal(times_found(all, "two load"), 1);
    assert_int_equal(times_found(all, "| skip |"), 0);
    assert_non_null(strstr(all, "| case | status | measured | replay | accelerate |"));
    text_release(&page);
    page = skipped_page(true, REPORT_HTML);
    apart = strstr(text_string(&page), "<h2 id=\"skipped\">");
    assert_non_null(apart);
    assert_int_equal(
        times_found(apart, "<span>two load float32</span><span class=n data-of=\"replay predicts\">5.00 MiB</span>"),
        1);
    assert_int_equal(times_found(apart, "measured<th"), 0);
    assert_non_null(strstr(text_string(&page), "<li><a href=\"#skipped\">2 cases were skipped</a>"));
    text_release(&page);
}

/* No page speaks of measured figures or of errors, or has a table of zeros, where there are none. */
static void nothing_measured_is_said_nowhere(void **state)
{
    (void)state;
    static const enum report_format formats[] = {REPORT_MARKDOWN, REPORT_HTML};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct text page = skipped_page(false, formats[i]);
        const char *body = strstr(text_string(&page), "INCOMPLETE: ");
        if (body == NULL) {
            fail_msg("no headline: %.2000s", text_string(&page));
        }
        if (times_found(body, "easured") != times_found(body, "Skipped, not measured")) {
            fail_msg("measured, it says: %.3000s", body);
        }
        assert_int_equal(times_found(body, "Accuracy"), 0);
        assert_int_equal(times_found(body, "rror"), 0);
        assert_true(times_found(body, "5.00 MiB") >= 2);
        text_release(&page);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_beyond_the_scale_are_marked),
        cmocka_unit_test(what_failed_is_seen_at_every_width),
        cmocka_unit_test(the_level_that_failed_is_in_the_row),
        cmocka_unit_test(a_timeline_says_why_it_is_not_drawn),
        cmocka_unit_test(pages_of_a_figure_are_numbered),
        cmocka_unit_test(cases_are_in_the_order_of_what_is_shown),
        cmocka_unit_test(skipped_cases_stand_apart),
        cmocka_unit_test(nothing_measured_is_said_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* League formats: each writer against a golden text, against names that try to break out of it, and as a command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/json.h"
#include "harness/report/escape.h"
#include "harness/report/league.h"
#include "harness/report/page_format.h"
#include "harness/report/report_page.h"
#include "tests/report/counted_rows.h"
#include "tests/report/golden_text.h"
#include "tests/report/records_fixture.h"
#include "tests/support/command_run.h"

static const enum report_format formats[] = {REPORT_TABLE, REPORT_MARKDOWN, REPORT_CSV, REPORT_JSON, REPORT_HTML};
enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

/* Three families in three modes; `narrow` answers one mode alone, `few` three cases. */
static struct report *small_report(void)
{
    enum { COUNT = 27 };
    static const char *const families[] = {"bert", "gpt2", "resnet"}, *const modes[] = {"load", "infer", "train"};
    struct counted_row rows[COUNT];
    char ids[COUNT][40];
    for (int at = 0; at < COUNT; at++) {
        int64_t weights = 1000000 * (1 + at % 3), batch = 1 << at / 9;
        int64_t measured = weights * (1 + at / 3 % 3) + 40000 * batch * (at % 5);
        snprintf(ids[at], sizeof ids[at], "%s/%s/b%d-%d", families[at % 3], modes[at / 3 % 3], (int)batch, at);
        rows[at] = (struct counted_row){.id = ids[at],
                                        .model = families[at % 3],
                                        .family = families[at % 3],
                                        .mode = modes[at / 3 % 3],
                                        .batch = batch,
                                        .seq = 16,
                                        .measured_bytes = measured,
                                        .loaded_bytes = weights,
                                        .tensor_bytes = measured - 512 * (at % 4),
                                        .predictions = {PREDICTS("rule", weights * (1 + at / 3 % 3))}};
        if (at / 3 % 3 == 2) {
            rows[at].predictions[1] = (struct row_prediction)PREDICTS("only-training", measured + 90000);
        }
        if (at < 3) {
            rows[at].predictions[1] = (struct row_prediction)PREDICTS("few-answers", measured);
        }
    }
    rows[COUNT - 1].invalid = true;
    return counted_rows_report(rows, COUNT);
}

static struct text rendered(struct report *report, enum report_format format, const struct report_style *style)
{
    struct league *league = NULL;
    struct text text = {0};
    struct status error = {0};
    assert_int_equal(league_make(&report, 1, &league, NULL), STATUS_OK);
    if (page_render(&league_page, league, format, style, &text, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    league_release(league);
    return text;
}

static struct report *fixture_report(enum records_kind kind)
{
    char *folder = folder_fixture_make(), path[128];
    struct report *report = NULL;
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    records_fixture_write(path, kind);
    assert_int_equal(report_open(path, &report, NULL), STATUS_OK);
    folder_fixture_remove(folder);
    return report;
}

static struct text small_rendered(enum report_format format, int width)
{
    struct report *report = small_report();
    struct text text = rendered(report, format, &(struct report_style){.width = width});
    report_release(report);
    return text;
}

static void texts_are_golden(void **state)
{
    (void)state;
    golden_text_check(small_rendered(REPORT_TABLE, 60), "tests/report/golden/league-60.txt");
    golden_text_check(small_rendered(REPORT_TABLE, 80), "tests/report/golden/league-80.txt");
    golden_text_check(small_rendered(REPORT_MARKDOWN, 0), "tests/report/golden/league.md");
    golden_text_check(small_rendered(REPORT_CSV, 0), "tests/report/golden/league.csv");
}

static void tables_fit_their_width(void **state)
{
    (void)state;
    static const int widths[] = {40, 53, 54, 60, 79, 80, 100, 200};
    for (enum records_kind kind = RECORDS_SMALL; kind <= RECORDS_EMPTY; kind++) {
        struct report *report = fixture_report(kind);
        for (size_t at = 0; at < sizeof widths / sizeof widths[0]; at++) {
            struct text text = rendered(report, REPORT_TABLE, &(struct report_style){.width = widths[at]});
            char *rest = text.data, *line;
            while ((line = strsep(&rest, "\n")) != NULL) {
                if (width_measure(line) > widths[at]) {
                    fail_msg("%d columns: '%s'", widths[at], line);
                }
            }
            text_release(&text);
        }
        report_release(report);
    }
}

static void no_control_character_gets_through(void **state)
{
    (void)state;
    struct report *report = fixture_report(RECORDS_HOSTILE);
    for (int at = 0; at < FORMAT_COUNT; at++) {
        struct text text = rendered(report, formats[at], NULL);
        for (size_t byte = 0; byte < text.length; byte++) {
            unsigned char code = (unsigned char)text.data[byte];
            bool line_end = code == '\n' || (code == '\r' && formats[at] == REPORT_CSV);
            if ((code < 0x20 && !line_end) || code == 0x7F) {
                fail_msg("format %d: byte %02x at %zu", (int)formats[at], code, byte);
            }
        }
        assert_null(formats[at] == REPORT_HTML ? strstr(text_string(&text), "<script") : NULL);
        text_release(&text);
    }
    report_release(report);
}

static void colour_is_asked_for(void **state)
{
    (void)state;
    struct report *report = small_report();
    struct text plain = rendered(report, REPORT_TABLE, NULL);
    struct text coloured = rendered(report, REPORT_TABLE, &(struct report_style){.colour = true});
    assert_null(strchr(text_string(&plain), '\x1b'));
    assert_non_null(strchr(text_string(&coloured), '\x1b'));
    text_release(&plain);
    text_release(&coloured);
    report_release(report);
}

/* What a script would read: the same figures as in C, null where there are none. */
static void the_document_has_the_figures(void **state)
{
    (void)state;
    struct report *report = small_report();
    struct text text = rendered(report, REPORT_JSON, NULL);
    struct json *document = NULL;
    assert_int_equal(json_parse_text("league", text_string(&text), text.length, &document, NULL), STATUS_OK);
    assert_int_equal(json_integer_or(json_get(json_get(document, "cases"), "rows"), 0), 27);
    assert_int_equal(json_integer_or(json_get(json_get(document, "cases"), "invalid"), 0), 1);
    const struct json *all = json_at(json_get(document, "scopes"), 0);
    assert_string_equal(json_string_or(json_get(all, "scope"), ""), "all");
    assert_int_equal(json_count(json_get(document, "scopes")), 7); /* all, three modes, three families */
    const struct json *rows = json_get(all, "estimators");
    const struct json *few = NULL;
    for (size_t at = 0; at < json_count(rows); at++) {
        const char *name = json_string_or(json_get(json_at(rows, at), "estimator"), "");
        few = strcmp(name, "few-answers") == 0 ? json_at(rows, at) : few;
    }
    assert_non_null(few);
    assert_true(json_boolean_or(json_get(few, "few"), false));
    assert_int_equal(json_kind(json_get(few, "rank")), JSON_KIND_NULL);
    assert_int_equal(json_kind(json_get(few, "common")), JSON_KIND_NULL);
    assert_int_equal(json_integer_or(json_get(json_get(few, "all"), "cases"), 0), 3);
    json_release(document);
    text_release(&text);
    report_release(report);
}

static void junit_and_summary_are_refused(void **state)
{
    (void)state;
    struct report *report = small_report();
    struct league *league = NULL;
    struct text text = {0};
    assert_int_equal(league_make(&report, 1, &league, NULL), STATUS_OK);
    assert_int_equal(page_render(&league_page, league, REPORT_JUNIT, NULL, &text, NULL), STATUS_INVALID);
    assert_int_equal(page_render(&league_page, league, REPORT_SUMMARY, NULL, &text, NULL), STATUS_INVALID);
    assert_int_equal(text.length, 0);
    league_release(league);
    report_release(report);
}

static void the_plot_is_drawn(void **state)
{
    (void)state;
    command_needed("gnuplot");
    struct report *report = small_report();
    struct league *league = NULL;
    struct text notes = {0}, path = {0};
    struct plot_set plots = {0};
    char *folder = folder_fixture_make();
    struct stat file;
    assert_int_equal(league_make(&report, 1, &league, NULL), STATUS_OK);
    const struct plot_place place = {.script_directory = "plots", .with_png = true, .set = &plots, .notes = &notes};
    assert_int_equal(league_plot(league, &place, NULL), STATUS_OK);
    assert_int_equal(plot_set_save(&plots, folder, &notes, NULL), STATUS_OK);
    assert_string_equal(text_string(&notes), "");
    text_format(&path, "%s/league.svg", folder);
    assert_int_equal(stat(text_string(&path), &file), 0);
    assert_true(file.st_size > 5000);
    struct text page = rendered(report, REPORT_HTML, &(struct report_style){.plots = &plots});
    assert_non_null(strstr(text_string(&page), "<svg"));
    assert_non_null(strstr(text_string(&page), "<a href=\"#scope1\">Mode "));
    assert_non_null(strstr(text_string(&page), "<h2 id=\"scope1\">Mode "));
    assert_non_null(strstr(text_string(&page), "<title>League of estimators: "));
    text_release(&page);
    plot_set_release(&plots);
    text_release(&path);
    text_release(&notes);
    folder_fixture_remove(folder);
    league_release(league);
    report_release(report);
}

static void expect(const char *const *words, int exit_code, const char *output, const char *complaint)
{
    static const char *const environment[] = {"COLUMNS=80", NULL};
    struct command_result result = command_run(words, environment);
    if (result.exit_code != exit_code || strstr(text_string(&result.output), output) == NULL ||
        strstr(text_string(&result.error), complaint) == NULL) {
        fail_msg("%s: exit code %d: %s%s", words[1], result.exit_code, text_string(&result.output),
                 text_string(&result.error));
    }
    command_result_release(&result);
}

static void the_command_says_what_happened(void **state)
{
    (void)state;
    const char *program = program_path();
    char *folder = folder_fixture_make(), small[128], empty[128];
    const struct counted_row row = {.id = "a", .measured_bytes = 100, .predictions = {PREDICTS("rule", 110)}};
    snprintf(small, sizeof small, "%s/small.jsonl", folder);
    snprintf(empty, sizeof empty, "%s/empty.jsonl", folder);
    counted_rows_write(small, &row, 1);
    records_fixture_write(empty, RECORDS_EMPTY);
    expect((const char *[]){program, "report", "--league", small, NULL}, 0, "+10.0 %", "");
    expect((const char *[]){program, "report", "--league", small, empty, NULL}, 0, "1 of 1 row counts", "");
    expect((const char *[]){program, "report", "--league", empty, NULL}, 3, "Nothing to judge", "");
    expect((const char *[]){program, "report", "--league", "--format", "json", empty, NULL}, 3, "\"scopes\"", "");
    expect((const char *[]){program, "report", "--league", "--format", "junit", small, NULL}, 2, "", "no such format");
    expect((const char *[]){program, "report", small, empty, NULL}, 2, "", "one operand too many");
    expect((const char *[]){program, "report", "--league", "/nowhere", NULL}, 2, "", "/nowhere");
    folder_fixture_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_golden),
        cmocka_unit_test(tables_fit_their_width),
        cmocka_unit_test(no_control_character_gets_through),
        cmocka_unit_test(colour_is_asked_for),
        cmocka_unit_test(the_document_has_the_figures),
        cmocka_unit_test(junit_and_summary_are_refused),
        cmocka_unit_test(the_plot_is_drawn),
        cmocka_unit_test(the_command_says_what_happened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

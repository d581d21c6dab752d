/* Formats: each writer against a golden text, and against names that try to break out of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/report/escape.h"
#include "harness/report/report.h"
#include "tests/report/golden_text.h"
#include "tests/report/records_fixture.h"

static struct text rendered(enum records_kind kind, enum report_format format, const struct report_style *style)
{
    char *folder = folder_fixture_make();
    char path[128];
    struct report *report = NULL;
    struct text text = {0};
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    records_fixture_write(path, kind);
    assert_int_equal(report_open(path, &report, NULL), STATUS_OK);
    assert_int_equal(report_render(report, format, style, &text, NULL), STATUS_OK);
    report_release(report);
    folder_fixture_remove(folder);
    return text;
}

static struct text small_rendered(enum report_format format, int width)
{
    return rendered(RECORDS_SMALL, format, &(struct report_style){.width = width});
}

static void texts_are_golden(void **state)
{
    (void)state;
    golden_text_check(small_rendered(REPORT_TABLE, 40), "tests/report/golden/small-40.txt");
    golden_text_check(small_rendered(REPORT_TABLE, 80), "tests/report/golden/small-80.txt");
    golden_text_check(small_rendered(REPORT_TABLE, 200), "tests/report/golden/small-200.txt");
    golden_text_check(small_rendered(REPORT_SUMMARY, 40), "tests/report/golden/summary-40.txt");
    golden_text_check(small_rendered(REPORT_SUMMARY, 80), "tests/report/golden/summary-80.txt");
    golden_text_check(small_rendered(REPORT_SUMMARY, 100), "tests/report/golden/summary-100.txt");
    golden_text_check(small_rendered(REPORT_MARKDOWN, 0), "tests/report/golden/small.md");
    golden_csv_check(small_rendered(REPORT_CSV, 0), "tests/report/golden/small.csv");
    golden_text_check(small_rendered(REPORT_JUNIT, 0), "tests/report/golden/small-junit.xml");
}

static void lines_fit(enum records_kind kind, enum report_format format, int width)
{
    struct text text = rendered(kind, format, &(struct report_style){.width = width});
    char *rest = text.data, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        if (width_measure(line) > width) {
            fail_msg("%d columns: '%s'", width, line);
        }
    }
    text_release(&text);
}

static void tables_fit_their_width(void **state)
{
    (void)state;
    static const int widths[] = {40, 57, 71, 72, 80, 120, 200};
    for (size_t index = 0; index < sizeof widths / sizeof widths[0]; index++) {
        for (enum records_kind kind = RECORDS_SMALL; kind <= RECORDS_EMPTY; kind++) {
            lines_fit(kind, REPORT_TABLE, widths[index]);
            lines_fit(kind, REPORT_SUMMARY, widths[index]);
        }
    }
}

static void colour_is_asked_for(void **state)
{
    (void)state;
    struct text plain = rendered(RECORDS_HOSTILE, REPORT_TABLE, NULL);
    struct text coloured = rendered(RECORDS_SMALL, REPORT_TABLE, &(struct report_style){.colour = true});
    assert_null(strchr(text_string(&plain), '\x1b'));
    assert_non_null(strstr(text_string(&coloured), "\x1b[31m"));
    text_release(&plain);
    text_release(&coloured);
}

static void no_control_character_gets_through(void **state)
{
    (void)state;
    for (int format = REPORT_TABLE; format < REPORT_FORMAT_COUNT; format++) {
        struct text text = rendered(RECORDS_HOSTILE, (enum report_format)format, NULL);
        for (size_t at = 0; at < text.length; at++) {
            unsigned char byte = (unsigned char)text.data[at];
            bool line_end = byte == '\n' || (byte == '\r' && format == REPORT_CSV);
            if ((byte < 0x20 && !line_end) || byte == 0x7F) {
                fail_msg("format %d: byte %02x at %zu", format, byte, at);
            }
        }
        if (format != REPORT_JSON) { /* JSON keeps the code point; whoever shows it escapes it */
            assert_null(strstr(text_string(&text), "\u202e"));
        }
        text_release(&text);
    }
}

/* Bars that part cells; -1: the line is no row. */
static int bars_count(const char *line)
{
    int bars = 0;
    for (size_t at = 0; line[at] != '\0'; at++) {
        bars += line[at] == '|' && (at == 0 || line[at - 1] != '\\') ? 1 : 0;
    }
    return line[0] == '|' ? bars : -1;
}

/* A row for each case, and every row of a table with as many cells as its heading. */
static void markdown_has_a_row_for_each_case(void **state)
{
    (void)state;
    struct text text = rendered(RECORDS_HOSTILE, REPORT_MARKDOWN, NULL);
    char *rest = text.data, *line;
    int rows = 0, columns = -1, tables = 0;
    while ((line = strsep(&rest, "\n")) != NULL) {
        int bars = bars_count(line);
        tables += bars >= 0 && columns < 0 ? 1 : 0;
        rows += bars >= 0 && tables == 1 ? 1 : 0;
        if (bars >= 0 && columns >= 0) {
            assert_int_equal(bars, columns);
        }
        columns = bars;
    }
    assert_int_equal(tables, 2);
    assert_int_equal(rows, 2 + 9);
    text_release(&text);
}

static char *header_of(enum records_kind kind)
{
    struct text text = rendered(kind, REPORT_CSV, NULL);
    char *header = strndup(text_string(&text), strcspn(text_string(&text), "\r"));
    text_release(&text);
    return header;
}

/* Whichever estimators the records name: only one that nobody knows adds a column, behind the others. */
static void csv_columns_are_the_same_in_every_file(void **state)
{
    (void)state;
    char *small = header_of(RECORDS_SMALL), *empty = header_of(RECORDS_EMPTY), *large = header_of(RECORDS_LARGE);
    assert_string_equal(small, empty);
    assert_string_equal(large, empty);
    assert_non_null(strstr(empty, ",device,accelerate_total_bytes,anatomy_total_bytes,"));
    assert_non_null(strstr(empty, ",basis,attempt,stage_seconds,duration_seconds"));
    free(small);
    free(empty);
    free(large);
}

/* Two attempts of one run are rows of their own; that of an earlier run is not. */
static void csv_has_a_row_for_each_attempt(void **state)
{
    (void)state;
    char *folder = folder_fixture_make(), path[128];
    struct report *report = NULL;
    struct text text = {0};
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    records_fixture_run(path, 1);
    records_fixture_case(path, "one", "ok", "1000");
    records_fixture_run(path, 3);
    records_fixture_case(path, "one", "ok", "2000");
    records_fixture_case(path, "one", "ok", "2512");
    records_fixture_estimates(path, "one", "ok", "3024", "{\"of another version\":{\"total_bytes\":7}}", "[]");
    assert_int_equal(report_open(path, &report, NULL), STATUS_OK);
    assert_int_equal(report_render(report, REPORT_CSV, NULL, &text, NULL), STATUS_OK);
    assert_null(strstr(text_string(&text), ",1000,"));
    const char *first = strstr(text_string(&text), "load,allocated,2000,2000,,,,,3,1024,,1,,,");
    const char *second = strstr(text_string(&text), "load,allocated,2512,2512,,,,,3,1024,,2,,,");
    const char *third = strstr(text_string(&text), "load,allocated,3024,3024,,,,,3,1024,,3,,,");
    assert_true(first != NULL && first < second && second < third);
    assert_non_null(strstr(third, ",,7\r\n"));
    assert_true(strstr(second, ",,,\r\n") < strstr(second, ",,7\r\n"));
    assert_non_null(strstr(text_string(&text), ",tries,per_second,per_second_lost,of another version_total_bytes\r\n"));
    text_release(&text);
    report_release(report);
    folder_fixture_remove(folder);
}

/* What failed stands before what did not, and each case once. */
static void html_has_the_failures_first(void **state)
{
    (void)state;
    struct text text = rendered(RECORDS_SMALL, REPORT_HTML, NULL);
    const char *page = text_string(&text);
    const char *failed = strstr(page, "<h2 id=\"failures\">"), *accuracy = strstr(page, "<h2 id=\"accuracy\">");
    const char *skipped = strstr(page, "<h2 id=\"skipped\">"), *one = strstr(page, "<span>timm/resnet50.a1_in1k train");
    assert_true(failed != NULL && failed < one && one < accuracy && accuracy < skipped);
    assert_null(strstr(one + 1, "<span>timm/resnet50.a1_in1k train"));
    assert_true(strstr(page, "<span>bert-base-cased load") < accuracy); /* a figure of it could not be judged */
    assert_true(strstr(page, "<span>Qwen/Qwen2") > skipped);
    int count = 0;
    for (const char *at = page; (at = strstr(at, "<details")) != NULL; at++) {
        count++;
    }
    assert_int_equal(count, 3); /* of the skipped one nothing is known */
    assert_non_null(strstr(page, "<title>quick on cuda (NVIDIA H200), 2026-11-20</title>"));
    assert_non_null(strstr(page, "<a href=\"#failures\" class=\"fail\">3 cases did not pass</a>"));
    assert_non_null(strstr(page, "prefers-color-scheme:dark"));
    text_release(&text);
}

/* 144 of them and all the images that a page takes stay under 1 MB. */
static void a_case_of_a_page_is_small(void **state)
{
    (void)state;
    struct text none = rendered(RECORDS_EMPTY, REPORT_HTML, NULL), page = rendered(RECORDS_LARGE, REPORT_HTML, NULL);
    assert_true((page.length - none.length) / 40 < (1000000 - 400 * 1024) / 144);
    text_release(&none);
    text_release(&page);
}

/* Reads RFC 4180 back: every row has as many cells as the first, and no cell begins like a formula. */
static void csv_is_a_table_without_formulas(void **state)
{
    (void)state;
    struct text text = rendered(RECORDS_HOSTILE, REPORT_CSV, NULL);
    int cells = 1, first_cells = 0, rows = 0;
    bool quoted = false, opens = true;
    for (size_t at = 0; at < text.length; at++) {
        char byte = text.data[at];
        if (opens && byte != '"') {
            assert_null(strchr("=+@", byte));
            assert_false(byte == '-' && (text.data[at + 1] < '0' || text.data[at + 1] > '9'));
        }
        opens = !quoted && (byte == ',' || byte == '\n' || byte == '"') && !(byte == '"' && !opens);
        quoted = byte == '"' ? !quoted : quoted;
        cells += !quoted && byte == ',' ? 1 : 0;
        if (!quoted && byte == '\n') {
            assert_int_equal(text.data[at - 1], '\r');
            first_cells = rows == 0 ? cells : first_cells;
            assert_int_equal(cells, first_cells);
            cells = 1;
            rows++;
        }
    }
    assert_int_equal(rows, 1 + 9 * 2 * 5);
    assert_false(quoted);
    assert_non_null(strstr(text_string(&text), "\"'=HYPERLINK(\"\"x\"\")\""));
    assert_non_null(strstr(text_string(&text), "\"'-2+3\""));
    text_release(&text);
}

/* Every '<' of the output opens one of our own elements. */
static void markup_holds_only_our_elements(void **state)
{
    (void)state;
    static const enum report_format formats[] = {REPORT_HTML, REPORT_JUNIT};
    for (size_t index = 0; index < 2; index++) {
        struct text text = rendered(RECORDS_HOSTILE, formats[index], NULL);
        assert_null(strcasestr(text_string(&text), "<script"));
        assert_non_null(strstr(text_string(&text), "&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;"));
        assert_null(strstr(text_string(&text), "and\"quote"));
        text_release(&text);
    }
}

/* One of the four rows is invalid: a mark beside its status, and the reason among its notes. */
static void html_marks_an_invalid_row(void **state)
{
    (void)state;
    static const char mark[] = "<span class=\"invalid\">invalid readings</span>";
    struct text text = rendered(RECORDS_SMALL, REPORT_HTML, NULL);
    const char *first = strstr(text_string(&text), mark);
    assert_non_null(first);
    assert_null(strstr(first + 1, mark));
    assert_non_null(strstr(text_string(&text), "invalid readings: another process (4242) held 1073741824 bytes"));
    text_release(&text);
}

static void json_is_one_document(void **state)
{
    (void)state;
    struct text text = rendered(RECORDS_SMALL, REPORT_JSON, NULL);
    struct json *document = NULL;
    struct status error = {0};
    assert_int_equal(json_parse_text("report", text_string(&text), text.length, &document, &error), STATUS_OK);
    assert_int_equal(json_count(json_get(document, "cases")), 4);
    assert_int_equal(json_count(json_get(document, "runs")), 1);
    assert_int_equal(json_integer_or(json_get(json_get(document, "counts"), "oom"), -1), 1);
    const struct json *row = json_at(json_get(document, "summary"), 1);
    assert_string_equal(json_string_or(json_get(row, "quantity"), ""), "allocated_bytes_peak");
    assert_int_equal(json_integer_or(json_get(row, "failed_verdicts"), -1), 1);
    json_release(document);
    text_release(&text);
}

/* The pair that accelerate's documentation publishes, with its cause. */
static void cause_of_the_published_pair_is_named(void **state)
{
    (void)state;
    struct text text = rendered(RECORDS_SMALL, REPORT_TABLE, &(struct report_style){.width = 200});
    assert_non_null(
        strstr(text_string(&text), "413.18 MiB requested, 413.68 MiB allocated: one unsplit 512 KiB remainder;"));
    text_release(&text);
}

static void csv_cell_check(const char *string, const char *expected)
{
    struct text text = {0};
    csv_append(&text, string);
    assert_string_equal(text_string(&text), expected);
    text_release(&text);
}

static void cells_are_guarded_after_cleaning(void **state)
{
    (void)state;
    csv_cell_check("plain", "plain");
    csv_cell_check("", "");
    csv_cell_check("a,b", "\"a,b\"");
    csv_cell_check("\u200b=1+1", "\"'=1+1\"");
    csv_cell_check("\t@sum", "\"' @sum\"");
    csv_cell_check("two\r\nlines", "two  lines");
    csv_cell_check("\xff\xfe", "\xEF\xBF\xBD\xEF\xBF\xBD");
}

/* A terminal has room for few columns: the first estimators, but one that failed before one that did not. */
static void a_failed_estimator_has_a_column(void **state)
{
    (void)state;
    char *folder = folder_fixture_make();
    char path[128];
    struct report *report = NULL;
    struct text text = {0};
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    records_fixture_run(path, 1);
    records_fixture_estimates(
        path, "one", "fail", "1000",
        "{\"replay\":{\"allocated_bytes_peak\":1000},\"first\":{\"total_bytes\":900},\"second\":"
        "{\"total_bytes\":800},\"third\":{\"total_bytes\":700},\"fourth\":{\"total_bytes\":600}}",
        "[{\"estimator\":\"fourth\",\"quantity\":\"total_bytes\",\"predicted\":600,\"measured\":1000,"
        "\"signed_error_bytes\":-400,\"signed_error\":-0.4,\"tolerance\":{\"bytes\":0},\"pass\":false,"
        "\"note\":null}]");
    struct status error = {0};
    if (report_open(path, &report, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(report_render(report, REPORT_SUMMARY, &(struct report_style){.width = 80}, &text, NULL),
                     STATUS_OK);
    assert_non_null(strstr(text_string(&text), "    measured    replay     first    fourth  case\n"));
    assert_non_null(strstr(text_string(&text), "+0.00 %  -10.00 %  -40.00 %  one load"));
    assert_non_null(strstr(text_string(&text), "\nnot shown here: second, third\n"));
    text_release(&text);
    assert_int_equal(report_render(report, REPORT_SUMMARY, &(struct report_style){.width = 60}, &text, NULL),
                     STATUS_OK);
    assert_non_null(strstr(text_string(&text), "    measured    replay  case\n")); /* the first column stays the same */
    text_release(&text);
    report_release(report);
    folder_fixture_remove(folder);
}

/* accelerate says nothing of a generation: below its cases stands who does. Replay keeps its place. */
static void columns_have_figures_for_the_mode(void **state)
{
    (void)state;
    char *folder = folder_fixture_make(), path[128];
    struct report *report = NULL;
    struct text text = {0};
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    records_fixture_run(path, 2);
    records_fixture_estimates(path, "one", "ok", "1000",
                              "{\"accelerate\":{\"total_bytes\":900},\"replay\":{\"allocated_bytes_peak\":1000}}",
                              "[]");
    records_fixture_moded(path, "two", "generate", "2000",
                          "{\"hf-mem\":{\"total_bytes\":1500},\"replay\":{\"allocated_bytes_peak\":2000}}");
    records_fixture_estimates(path, "six", "ok", "1000",
                              "{\"accelerate\":{\"total_bytes\":800},\"replay\":{\"allocated_bytes_peak\":1000}}",
                              "[]");
    assert_int_equal(report_open(path, &report, NULL), STATUS_OK);
    assert_int_equal(report_render(report, REPORT_SUMMARY, &(struct report_style){.width = 80}, &text, NULL),
                     STATUS_OK);
    const char *loads = strstr(text_string(&text), "    replay accelerate  case\n");
    const char *six = strstr(text_string(&text), "+0.00 %   -20.00 %  six load");
    const char *generations = strstr(text_string(&text), "    replay    hf-mem  case\n");
    const char *two = strstr(text_string(&text), "+0.00 %  -25.00 %  two generate");
    assert_true(loads != NULL && loads < six && six < generations && generations < two);
    assert_null(strstr(text_string(&text), "not shown here"));
    text_release(&text);
    report_release(report);
    folder_fixture_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_golden),
        cmocka_unit_test(a_failed_estimator_has_a_column),
        cmocka_unit_test(columns_have_figures_for_the_mode),
        cmocka_unit_test(tables_fit_their_width),
        cmocka_unit_test(colour_is_asked_for),
        cmocka_unit_test(no_control_character_gets_through),
        cmocka_unit_test(markdown_has_a_row_for_each_case),
        cmocka_unit_test(html_has_the_failures_first),
        cmocka_unit_test(csv_columns_are_the_same_in_every_file),
        cmocka_unit_test(csv_has_a_row_for_each_attempt),
        cmocka_unit_test(a_case_of_a_page_is_small),
        cmocka_unit_test(csv_is_a_table_without_formulas),
        cmocka_unit_test(markup_holds_only_our_elements),
        cmocka_unit_test(html_marks_an_invalid_row),
        cmocka_unit_test(json_is_one_document),
        cmocka_unit_test(cause_of_the_published_pair_is_named),
        cmocka_unit_test(cells_are_guarded_after_cleaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

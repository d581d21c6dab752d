/* Side tables: places, transfers and searches of records in every format; hand-written records (placed.jsonl), and the
 * same with strange values. */
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
#include "harness/report/league.h"
#include "harness/report/page_format.h"
#include "harness/report/report_page.h"
#include "harness/report/search_view.h"
#include "harness/report/side_tables.h"
#include "tests/report/golden_text.h"
#include "tests/report/records_fixture.h"
#include "tests/support/command_run.h"
#include "tests/support/whole_file.h"

#define RECORDS "tests/report/placed.jsonl"

static struct report *report_of(const char *path)
{
    struct report *report = NULL;
    struct status error = {0};
    if (report_open(path, &report, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return report;
}

static struct text rendered(const struct report *report, enum report_format format, int width)
{
    struct text text = {0};
    assert_int_equal(report_render(report, format, &(struct report_style){.width = width}, &text, NULL), STATUS_OK);
    return text;
}

static enum status_code side_open(struct report *report, const char *name, void **subject, struct status *error)
{
    const char *const values[REPORT_OPTION_COUNT] = {[REPORT_OPTION_table] = name};
    return side_page.make(&(struct page_material){&report, 1, values, REPORT_TABLE}, subject, error);
}

static struct text side_rendered(struct report *report, const char *name, enum report_format format, int width)
{
    struct text text = {0};
    void *side = NULL;
    assert_int_equal(side_open(report, name, &side, NULL), STATUS_OK);
    assert_int_equal(page_render(&side_page, side, format, &(struct report_style){.width = width}, &text, NULL),
                     STATUS_OK);
    side_page.release(side);
    return text;
}

static void texts_are_golden(void **state)
{
    (void)state;
    struct report *report = report_of(RECORDS);
    golden_text_check(rendered(report, REPORT_TABLE, 60), "tests/report/golden/placed-60.txt");
    golden_text_check(rendered(report, REPORT_TABLE, 120), "tests/report/golden/placed-120.txt");
    golden_text_check(rendered(report, REPORT_SUMMARY, 80), "tests/report/golden/placed-summary-80.txt");
    golden_text_check(rendered(report, REPORT_MARKDOWN, 0), "tests/report/golden/placed.md");
    golden_csv_check(rendered(report, REPORT_CSV, 0), "tests/report/golden/placed.csv");
    golden_text_check(rendered(report, REPORT_JUNIT, 0), "tests/report/golden/placed-junit.xml");
    golden_text_check(side_rendered(report, "stages", REPORT_CSV, 0), "tests/report/golden/placed-stages.csv");
    golden_text_check(side_rendered(report, "tries", REPORT_TABLE, 100), "tests/report/golden/placed-tries-100.txt");
    report_release(report);
}

static void lines_fit(struct text text, int width)
{
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
    static const int widths[] = {40, 47, 60, 71, 72, 80, 99, 120, 200};
    struct report *report = report_of(RECORDS);
    for (size_t at = 0; at < sizeof widths / sizeof widths[0]; at++) {
        lines_fit(rendered(report, REPORT_TABLE, widths[at]), widths[at]);
        lines_fit(rendered(report, REPORT_SUMMARY, widths[at]), widths[at]);
        for (int index = 0; side_table_at(index) != NULL; index++) {
            lines_fit(side_rendered(report, side_table_at(index)->name, REPORT_TABLE, widths[at]), widths[at]);
        }
    }
    report_release(report);
}

static const struct case_view *case_of(const struct report *report, const char *id)
{
    int index = 0;
    while (index < report->case_count && strstr(report->cases[index].id, id) == NULL) {
        index++;
    }
    assert_true(index < report->case_count);
    return &report->cases[index];
}

/* Of a figure that stands for a case that of its main place counts, of a summary each. */
static void places_are_counted_once_in_columns_and_each_in_summaries(void **state)
{
    (void)state;
    struct report *report = report_of(RECORDS);
    const struct comparison *peak = comparison_of_peak(case_of(report, "disk=1GB"), "replay");
    assert_non_null(peak);
    assert_string_equal(peak->place, "0");
    assert_int_equal(peak->measured_bytes, 305137664);
    assert_int_equal(comparison_of_peak(case_of(report, "disk=1GB"), "accelerate")->predicted_bytes, 270946304);
    struct arena arena = {0};
    struct accuracy *rows = NULL;
    int count = 0, found = 0;
    assert_int_equal(report_accuracy(report, &arena, &rows, &count, NULL), STATUS_OK);
    for (int at = 0; at < count; at++) {
        if (strcmp(rows[at].estimator, "replay") == 0 && strcmp(rows[at].quantity, "allocated_bytes_peak") == 0) {
            assert_int_equal(rows[at].case_count, 1 + 3 + 1 + 3); /* plain, places 0, 1 and cpu, checkpoint, searches */
            assert_int_equal(rows[at].place_count, 4);
            assert_int_equal(rows[at].under_count, 1);
            assert_string_equal(rows[at].worst_case,
                                "gpt2 infer float32 b1 s128 place-0=400MB,1=250MB,cpu=100MB,disk=1GB, place 1");
            found++;
        }
    }
    assert_int_equal(found, 1);
    arena_release(&arena);
    report_release(report);
}

/* A league is of one batch on one device. */
static void leagues_leave_places_and_searches_out(void **state)
{
    (void)state;
    struct report *report = report_of(RECORDS);
    struct league *league = NULL;
    struct text text = {0};
    assert_int_equal(league_make(&report, 1, &league, NULL), STATUS_OK);
    assert_int_equal(page_render(&league_page, league, REPORT_MARKDOWN, NULL, &text, NULL), STATUS_OK);
    assert_non_null(strstr(text_string(&text), "1 of 8 rows counts; left out: 2 not measured to the end, 5 placed"));
    text_release(&text);
    league_release(league);
    report_release(report);
}

/* The best of the cases that are equal but for their policy is what the others lose against. */
static void searches_are_compared_within_their_series(void **state)
{
    (void)state;
    struct report *report = report_of(RECORDS);
    const struct search_view *halve =
        case_of(report, "distilgpt2/train/float32/b128/s64/adamw-fused/find-halve")->search;
    const struct search_view *bisect = case_of(report, "find-bisect")->search;
    const struct search_view *zero = case_of(report, "gpt2/train/float32/b64")->search;
    assert_int_equal(halve->series, bisect->series);
    assert_int_not_equal(halve->series, zero->series);
    assert_string_equal(halve->title, "distilgpt2 train float32 b128 s64 adamw-fused");
    assert_true(search_loss(bisect) >= 0.0 && search_loss(bisect) <= 0.0);
    assert_true(search_loss(halve) > 0.1353 && search_loss(halve) < 0.1354); /* 1 - 612.4 / 708.3 */
    assert_true(search_loss(zero) < 0.0);
    report_release(report);
}

static void documents_have_the_tables(void **state)
{
    (void)state;
    struct report *report = report_of(RECORDS);
    struct text text = rendered(report, REPORT_JSON, 0);
    struct json *document = NULL;
    assert_int_equal(json_parse_text("report", text_string(&text), text.length, &document, NULL), STATUS_OK);
    const struct json *tables = json_get(document, "tables");
    const struct json *off = json_at(json_get(tables, "places"), 1), *lost = json_at(json_get(tables, "searches"), 0);
    const struct json *moved = json_at(json_get(tables, "transfers"), 2);
    assert_string_equal(json_string_or(json_get(off, "place"), ""), "1");
    assert_int_equal(json_integer_or(json_get(off, "signed_error_bytes"), 0), -524288);
    assert_string_equal(json_string_or(json_get(off, "stage_off"), ""), "forward");
    assert_int_equal(json_integer_or(json_get(lost, "found"), 0), 32);
    assert_true(json_boolean_or(json_get(lost, "pass"), false));
    assert_int_equal(json_kind(json_get(moved, "ratio")), JSON_KIND_NULL);
    assert_int_equal(json_count(json_get(tables, "tries")), 3 + 6 + 8 + 3);
    json_release(document);
    text_release(&text);
    report_release(report);
}

static void pages_have_the_tables_and_the_details(void **state)
{
    (void)state;
    static const char *const parts[] = {"<a href=\"#places\">",
                                        "<h2 id=\"places\">",
                                        "<h2 id=\"kept\">",
                                        "<h2 id=\"transfers\">",
                                        "<h2 id=\"searches\">",
                                        "<th>to run",
                                        "<td class=\"n fail\">-512.00 KiB"};
    struct report *report = report_of(RECORDS);
    struct text text = rendered(report, REPORT_HTML, 0);
    for (size_t at = 0; at < sizeof parts / sizeof parts[0]; at++) {
        assert_non_null(strstr(text_string(&text), parts[at]));
    }
    assert_null(strstr(text_string(&text), "<h2 id=\"tries\">"));
    text_release(&text);
    report_release(report);
}

static void tables_that_are_none_are_named(void **state)
{
    (void)state;
    void *side = NULL;
    struct report *report = report_of(RECORDS);
    struct text text = {0};
    struct status error = {0};
    assert_int_equal(side_open(report, "search", &side, &error), STATUS_INVALID);
    assert_string_equal(error.text, "report: --table: "
                                    "'search' is not a table of a report; use cases, accuracy, places, kept, "
                                    "placements, stages, transfers, searches or tries");
    assert_int_equal(side_open(report, "places", &side, &error), STATUS_OK);
    assert_int_equal(page_render(&side_page, side, REPORT_JUNIT, NULL, &text, &error), STATUS_INVALID);
    side_page.release(side);
    text_release(&text);
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

/* One table ends as the report does. */
static void the_command_prints_one_table(void **state)
{
    (void)state;
    const char *program = program_path();
    expect((const char *[]){program, "report", RECORDS, "--table", "places", NULL}, 1, "-512.00 KiB", "1 of 8 cases");
    expect((const char *[]){program, "report", RECORDS, "--table", "tries", "--format", "csv", "--exit-zero", NULL}, 0,
           "id,policy,batch,ended,predicted_runs", "");
    expect((const char *[]){program, "report", RECORDS, "--table", "try", NULL}, 2, "",
           "use cases, accuracy, places, kept,");
    expect((const char *[]){program, "report", RECORDS, "--table", "places", "--format", "junit", NULL}, 2, "",
           "a table has no such format; use table, md, csv, json, html");
    expect((const char *[]){program, "report", RECORDS, "--table", "places", "--format", "html", NULL}, 1,
           "<h2 id=\"places\">", "");
    expect((const char *[]){program, "report", RECORDS, "--table", "tries", "--format", "latex", NULL}, 1,
           "\\caption{Tries of each search. ", "");
    expect((const char *[]){program, "report", RECORDS, "--table", "places", "--league", NULL}, 2, "",
           "report: --table and --league are two pages");
    expect((const char *[]){program, "report", RECORDS, "--timeline", "*", "--league", NULL}, 2, "",
           "report: --timeline belongs to the report of one run, which --league is not; ask for it without --league");
}

static struct text latex_of(const char *table)
{
    const char *const words[] = {program_path(), "report", RECORDS,       "--table", table,
                                 "--format",     "latex",  "--exit-zero", NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 0);
    text_release(&result.error);
    return result.output;
}

static int occurrences(const char *text, const char *word)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word)) {
        count++;
    }
    return count;
}

/* A table that a paper puts in: no preamble, one caption that says on what, when and by which version, one label. */
static void a_table_in_latex_is_for_a_paper(void **state)
{
    static const char *const names[] = {"cases", "accuracy", "places", "tries"};
    char labels[4][256];
    (void)state;
    for (int at = 0; at < 4; at++) {
        struct text text = latex_of(names[at]);
        const char *latex = text_string(&text), *label = strstr(latex, "\\label{");
        assert_null(strstr(latex, "\\documentclass"));
        assert_null(strstr(latex, "\\begin{document}"));
        assert_null(strstr(latex, "section*"));
        assert_int_equal(occurrences(latex, "\\caption{"), 1);
        assert_int_equal(occurrences(latex, "\\label{"), 1);
        assert_int_equal(occurrences(latex, "\\begin{"), occurrences(latex, "\\end{"));
        assert_non_null(strstr(strstr(latex, "\\caption{"), " On "));
        assert_non_null(strstr(strstr(latex, "\\caption{"), "assay "));
        assert_int_equal(sscanf(label, "\\label{tab:%255[a-z0-9-]}", labels[at]), 1);
        assert_int_equal(strncmp(labels[at], names[at], strlen(names[at])), 0);
        text_release(&text);
    }
}

static void tables_of_documents_are_not_for_programs(void **state)
{
    (void)state;
    expect((const char *[]){program_path(), "report", RECORDS, "--table", "cases", NULL}, 2, "",
           "report: --table cases is for documents; add --format md or latex, or leave --table out");
    expect((const char *[]){program_path(), "report", RECORDS, "--table", "accuracy", "--format", "json", NULL}, 2, "",
           "report: --table accuracy is for documents; add --format md or latex, or leave --table out");
    expect((const char *[]){program_path(), "report", RECORDS, "--table", "cases", "--format", "md", NULL}, 1,
           "## Cases\n\nErrors of the allocated peak", "");
}

/* ---- strange records ---- */

struct replacement {
    const char *from, *to;
};

/* All of one in the other. */
static char *replaced(const char *string, const struct replacement *one)
{
    struct text text = {0};
    const char *at;
    while ((at = strstr(string, one->from)) != NULL) {
        text_append_bytes(&text, string, (size_t)(at - string));
        text_append(&text, one->to);
        string = at + strlen(one->from);
    }
    text_append(&text, string);
    char *copy = strdup(text_string(&text));
    assert_non_null(copy);
    text_release(&text);
    return copy;
}

/* Each alone is a record that may be read. */
static const struct replacement STRANGE[] = {
    {"\"place\": \"1\"", "\"place\": \"\\u001b[31m<b>|`=1\\n\""},
    {"\"policy\": \"halve\"", "\"policy\": \"=cmd()|<script>\\u202e\""},
    {"\"from\": \"disk\"", "\"from\": \"\""},
    {"\"seconds\": 0.062", "\"seconds\": 0"},
    {"\"seconds\": 0.062", "\"seconds\": 1e-300"},
    {"\"bytes\": 113405952", "\"bytes\": 9223372036854775807"},
    {"\"plain_seconds\": 0.058", "\"plain_seconds\": 1e300"},
    {"\"kept_bytes\": 28357632", "\"kept_bytes\": 0"},
    {"\"needed_bytes\": 0", "\"needed_bytes\": 9223372036854775807"},
    {"\"place\": \"0\"", "\"place\": \"cpu\""},
    {"\"places\": [", "\"places\": null, \"other\": ["},
    {"\"transfers\": [", "\"transfers\": null, \"other\": ["},
    {"\"tries\": [", "\"tries\": [], \"other\": ["},
    {"\"per_second\": 612.4", "\"per_second\": 0"},
    {"\"per_second\": 612.4", "\"per_second\": 1e308"},
    {"\"found\": 32", "\"found\": 9223372036854775807"},
    {"\"end\": \"found\"", "\"end\": \"\""},
    {"\"stages\": {\"load\": {\"requested_bytes\": 170131456",
     "\"stages\": {\"nowhere\": {\"requested_bytes\": 170131456"},
};

static void strange_records_are_shown(void **state)
{
    (void)state;
    char *folder = folder_fixture_make(), path[128];
    char *usual = whole_file_read(RECORDS);
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    for (size_t one = 0; one < sizeof STRANGE / sizeof STRANGE[0]; one++) {
        char *records = replaced(usual, &STRANGE[one]);
        if (strcmp(records, usual) == 0) {
            fail_msg("nothing is '%s'", STRANGE[one].from);
        }
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs(records, file) >= 0);
        assert_int_equal(fclose(file), 0);
        struct report *report = report_of(path);
        for (int format = REPORT_TABLE; format < REPORT_FORMAT_COUNT; format++) {
            struct text text = rendered(report, (enum report_format)format, 60);
            for (size_t at = 0; at < text.length; at++) {
                unsigned char byte = (unsigned char)text.data[at];
                bool line_end = byte == '\n' || (byte == '\r' && format == REPORT_CSV);
                assert_false((byte < 0x20 && !line_end) || byte == 0x7F);
            }
            assert_true(format != REPORT_HTML || strstr(text_string(&text), "<script>") == NULL);
            assert_true(format != REPORT_CSV || strstr(text_string(&text), ",=") == NULL);
            text_release(&text);
        }
        lines_fit(rendered(report, REPORT_TABLE, 60), 60);
        report_release(report);
        free(records);
    }
    free(usual);
    folder_fixture_remove(folder);
}

/* The records with one replacement, as a file in the folder. */
static struct report *replaced_report(const char *folder, const struct replacement *one)
{
    char path[128], *usual = whole_file_read(RECORDS), *records = replaced(usual, one);
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(records, file) >= 0);
    assert_int_equal(fclose(file), 0);
    free(usual);
    free(records);
    return report_of(path);
}

/* What changed on a place that is not the main one is a change, named with its place. */
static void comparisons_see_every_place(void **state)
{
    (void)state;
    static const struct {
        struct replacement change;
        const char *line;
    } changes[] = {
        {{"206045184", "206569472"}, "1: allocated peak    196.50 MiB   197.00 MiB   +512.00 KiB     +0.25 %  beyond"},
        {{"\"placed_bytes\": 85054464", "\"placed_bytes\": 85054463"}, "cpu: placed"},
        {{"\"place\": \"disk\"", "\"place\": \"disc\""}, NULL},
        {{"\"started\": \"2026-11-22", "\"started\": \"2026-11-23"}, ""},
    };
    char *folder = folder_fixture_make();
    struct report *base = report_of(RECORDS);
    for (size_t at = 0; at < sizeof changes / sizeof changes[0]; at++) {
        struct report *other = replaced_report(folder, &changes[at].change);
        struct difference *difference = NULL;
        struct text text = {0};
        const struct difference_options options = {.within = -1.0};
        assert_int_equal(difference_make(base, other, &options, &difference, NULL), STATUS_OK);
        bool is_same = changes[at].line != NULL && changes[at].line[0] == '\0';
        assert_int_equal(difference_outcome(difference), is_same ? RUN_PASS : RUN_FAIL);
        assert_int_equal(difference_render(difference, &(struct difference_style){.width = 120}, &text, NULL),
                         STATUS_OK);
        assert_true(changes[at].line == NULL || strstr(text_string(&text), changes[at].line) != NULL);
        text_release(&text);
        difference_release(difference);
        report_release(other);
    }
    report_release(base);
    folder_fixture_remove(folder);
}

/* A rate of nothing in no time is not known, and neither is a part of nothing. */
static void figures_of_strange_records_are_unknown(void **state)
{
    (void)state;
    static const struct replacement none = {"\"seconds\": 0.062", "\"seconds\": 0"};
    char *folder = folder_fixture_make();
    struct report *report = replaced_report(folder, &none);
    struct text text = side_rendered(report, "transfers", REPORT_CSV, 0);
    assert_non_null(strstr(text_string(&text), ",disk,cpu,24,113405952,0,,1.95527503e+09,,sequential read,"));
    text_release(&text);
    report_release(report);
    folder_fixture_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_golden),
        cmocka_unit_test(tables_fit_their_width),
        cmocka_unit_test(places_are_counted_once_in_columns_and_each_in_summaries),
        cmocka_unit_test(leagues_leave_places_and_searches_out),
        cmocka_unit_test(searches_are_compared_within_their_series),
        cmocka_unit_test(documents_have_the_tables),
        cmocka_unit_test(pages_have_the_tables_and_the_details),
        cmocka_unit_test(tables_that_are_none_are_named),
        cmocka_unit_test(the_command_prints_one_table),
        cmocka_unit_test(a_table_in_latex_is_for_a_paper),
        cmocka_unit_test(tables_of_documents_are_not_for_programs),
        cmocka_unit_test(strange_records_are_shown),
        cmocka_unit_test(figures_of_strange_records_are_unknown),
        cmocka_unit_test(comparisons_see_every_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

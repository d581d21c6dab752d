/* Weights rule: words and boundaries worked out by hand, each writer against a golden text, and as a command. */
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
#include "harness/report/page_format.h"
#include "harness/report/report_page.h"
#include "harness/report/weights_rule_view.h"
#include "tests/report/counted_rows.h"
#include "tests/report/golden_text.h"
#include "tests/report/records_fixture.h"
#include "tests/support/command_run.h"

enum { CELLS_MAXIMUM = 8 };

struct scene {
    struct report *report;
    struct weights_rule *rule;
};

static struct scene scene_of(const struct counted_row *rows, int count, double factor, double wasteful)
{
    struct scene scene = {.report = counted_rows_report(rows, count)};
    assert_int_equal(weights_rule_make(&scene.report, 1, factor, wasteful, &scene.rule, NULL), STATUS_OK);
    return scene;
}

static void scene_release(struct scene *scene)
{
    weights_rule_release(scene->rule);
    report_release(scene->report);
}

/* A series of one batch at lengths 100, 200, ..., with weights of 1000 bytes. */
static struct scene series_of(const int64_t *peaks, int count)
{
    struct counted_row rows[CELLS_MAXIMUM];
    char ids[CELLS_MAXIMUM][16];
    assert_true(count <= CELLS_MAXIMUM);
    for (int at = 0; at < count; at++) {
        snprintf(ids[at], sizeof ids[at], "s%d", at);
        rows[at] = (struct counted_row){
            .id = ids[at], .batch = 1, .seq = 100 * (at + 1), .loaded_bytes = 1000, .measured_bytes = peaks[at]};
    }
    return scene_of(rows, count, 1.2, 0.1);
}

static void words_are_those_of_the_header(void **state)
{
    (void)state;
    static const struct {
        int64_t peak_bytes;
        double wasteful;
        enum rule_word word;
    } cases[] = {
        {121, 0.1, RULE_TOO_LITTLE}, {120, 0.1, RULE_CLOSE},  {110, 0.1, RULE_CLOSE},     {109, 0.1, RULE_WASTEFUL},
        {119, 0.0, RULE_WASTEFUL},   {105, 0.15, RULE_CLOSE}, {101, 0.15, RULE_WASTEFUL},
    };
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        const struct counted_row row = {
            .id = "a", .batch = 1, .seq = 8, .loaded_bytes = 100, .measured_bytes = cases[at].peak_bytes};
        struct scene scene = scene_of(&row, 1, 1.2, cases[at].wasteful);
        assert_int_equal(scene.rule->cells[0].word, cases[at].word);
        assert_int_equal(scene.rule->measured.word_count[cases[at].word], 1);
        assert_int_equal(scene.rule->measured.case_count, 1);
        scene_release(&scene);
    }
}

static void boundary_check(const int64_t *peaks, int count, int64_t enough, int64_t too_little, int64_t crossing,
                           bool is_mixed)
{
    struct scene scene = series_of(peaks, count);
    const struct rule_series *series = &scene.rule->series[0];
    assert_int_equal(scene.rule->series_count, 1);
    assert_int_equal(series->cell_count, count);
    assert_int_equal(series->enough_tokens, enough);
    assert_int_equal(series->too_little_tokens, too_little);
    assert_int_equal(series->crossing_tokens, crossing);
    assert_int_equal(series->is_mixed, is_mixed);
    scene_release(&scene);
}

static void boundaries_are_known(void **state)
{
    (void)state;
    boundary_check((const int64_t[]){1050, 1100, 1300, 1900}, 4, 200, 300, 250, false); /* half way from 1.1 to 1.3 */
    boundary_check((const int64_t[]){1050, 1100}, 2, 200, TOKENS_NONE, TOKENS_NONE, false);
    boundary_check((const int64_t[]){1300, 1500}, 2, TOKENS_NONE, 100, TOKENS_NONE, false);
    boundary_check((const int64_t[]){1100, 1300, 1150}, 3, 100, 200, 150, true);
    boundary_check((const int64_t[]){1200, 1201}, 2, 100, 200, 100, false);
}

/* As many tokens in two shapes, one of which is enough: then so many tokens are not. */
static void equal_tokens_are_judged_by_the_worse(void **state)
{
    (void)state;
    const struct counted_row rows[] = {
        {.id = "a", .batch = 1, .seq = 100, .loaded_bytes = 1000, .measured_bytes = 1100},
        {.id = "b", .batch = 2, .seq = 100, .loaded_bytes = 1000, .measured_bytes = 1150},
        {.id = "c", .batch = 1, .seq = 200, .loaded_bytes = 1000, .measured_bytes = 1300},
    };
    struct scene scene = scene_of(rows, 3, 1.2, 0.1);
    assert_int_equal(scene.rule->series[0].enough_tokens, 100);
    assert_int_equal(scene.rule->series[0].too_little_tokens, 200);
    assert_int_equal(scene.rule->series[0].crossing_tokens, 150);
    scene_release(&scene);
}

/* The estimator of nearly the same name counts other weights: where they differ most, both figures are said. */
static void weights_of_the_estimator_are_told_apart(void **state)
{
    (void)state;
    struct counted_row rows[] = {
        {.id = "a", .batch = 1, .seq = 8, .loaded_bytes = 1000, .measured_bytes = 1100},
        {.id = "b", .batch = 2, .seq = 8, .loaded_bytes = 1000, .measured_bytes = 1100},
        {.id = "c", .batch = 3, .seq = 8, .loaded_bytes = 1000, .measured_bytes = 1100},
    };
    static const struct {
        int64_t weights_bytes[2];
        const char *says;
    } cases[] = {
        {{1000, 1000}, "as if all were quantised if some are: here they are equal."},
        {{1000, 500},
         "they differ in 1 of 2 cases, most in model infer float32 b2 s8, 500 B there and 1000 B here (-50 %)."},
        {{1008, 1100},
         "they differ in 2 of 2 cases, most in model infer float32 b2 s8, 1.07 KiB there and 1000 B here (+10 %)."},
    };
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        struct text text = {0};
        for (int row = 0; row < 2; row++) {
            rows[row].predictions[0] = (struct row_prediction){"weights-1.2", 1, cases[at].weights_bytes[row]};
        }
        struct scene scene = scene_of(rows, 3, 1.2, 0.1);
        rule_explanation_append(&text, scene.rule);
        if (strstr(text_string(&text), cases[at].says) == NULL) {
            fail_msg("\"%s\" does not say \"%s\"", text_string(&text), cases[at].says);
        }
        text_release(&text);
        scene_release(&scene);
    }
}

static void only_inference_is_judged_and_predictions_apart(void **state)
{
    (void)state;
    const struct counted_row rows[] = {
        {.id = "infer", .batch = 1, .seq = 8, .loaded_bytes = 100, .measured_bytes = 150},
        {.id = "generate",
         .mode = "generate",
         .batch = 2,
         .seq = 8,
         .new_tokens = 4,
         .loaded_bytes = 100,
         .measured_bytes = 110},
        {.id = "train", .mode = "train", .batch = 1, .seq = 8, .loaded_bytes = 100, .measured_bytes = 500},
        {.id = "load", .mode = "load", .loaded_bytes = 100, .measured_bytes = 100},
        {.id = "meta", .device = "meta", .batch = 1, .seq = 8, .loaded_bytes = 100, .measured_bytes = 100},
        {.id = "half", .precision = "float16", .batch = 1, .seq = 8, .loaded_bytes = 50, .measured_bytes = 55},
        {.id = "image", .model = "resnet", .batch = 3, .loaded_bytes = 100, .measured_bytes = 130},
        {.id = "unknown", .batch = 1, .seq = 16, .loaded_bytes = 0, .measured_bytes = 130},
        {.id = "invalid", .batch = 1, .seq = 32, .loaded_bytes = 100, .measured_bytes = 130, .invalid = true},
    };
    struct scene scene = scene_of(rows, 9, 1.2, 0.1);
    assert_int_equal(scene.rule->measured.case_count, 4);
    assert_int_equal(scene.rule->predicted.case_count, 1);
    assert_int_equal(scene.rule->series_count, 5);
    for (int index = 0; index < 5; index++) {
        const struct rule_series *series = &scene.rule->series[index];
        assert_int_equal(series->meta, index == 4);
        if (strcmp(series->title, "model float32 generate") == 0) {
            assert_int_equal(series->cells[0].tokens, 24);
        } else if (strcmp(series->title, "resnet float32") == 0) {
            assert_true(series->is_image);
            assert_int_equal(series->cells[0].tokens, 3);
        }
    }
    scene_release(&scene);
}

/* Whether a text stands in another, as often as that. */
static void count_check(const char *text, const char *part, int count)
{
    int found = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) {
        found++;
    }
    if (found != count) {
        fail_msg("'%s' stands %d times, not %d, in:\n%s", part, found, count, text);
    }
}

/* One model, measured and replayed for two targets: nothing of the three is to be told apart by its numbers alone. */
static void every_series_says_what_it_is_of(void **state)
{
    (void)state;
    static const enum report_format formats[] = {REPORT_TABLE, REPORT_MARKDOWN, REPORT_HTML, REPORT_JSON, REPORT_CSV};
    struct counted_row row = {.id = "a", .batch = 1, .seq = 8, .loaded_bytes = 100, .measured_bytes = 110};
    struct report *reports[3] = {counted_rows_report(&row, 1)};
    row.device = "meta";
    row.target = "sm_80";
    reports[1] = counted_rows_report(&row, 1);
    row.target = "sm_90";
    reports[2] = counted_rows_report(&row, 1);
    for (size_t at = 0; at < sizeof formats / sizeof formats[0]; at++) {
        static const int counts[] = {1, 2, 2, 1, 1}; /* markdown has a table of them, html a list */
        struct weights_rule *rule = NULL;
        struct text text = {0};
        assert_int_equal(weights_rule_make(reports, 3, 1.2, 0.1, &rule, NULL), STATUS_OK);
        assert_int_equal(rule->series_count, 3);
        assert_int_equal(
            page_render(&weights_rule_page, rule, formats[at], &(struct report_style){.width = 200}, &text, NULL),
            STATUS_OK);
        char *words = text.data;
        for (char *slash; formats[at] == REPORT_MARKDOWN && (slash = strchr(words, '\\')) != NULL;) {
            memmove(slash, slash + 1, strlen(slash));
        }
        count_check(words, "model float32 (replayed for sm_80)", counts[at]);
        count_check(words, "model float32 (replayed for sm_90)", counts[at]);
        count_check(words, "(predicted)", 0);
        if (formats[at] == REPORT_CSV) {
            count_check(words, ",model,infer,float32,sdpa,sm_80\r\n", 1);
            count_check(words, ",model,infer,float32,sdpa,sm_90\r\n", 1);
            count_check(words, ",model,infer,float32,sdpa,host\r\n", 1);
        }
        text_release(&text);
        weights_rule_release(rule);
    }
    for (int at = 0; at < 3; at++) {
        report_release(reports[at]);
    }
}

static void ratios_do_not_depend_on_scale(void **state)
{
    (void)state;
    static const int64_t peaks[] = {1010, 1090, 1130, 1210, 1500};
    int64_t scaled[5];
    struct counted_row row = {.id = "a", .batch = 1, .seq = 100};
    for (int at = 0; at < 5; at++) {
        scaled[at] = peaks[at] * 4096;
        row.loaded_bytes = 1000;
        row.measured_bytes = peaks[at];
        struct scene small = scene_of(&row, 1, 1.2, 0.1);
        row.loaded_bytes = 1000 * 4096;
        row.measured_bytes = scaled[at];
        struct scene large = scene_of(&row, 1, 1.2, 0.1);
        assert_int_equal(small.rule->cells[0].word, large.rule->cells[0].word);
        figure_near(small.rule->cells[0].ratio, large.rule->cells[0].ratio, 1e-12);
        scene_release(&small);
        scene_release(&large);
    }
}

/* Two series over three batches and four lengths, one of images, one predicted. */
static struct report *small_report(void)
{
    enum { COUNT = 28 };
    struct counted_row rows[COUNT];
    char ids[COUNT][24];
    for (int at = 0; at < COUNT; at++) {
        int batch = 1 << (at % 3) * 2, seq = 32 << at / 3 % 4;
        snprintf(ids[at], sizeof ids[at], "case-%d", at);
        rows[at] = (struct counted_row){.id = ids[at],
                                        .model = at < 24 ? "bert-base-cased" : "timm/resnet18",
                                        .precision = at < 12 ? "float32" : "float16",
                                        .batch = at < 24 ? batch : at - 23,
                                        .seq = at < 24 ? seq : 0,
                                        .loaded_bytes = at < 12 ? 400000000 : 200000000,
                                        .device = at >= 12 && at < 24 ? "meta" : "host",
                                        .measured_bytes = at < 24 ? 400000000 + 120000 * batch * seq
                                                                  : 200000000 + 15000000 * (at - 23)};
        rows[at].measured_bytes -= at >= 12 && at < 24 ? 200000000 : 0;
    }
    return counted_rows_report(rows, COUNT);
}

static struct text rendered(struct report *report, enum report_format format, const struct report_style *style)
{
    struct weights_rule *rule = NULL;
    struct text text = {0};
    assert_int_equal(weights_rule_make(&report, 1, 1.2, 0.1, &rule, NULL), STATUS_OK);
    assert_int_equal(page_render(&weights_rule_page, rule, format, style, &text, NULL), STATUS_OK);
    weights_rule_release(rule);
    return text;
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
    golden_text_check(small_rendered(REPORT_TABLE, 40), "tests/report/golden/rule-40.txt");
    golden_text_check(small_rendered(REPORT_TABLE, 80), "tests/report/golden/rule-80.txt");
    golden_text_check(small_rendered(REPORT_MARKDOWN, 0), "tests/report/golden/rule.md");
    golden_text_check(small_rendered(REPORT_CSV, 0), "tests/report/golden/rule.csv");
}

static void hostile_records_stay_in_their_cells(void **state)
{
    (void)state;
    static const enum report_format formats[] = {REPORT_TABLE, REPORT_MARKDOWN, REPORT_CSV, REPORT_JSON, REPORT_HTML};
    static const int widths[] = {40, 60, 80, 120};
    for (enum records_kind kind = RECORDS_SMALL; kind <= RECORDS_EMPTY; kind++) {
        char *folder = folder_fixture_make(), path[128];
        struct report *report = NULL;
        snprintf(path, sizeof path, "%s/records.jsonl", folder);
        records_fixture_write(path, kind);
        assert_int_equal(report_open(path, &report, NULL), STATUS_OK);
        for (size_t at = 0; at < sizeof formats / sizeof formats[0] + 3; at++) {
            enum report_format format = at < 5 ? formats[at] : REPORT_TABLE;
            int width = widths[at < 5 ? 0 : at - 4];
            struct text text = rendered(report, format, &(struct report_style){.width = width});
            for (size_t byte = 0; byte < text.length; byte++) {
                unsigned char code = (unsigned char)text.data[byte];
                assert_true(code >= 0x20 || code == '\n' || (code == '\r' && format == REPORT_CSV));
            }
            assert_null(format == REPORT_HTML ? strstr(text_string(&text), "<script") : NULL);
            char *rest = format == REPORT_TABLE ? text.data : NULL, *line;
            while ((line = strsep(&rest, "\n")) != NULL) {
                assert_true(width_measure(line) <= width);
            }
            text_release(&text);
        }
        report_release(report);
        folder_fixture_remove(folder);
    }
}

static void the_document_has_the_figures(void **state)
{
    (void)state;
    struct report *report = small_report();
    struct text text = rendered(report, REPORT_JSON, NULL);
    struct json *document = NULL;
    assert_int_equal(json_parse_text("rule", text_string(&text), text.length, &document, NULL), STATUS_OK);
    assert_int_equal(json_integer_or(json_get(json_get(document, "measured"), "cases"), 0), 16);
    assert_int_equal(json_integer_or(json_get(json_get(document, "predicted"), "cases"), 0), 12);
    /* of those for which it is enough, some are close and the others wasteful: one word, one meaning */
    static const struct {
        const char *side;
        int too_little, enough, close, wasteful;
    } sides[] = {{"measured", 6, 10, 3, 7}, {"predicted", 6, 6, 2, 4}};
    for (size_t at = 0; at < sizeof sides / sizeof sides[0]; at++) {
        const struct json *totals = json_get(document, sides[at].side);
        assert_int_equal(json_integer_or(json_get(totals, "too_little"), -1), sides[at].too_little);
        assert_int_equal(json_integer_or(json_get(totals, "enough"), -1), sides[at].enough);
        assert_int_equal(json_integer_or(json_get(totals, "close"), -1), sides[at].close);
        assert_int_equal(json_integer_or(json_get(totals, "wasteful"), -1), sides[at].wasteful);
    }
    const struct json *cell = json_at(json_get(json_at(json_get(document, "series"), 0), "cells"), 0);
    assert_int_equal(json_integer_or(json_get(cell, "weights_bytes"), 0), 400000000);
    assert_int_equal(json_integer_or(json_get(cell, "peak_bytes"), 0), 403840000);
    assert_string_equal(json_string_or(json_get(cell, "word"), ""), "wasteful");
    assert_int_equal(json_kind(json_get(cell, "new_tokens")), JSON_KIND_NULL);
    json_release(document);
    text_release(&text);
    report_release(report);
}

/* No symbol on another: of two rows of the first block none has the place and the tokens of another. */
static void symbols_lie_apart(const char *data)
{
    const char *end = strstr(data, "\n\n\n");
    int shared_tokens = 0;
    assert_non_null(end);
    for (const char *row = strchr(data, '\n') + 1; row < end; row = strchr(row, '\n') + 1) {
        for (const char *other = data; other < row; other = strchr(other, '\n') + 1) {
            double place, other_place;
            long tokens, other_tokens;
            if (sscanf(row, "%lf %ld", &place, &tokens) == 2 &&
                sscanf(other, "%lf %ld", &other_place, &other_tokens) == 2 &&
                labs(tokens - other_tokens) * 10 <= tokens) {
                assert_true(place - other_place > 0.05 || other_place - place > 0.05);
                shared_tokens += place - other_place < 0.7 && other_place - place < 0.7 ? 1 : 0;
            }
        }
    }
    assert_true(shared_tokens > 0);
}

static void the_plot_is_drawn(void **state)
{
    (void)state;
    command_needed("gnuplot");
    struct report *report = small_report();
    struct weights_rule *rule = NULL;
    struct text notes = {0}, path = {0};
    struct plot_set plots = {0};
    char *folder = folder_fixture_make();
    struct stat file;
    assert_int_equal(weights_rule_make(&report, 1, 1.2, 0.1, &rule, NULL), STATUS_OK);
    const struct plot_place place = {.script_directory = "plots", .with_png = true, .set = &plots, .notes = &notes};
    assert_int_equal(weights_rule_plot(rule, &place, NULL), STATUS_OK);
    assert_int_equal(plot_set_save(&plots, folder, &notes, NULL), STATUS_OK);
    assert_string_equal(text_string(&notes), "");
    symbols_lie_apart(text_string(&plots.plots[0].data));
    text_format(&path, "%s/rule.svg", folder);
    assert_int_equal(stat(text_string(&path), &file), 0);
    assert_true(file.st_size > 5000);
    plot_set_release(&plots);
    text_release(&path);
    text_release(&notes);
    folder_fixture_remove(folder);
    weights_rule_release(rule);
    report_release(report);
}

static void expect(const char *const *words, int exit_code, const char *output, const char *complaint)
{
    static const char *const environment[] = {"COLUMNS=80", NULL};
    struct command_result result = command_run(words, environment);
    if (result.exit_code != exit_code || strstr(text_string(&result.output), output) == NULL ||
        strstr(text_string(&result.error), complaint) == NULL) {
        fail_msg("%s %s: exit code %d: %s%s", words[2], words[3], result.exit_code, text_string(&result.output),
                 text_string(&result.error));
    }
    command_result_release(&result);
}

static void the_command_says_what_happened(void **state)
{
    (void)state;
    static const char *const wrong[] = {"0.9", "1e1", "01.2", "1.2x", ".5", "1.", "1001", "nan", "12345678901"};
    const char *program = program_path();
    char *folder = folder_fixture_make(), small[128], empty[128];
    const struct counted_row row = {.id = "a", .batch = 1, .seq = 8, .loaded_bytes = 100, .measured_bytes = 110};
    snprintf(small, sizeof small, "%s/small.jsonl", folder);
    snprintf(empty, sizeof empty, "%s/empty.jsonl", folder);
    counted_rows_write(small, &row, 1);
    records_fixture_write(empty, RECORDS_EMPTY);
    expect((const char *[]){program, "report", "--rule", "1.2", small, empty, NULL}, 0, "1 of 1 measured", "");
    expect((const char *[]){program, "report", "--rule", "1.05", small, NULL}, 0, "0 of 1 measured", "");
    expect((const char *[]){program, "report", "--rule", "1.2", "--wasteful", "5%", small, NULL}, 0, "1.10 ~", "");
    expect((const char *[]){program, "report", "--rule", "1.2", empty, NULL}, 3, "Nothing to judge", "");
    expect((const char *[]){program, "report", "--rule", "1.2", "--format", "junit", small, NULL}, 2, "",
           "no such format");
    expect((const char *[]){program, "report", "--rule", "1.2", "--league", small, NULL}, 2, "", "one at a time");
    expect((const char *[]){program, "report", "--wasteful", "5%", small, NULL}, 2, "", "belongs to --rule");
    expect((const char *[]){program, "report", "--rule", "1.2", "--wasteful", "5", small, NULL}, 2, "", "%");
    for (size_t at = 0; at < sizeof wrong / sizeof wrong[0]; at++) {
        expect((const char *[]){program, "report", "--rule", wrong[at], small, NULL}, 2, "", "is not a factor");
    }
    folder_fixture_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_of_the_header),
        cmocka_unit_test(boundaries_are_known),
        cmocka_unit_test(equal_tokens_are_judged_by_the_worse),
        cmocka_unit_test(weights_of_the_estimator_are_told_apart),
        cmocka_unit_test(only_inference_is_judged_and_predictions_apart),
        cmocka_unit_test(every_series_says_what_it_is_of),
        cmocka_unit_test(ratios_do_not_depend_on_scale),
        cmocka_unit_test(texts_are_golden),
        cmocka_unit_test(hostile_records_stay_in_their_cells),
        cmocka_unit_test(the_document_has_the_figures),
        cmocka_unit_test(the_plot_is_drawn),
        cmocka_unit_test(the_command_says_what_happened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

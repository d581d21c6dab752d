/* Plot thinning: of more marks than an image can show some are drawn, of every kind of case, and what stands out
 * always. The data of the plots are looked at; nothing is drawn. And the looks of batches, which are those of all
 * pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/league.h"
#include "harness/report/overhead_thinning.h"
#include "harness/report/plot_data.h"
#include "harness/report/weights_rule.h"
#include "tests/report/counted_rows.h"

enum { MARKS_MAXIMUM = 2000 /* of one estimator, in accuracy and league */, CELLS_MAXIMUM = 5000 /* of the rule */ };

struct many_rows {
    struct counted_row *rows;
    char (*ids)[32];
    int count;
};

static struct many_rows rows_make(int count)
{
    struct many_rows many = {.rows = calloc((size_t)count, sizeof *many.rows),
                             .ids = calloc((size_t)count, sizeof *many.ids),
                             .count = count};
    assert_non_null(many.rows);
    assert_non_null(many.ids);
    for (int at = 0; at < count; at++) {
        snprintf(many.ids[at], sizeof many.ids[at], "case-%d", at);
        many.rows[at] = (struct counted_row){
            .id = many.ids[at], .batch = 1, .seq = 8 + at, .measured_bytes = 1000000, .loaded_bytes = 900000};
    }
    return many;
}

static struct report *rows_report(struct many_rows *many)
{
    struct report *report = counted_rows_report(many->rows, many->count);
    free(many->rows);
    free(many->ids);
    return report;
}

static struct plot_page page_made(const struct report *report, enum plot_kind kind, int number)
{
    struct plot_page page;
    struct plot_pages pages;
    assert_true(plot_pages_open(report, kind, NULL, &pages));
    plot_page_make(&pages, number, &page);
    plot_pages_close(&pages);
    assert_false(page.data.failed);
    return page;
}

/* The lines of the first block that hold a part. */
static int lines_count(const char *data, const char *part)
{
    const char *end = strstr(data, "\n\n\n");
    int count = 0;
    assert_non_null(end);
    for (const char *at = strchr(data, '\n') + 1; at < end; at = strchr(at, '\n') + 1) {
        const char *found = strstr(at, part);
        count += found != NULL && found < strchr(at, '\n') ? 1 : 0;
    }
    return count;
}

static void expect_line(const char *data, const char *part)
{
    if (lines_count(data, part) != 1) {
        fail_msg("'%s' stands on %d lines, not on one", part, lines_count(data, part));
    }
}

/* A mark that is not of those that thinning takes, near the middle. */
static int undrawn_find(int count, int stride, int from)
{
    while (from < count && plot_mark_is_drawn(from, stride)) {
        from++;
    }
    assert_true(from < count);
    return from;
}

static void of_each_stride_one_mark_is_drawn(void **state)
{
    (void)state;
    for (int stride = 1; stride < 60; stride++) {
        int places[60] = {0};
        for (int first = 0; first < 2000 * stride; first += stride) {
            int drawn = 0;
            for (int place = 0; place < stride; place++) {
                bool is_drawn = plot_mark_is_drawn(first + place, stride);
                drawn += is_drawn ? 1 : 0;
                places[place] += is_drawn ? 1 : 0;
            }
            assert_int_equal(drawn, 1);
        }
        for (int place = 0; place < stride; place++) { /* no place is left out, or has most */
            assert_true(places[place] > 500 / stride && places[place] < 4000 / stride + 1);
        }
    }
}

/* Every third case is of one model, which is what a suite of three models makes; with 2,000 marks of 6,000 the stride
 * is 3, too. */
static void accuracy_thins_all_kinds_of_cases_and_keeps_both_ends(void **state)
{
    (void)state;
    static const char *const models[] = {"gpt2", "opt", "bert"};
    struct many_rows many = rows_make(3 * MARKS_MAXIMUM);
    int low = undrawn_find(many.count, 3, 2500), high = undrawn_find(many.count, 3, low + 1);
    for (int at = 0; at < many.count; at++) {
        many.rows[at].model = models[at % 3];
        many.rows[at].predictions[0] = (struct row_prediction)PREDICTS("accelerate", 1000000 + at % 100);
    }
    many.rows[low].predictions[0].total_bytes = 123456;
    many.rows[high].predictions[0].total_bytes = 7654321;
    struct report *report = rows_report(&many);
    struct plot_page page = page_made(report, PLOT_ACCURACY, 0);
    const char *data = text_string(&page.data);
    int count = lines_count(data, "\taccelerate\t");
    assert_true(count <= MARKS_MAXIMUM + 2 && count >= MARKS_MAXIMUM / 2);
    assert_int_equal(page.mark_count, count);
    for (int model = 0; model < 3; model++) {
        assert_true(lines_count(data, models[model]) > count / 4);
    }
    expect_line(data, "\t1000000\t123456\t");
    expect_line(data, "\t1000000\t7654321\t");
    assert_non_null(strstr(text_string(&page.caption), "furthest off to either side"));
    plot_page_release(&page);
    report_release(report);
}

static void few_marks_are_all_drawn(void **state)
{
    (void)state;
    struct many_rows many = rows_make(MARKS_MAXIMUM);
    for (int at = 0; at < many.count; at++) {
        many.rows[at].predictions[0] = (struct row_prediction)PREDICTS("accelerate", 1000000 + at);
        many.rows[at].peak_weights_bytes = 900000;
    }
    struct report *report = rows_report(&many);
    for (enum plot_kind kind = PLOT_ACCURACY; kind <= PLOT_OVERHEAD; kind++) {
        struct plot_page page = page_made(report, kind, 0);
        assert_int_equal(lines_count(text_string(&page.data), "\t"), many.count);
        assert_null(strstr(text_string(&page.caption), "too many"));
        plot_page_release(&page);
    }
    report_release(report);
}

/* One line of 9,000 lengths: a peak and a hollow of one point each, the ends, and the note. */
static void overhead_keeps_what_stands_out_of_a_line(void **state)
{
    (void)state;
    struct many_rows many = rows_make(9000);
    for (int at = 0; at < many.count; at++) {
        many.rows[at].peak_weights_bytes = 900000;
        many.rows[at].measured_bytes = 1000000 + 10 * at;
    }
    many.rows[4321].measured_bytes = 3000000;
    many.rows[7777].measured_bytes = 950000;
    struct report *report = rows_report(&many);
    struct plot_page page = page_made(report, PLOT_OVERHEAD, 0);
    const char *data = text_string(&page.data);
    int count = lines_count(data, "\t900000\t");
    assert_true(count >= 200 && count <= 500);
    expect_line(data, "0\t4329\t3000000\t");
    expect_line(data, "0\t7785\t950000\t");
    expect_line(data, "0\t8\t1000000\t");
    expect_line(data, "0\t9007\t1089990\t");
    char note[64];
    snprintf(note, sizeof note, "%d of 9000 points are drawn", count);
    assert_non_null(strstr(text_string(&page.caption), note));
    plot_page_release(&page);
    report_release(report);
}

/* 900 lines of ten lengths each: some of them, and those with the highest and the lowest point. */
static void overhead_of_too_many_lines_keeps_those_that_stand_out(void **state)
{
    (void)state;
    struct many_rows many = rows_make(9000);
    int high = undrawn_find(900, 3, 400), low = undrawn_find(900, 3, high + 1);
    for (int at = 0; at < many.count; at++) {
        many.rows[at].batch = 1 + at / 10;
        many.rows[at].seq = 8 << at % 10;
        many.rows[at].peak_weights_bytes = 900000;
        many.rows[at].measured_bytes = 1000000 + 10 * at;
    }
    many.rows[10 * high + 4].measured_bytes = 3000000;
    many.rows[10 * low + 7].measured_bytes = 950000;
    struct report *report = rows_report(&many);
    struct plot_page page = page_made(report, PLOT_OVERHEAD, 0);
    const char *data = text_string(&page.data);
    assert_true(lines_count(data, "\t900000\t") <= OVERHEAD_POINTS_MAXIMUM);
    expect_line(data, "0\t128\t3000000\t");
    expect_line(data, "0\t1024\t950000\t");
    assert_true(lines_count(data, " b1 s") > 0 && lines_count(data, " b900 s") > 0);
    assert_non_null(strstr(text_string(&page.caption), " of 900 lines are drawn"));
    assert_non_null(strstr(text_string(&page.caption), "The legend has the first 64 of "));
    plot_page_release(&page);
    report_release(report);
}

/* The data of the only plot that was made. */
static const char *only_data(const struct plot_set *set)
{
    assert_int_equal(set->count, 1);
    return text_string(&set->plots[0].data);
}

static void league_keeps_both_ends(void **state)
{
    (void)state;
    struct many_rows many = rows_make(3 * MARKS_MAXIMUM);
    for (int at = 0; at < many.count; at++) {
        many.rows[at].predictions[0] = (struct row_prediction)PREDICTS("rule", 1000000 + at);
    }
    many.rows[3001].predictions[0].total_bytes = 250000;
    many.rows[3002].predictions[0].total_bytes = 9000000;
    struct report *report = rows_report(&many);
    struct league *league = NULL;
    struct plot_set set = {0};
    struct text notes = {0};
    const struct plot_place place = {.script_directory = "/nonexistent", .set = &set, .notes = &notes};
    assert_int_equal(league_make(&report, 1, &league, NULL), STATUS_OK);
    assert_int_equal(league_plot(league, &place, NULL), STATUS_OK);
    int count = lines_count(only_data(&set), "\trule\t");
    assert_true(count <= MARKS_MAXIMUM + 1 && count >= MARKS_MAXIMUM / 2);
    expect_line(only_data(&set), "\trule\t-0.750000\t");
    expect_line(only_data(&set), "\trule\t8.000000\t");
    plot_set_release(&set);
    text_release(&notes);
    league_release(league);
    report_release(report);
}

/* Peaks from 1.1 to 1.4 of the weights: too little from some length on, and both sides of that are drawn. */
static void the_rule_keeps_its_boundary(void **state)
{
    (void)state;
    struct many_rows many = rows_make(2 * CELLS_MAXIMUM);
    const int boundary = 4712; /* the first length for which the rule is not enough */
    for (int at = 0; at < many.count; at++) {
        many.rows[at].tensor_bytes = many.rows[at].measured_bytes = at < boundary ? 1100000 : 1400000;
        many.rows[at].loaded_bytes = 1000000;
    }
    struct report *report = rows_report(&many);
    struct weights_rule *rule = NULL;
    struct plot_set set = {0};
    struct text notes = {0};
    const struct plot_place place = {.script_directory = "/nonexistent", .set = &set, .notes = &notes};
    assert_int_equal(weights_rule_make(&report, 1, 1.2, 0.1, &rule, NULL), STATUS_OK);
    assert_int_equal(weights_rule_plot(rule, &place, NULL), STATUS_OK);
    int count = lines_count(only_data(&set), "\t");
    assert_true(count <= CELLS_MAXIMUM + 3 && count >= CELLS_MAXIMUM / 2);
    for (int at = boundary - 1; at <= boundary; at++) {
        char tokens[32];
        snprintf(tokens, sizeof tokens, "\t%d\t1.%d00000\t", 8 + at, at < boundary ? 1 : 4);
        expect_line(only_data(&set), tokens);
    }
    plot_set_release(&set);
    text_release(&notes);
    weights_rule_release(rule);
    report_release(report);
}

/* The colour and the symbol of a batch in the legend of a page. */
static void look_find(const struct plot_page *page, int batch, unsigned *colour, int *symbol)
{
    char name[32];
    snprintf(name, sizeof name, "\nbatch %d\t", batch);
    const char *found = strstr(text_string(&page->data), name);
    if (found == NULL || sscanf(found + strlen(name), "%u %d", colour, symbol) != 2) {
        fail_msg("batch %d is not in the legend:\n%s", batch, text_string(&page->data));
    }
}

static void batch_rows(struct many_rows *many, int from, const char *model, int batch)
{
    for (int at = from; at < from + 2; at++) {
        many->rows[at].model = model;
        many->rows[at].batch = batch;
        many->rows[at].peak_weights_bytes = 900000;
    }
}

/* Batch 8 is the second of one model and the first of the other. */
static void a_batch_has_one_look_in_all_figures(void **state)
{
    (void)state;
    struct many_rows many = rows_make(8);
    unsigned colours[2];
    int symbols[2];
    batch_rows(&many, 0, "a", 1);
    batch_rows(&many, 2, "a", 8);
    batch_rows(&many, 4, "b", 8);
    batch_rows(&many, 6, "b", 64);
    struct report *report = rows_report(&many);
    for (int number = 0; number < 2; number++) {
        struct plot_page page = page_made(report, PLOT_OVERHEAD, number);
        look_find(&page, 8, &colours[number], &symbols[number]);
        plot_page_release(&page);
    }
    assert_int_equal(colours[0], colours[1]);
    assert_int_equal(symbols[0], symbols[1]);
    report_release(report);
}

/* More batches than there are colours in the table. */
static void no_two_batches_look_alike(void **state)
{
    (void)state;
    enum { BATCHES = 40 };
    struct many_rows many = rows_make(2 * BATCHES);
    unsigned colours[BATCHES];
    int symbol;
    for (int batch = 1; batch <= BATCHES; batch++) {
        batch_rows(&many, 2 * (batch - 1), "a", batch);
    }
    struct report *report = rows_report(&many);
    struct plot_page page = page_made(report, PLOT_OVERHEAD, 0);
    for (int at = 0; at < BATCHES; at++) {
        look_find(&page, at + 1, &colours[at], &symbol);
        for (int other = 0; other < at; other++) {
            assert_int_not_equal(colours[at], colours[other]);
        }
    }
    plot_page_release(&page);
    report_release(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_each_stride_one_mark_is_drawn),
        cmocka_unit_test(accuracy_thins_all_kinds_of_cases_and_keeps_both_ends),
        cmocka_unit_test(few_marks_are_all_drawn),
        cmocka_unit_test(overhead_keeps_what_stands_out_of_a_line),
        cmocka_unit_test(overhead_of_too_many_lines_keeps_those_that_stand_out),
        cmocka_unit_test(league_keeps_both_ends),
        cmocka_unit_test(the_rule_keeps_its_boundary),
        cmocka_unit_test(a_batch_has_one_look_in_all_figures),
        cmocka_unit_test(no_two_batches_look_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

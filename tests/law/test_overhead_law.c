/* The overhead law over points whose law the test has chosen: what is fitted, what tests it, and what is not known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/law/law_page.h"
#include "harness/law/overhead_law.h"
#include "tests/law/synthetic_points.h"

#define MEBIBYTE 1048576.0

static const struct synthetic_kind alpha = {.kind = "alpha",
                                            .model_count = 6,
                                            .coefficients = {[TERM_LOGIT_VOCAB] = 1,
                                                             [TERM_LOGIT_HIDDEN] = 1,
                                                             [TERM_FEED_HIDDEN] = 4,
                                                             [TERM_FEED_WIDTH] = 3,
                                                             [TERM_FEED_SCORES] = 1,
                                                             [TERM_ATTENTION_WIDTH] = 3.5,
                                                             [TERM_ATTENTION_SCORES] = 2,
                                                             [TERM_ATTENTION_FLOAT] = 1.5,
                                                             [TERM_CACHE] = 1,
                                                             [TERM_DECODE_LAYER] = 0.5,
                                                             [TERM_DECODE_REPEAT] = 1.5,
                                                             [TERM_DECODE_VOCAB] = 3},
                                            .allocator_bytes = 700000};

static struct overhead_law *law_of(const struct law_points *points)
{
    struct overhead_law *law = NULL;
    struct status error = {0};
    if (overhead_law_make(points, &law, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return law;
}

static void is_near(double ours, double expected, double within)
{
    if (!(fabs(ours - expected) <= within)) {
        fail_msg("%.12g is not %.12g", ours, expected);
    }
}

static void the_coefficients_are_found_again(void **state)
{
    struct law_points points = {0};
    (void)state;
    synthetic_points_add(&points, &alpha);
    struct overhead_law *law = law_of(&points);
    const struct law_kind *kind = &law->kinds[0];
    assert_int_equal(law->kind_count, 1);
    assert_int_equal(kind->model_count, 6);
    assert_int_equal(kind->case_count, points.count);
    for (int term = 0; term < TERM_COUNT; term++) {
        const struct overhead_coefficient *one = &kind->terms[term];
        if (one->is_seen && one->is_identified) {
            is_near(one->value, alpha.coefficients[term], 1e-3); /* peaks are whole bytes */
            assert_true(!one->interval.is_known ||
                        (one->interval.low <= one->value + 1e-9 && one->interval.high >= one->value - 1e-9));
        }
    }
    assert_true(kind->terms[TERM_FEED_HIDDEN].is_identified && kind->terms[TERM_FEED_HIDDEN].interval.is_known);
    assert_false(kind->terms[TERM_IMAGE].is_seen);
    is_near(kind->rounding_bytes, 700000, 1.0);
    assert_true(kind->left_out.median < 1e-4 && kind->left_out.count == points.count);
    assert_true(law->left_out[FORM_STRUCTURAL].median < law->left_out[FORM_AFFINE].median);
    assert_int_equal(law->left_out[FORM_RULE].count, points.count);
    overhead_law_release(law);
    law_points_release(&points);
}

/* Whatever a GPU shows, the coefficients are the same, and only the errors there move. */
static void gpus_test_the_law_and_are_not_fitted(void **state)
{
    static const double beside[] = {0.0, 40e6};
    double values[2][TERM_COUNT], worst[2];
    (void)state;
    for (int at = 0; at < 2; at++) {
        struct law_points points = {0};
        struct synthetic_kind on_gpu = alpha;
        on_gpu.kind = "alpha";
        on_gpu.target = "sm_90";
        on_gpu.source = "gpu.tsv";
        on_gpu.workspace_bytes = 33554432 + 1048576 + beside[at]; /* harness/tape/target.c, sm_90 */
        synthetic_points_add(&points, &alpha);
        int fitted = points.count;
        synthetic_points_add(&points, &on_gpu);
        struct overhead_law *law = law_of(&points);
        for (int term = 0; term < TERM_COUNT; term++) {
            values[at][term] = law->kinds[0].terms[term].value;
        }
        assert_int_equal(law->case_count, fitted);
        assert_int_equal(law->test_count, 1);
        assert_string_equal(law->tests[0].source, "gpu.tsv");
        assert_int_equal(law->all.errors[FORM_STRUCTURAL].count, points.count - fitted);
        assert_int_equal(law->kinds[0].tested.count, points.count - fitted);
        worst[at] = law->all.errors[FORM_STRUCTURAL].worst;
        is_near(law->all.errors[FORM_STRUCTURAL].under, at, at == 0 ? 1.0 : 1e-9); /* 40 MB more: all too little */
        overhead_law_release(law);
        law_points_release(&points);
    }
    assert_memory_equal(values[0], values[1], sizeof values[0]);
    assert_true(worst[0] < 1e-4 && worst[1] > 0.1);
}

/* The same measurement in two sources is in both and counts once in all. */
static void a_measurement_counts_once_in_all(void **state)
{
    struct law_points points = {0};
    struct synthetic_kind first = alpha, second = alpha, foreign = alpha;
    (void)state;
    first.target = second.target = foreign.target = "sm_80";
    first.source = "h100";
    second.source = "h200";
    foreign.source = "published";
    foreign.kind = "unheard-of";
    foreign.model_count = 1;
    synthetic_points_add(&points, &alpha);
    int count = points.count;
    synthetic_points_add(&points, &first);
    synthetic_points_add(&points, &second);
    synthetic_points_add(&points, &foreign);
    struct overhead_law *law = law_of(&points);
    assert_int_equal(law->test_count, 3);
    assert_int_equal(law->tests[0].errors[FORM_STRUCTURAL].count, count);
    assert_int_equal(law->tests[1].errors[FORM_STRUCTURAL].count, count);
    assert_int_equal(law->tests[2].errors[FORM_STRUCTURAL].count, 0);
    assert_int_equal(law->tests[2].untold_count, 40);
    assert_true(isnan(law->tests[2].errors[FORM_STRUCTURAL].median));
    assert_int_equal(law->all.errors[FORM_STRUCTURAL].count, count);
    assert_int_equal(law->all.case_count, count + 40);
    overhead_law_release(law);
    law_points_release(&points);
}

/* A feed-forward of 4 times the width in every model: its two coefficients are one, and neither has a figure. */
static void what_is_not_identified_has_no_figure(void **state)
{
    struct law_points points = {0};
    struct synthetic_kind fixed = alpha;
    struct text text = {0};
    (void)state;
    fixed.has_fixed_ratio = true;
    synthetic_points_add(&points, &fixed);
    struct overhead_law *law = law_of(&points);
    const struct overhead_coefficient *terms = law->kinds[0].terms;
    assert_true(terms[TERM_FEED_HIDDEN].is_seen && !terms[TERM_FEED_HIDDEN].is_identified);
    assert_true(terms[TERM_FEED_WIDTH].is_seen && !terms[TERM_FEED_WIDTH].is_identified);
    assert_false(terms[TERM_FEED_WIDTH].interval.is_known);
    assert_true(terms[TERM_LOGIT_VOCAB].is_identified);
    assert_true(isinf(law->kinds[0].condition));
    is_near(terms[TERM_FEED_HIDDEN].value + 4.0 * terms[TERM_FEED_WIDTH].value, 16.0, 1e-3); /* their sum is told */
    const struct law_subject subject = {law, "0"};
    assert_int_equal(page_render(&overhead_page, &subject, REPORT_CSV, NULL, &text, NULL), STATUS_OK);
    assert_non_null(strstr(text_string(&text), "coefficient,alpha,,feed_hidden,T H e,,,,no,,,,,\r\n"));
    text_release(&text);
    assert_int_equal(page_render(&overhead_page, &subject, REPORT_MARKDOWN, NULL, &text, NULL), STATUS_OK);
    assert_non_null(strstr(text_string(&text), "| alpha | 1.00 | 1.00 | ? | ? | 1.00 |"));
    text_release(&text);
    overhead_law_release(law);
    law_points_release(&points);
}

/* Peaks at the weights: a law would be glad of a negative term, and has none. */
static void no_coefficient_is_negative(void **state)
{
    struct law_points points = {0};
    (void)state;
    synthetic_points_add(&points, &alpha);
    for (int at = 0; at < points.count; at++) {
        struct law_point *point = &points.all[at];
        int64_t less = at % 3 == 0 ? 0 : (point->pass_bytes - point->weights_bytes) / 2;
        point->pass_bytes -= less;
        point->allocated_bytes -= less;
    }
    struct overhead_law *law = law_of(&points);
    for (int term = 0; term < TERM_COUNT; term++) {
        assert_true(law->kinds[0].terms[term].value >= 0.0);
        assert_true(law->kinds[0].terms[term].interval.low >= 0.0);
    }
    for (int at = 0; at < AFFINE_COUNT; at++) {
        assert_true(law->simple[1].terms[at].value >= 0.0);
    }
    overhead_law_release(law);
    law_points_release(&points);
}

/* The ninth of ten cases is said, of nine the worst alone. */
static void few_cases_have_no_percentile(void **state)
{
    static const double errors[] = {0.1, -0.2, 0.3, 0.4, -0.5, 0.6, 0.7, 0.8, 0.9, -1.0};
    double room[10];
    (void)state;
    struct error_summary nine = error_summary_make(errors, 9, room), ten = error_summary_make(errors, 10, room);
    assert_true(isnan(nine.p90) && nine.count == 9);
    is_near(nine.median, 0.5, 1e-12);
    is_near(nine.worst, 0.9, 1e-12);
    is_near(nine.under, 2.0 / 9.0, 1e-12);
    is_near(ten.p90, 0.91, 1e-12);
}

static void a_law_needs_three_models_of_a_host(void **state)
{
    struct law_points points = {0};
    struct synthetic_kind few = alpha, on_gpu = alpha;
    struct overhead_law *law = NULL;
    struct status error = {0};
    (void)state;
    few.model_count = 2;
    on_gpu.target = "sm_90";
    synthetic_points_add(&points, &few);
    synthetic_points_add(&points, &on_gpu);
    assert_int_equal(overhead_law_make(&points, &law, &error), STATUS_INVALID);
    assert_null(law);
    assert_non_null(strstr(error.text, "no kind of model has 3 models of a host among 320 cases"));
    law_points_release(&points);
}

/* In Markdown and in a terminal what would act on them is shown in its place. */
static void names_from_outside_do_not_act(void **state)
{
    struct law_points points = {0};
    struct synthetic_kind evil = alpha, on_gpu = alpha;
    struct text text = {0};
    (void)state;
    evil.kind = on_gpu.kind = "<b>|\x1b[31m";
    on_gpu.target = "sm_90";
    on_gpu.source = "<i>|x\x1b[2J";
    synthetic_points_add(&points, &evil);
    synthetic_points_add(&points, &on_gpu);
    struct overhead_law *law = law_of(&points);
    const struct law_subject subject = {law, "0"};
    static const enum report_format formats[] = {REPORT_TABLE, REPORT_MARKDOWN, REPORT_HTML, REPORT_LATEX};
    for (size_t at = 0; at < sizeof formats / sizeof formats[0]; at++) {
        assert_int_equal(page_render(&overhead_page, &subject, formats[at], NULL, &text, NULL), STATUS_OK);
        assert_null(strchr(text_string(&text), '\x1b'));
        if (formats[at] == REPORT_HTML) {
            assert_null(strstr(text_string(&text), "<i>|x"));
        }
        text_release(&text);
    }
    overhead_law_release(law);
    law_points_release(&points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_coefficients_are_found_again),   cmocka_unit_test(gpus_test_the_law_and_are_not_fitted),
        cmocka_unit_test(a_measurement_counts_once_in_all),   cmocka_unit_test(what_is_not_identified_has_no_figure),
        cmocka_unit_test(no_coefficient_is_negative),         cmocka_unit_test(few_cases_have_no_percentile),
        cmocka_unit_test(a_law_needs_three_models_of_a_host), cmocka_unit_test(names_from_outside_do_not_act),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* League: figures worked out by hand, who is ranked and who is not, which rows count, and what must not change them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/league_view.h"
#include "tests/report/counted_rows.h"

struct scene {
    struct report *reports[2];
    struct league *league;
};

static struct scene scene_of(const struct counted_row *rows, int count)
{
    struct scene scene = {.reports = {counted_rows_report(rows, count)}};
    struct status error = {0};
    if (league_make(scene.reports, 1, &scene.league, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return scene;
}

static void scene_release(struct scene *scene)
{
    league_release(scene->league);
    report_release(scene->reports[0]);
    report_release(scene->reports[1]);
}

static const struct league_row *row_find(const struct league_scope *scope, const struct league *league,
                                         const char *estimator)
{
    for (int index = 0; index < scope->row_count; index++) {
        if (strcmp(league->estimators[scope->rows[index].estimator].name, estimator) == 0) {
            return &scope->rows[index];
        }
    }
    return NULL;
}

static const struct league_row *overall(const struct scene *scene, const char *estimator)
{
    const struct league_row *row = row_find(&scene->league->scopes[0], scene->league, estimator);
    if (row == NULL) {
        fail_msg("no row of %s", estimator);
    }
    return row;
}

static const struct league_scope *scope_find(const struct league *league, enum league_scope_kind kind, const char *name)
{
    for (int index = 0; index < league->scope_count; index++) {
        if (league->scopes[index].kind == kind && strcmp(league->scopes[index].name, name) == 0) {
            return &league->scopes[index];
        }
    }
    fail_msg("no scope %s", name);
    return NULL;
}

/* Five rows of which `rule` is off by +10, -10, 0, +20 and -40 of 100. */
static const struct counted_row five[] = {
    {.id = "m/1",
     .model = "m1",
     .family = "bert",
     .measured_bytes = 100,
     .predictions = {PREDICTS("rule", 110), PREDICTS("exact", 100)}},
    {.id = "m/2",
     .model = "m2",
     .family = "bert",
     .measured_bytes = 100,
     .predictions = {PREDICTS("rule", 90), PREDICTS("exact", 100)}},
    {.id = "m/3",
     .model = "m3",
     .family = "gpt2",
     .measured_bytes = 100,
     .predictions = {PREDICTS("rule", 100), PREDICTS("exact", 100)}},
    {.id = "m/4",
     .model = "m4",
     .family = "gpt2",
     .mode = "load",
     .measured_bytes = 100,
     .predictions = {PREDICTS("rule", 120), PREDICTS("exact", 100)}},
    {.id = "m/5",
     .model = "m5",
     .mode = "load",
     .measured_bytes = 100,
     .predictions = {PREDICTS("rule", 60), PREDICTS("exact", 100)}},
};

static void figures_are_known(void **state)
{
    (void)state;
    struct scene scene = scene_of(five, 5);
    const struct league_row *row = overall(&scene, "rule");
    assert_int_equal(row->all.case_count, 5);
    figure_near(row->all.bias, -0.04, 1e-12);
    figure_near(row->all.median, 0.1, 1e-12);
    figure_near(row->all.p90, 0.32, 1e-12); /* 0, 0.1, 0.1, 0.2, 0.4: position 3.6 */
    figure_near(row->all.worst, -0.4, 1e-12);
    assert_non_null(strstr(row->all.worst_case, "m5 load"));
    assert_int_equal(row->all.under_count, 2);
    assert_int_equal(row->all.within_count, 1);
    const struct league_scope *bert = scope_find(scene.league, SCOPE_FAMILY, "bert");
    figure_near(row_find(bert, scene.league, "rule")->all.bias, 0.0, 1e-12);
    assert_int_equal(bert->case_count, 2);
    assert_int_equal(scope_find(scene.league, SCOPE_FAMILY, "unknown")->case_count, 1);
    figure_near(row_find(scope_find(scene.league, SCOPE_MODE, "load"), scene.league, "rule")->all.bias, -0.1, 1e-12);
    scene_release(&scene);
}

static void who_is_always_exact_is_first(void **state)
{
    (void)state;
    struct scene scene = scene_of(five, 5);
    const struct league_row *row = &scene.league->scopes[0].rows[0];
    assert_string_equal(scene.league->estimators[row->estimator].name, "exact");
    assert_int_equal(row->rank, 1);
    assert_int_equal(overall(&scene, "rule")->rank, 2);
    assert_true(row->all.bias == 0.0 && row->all.median == 0.0 && row->all.p90 == 0.0 && row->all.worst == 0.0);
    assert_int_equal(row->all.under_count, 0);
    assert_int_equal(row->all.within_count, 5);
    scene_release(&scene);
}

/* Ten cases of 1000. */
static void ten_make(struct counted_row rows[10], char ids[10][16])
{
    for (int at = 0; at < 10; at++) {
        snprintf(ids[at], sizeof ids[at], "c%d", at);
        rows[at] = (struct counted_row){.id = ids[at], .measured_bytes = 1000};
    }
}

static void prediction_set(struct counted_row *row, const char *estimator, int64_t total_bytes)
{
    int at = 0;
    while (row->predictions[at].estimator != NULL && strcmp(row->predictions[at].estimator, estimator) != 0) {
        at++;
    }
    assert_true(at < ROW_PREDICTIONS);
    row->predictions[at] = (struct row_prediction)PREDICTS(estimator, total_bytes);
}

static void ties_are_broken_by_the_90th_percentile(void **state)
{
    (void)state;
    char ids[10][16];
    struct counted_row rows[10];
    ten_make(rows, ids);
    for (int at = 0; at < 10; at++) {
        prediction_set(&rows[at], "wild", at < 6 ? 1100 : 3000); /* median 10 %, p90 200 % */
        prediction_set(&rows[at], "tame", at < 6 ? 1100 : 1200); /* median 10 %, p90 20 % */
        prediction_set(&rows[at], "twin", at < 6 ? 900 : 800);   /* as tame, on the other side */
        prediction_set(&rows[at], "worse", 1150);
    }
    struct scene scene = scene_of(rows, 10);
    assert_int_equal(overall(&scene, "tame")->rank, 1);
    assert_int_equal(overall(&scene, "twin")->rank, 1);
    char word[WORDING_BYTES];
    assert_string_equal(rank_word(overall(&scene, "tame"), word), "1=");
    assert_string_equal(rank_word(overall(&scene, "twin"), word), "1=");
    assert_string_equal(rank_word(overall(&scene, "wild"), word), "3");
    assert_int_equal(overall(&scene, "wild")->rank, 3);
    assert_int_equal(overall(&scene, "worse")->rank, 4);
    scene_release(&scene);
}

/* A rule that answers the easy cases alone is better by its median, and is not ranked; on the common cases of those
 * that are, both are seen as they are. */
static void easy_cases_alone_do_not_win(void **state)
{
    (void)state;
    char ids[10][16];
    struct counted_row rows[10];
    ten_make(rows, ids);
    for (int at = 0; at < 10; at++) {
        prediction_set(&rows[at], "whole", at < 6 ? 1010 : 1500);
        if (at < 6) {
            prediction_set(&rows[at], "most", 1020); /* answers 6: is ranked, and worse where both answer */
        }
        if (at < 4) {
            prediction_set(&rows[at], "picky", 1000); /* 4: few, and fewer than half */
        }
        if (at >= 5) {
            prediction_set(&rows[at], "half", 1000); /* 5 of 10: ranked */
        }
    }
    struct scene scene = scene_of(rows, 10);
    const struct league_scope *all = &scene.league->scopes[0];
    assert_int_equal(overall(&scene, "picky")->rank, 0);
    assert_true(overall(&scene, "picky")->few && overall(&scene, "picky")->partial);
    assert_int_equal(overall(&scene, "half")->rank, 1);
    assert_int_equal(overall(&scene, "whole")->rank, 2);
    assert_int_equal(overall(&scene, "most")->rank, 3);
    assert_string_equal(scene.league->estimators[all->rows[all->row_count - 1].estimator].name, "picky");
    assert_int_equal(all->common_count, 1); /* case 5 alone is answered by all three */
    figure_near(overall(&scene, "most")->common.median, 0.02, 1e-12);
    figure_near(overall(&scene, "whole")->common.median, 0.01, 1e-12);
    assert_int_equal(overall(&scene, "picky")->common.case_count, 0);
    scene_release(&scene);
}

static void only_whole_undisturbed_measurements_count(void **state)
{
    (void)state;
    struct counted_row rows[] = {
        {.id = "ok", .measured_bytes = 100, .predictions = {PREDICTS("rule", 110)}},
        {.id = "fail", .status = "fail", .measured_bytes = 100, .predictions = {PREDICTS("rule", 300)}},
        {.id = "invalid", .invalid = true, .measured_bytes = 100, .predictions = {PREDICTS("rule", 1)}},
        {.id = "oom", .status = "oom", .measured_bytes = 100, .predictions = {PREDICTS("rule", 1)}},
        {.id = "error", .status = "error", .measured_bytes = 100, .predictions = {PREDICTS("rule", 1)}},
        {.id = "timeout", .status = "timeout", .measured_bytes = 100, .predictions = {PREDICTS("rule", 1)}},
        {.id = "skip", .status = "skip", .measured_bytes = 100, .predictions = {PREDICTS("rule", 1)}},
        {.id = "meta", .device = "meta", .measured_bytes = 100, .predictions = {PREDICTS("rule", 1)}},
        {.id = "nothing", .measured_bytes = 0, .predictions = {PREDICTS("rule", 1)}},
    };
    struct scene scene = scene_of(rows, 9);
    const struct counted_cases *counted = &scene.league->counted;
    assert_int_equal(counted->count, 2);
    assert_int_equal(counted->read_count, 9);
    assert_int_equal(counted->ended_count, 5);
    assert_int_equal(counted->invalid_count, 1);
    assert_int_equal(counted->meta_count, 1);
    figure_near(overall(&scene, "rule")->all.bias, 1.05, 1e-12); /* (0.1 + 2.0) / 2 */
    scene_release(&scene);
}

/* Of two folders with the same case on the same device the later counts; another device is another case. */
static void the_same_case_counts_once(void **state)
{
    (void)state;
    const struct counted_row old_rows[] = {
        {.id = "a", .measured_bytes = 100, .predictions = {PREDICTS("rule", 500)}},
        {.id = "b", .measured_bytes = 100, .predictions = {PREDICTS("rule", 100)}},
    };
    const struct counted_row new_rows[] = {
        {.id = "a", .measured_bytes = 100, .predictions = {PREDICTS("rule", 110)}},
        {.id = "b", .device = "cuda", .measured_bytes = 100, .predictions = {PREDICTS("other", 100)}},
    };
    struct scene scene = {.reports = {counted_rows_report(old_rows, 2), counted_rows_report(new_rows, 2)}};
    assert_int_equal(league_make(scene.reports, 2, &scene.league, NULL), STATUS_OK);
    assert_int_equal(scene.league->counted.count, 3);
    assert_int_equal(scene.league->counted.again_count, 1);
    assert_int_equal(overall(&scene, "rule")->all.case_count, 2);
    figure_near(overall(&scene, "rule")->all.worst, 0.1, 1e-12);
    assert_int_equal(overall(&scene, "other")->all.case_count, 1);
    scene_release(&scene);
}

/* Verdicts are read, not made; total_bytes goes before the allocated peak, other quantities are not of the league, and
 * the suite's own figures are no estimator. */
static void the_verdicts_figures_are_taken(void **state)
{
    (void)state;
    static const char verdicts[] =
        "{\"estimator\":\"rule\",\"quantity\":\"allocated_bytes_peak\",\"predicted\":50,\"measured\":100,"
        "\"signed_error_bytes\":-50,\"signed_error\":-0.5,\"tolerance\":null,\"pass\":null},"
        "{\"estimator\":\"rule\",\"quantity\":\"total_bytes\",\"predicted\":120,\"measured\":100,"
        "\"signed_error_bytes\":20,\"signed_error\":0.2,\"tolerance\":null,\"pass\":null},"
        "{\"estimator\":\"peak\",\"quantity\":\"allocated_bytes_peak\",\"predicted\":70,\"measured\":100,"
        "\"signed_error_bytes\":-30,\"signed_error\":-0.3,\"tolerance\":null,\"pass\":null},"
        "{\"estimator\":\"reader\",\"quantity\":\"process_bytes\",\"predicted\":70,\"measured\":100,"
        "\"signed_error_bytes\":-30,\"signed_error\":-0.3,\"tolerance\":null,\"pass\":null},"
        "{\"estimator\":\"expected\",\"quantity\":\"total_bytes\",\"predicted\":100,\"measured\":100,"
        "\"signed_error_bytes\":0,\"signed_error\":0.0,\"tolerance\":null,\"pass\":null}";
    const struct counted_row row = {.id = "a", .measured_bytes = 100, .verdicts = verdicts};
    struct scene scene = scene_of(&row, 1);
    figure_near(overall(&scene, "rule")->all.bias, 0.2, 1e-12);
    figure_near(overall(&scene, "peak")->all.bias, -0.3, 1e-12);
    assert_null(row_find(&scene.league->scopes[0], scene.league, "reader"));
    assert_null(row_find(&scene.league->scopes[0], scene.league, "expected"));
    scene_release(&scene);
}

static void errors_do_not_depend_on_scale(void **state)
{
    (void)state;
    char ids[10][16];
    struct counted_row rows[10], scaled[10];
    ten_make(rows, ids);
    for (int at = 0; at < 10; at++) {
        rows[at].batch = at + 1;
        rows[at].measured_bytes = 5000000 + 700000 * at * at;
        rows[at].tensor_bytes = 4000000 + 650000 * at * at + 1234 * at;
        rows[at].loaded_bytes = 3000000 + 91000 * at;
        prediction_set(&rows[at], "rule", 4444444 + 900000 * at);
        scaled[at] = rows[at];
        scaled[at].measured_bytes *= 1024;
        scaled[at].tensor_bytes *= 1024;
        scaled[at].loaded_bytes *= 1024;
        scaled[at].predictions[0].total_bytes *= 1024;
    }
    struct scene small = scene_of(rows, 10), large = scene_of(scaled, 10);
    assert_int_equal(small.league->scopes[0].row_count, large.league->scopes[0].row_count);
    for (int at = 0; at < small.league->scopes[0].row_count; at++) {
        const struct league_row *a = &small.league->scopes[0].rows[at], *b = &large.league->scopes[0].rows[at];
        assert_int_equal(a->estimator, b->estimator);
        assert_int_equal(a->rank, b->rank);
        figure_near(a->all.bias, b->all.bias, 1e-6); /* baselines are rounded to a byte */
        figure_near(a->all.median, b->all.median, 1e-6);
        figure_near(a->all.p90, b->all.p90, 1e-6);
        assert_int_equal(a->all.under_count, b->all.under_count);
    }
    assert_int_equal(small.league->scopes[0].row_count, 4); /* rule and three baselines */
    scene_release(&small);
    scene_release(&large);
}

/* Without one case, the errors of all others are what they were, and who did not answer it keeps every figure. */
static void a_case_less_changes_what_it_must(void **state)
{
    (void)state;
    char ids[10][16];
    struct counted_row rows[10];
    ten_make(rows, ids);
    for (int at = 0; at < 10; at++) {
        prediction_set(&rows[at], "rule", 900 + 31 * at);
        if (at != 9) {
            prediction_set(&rows[at], "other", 1100 - 17 * at);
        }
    }
    struct scene whole = scene_of(rows, 10), less = scene_of(rows, 9);
    for (int estimator = 0; estimator < whole.league->estimator_count; estimator++) {
        for (int at = 0; at < 9; at++) {
            double before = whole.league->estimators[estimator].errors[at];
            double after = less.league->estimators[estimator].errors[at];
            assert_true(before == after || (isnan(before) && isnan(after)));
        }
    }
    const struct league_figures *before = &overall(&whole, "other")->all, *after = &overall(&less, "other")->all;
    assert_true(before->bias == after->bias && before->median == after->median && before->p90 == after->p90);
    assert_int_equal(before->case_count, after->case_count);
    assert_int_equal(overall(&whole, "rule")->all.case_count, overall(&less, "rule")->all.case_count + 1);
    scene_release(&whole);
    scene_release(&less);
}

static void the_order_of_the_rows_says_nothing(void **state)
{
    (void)state;
    struct counted_row turned[5];
    for (int at = 0; at < 5; at++) {
        turned[at] = five[4 - at];
    }
    struct scene one = scene_of(five, 5), other = scene_of(turned, 5);
    const struct league_figures *a = &overall(&one, "rule")->all, *b = &overall(&other, "rule")->all;
    assert_true(a->bias == b->bias && a->median == b->median && a->p90 == b->p90 && a->worst == b->worst);
    scene_release(&one);
    scene_release(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_known),
        cmocka_unit_test(who_is_always_exact_is_first),
        cmocka_unit_test(ties_are_broken_by_the_90th_percentile),
        cmocka_unit_test(easy_cases_alone_do_not_win),
        cmocka_unit_test(only_whole_undisturbed_measurements_count),
        cmocka_unit_test(the_same_case_counts_once),
        cmocka_unit_test(the_verdicts_figures_are_taken),
        cmocka_unit_test(errors_do_not_depend_on_scale),
        cmocka_unit_test(a_case_less_changes_what_it_must),
        cmocka_unit_test(the_order_of_the_rows_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

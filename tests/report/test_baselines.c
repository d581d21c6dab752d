/* Baselines and percentiles: answers worked out by hand, and that no case is predicted from itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "harness/report/baseline.h"
#include "harness/report/percentile.h"
#include "tests/report/counted_rows.h"

enum { ROWS_MAXIMUM = 16 };

struct predictions {
    struct arena arena;
    struct report *report;
    struct counted_cases counted;
    int64_t bytes[ROWS_MAXIMUM];
};

static void predict(const struct counted_row *rows, int count, const char *name, struct predictions *made)
{
    *made = (struct predictions){.report = counted_rows_report(rows, count)};
    assert_int_equal(counted_cases_find(&made->report, 1, false, &made->arena, &made->counted, NULL), STATUS_OK);
    assert_int_equal(made->counted.count, count);
    const struct baseline *baseline = baseline_find(name);
    assert_non_null(baseline);
    assert_true(baseline->predict(&made->counted, made->bytes));
}

static void predictions_release(struct predictions *made)
{
    report_release(made->report);
    arena_release(&made->arena);
}

/* Values by hand, and by numpy 2.4's percentile of the same lists. */
static void percentiles_are_known(void **state)
{
    (void)state;
    static const double powers[] = {1, 2, 4, 8}, one[] = {7}, ten[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    figure_near(values_percentile(powers, 4, 0.5), 3.0, 1e-12);
    figure_near(values_percentile(powers, 4, 0.9), 6.8, 1e-12);
    figure_near(values_percentile(powers, 4, 0.0), 1.0, 0.0);
    figure_near(values_percentile(powers, 4, 1.0), 8.0, 0.0);
    figure_near(values_percentile(one, 1, 0.9), 7.0, 0.0);
    figure_near(values_percentile(ten, 10, 0.9), 9.1, 1e-12);
    figure_near(values_percentile(ten, 10, 0.25), 3.25, 1e-12);
    double unsorted[] = {8, 1, 4, 2};
    figure_near(values_median(unsorted, 4), 3.0, 1e-12);
}

static void two_batches_make_a_line(void **state)
{
    (void)state;
    const struct counted_row rows[] = {
        {.id = "b32", .batch = 32, .seq = 8, .measured_bytes = 950}, /* 900 by the line */
        {.id = "b8", .batch = 8, .seq = 8, .measured_bytes = 300},
        {.id = "b16", .batch = 16, .seq = 8, .measured_bytes = 500},
        {.id = "b64", .batch = 64, .seq = 8, .measured_bytes = 5000}, /* 950 + 450 * 32 / 16 = 1850 */
        {.id = "s9", .batch = 128, .seq = 9, .measured_bytes = 7},    /* another sequence: alone */
        {.id = "load", .mode = "load", .measured_bytes = 7},          /* no batch */
        {.id = "half", .batch = 48, .seq = 8, .precision = "float16", .measured_bytes = 7},
    };
    struct predictions made;
    predict(rows, 7, "two-point batch", &made);
    static const int64_t expected[] = {900, -1, -1, 1850, -1, -1, -1};
    for (int at = 0; at < 7; at++) {
        assert_int_equal(made.bytes[at], expected[at]);
    }
    predictions_release(&made);
}

static void a_line_that_falls_below_nothing_is_no_figure(void **state)
{
    (void)state;
    const struct counted_row rows[] = {
        {.id = "b1", .batch = 1, .measured_bytes = 300},
        {.id = "b2", .batch = 2, .measured_bytes = 100},
        {.id = "b4", .batch = 4, .measured_bytes = 100},
    };
    struct predictions made;
    predict(rows, 3, "two-point batch", &made);
    assert_int_equal(made.bytes[2], BYTES_UNKNOWN);
    predictions_release(&made);
}

/* measured = 10 + 2 * x for all but the last, which the line of the others does not know. */
static void a_line_through_the_others_is_found(void **state)
{
    (void)state;
    struct counted_row rows[] = {
        {.id = "a", .tensor_bytes = 100, .loaded_bytes = 100, .measured_bytes = 210},
        {.id = "b", .tensor_bytes = 200, .loaded_bytes = 200, .measured_bytes = 410},
        {.id = "c", .tensor_bytes = 300, .loaded_bytes = 300, .measured_bytes = 610},
        {.id = "d", .tensor_bytes = 400, .loaded_bytes = 400, .measured_bytes = 123456},
    };
    static const char *const names[] = {"affine tensors", "affine weights"};
    for (int which = 0; which < 2; which++) {
        struct predictions made;
        predict(rows, 4, names[which], &made);
        assert_int_equal(made.bytes[3], 810);
        predictions_release(&made);
    }
}

/* The closed form on the same figures in another arithmetic: sums without an origin, and a + b x. */
static void the_fit_weighs_relative_errors(void **state)
{
    (void)state;
    const struct counted_row rows[] = {
        {.id = "a", .tensor_bytes = 100, .measured_bytes = 250},
        {.id = "b", .tensor_bytes = 210, .measured_bytes = 390},
        {.id = "c", .tensor_bytes = 320, .measured_bytes = 700},
        {.id = "d", .tensor_bytes = 1000, .measured_bytes = 1800},
        {.id = "e", .tensor_bytes = 5000, .measured_bytes = 9000},
    };
    struct predictions made;
    predict(rows, 5, "affine tensors", &made);
    for (int at = 0; at < 5; at++) {
        double w = 0, x = 0, y = 0, xx = 0, xy = 0;
        for (int other = 0; other < 5; other++) {
            double measured = (double)rows[other].measured_bytes, sum = (double)rows[other].tensor_bytes;
            double weight = other == at ? 0.0 : 1.0 / measured / measured;
            w += weight;
            x += weight * sum;
            y += weight * measured;
            xx += weight * sum * sum;
            xy += weight * sum * measured;
        }
        double b = (w * xy - x * y) / (w * xx - x * x), a = (y - b * x) / w;
        figure_near((double)made.bytes[at], a + b * (double)rows[at].tensor_bytes, 0.51);
    }
    predictions_release(&made);
}

static void no_case_is_predicted_from_itself(void **state)
{
    (void)state;
    struct counted_row rows[6];
    static const char *const ids[] = {"a", "b", "c", "d", "e", "f"};
    for (int at = 0; at < 6; at++) {
        rows[at] = (struct counted_row){.id = ids[at],
                                        .batch = 1 + at,
                                        .tensor_bytes = 100 * (at + 1) + at * at,
                                        .weights_bytes = 70 + at,
                                        .loaded_bytes = 70 + at,
                                        .measured_bytes = 300 * (at + 1) + 7 * at};
    }
    for (int which = 0; which < baseline_count(); which++) {
        struct predictions before, after;
        predict(rows, 6, baseline_at(which)->name, &before);
        struct counted_row kept = rows[5];
        rows[5].measured_bytes = 777777;
        rows[5].loaded_bytes = 55555;
        predict(rows, 6, baseline_at(which)->name, &after);
        rows[5] = kept;
        assert_int_not_equal(before.bytes[5], BYTES_UNKNOWN);
        assert_int_equal(after.bytes[5], before.bytes[5]);
        predictions_release(&before);
        predictions_release(&after);
    }
}

static void too_few_others_are_no_line(void **state)
{
    (void)state;
    const struct counted_row rows[] = {
        {.id = "a", .tensor_bytes = 100, .measured_bytes = 210},
        {.id = "b", .tensor_bytes = 200, .measured_bytes = 410},
        {.id = "c", .tensor_bytes = 300, .measured_bytes = 610},
        {.id = "gpu", .tensor_bytes = 300, .measured_bytes = 610, .device = "cuda"}, /* another kind of device */
        {.id = "none", .measured_bytes = 610},                                       /* no prediction */
    };
    const struct counted_row equal[] = {
        {.id = "a", .tensor_bytes = 100, .measured_bytes = 210},
        {.id = "b", .tensor_bytes = 100, .measured_bytes = 410},
        {.id = "c", .tensor_bytes = 100, .measured_bytes = 610},
        {.id = "d", .tensor_bytes = 300, .measured_bytes = 610},
        {.id = "e", .tensor_bytes = 100, .measured_bytes = 710},
    };
    struct predictions made;
    predict(rows, 5, "affine tensors", &made);
    for (int at = 0; at < 5; at++) {
        assert_int_equal(made.bytes[at], BYTES_UNKNOWN);
    }
    predictions_release(&made);
    predict(equal, 5, "affine tensors", &made);
    assert_int_equal(made.bytes[3], BYTES_UNKNOWN); /* all others at one place */
    predictions_release(&made);
}

/* Sizes near 2^62 neither overflow nor give a figure that is none. */
static void huge_sizes_are_survived(void **state)
{
    (void)state;
    const struct counted_row rows[] = {
        {.id = "a", .batch = 1, .tensor_bytes = 1, .loaded_bytes = 1, .measured_bytes = 1},
        {.id = "b", .batch = 2, .tensor_bytes = INT64_MAX, .loaded_bytes = INT64_MAX, .measured_bytes = INT64_MAX},
        {.id = "c", .batch = 3, .tensor_bytes = 3, .loaded_bytes = INT64_MAX, .measured_bytes = 1},
        {.id = "d", .batch = INT64_MAX, .tensor_bytes = INT64_MAX, .loaded_bytes = 2, .measured_bytes = INT64_MAX},
        {.id = "e", .batch = 5, .tensor_bytes = 4, .loaded_bytes = 9, .measured_bytes = 2},
    };
    for (int which = 0; which < baseline_count(); which++) {
        struct predictions made;
        predict(rows, 5, baseline_at(which)->name, &made);
        for (int at = 0; at < 5; at++) {
            assert_true(made.bytes[at] == BYTES_UNKNOWN || made.bytes[at] >= 0);
        }
        predictions_release(&made);
    }
}

/* The line through all others, by its definition: means first, then what lies around them. */
static long double line_by_definition(const struct counted_row *rows, int count, int left_out)
{
    long double weight = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (int round = 0; round < 2; round++) {
        for (int at = 0; at < count; at++) {
            long double measured = rows[at].measured_bytes, share = at == left_out ? 0 : 1 / (measured * measured);
            if (round == 0) {
                weight += share;
                x += share * rows[at].tensor_bytes;
                y += share * measured;
            } else {
                long double distance = rows[at].tensor_bytes - x / weight;
                xx += share * distance * distance;
                xy += share * distance * (measured - y / weight);
            }
        }
    }
    return y / weight + xy / xx * (rows[left_out].tensor_bytes - x / weight);
}

/* Sizes from 1 MiB to 64 GiB, so that the weights of the small ones are 10^9 times those of the large. */
static void many_cases_are_fitted_as_defined(void **state)
{
    (void)state;
    enum { COUNT = 400 };
    static struct counted_row rows[COUNT];
    static char ids[COUNT][16];
    uint64_t random = 7;
    for (int at = 0; at < COUNT; at++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        snprintf(ids[at], sizeof ids[at], "c%d", at);
        int64_t tensors = ((int64_t)1 << (20 + at % 16)) + (int64_t)(random >> 44);
        rows[at] = (struct counted_row){.id = ids[at],
                                        .batch = 1,
                                        .tensor_bytes = tensors,
                                        .measured_bytes = tensors + tensors / 8 + (at % 7) * 4096};
    }
    struct arena arena = {0};
    struct counted_cases counted;
    struct report *report = counted_rows_report(rows, COUNT);
    static int64_t predicted[COUNT];
    assert_int_equal(counted_cases_find(&report, 1, false, &arena, &counted, NULL), STATUS_OK);
    assert_int_equal(counted.count, COUNT);
    assert_true(baseline_affine_tensors(&counted, predicted));
    for (int at = 0; at < COUNT; at++) {
        double expected = (double)line_by_definition(rows, COUNT, at);
        figure_near((double)predicted[at], expected, 0.5 + 1e-11 * expected);
    }
    report_release(report);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_known),
        cmocka_unit_test(two_batches_make_a_line),
        cmocka_unit_test(a_line_that_falls_below_nothing_is_no_figure),
        cmocka_unit_test(a_line_through_the_others_is_found),
        cmocka_unit_test(the_fit_weighs_relative_errors),
        cmocka_unit_test(no_case_is_predicted_from_itself),
        cmocka_unit_test(too_few_others_are_no_line),
        cmocka_unit_test(huge_sizes_are_survived),
        cmocka_unit_test(many_cases_are_fitted_as_defined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

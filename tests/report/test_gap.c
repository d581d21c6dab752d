/* The arithmetic of differences: medians, the worst, and what is not known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/report/gap.h"

static bool is_near(double value, double wanted)
{
    return fabs(value - wanted) < 1e-12;
}

static void the_worked_example_holds(void **state)
{
    (void)state;
    const struct gap gaps[] = {{"a", 500, 500}, {"b", 500, 513}, {"c", 500, 495}};
    struct gap_summary summary;
    assert_int_equal(gap_summarise(gaps, 3, &summary, NULL), STATUS_OK);
    assert_int_equal(summary.count, 3);
    assert_int_equal(summary.equal_count, 1);
    assert_true(is_near(summary.median, 0.01));
    assert_true(is_near(summary.worst, 0.026));
    assert_string_equal(summary.worst_name, "b");
}

static void the_worst_keeps_its_sign(void **state)
{
    (void)state;
    const struct gap gaps[] = {{"a", 100, 110}, {"b", 100, 80}};
    struct gap_summary summary;
    assert_int_equal(gap_summarise(gaps, 2, &summary, NULL), STATUS_OK);
    assert_true(is_near(summary.median, 0.15)); /* between two */
    assert_true(is_near(summary.worst, -0.2));
}

static void what_is_not_known_does_not_count(void **state)
{
    (void)state;
    const struct gap gaps[] = {{"a", -1, 110}, {"b", 100, -1}, {"c", 0, 5}, {"d", 0, 0}, {"e", 10, 10}};
    struct gap_summary summary;
    double relative = 7.0;
    assert_int_equal(gap_summarise(gaps, 5, &summary, NULL), STATUS_OK);
    assert_int_equal(summary.count, 2);
    assert_int_equal(summary.equal_count, 2);
    assert_null(summary.worst_name);
    assert_false(gap_relative(&gaps[2], &relative));
    assert_true(is_near(relative, 7.0));
    assert_int_equal(gap_summarise(gaps, 0, &summary, NULL), STATUS_OK);
    assert_int_equal(summary.count, 0);
    assert_true(is_near(summary.median, 0.0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worked_example_holds),
        cmocka_unit_test(the_worst_keeps_its_sign),
        cmocka_unit_test(what_is_not_known_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

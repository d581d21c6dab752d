/* Gate baselines: several runs as one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/gate/gate_baseline.h"
#include "tests/gate/gate_fixture.h"

static struct side sides[4];

static void sides_begin(void)
{
    static const char *const days[] = {"2026-11-18T02:00:00Z", "2026-11-19T02:00:00Z", "2026-11-20T02:00:00Z",
                                       "2026-11-21T02:00:00Z"};
    static const char *const names[] = {"one", "two", "three", "four"};
    for (int i = 0; i < 4; i++) {
        side_make(&sides[i]);
        sides[i].figures.started = days[i];
        sides[i].figures.source = names[i];
    }
}

static struct run_figures joined(const int *order, int count)
{
    const struct run_figures *runs[4];
    struct run_figures merged;
    struct status error = {0};
    for (int i = 0; i < count; i++) {
        runs[i] = &sides[order[i]].figures;
    }
    if (gate_baseline_make(runs, count, &merged, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return merged;
}

static void a_median_is_the_figure_in_the_middle_and_of_two_the_lower(void **state)
{
    struct run_figures merged;
    (void)state;
    sides_begin();
    sides[0].cases[2].measured.of[LEVEL_PROCESS] = 104;
    sides[1].cases[2].measured.of[LEVEL_PROCESS] = 100;
    sides[2].cases[2].measured.of[LEVEL_PROCESS] = 101;
    sides[1].cases[2].predicted.of[LEVEL_PROCESS] = 7;
    merged = joined((const int[]){0, 1, 2}, 3);
    assert_int_equal(merged.case_count, SIDE_CASES);
    assert_int_equal(merged.cases[2].measured.of[LEVEL_PROCESS], 101);
    assert_int_equal(merged.cases[2].predicted.of[LEVEL_PROCESS], 7);
    assert_int_equal(merged.cases[1].measured.of[LEVEL_PROCESS], sides[0].cases[1].measured.of[LEVEL_PROCESS]);
    assert_string_equal(merged.started, "2026-11-20T02:00:00Z");
    run_figures_release(&merged);
    merged = joined((const int[]){0, 1}, 2);
    assert_int_equal(merged.cases[2].measured.of[LEVEL_PROCESS], 100);
    run_figures_release(&merged);
}

static void the_order_of_the_runs_makes_no_difference(void **state)
{
    static const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}};
    (void)state;
    sides_begin();
    for (int i = 0; i < 4; i++) {
        sides[i].cases[0].measured.of[LEVEL_PROCESS] += (i * 7) % 5;
        sides[i].cases[1].spread.of[LEVEL_PROCESS] = 10 + (i * 3) % 4;
    }
    side_remove(&sides[1], 4);
    side_remove(&sides[3], 0);
    sides[2].cases[3].status = "error";
    sides[2].cases[3].measured.of[LEVEL_PROCESS] = FIGURE_BYTES_UNKNOWN;
    sides[2].figures.environment[ENVIRONMENT_DRIVER] = "580";
    struct run_figures first = joined(orders[0], 4);
    assert_int_equal(first.case_count, SIDE_CASES);
    assert_string_equal(first.environment[ENVIRONMENT_DRIVER], "570, 580");
    assert_int_equal(first.cases[1].spread.of[LEVEL_PROCESS], 13);
    for (size_t order = 1; order < sizeof orders / sizeof orders[0]; order++) {
        struct run_figures other = joined(orders[order], 4);
        assert_int_equal(other.case_count, first.case_count);
        for (int i = 0; i < first.case_count; i++) {
            assert_string_equal(other.cases[i].id, first.cases[i].id);
            assert_string_equal(other.cases[i].status, first.cases[i].status);
            assert_memory_equal(&other.cases[i].measured, &first.cases[i].measured, sizeof(struct level_bytes));
            assert_memory_equal(&other.cases[i].spread, &first.cases[i].spread, sizeof(struct level_bytes));
        }
        assert_string_equal(other.source, first.source);
        assert_string_equal(other.environment[ENVIRONMENT_DRIVER], first.environment[ENVIRONMENT_DRIVER]);
        run_figures_release(&other);
    }
    run_figures_release(&first);
}

static void what_was_not_measured_or_disturbed_does_not_count(void **state)
{
    (void)state;
    sides_begin();
    sides[2].cases[0].status = "oom";
    sides[2].cases[0].measured.of[LEVEL_REQUESTED] = FIGURE_BYTES_UNKNOWN;
    sides[1].cases[0].measured.of[LEVEL_REQUESTED] = 5;
    sides[0].cases[0].measured.of[LEVEL_REQUESTED] = 6;
    sides[0].cases[1].invalid = true;
    sides[0].cases[1].measured.of[LEVEL_DEVICE] = 1;
    sides[1].cases[1].measured.of[LEVEL_DEVICE] = 3;
    sides[2].cases[1].measured.of[LEVEL_DEVICE] = 2;
    struct run_figures merged = joined((const int[]){0, 1, 2}, 3);
    assert_string_equal(merged.cases[0].status, "ok"); /* the newest that measured it */
    assert_int_equal(merged.cases[0].measured.of[LEVEL_REQUESTED], 5);
    assert_int_equal(merged.cases[1].measured.of[LEVEL_DEVICE], 2);
    assert_false(merged.cases[1].invalid);
    run_figures_release(&merged);
    sides[2].cases[1].invalid = true; /* the newest of three */
    sides[0].cases[1].measured.of[LEVEL_RESERVED] = sides[2].cases[1].measured.of[LEVEL_RESERVED] = 9;
    merged = joined((const int[]){0, 1, 2}, 3);
    assert_false(merged.cases[1].invalid);
    assert_int_equal(merged.cases[1].measured.of[LEVEL_DEVICE], 3);
    assert_int_equal(merged.cases[1].measured.of[LEVEL_RESERVED], 9); /* what is counted nobody disturbs */
    run_figures_release(&merged);
    sides[1].cases[1].invalid = sides[2].cases[1].invalid = true;
    merged = joined((const int[]){0, 1, 2}, 3);
    assert_true(merged.cases[1].invalid);
    assert_int_equal(merged.cases[1].measured.of[LEVEL_DEVICE], FIGURE_BYTES_UNKNOWN);
    run_figures_release(&merged);
}

/* Nights under two drivers are no baseline for either. */
static void a_baseline_of_two_drivers_is_refused(void **state)
{
    (void)state;
    sides_begin();
    sides[1].figures.environment[ENVIRONMENT_DRIVER] = "580";
    sides[2].figures.ended = false;
    struct run_figures merged = joined((const int[]){0, 1, 2}, 3);
    const struct gate_policy built_in = {.path = NULL};
    const struct gate_options options = {.policy = &built_in, .baseline = &merged};
    struct gate gate;
    assert_false(merged.ended);
    assert_int_equal(gate_make(&sides[3].figures, &options, &gate, NULL), STATUS_OK);
    assert_int_equal(gate.outcome, RUN_INCONCLUSIVE);
    assert_non_null(strstr(gate.why, "the driver differs from that of the baseline (570, 580 -> 570)"));
    gate_release(&gate);
    run_figures_release(&merged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_median_is_the_figure_in_the_middle_and_of_two_the_lower),
        cmocka_unit_test(the_order_of_the_runs_makes_no_difference),
        cmocka_unit_test(what_was_not_measured_or_disturbed_does_not_count),
        cmocka_unit_test(a_baseline_of_two_drivers_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

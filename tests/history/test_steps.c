/* Steps of a series: what jumps and drifts is found at its night, and what is steady has none. Noise is seeded, so that
 * each run of this test sees the same series; the bounds are those that steps.h states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/history/noise.h"
#include "harness/history/steps.h"

enum { NIGHTS_MOST = 400, MIB = 1 << 20, SERIES = 1000 };

/* ---- noise ---- */

static uint64_t seed = 1;

static double uniform(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2.0 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* Student's with three degrees of freedom, of deviation 1: now and then a night far off. */
static double heavy(void)
{
    const double a = normal(), b = normal(), c = normal(), d = normal();
    return a / sqrt((b * b + c * c + d * d) / 3.0) / sqrt(3.0);
}

/* One night in ten is off by up to a hundred deviations of the others. */
static double spiky(void)
{
    return uniform() < 0.1 ? (uniform() < 0.5 ? 10.0 : -10.0) * uniform() : 0.1 * normal();
}

typedef double noise_source(void);

/* Nights of 500 MB with noise of a deviation in bytes; further is added for each night. */
struct shape {
    int count;
    double deviation;
    noise_source *noise;
    double (*further)(int night);
};

static void series_make(const struct shape *shape, int64_t bytes[NIGHTS_MOST])
{
    for (int night = 0; night < shape->count; night++) {
        const double more = shape->further != NULL ? shape->further(night) : 0.0;
        bytes[night] = 500000000 + (int64_t)(more + shape->deviation * shape->noise());
    }
}

/* ---- looks ---- */

struct found {
    struct arena arena;
    struct step_list list;
};

static struct found steps_of(const int64_t *bytes, int count, struct step_rule rule)
{
    struct found found = {0};
    assert_true(steps_find(bytes, count, &rule, &found.arena, &found.list));
    return found;
}

static int steady_with_steps(int nights, noise_source *noise)
{
    int with = 0;
    seed = 88172645463325252ull;
    for (int at = 0; at < SERIES; at++) {
        int64_t bytes[NIGHTS_MOST];
        series_make(&(struct shape){.count = nights, .deviation = 2e6, .noise = noise}, bytes);
        struct found found = steps_of(bytes, nights, STEP_RULE_READING);
        with += found.list.count > 0 ? 1 : 0;
        arena_release(&found.arena);
    }
    return with;
}

static void steady_series_have_no_steps(void **state)
{
    static const int nights[] = {10, 15, 20, 30, 60, 90, 180, 365};
    (void)state;
    for (size_t at = 0; at < sizeof nights / sizeof nights[0]; at++) {
        const int normal_count = steady_with_steps(nights[at], normal);
        const int heavy_count = steady_with_steps(nights[at], heavy);
        if (normal_count > 1 || heavy_count > 5) {
            fail_msg("%d nights: %d of %d steady series of normal noise and %d of heavy noise have a step", nights[at],
                     normal_count, SERIES, heavy_count);
        }
    }
}

/* Of series that no fit is made for few have a step, and none drifts: the test of Mann and Kendall looks at the order
 * of all nights. */
static void series_of_spikes_do_not_drift(void **state)
{
    static const int nights[] = {30, 90, 365};
    (void)state;
    seed = 88172645463325252ull;
    for (size_t row = 0; row < sizeof nights / sizeof nights[0]; row++) {
        int with = 0;
        for (int at = 0; at < SERIES; at++) {
            int64_t bytes[NIGHTS_MOST];
            series_make(&(struct shape){.count = nights[row], .deviation = 2e6, .noise = spiky}, bytes);
            struct found found = steps_of(bytes, nights[row], STEP_RULE_READING);
            with += found.list.count > 0 ? 1 : 0;
            for (int step = 0; step < found.list.count; step++) {
                assert_int_equal(found.list.steps[step].kind, STEP_JUMP);
            }
            arena_release(&found.arena);
        }
        assert_true(with <= 60);
    }
}

static int jump_night = 0;
static double jump_bytes = 0.0;

static double jump(int night)
{
    return night >= jump_night ? jump_bytes : 0.0;
}

/* How many of 200 series with a jump of so many deviations have it as their one step, at its night or beside it. */
static int jumps_found(int nights, int at_night, double deviations, noise_source *noise)
{
    int found_count = 0;
    seed = 1234567;
    jump_night = at_night;
    jump_bytes = deviations * 2e6;
    for (int at = 0; at < 200; at++) {
        int64_t bytes[NIGHTS_MOST];
        series_make(&(struct shape){.count = nights, .deviation = 2e6, .noise = noise, .further = jump}, bytes);
        struct found found = steps_of(bytes, nights, STEP_RULE_READING);
        const struct step *step = found.list.steps;
        found_count += found.list.count == 1 && step->kind == STEP_JUMP && abs(step->to - at_night) <= 1 &&
                               (step->after_bytes > step->before_bytes) == (deviations > 0.0)
                           ? 1
                           : 0;
        arena_release(&found.arena);
    }
    return found_count;
}

static void a_jump_is_found_at_its_night_or_beside_it(void **state)
{
    static const struct {
        int nights, at;
        double deviations;
    } rows[] = {{14, 7, 6.5},     {30, 23, 6.0}, {30, 7, -6.0}, {60, 30, 6.0},
                {365, 200, -6.0}, {30, 27, 8.0}, {90, 3, 8.0}};
    (void)state;
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++) {
        const int of_normal = jumps_found(rows[at].nights, rows[at].at, rows[at].deviations, normal);
        const int of_heavy = jumps_found(rows[at].nights, rows[at].at, rows[at].deviations, heavy);
        if (of_normal < 196 || of_heavy < 190) {
            fail_msg("%d nights, %.1f deviations at %d: found in %d of 200 of normal noise, in %d of heavy noise",
                     rows[at].nights, rows[at].deviations, rows[at].at, of_normal, of_heavy);
        }
    }
}

static double jump_of_one(int night)
{
    return night == 12 ? 50.0 * MIB : 0.0;
}

static void single_nights_that_stick_out_are_no_steps(void **state)
{
    (void)state;
    seed = 99;
    for (int at = 0; at < 200; at++) {
        int64_t bytes[NIGHTS_MOST];
        series_make(&(struct shape){.count = 30, .deviation = 2e6, .noise = normal, .further = jump_of_one}, bytes);
        struct found found = steps_of(bytes, 30, STEP_RULE_READING);
        assert_int_equal(found.list.count, 0);
        arena_release(&found.arena);
    }
}

/* A tenth of a percent a night from the 30th on, for 30 nights; then it stays. */
static double drift(int night)
{
    return 500000.0 * (night < 30 ? 0 : night > 60 ? 30 : night - 30);
}

static void a_drift_of_a_thousandth_a_night_is_found_within_30(void **state)
{
    static const int counts[] = {60, 61, 90};
    (void)state;
    for (size_t row = 0; row < sizeof counts / sizeof counts[0]; row++) {
        seed = 4711;
        for (int at = 0; at < 200; at++) {
            int64_t bytes[NIGHTS_MOST];
            series_make(&(struct shape){.count = counts[row], .deviation = 5e5, .noise = normal, .further = drift},
                        bytes);
            struct found found = steps_of(bytes, counts[row], STEP_RULE_READING);
            const struct step *step = found.list.steps;
            assert_int_equal(found.list.count, 1);
            assert_int_equal(step->kind, STEP_DRIFT);
            assert_in_range(step->from, 24, 36);
            assert_in_range(step->to, 53, 66);
            assert_true(fabs(step->bytes_per_night - 500000.0) < 75000.0);
            arena_release(&found.arena);
        }
    }
}

/* A jump before a drift: both are told, in their order. */
static double jump_and_drift(int night)
{
    return (night >= 20 ? 40.0 * MIB : 0.0) + (night >= 60 ? 1e6 * (night - 60) : 0.0);
}

static void a_jump_and_a_later_drift_are_two_steps(void **state)
{
    int64_t bytes[NIGHTS_MOST];
    (void)state;
    seed = 5;
    series_make(&(struct shape){.count = 90, .deviation = 1e6, .noise = normal, .further = jump_and_drift}, bytes);
    struct found found = steps_of(bytes, 90, STEP_RULE_READING);
    assert_int_equal(found.list.count, 2);
    assert_int_equal(found.list.steps[0].kind, STEP_JUMP);
    assert_int_equal(found.list.steps[0].from, 19);
    assert_int_equal(found.list.steps[0].to, 20);
    assert_int_equal(found.list.steps[1].kind, STEP_DRIFT);
    assert_in_range(found.list.steps[1].from, 57, 63);
    assert_int_equal(found.list.steps[1].to, 89);
    arena_release(&found.arena);
}

static void changes_below_what_says_anything_are_no_steps(void **state)
{
    int64_t bytes[30];
    (void)state;
    for (int night = 0; night < 30; night++) {
        bytes[night] = 500000000 + (night >= 15 ? 255 * 1024 : 0);
    }
    struct found below = steps_of(bytes, 30, STEP_RULE_READING);
    assert_int_equal(below.list.count, 0);
    for (int night = 15; night < 30; night++) {
        bytes[night] += 2048;
    }
    struct found above = steps_of(bytes, 30, STEP_RULE_READING);
    assert_int_equal(above.list.count, 1);
    assert_int_equal(above.list.steps[0].to, 15);
    assert_int_equal(above.list.steps[0].before_bytes, 500000000);
    assert_int_equal(above.list.steps[0].after_bytes, bytes[29]);
    arena_release(&below.arena);
    arena_release(&above.arena);
}

/* ---- exact series ---- */

static void every_change_of_an_exact_series_is_a_step(void **state)
{
    static const int64_t bytes[] = {100, 100, 100, 101, 101, 101, 101, 99, 99, 99, 99, 99, 99};
    (void)state;
    struct found found = steps_of(bytes, 13, STEP_RULE_EXACT);
    assert_int_equal(found.list.count, 2);
    assert_false(found.list.is_unsteady);
    const struct step first = found.list.steps[0], second = found.list.steps[1];
    assert_int_equal(first.kind, STEP_JUMP);
    assert_int_equal(first.from, 2);
    assert_int_equal(first.to, 3);
    assert_int_equal(first.before_bytes, 100);
    assert_int_equal(first.after_bytes, 101);
    assert_int_equal(second.from, 6);
    assert_int_equal(second.to, 7);
    assert_int_equal(second.after_bytes, 99);
    arena_release(&found.arena);
}

/* A last night is a jump at once: an exact figure needs no second one. */
static void the_last_night_of_an_exact_series_may_be_a_jump(void **state)
{
    static const int64_t bytes[] = {512, 1024};
    (void)state;
    struct found found = steps_of(bytes, 2, STEP_RULE_EXACT);
    assert_int_equal(found.list.count, 1);
    assert_int_equal(found.list.steps[0].kind, STEP_JUMP);
    assert_int_equal(found.list.steps[0].to, 1);
    arena_release(&found.arena);
}

static void what_is_back_within_two_nights_is_an_excursion(void **state)
{
    static const int64_t bytes[] = {7, 7, 9, 7, 7, 8, 8, 7, 7, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
    (void)state;
    struct found found = steps_of(bytes, 26, STEP_RULE_EXACT);
    assert_int_equal(found.list.count, 4);
    assert_int_equal(found.list.steps[0].kind, STEP_EXCURSION);
    assert_int_equal(found.list.steps[0].from, 1);
    assert_int_equal(found.list.steps[0].to, 2);
    assert_int_equal(found.list.steps[1].kind, STEP_EXCURSION);
    assert_int_equal(found.list.steps[1].to, 6);
    assert_int_equal(found.list.steps[2].kind, STEP_JUMP); /* three nights are a plateau */
    assert_int_equal(found.list.steps[2].to, 9);
    assert_int_equal(found.list.steps[3].kind, STEP_JUMP);
    assert_int_equal(found.list.steps[3].to, 12);
    arena_release(&found.arena);
}

/* Bytes that should be the same and rise each night are a drift, not thirty jumps. */
static void an_exact_series_that_rises_each_night_drifts(void **state)
{
    int64_t bytes[30];
    (void)state;
    for (int night = 0; night < 30; night++) {
        bytes[night] = 1000000 + 512 * (int64_t)night;
    }
    struct found found = steps_of(bytes, 30, STEP_RULE_EXACT);
    assert_true(found.list.is_unsteady);
    assert_int_equal(found.list.count, 1);
    assert_int_equal(found.list.steps[0].kind, STEP_DRIFT);
    assert_int_equal(found.list.steps[0].from, 0);
    assert_int_equal(found.list.steps[0].to, 29);
    assert_int_equal((int64_t)found.list.steps[0].bytes_per_night, 512);
    arena_release(&found.arena);
}

static void short_and_steady_series_have_none(void **state)
{
    static const int64_t bytes[] = {INT64_MAX, INT64_MAX, INT64_MAX, 0, 0};
    (void)state;
    for (int count = 0; count <= 5; count++) {
        struct found found = steps_of(bytes, count, STEP_RULE_READING);
        assert_int_equal(found.list.count, 0);
        arena_release(&found.arena);
    }
    struct found exact = steps_of(bytes, 1, STEP_RULE_EXACT);
    assert_int_equal(exact.list.count, 0);
    arena_release(&exact.arena);
}

/* Ranks and slopes against all pairs, one after the other; with ties. */
static void certainty_and_slope_are_those_of_all_pairs(void **state)
{
    double values[120], slopes[120 * 120 / 2];
    (void)state;
    for (int count = 3; count <= 120; count += 13) {
        struct arena arena = {0};
        double signs = 0.0;
        int pairs = 0;
        for (int at = 0; at < count; at++) {
            values[at] = floor(4.0 * normal() + 0.1 * at);
        }
        for (int left = 0; left < count; left++) {
            for (int right = left + 1; right < count; right++) {
                signs += (values[right] > values[left]) - (values[right] < values[left]);
                slopes[pairs++] = (values[right] - values[left]) / (right - left);
            }
        }
        const double certainty = trend_certainty(values, count, &arena);
        assert_true(certainty * signs > 0.0 || fabs(signs) <= 1.0);
        assert_true(count < 60 || signs > 0.0);
        assert_float_equal(trend_slope(values, count, &arena), values_middle(slopes, pairs), 1e-12);
        arena_release(&arena);
    }
    /* by hand: of 1 3 2 2 three pairs rise, two fall and one is even: (1 - 1) / ...; of 1 3 2 4 five rise and one
     * falls: (4 - 1) / sqrt(4 * 3 * 13 / 18) */
    struct arena arena = {0};
    assert_float_equal(trend_certainty((const double[]){1.0, 3.0, 2.0, 2.0}, 4, &arena), 0.0, 1e-12);
    assert_float_equal(trend_certainty((const double[]){1.0, 3.0, 2.0, 4.0}, 4, &arena), 1.0190493307301365, 1e-12);
    arena_release(&arena);
}

/* Longer than anybody has nights: pairs of all of them would be 40 GB. */
static void a_series_of_100000_nights_is_read_as_well(void **state)
{
    enum { NIGHTS = 100000, DRIFT_FROM = 30000, DRIFT_TO = 70000, JUMP_TO = 85001 };
    int64_t *drift = calloc(NIGHTS, sizeof *drift), *jump = calloc(NIGHTS, sizeof *jump);
    (void)state;
    assert_non_null(drift);
    assert_non_null(jump);
    for (int night = 0; night < NIGHTS; night++) {
        const int risen = night < DRIFT_FROM ? 0 : night < DRIFT_TO ? night - DRIFT_FROM : DRIFT_TO - DRIFT_FROM;
        drift[night] = 500000000 + (int64_t)(1000.0 * risen + MIB * normal());
        jump[night] = 500000000 + (int64_t)(MIB * normal()) + (night >= JUMP_TO ? 20 * MIB : 0);
    }
    struct found found = steps_of(drift, NIGHTS, STEP_RULE_READING);
    assert_int_equal(found.list.count, 1);
    assert_int_equal(found.list.steps[0].kind, STEP_DRIFT);
    assert_in_range(found.list.steps[0].from, DRIFT_FROM - 500, DRIFT_FROM + 500);
    assert_in_range(found.list.steps[0].to, DRIFT_TO - 500, DRIFT_TO + 500);
    assert_float_equal(found.list.steps[0].bytes_per_night, 1000.0, 10.0);
    arena_release(&found.arena);
    found = steps_of(jump, NIGHTS, STEP_RULE_READING);
    assert_int_equal(found.list.count, 1);
    assert_int_equal(found.list.steps[0].kind, STEP_JUMP);
    assert_int_equal(found.list.steps[0].to, JUMP_TO);
    arena_release(&found.arena);
    free(drift);
    free(jump);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_series_have_no_steps),
        cmocka_unit_test(series_of_spikes_do_not_drift),
        cmocka_unit_test(a_jump_is_found_at_its_night_or_beside_it),
        cmocka_unit_test(single_nights_that_stick_out_are_no_steps),
        cmocka_unit_test(a_drift_of_a_thousandth_a_night_is_found_within_30),
        cmocka_unit_test(a_jump_and_a_later_drift_are_two_steps),
        cmocka_unit_test(changes_below_what_says_anything_are_no_steps),
        cmocka_unit_test(every_change_of_an_exact_series_is_a_step),
        cmocka_unit_test(the_last_night_of_an_exact_series_may_be_a_jump),
        cmocka_unit_test(what_is_back_within_two_nights_is_an_excursion),
        cmocka_unit_test(an_exact_series_that_rises_each_night_drifts),
        cmocka_unit_test(short_and_steady_series_have_none),
        cmocka_unit_test(certainty_and_slope_are_those_of_all_pairs),
        cmocka_unit_test(a_series_of_100000_nights_is_read_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

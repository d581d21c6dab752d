/* Which of many nights passed: a regression is no baseline, however long it lasts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "harness/gate/gate_chain.h"
#include "tests/gate/gate_fixture.h"

enum { NIGHTS = 12 };

static struct side sides[NIGHTS];
static char days[NIGHTS][40];

static const struct gate_policy built_in = {.path = NULL};

/* Nights of the 1st of November and after it, with so many bytes more in case 0 than the usual ones. */
static void nights_make(const int64_t *more_bytes, int count)
{
    for (int at = 0; at < count; at++) {
        side_make(&sides[at]);
        snprintf(days[at], sizeof days[at], "2026-11-%02dT02:00:00Z", 1 + at);
        sides[at].figures.started = days[at];
        sides[at].cases[0].measured.of[LEVEL_ALLOCATED] += more_bytes[at];
    }
}

static void night_add(struct gate_chain *chain, int at)
{
    struct run_figures night = sides[at].figures;
    assert_int_equal(gate_chain_add(chain, &night, NULL), STATUS_OK);
    assert_null(night.cases); /* taken over */
}

/* The days of the nights that are kept, and how many failed behind them: "1 2 5+0". */
static void expect_kept(const struct gate_chain *chain, const char *wanted)
{
    struct text words = {0};
    for (int at = 0; at < chain->kept_count; at++) {
        text_format(&words, "%s%d", at > 0 ? " " : "", (int)(chain->kept[at].started[9] - '0'));
    }
    text_format(&words, "+%d", chain->failed_count);
    assert_string_equal(text_string(&words), wanted);
    text_release(&words);
}

static void a_regression_is_no_baseline_however_long_it_lasts(void **state)
{
    static const int64_t more[] = {0, 0, 4, 4, 4, 4, 0};
    struct gate_chain chain = {.policy = &built_in, .most = 1};
    (void)state;
    nights_make(more, 7);
    for (int at = 0; at < 6; at++) {
        night_add(&chain, at);
    }
    expect_kept(&chain, "2+4");
    assert_string_equal(chain.failed_since, "2026-11-03T02:00:00Z");
    night_add(&chain, 6);
    expect_kept(&chain, "7+0");
    assert_int_equal(chain.night_count, 7);
    gate_chain_release(&chain);
    /* whoever begins anew with it takes it for what is right; a return to less may be a slip */
    chain = (struct gate_chain){.policy = &built_in, .most = 1};
    for (int at = 2; at < 7; at++) {
        night_add(&chain, at);
    }
    expect_kept(&chain, "6+0");
    assert_int_equal(chain.better_count, 1);
    gate_chain_release(&chain);
}

static void a_median_is_of_those_that_passed(void **state)
{
    static const int64_t more[] = {0, 0, 9, 0, 9, 9, 9, 9, 0};
    struct gate_chain chain = {.policy = &built_in, .most = 3};
    (void)state;
    nights_make(more, 9);
    for (int at = 0; at < 9; at++) {
        night_add(&chain, at);
    }
    expect_kept(&chain, "2 4 9+0");
    gate_chain_release(&chain);
}

static void what_passes_is_for_the_policy_to_say(void **state)
{
    static const int64_t more[] = {0, 9, 18, 27};
    struct gate_policy wide = policy_of("version: 1\nrules:\n  - {cases: \"*\", fail: 10B, reference: 30B}\n");
    struct gate_chain chain = {.policy = &wide, .most = 1};
    (void)state;
    nights_make(more, 4);
    for (int at = 0; at < 4; at++) {
        night_add(&chain, at);
    }
    expect_kept(&chain, "4+0");
    gate_chain_release(&chain);
    gate_policy_release(&wide);
    chain.policy = &built_in;
    for (int at = 0; at < 4; at++) {
        night_add(&chain, at);
    }
    expect_kept(&chain, "1+3");
    gate_chain_release(&chain);
}

/* 24.5 MiB and 3.6 MB more each night, of which 4 MiB may be more: no step is beyond the bound, and all of them are. */
static void creep_is_one_large_step_against_the_reference(void **state)
{
    struct gate_policy wide = policy_of("version: 1\nrules:\n  - {cases: \"*\", fail: 4MiB}\n");
    int64_t more[NIGHTS];
    (void)state;
    for (int at = 0; at < NIGHTS; at++) {
        more[at] = 3600000 * at;
    }
    for (int most = 1; most <= 7; most += 6) {
        struct gate_chain chain = {.policy = &wide, .most = most};
        nights_make(more, 9);
        for (int at = 0; at < 9; at++) {
            night_add(&chain, at);
        }
        expect_kept(&chain, most == 1 ? "2+7" : "1 2+7");
        assert_string_equal(gate_chain_reference(&chain)->started, "2026-11-01T02:00:00Z");
        struct run_figures accepted = sides[4].figures;
        gate_chain_accept(&chain, &accepted);
        night_add(&chain, 5);
        night_add(&chain, 6);
        expect_kept(&chain, most == 1 ? "6+1" : "5 6+1");
        assert_string_equal(gate_chain_reference(&chain)->started, "2026-11-05T02:00:00Z");
        gate_chain_release(&chain);
    }
    gate_policy_release(&wide);
}

/* One night that took 10 MiB less is no baseline: held against it every sound night would be a failure. */
static void a_night_that_is_too_good_poisons_nothing(void **state)
{
    static const int64_t more[] = {0, 0, -10 * 1024 * 1024, 0, 0, -10 * 1024 * 1024};
    struct gate_chain chain = {.policy = &built_in, .most = 1};
    (void)state;
    nights_make(more, 6);
    for (int at = 0; at < 6; at++) {
        night_add(&chain, at);
    }
    expect_kept(&chain, "5+0");
    assert_int_equal(chain.better_count, 1);
    struct run_figures accepted = sides[5].figures;
    gate_chain_accept(&chain, &accepted);
    night_add(&chain, 4);
    expect_kept(&chain, "6+1");
    gate_chain_release(&chain);
}

/* A first night that fails by its own verdicts is none; one that was cut short never; one of another driver does not
 * pass, unless that may differ. */
static void what_nobody_can_judge_does_not_pass(void **state)
{
    static const int64_t none[NIGHTS] = {0};
    struct gate_chain chain = {.policy = &built_in, .most = 1};
    (void)state;
    nights_make(none, 6);
    sides[0].cases[1].standing = STANDING_FAIL;
    sides[0].cases[1].status = "fail";
    sides[2].figures.ended = false;
    sides[4].figures.environment[ENVIRONMENT_DRIVER] = sides[5].figures.environment[ENVIRONMENT_DRIVER] = "580";
    night_add(&chain, 0);
    expect_kept(&chain, "+1");
    for (int at = 1; at < 6; at++) {
        night_add(&chain, at);
    }
    expect_kept(&chain, "4+2");
    gate_chain_release(&chain);
    chain.allowed = 1U << GATE_REFUSAL_DRIVER;
    for (int at = 1; at < 6; at++) {
        night_add(&chain, at);
    }
    expect_kept(&chain, "6+0");
    gate_chain_release(&chain);
}

/* What is known passes until its day; the night decides, not today. It is no new state by that: held against such a
 * night the next one would pass, and the failure would never count. */
static void a_known_failure_passes_until_its_day_and_is_no_baseline(void **state)
{
    static const int64_t more[] = {0, 4, 4, 4, 4, 0};
    struct gate_policy policy = policy_of("version: 1\nknown_failures:\n"
                                          "  - {cases: case-0, reason: seen, expires: 2026-11-03}\n");
    struct gate_chain chain = {.policy = &policy, .most = 1};
    (void)state;
    nights_make(more, 6);
    for (int at = 0; at < 3; at++) {
        night_add(&chain, at);
    }
    expect_kept(&chain, "1+0");
    assert_int_equal(chain.known_count, 2);
    night_add(&chain, 3);
    night_add(&chain, 4);
    expect_kept(&chain, "1+2");
    assert_string_equal(chain.failed_since, "2026-11-04T02:00:00Z");
    night_add(&chain, 5);
    expect_kept(&chain, "6+0");
    assert_int_equal(chain.known_count, 0);
    gate_chain_release(&chain);
    gate_policy_release(&policy);
}

/* A known failure of the case as a whole: one that was measured before, and one that always fails by itself. */
static void a_case_that_is_known_to_fail_by_itself_holds_no_night_back(void **state)
{
    static const int64_t none[NIGHTS] = {0};
    struct gate_policy policy = policy_of("version: 1\nknown_failures:\n"
                                          "  - {cases: case-0, reason: seen, expires: 2026-12-31}\n");
    struct gate_chain chain = {.policy = &policy, .most = 1};
    (void)state;
    nights_make(none, 4);
    for (int at = 0; at < 2; at++) {
        sides[at].cases[0].standing = STANDING_FAIL;
        sides[at].cases[0].status = "fail";
        night_add(&chain, at);
    }
    expect_kept(&chain, "2+0");
    sides[2].cases[0].standing = STANDING_BROKEN;
    sides[2].cases[0].status = "error";
    night_add(&chain, 2);
    expect_kept(&chain, "2+0");
    assert_int_equal(chain.known_count, 1);
    gate_chain_release(&chain);
    gate_policy_release(&policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_regression_is_no_baseline_however_long_it_lasts),
        cmocka_unit_test(a_median_is_of_those_that_passed),
        cmocka_unit_test(what_passes_is_for_the_policy_to_say),
        cmocka_unit_test(creep_is_one_large_step_against_the_reference),
        cmocka_unit_test(a_night_that_is_too_good_poisons_nothing),
        cmocka_unit_test(what_nobody_can_judge_does_not_pass),
        cmocka_unit_test(a_known_failure_passes_until_its_day_and_is_no_baseline),
        cmocka_unit_test(a_case_that_is_known_to_fail_by_itself_holds_no_night_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Gate verdicts: what a run comes to, held against a baseline. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tests/gate/gate_fixture.h"

static const int64_t mib = 1024 * 1024;

struct sides {
    struct side base, now;
};

static struct sides *sides_make(void)
{
    static struct sides sides;
    side_make(&sides.base);
    side_make(&sides.now);
    return &sides;
}

static void outcome_check(struct gate *gate, enum run_outcome outcome, const char *part)
{
    if (gate->outcome != outcome || strstr(gate->why, part) == NULL) {
        fail_msg("not %s with '%s': %s", run_outcome_verdict(outcome), part, gate->why);
    }
    gate_release(gate);
}

static void a_run_held_against_itself_is_go(void **state)
{
    struct sides *sides = sides_make();
    struct gate gate = gate_of(&sides->now, &sides->now, NULL, 0);
    (void)state;
    assert_int_equal(gate.counts[GATE_PASS], SIDE_CASES);
    assert_int_equal(gate.held_count, SIDE_CASES);
    outcome_check(&gate, RUN_PASS, "GO: 5 cases held against the baseline, none beyond its bounds");
}

/* One byte of a counted level, and one beyond 4 MiB of a reading. */
static void every_single_change_is_found_and_told_in_its_direction(void **state)
{
    (void)state;
    for (int number = 0; number < SIDE_CASES; number++) {
        for (int level = 0; level < LEVEL_COUNT; level++) {
            const int64_t least = level_is_reading((enum level)level) ? 4 * mib + 1 : 1;
            for (int sign = -1; sign <= 1; sign += 2) {
                struct sides *sides = sides_make();
                sides->now.cases[number].measured.of[level] += sign * least;
                struct gate gate = gate_of(&sides->now, &sides->base, NULL, 0);
                const struct gate_case *one = gate_case_of(&gate, sides->now.ids[number]);
                assert_int_equal(one->verdict, sign > 0 ? GATE_BREACH : GATE_WARN);
                assert_int_equal(one->worst_level, level);
                assert_int_equal(one->better, sign > 0 ? 0U : 1U << level);
                assert_int_equal(one->change_bytes, least);
                assert_int_equal(gate.order[0], number);
                assert_int_equal(gate.counts[GATE_PASS], SIDE_CASES - 1);
                assert_non_null(strstr(words_of(&gate, one->id), sign > 0 ? "(+" : "(-"));
                assert_int_equal(gate.outcome, sign > 0 ? RUN_FAIL : RUN_PASS);
                gate_release(&gate);
                sides->now.cases[number].measured.of[level] -= sign * (level_is_reading((enum level)level) ? 1 : least);
                gate = gate_of(&sides->now, &sides->base, NULL, 0);
                assert_int_equal(gate.counts[GATE_PASS], SIDE_CASES);
                gate_release(&gate);
            }
        }
    }
}

static void an_improvement_alone_is_told_and_passes(void **state)
{
    struct sides *sides = sides_make();
    (void)state;
    for (int number = 0; number < SIDE_CASES; number++) {
        sides->now.cases[number].measured.of[LEVEL_ALLOCATED] -= mib;
    }
    struct gate gate = gate_of(&sides->now, &sides->base, NULL, 0);
    assert_string_equal(words_of(&gate, "case-0"), "allocated peak 101.00 MiB -> 100.00 MiB (-1.00 MiB, -0.99 %), "
                                                   "better: it is no baseline until somebody accepts it");
    outcome_check(&gate, RUN_PASS, "5 with a warning, 5 of them better than the baseline");
}

static void the_largest_change_comes_first_and_says_why(void **state)
{
    struct sides *sides = sides_make();
    (void)state;
    sides->now.cases[1].measured.of[LEVEL_REQUESTED] += 2 * mib; /* of 200 */
    sides->now.cases[4].measured.of[LEVEL_REQUESTED] += 4 * mib; /* of 500 */
    sides->now.cases[2].measured.of[LEVEL_REQUESTED] -= 90 * mib;
    struct gate gate = gate_of(&sides->now, &sides->base, NULL, 0);
    assert_int_equal(gate.order[0], 1);
    assert_int_equal(gate.order[1], 4);
    assert_int_equal(gate.order[2], 2);
    outcome_check(&gate, RUN_FAIL,
                  "NO-GO: 2 of 5 cases are beyond their bounds, or failed; first case-1: requested peak 200.00 MiB -> "
                  "202.00 MiB (+2.00 MiB, +1.00 %), no more is allowed");
    /* a change that reads as large as its bound says by how little it is beyond */
    sides = sides_make();
    sides->now.cases[0].measured.of[LEVEL_PROCESS] += 4 * 1024 * 1024 + 1024;
    gate = gate_of(&sides->now, &sides->base, NULL, 0);
    outcome_check(&gate, RUN_FAIL, "(+4.00 MiB, +0.66 %), allowed are 4.00 MiB more, and it is 1024 B beyond");
}

static void a_case_that_is_gone_is_missing_and_a_new_one_is_new(void **state)
{
    (void)state;
    for (int number = 0; number < SIDE_CASES; number++) {
        struct sides *sides = sides_make();
        side_remove(&sides->now, number);
        struct gate gate = gate_of(&sides->now, &sides->base, NULL, 0);
        assert_int_equal(gate_case_of(&gate, sides->base.ids[number])->verdict, GATE_MISSING);
        outcome_check(&gate, RUN_INCONCLUSIVE, "1 of 5 cases is missing or could not be judged; first case-");
        sides = sides_make();
        side_remove(&sides->base, number);
        gate = gate_of(&sides->now, &sides->base, NULL, 0);
        assert_int_equal(gate_case_of(&gate, sides->base.ids[number])->verdict, GATE_NEW);
        outcome_check(&gate, RUN_PASS, "4 cases held against the baseline, none beyond its bounds; 1 new");
    }
}

static void a_run_that_was_cut_short_is_never_go(void **state)
{
    struct sides *sides = sides_make();
    (void)state;
    sides->now.figures.ended = false;
    struct gate gate = gate_of(&sides->now, &sides->base, NULL, 0);
    outcome_check(&gate, RUN_INCOMPLETE, "the run has no end: it was killed or still goes on");
    gate = gate_of(&sides->now, NULL, NULL, 0);
    outcome_check(&gate, RUN_INCOMPLETE, "the run has no end");
    sides->now.figures.ended = true;
    sides->now.absent[0] = (struct absent_case){.id = "case-9", .wanted_count = 1};
    sides->now.figures.absent_count = 1;
    gate = gate_of(&sides->now, &sides->base, NULL, 0);
    outcome_check(&gate, RUN_INCOMPLETE, "1 selected case is not there");
    /* the baseline has it: it is told once, and what else is missing besides */
    side_remove(&sides->now, 4);
    sides->now.absent[0].id = "case-4";
    gate = gate_of(&sides->now, &sides->base, NULL, 0);
    assert_string_equal(gate.why, "INCOMPLETE: 1 selected case is not there");
    gate_release(&gate);
    side_remove(&sides->now, 1);
    gate = gate_of(&sides->now, &sides->base, NULL, 0);
    outcome_check(&gate, RUN_INCOMPLETE,
                  "1 selected case is not there; 1 more of 5 cases is missing or could not be judged");
    sides = sides_make();
    sides->now.figures.unnamed_absent_count = 2;
    gate = gate_of(&sides->now, &sides->base, NULL, 0);
    outcome_check(&gate, RUN_INCOMPLETE, "2 selected cases are not there");
}

/* Attempts that were not made may have failed, whatever a policy says of the case. */
static void a_case_with_too_few_attempts_is_insufficient(void **state)
{
    struct sides *sides = sides_make();
    struct gate_policy advisory = policy_of("version: 1\nrules:\n  - {cases: \"*\", tier: advisory}\n");
    (void)state;
    sides->now.cases[0].wanted_count = 3;
    sides->now.cases[0].standing = STANDING_BROKEN;
    sides->now.cases[0].reason = "the last run made 1 of 3 attempts";
    struct gate gate = gate_of(&sides->now, &sides->base, &advisory, 0);
    assert_int_equal(gate_case_of(&gate, "case-0")->verdict, GATE_INSUFFICIENT);
    outcome_check(&gate, RUN_INCONCLUSIVE, "first case-0: the last run made 1 of 3 attempts");
    /* a verdict that failed among those that were made only advises there; elsewhere it is NO-GO as ever */
    sides->now.cases[0].standing = STANDING_FAIL;
    gate = gate_of(&sides->now, &sides->base, &advisory, 0);
    assert_int_equal(gate_case_of(&gate, "case-0")->verdict, GATE_INSUFFICIENT);
    outcome_check(&gate, RUN_INCONCLUSIVE,
                  "first case-0: a verdict of the run failed: the last run made 1 of 3 attempts");
    gate = gate_of(&sides->now, &sides->base, NULL, 0);
    outcome_check(&gate, RUN_FAIL, "first case-0: a verdict of the run failed");
    sides->now.cases[0].wanted_count = 1;
    gate = gate_of(&sides->now, &sides->base, &advisory, 0);
    outcome_check(&gate, RUN_PASS, "5 cases held against the baseline, of which 1 fails where its tier only advises");
    gate_policy_release(&advisory);
}

static void how_a_case_ended_counts(void **state)
{
    static const struct {
        const char *status, *base_status;
        enum standing standing;
        enum gate_verdict verdict;
        enum run_outcome outcome;
    } rows[] = {
        {"fail", "ok", STANDING_FAIL, GATE_BREACH, RUN_FAIL},
        {"fail", "fail", STANDING_FAIL, GATE_BREACH, RUN_FAIL},
        {"oom", "ok", STANDING_BROKEN, GATE_BREACH, RUN_FAIL},
        {"oom", "oom", STANDING_BROKEN, GATE_INSUFFICIENT, RUN_INCONCLUSIVE},
        {"error", "ok", STANDING_BROKEN, GATE_INSUFFICIENT, RUN_INCONCLUSIVE},
        {"timeout", "ok", STANDING_BROKEN, GATE_INSUFFICIENT, RUN_INCONCLUSIVE},
        {"ok", "ok", STANDING_OPEN, GATE_INSUFFICIENT, RUN_INCONCLUSIVE},
        {"skip", "ok", STANDING_SKIP, GATE_INSUFFICIENT, RUN_INCONCLUSIVE},
        {"skip", "skip", STANDING_SKIP, GATE_INSUFFICIENT, RUN_PASS},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sides *sides = sides_make();
        sides->now.cases[2].status = rows[i].status;
        sides->now.cases[2].standing = rows[i].standing;
        sides->now.cases[2].reason = "so it was";
        sides->base.cases[2].status = rows[i].base_status;
        struct gate gate = gate_of(&sides->now, &sides->base, NULL, 0);
        assert_int_equal(gate_case_of(&gate, "case-2")->verdict, rows[i].verdict);
        assert_non_null(strstr(words_of(&gate, "case-2"), "so it was"));
        outcome_check(&gate, rows[i].outcome, "");
    }
}

static void without_a_baseline_the_run_judges_itself(void **state)
{
    struct sides *sides = sides_make();
    (void)state;
    struct gate gate = gate_of(&sides->now, NULL, NULL, 0);
    assert_true(gate.is_unjudged);
    outcome_check(&gate, RUN_INCONCLUSIVE, "0 figures judged: there is no baseline, and no figure has a tolerance");
    sides->now.cases[1].judged = 1U << LEVEL_DEVICE | 1U << LEVEL_COUNT;
    sides->now.cases[2].predicted.of[LEVEL_ALLOCATED] = sides->now.cases[2].measured.of[LEVEL_ALLOCATED] + 1;
    gate = gate_of(&sides->now, NULL, NULL, 0);
    outcome_check(&gate, RUN_PASS,
                  "GO: 5 cases measured, none failed; 3 figures judged by tolerances of the suite and");
    sides->now.cases[2].predicted.of[LEVEL_ALLOCATED] *= 2; /* less than predicted is no improvement: it is wrong */
    gate = gate_of(&sides->now, NULL, NULL, 0);
    outcome_check(&gate, RUN_FAIL, "first case-2: allocated peak predicted 602.00 MiB -> 301.00 MiB");
    sides->now.cases[2].judged = 1U << LEVEL_ALLOCATED; /* the suite has a tolerance of its own, and it was met */
    gate = gate_of(&sides->now, NULL, NULL, 0);
    outcome_check(&gate, RUN_PASS, "GO: ");
    sides->now.cases[3].standing = STANDING_FAIL;
    sides->now.cases[3].reason = "replay allocated peak +3.00 %";
    gate = gate_of(&sides->now, NULL, NULL, 0);
    outcome_check(&gate, RUN_FAIL, "first case-3: a verdict of the run failed: replay allocated peak +3.00 %");
    for (int number = 0; number < SIDE_CASES; number++) {
        sides->now.cases[number].standing = STANDING_SKIP;
        sides->now.cases[number].status = "skip";
    }
    gate = gate_of(&sides->now, NULL, NULL, 0);
    outcome_check(&gate, RUN_INCONCLUSIVE, "no case was measured");
}

/* A machine that lost its GPU is not excused by a policy that excuses every case. */
static void what_is_known_and_not_measured_makes_no_go(void **state)
{
    struct gate_policy known = policy_of("version: 1\nknown_failures:\n"
                                         "  - {cases: \"*\", reason: all of it, expires: 2026-12-31}\n");
    struct sides *sides = sides_make();
    (void)state;
    for (int i = 0; i < SIDE_CASES; i++) {
        sides->now.cases[i].standing = STANDING_BROKEN;
        sides->now.cases[i].status = "error";
    }
    struct gate gate = gate_of(&sides->now, NULL, &known, 0);
    assert_int_equal(gate.counts[GATE_KNOWN], SIDE_CASES);
    outcome_check(&gate, RUN_INCONCLUSIVE, "no case was measured");
    sides->now.cases[1].status = "ok"; /* one is, and that is something */
    sides->now.cases[1].standing = STANDING_OK;
    sides->now.cases[1].judged = 1U << LEVEL_ALLOCATED;
    gate = gate_of(&sides->now, NULL, &known, 0);
    outcome_check(&gate, RUN_PASS,
                  "GO: 1 case measured, none failed; 1 figure judged by tolerances of the suite and by "
                  "what replay predicts; 4 known to fail");
    gate_policy_release(&known);
}

/* A baseline was asked for, and there is none. */
static void a_lacking_baseline_is_inconclusive(void **state)
{
    struct sides *sides = sides_make();
    const struct gate_policy built_in = {.path = NULL};
    const struct gate_options options = {.policy = &built_in, .lacking = "the history has no run"};
    struct gate gate;
    (void)state;
    assert_int_equal(gate_make(&sides->now.figures, &options, &gate, NULL), STATUS_OK);
    outcome_check(&gate, RUN_INCONCLUSIVE, "INCONCLUSIVE: the history has no run");
    sides->now.cases[0].standing = STANDING_FAIL;
    assert_int_equal(gate_make(&sides->now.figures, &options, &gate, NULL), STATUS_OK);
    outcome_check(&gate, RUN_FAIL, "first case-0");
}

static void another_device_driver_or_suite_is_refused_unless_allowed(void **state)
{
    static const struct {
        enum environment property;
        enum gate_refusal refusal;
        const char *words;
    } rows[] = {
        {ENVIRONMENT_DEVICE, GATE_REFUSAL_DEVICE, "the device differs from that of the baseline (x -> y)"},
        {ENVIRONMENT_TARGET, GATE_REFUSAL_DEVICE, "the target differs from that of the baseline (x -> y)"},
        {ENVIRONMENT_DRIVER, GATE_REFUSAL_DRIVER, "the driver differs from that of the baseline (x -> y)"},
        {ENVIRONMENT_PLAN_HASH, GATE_REFUSAL_SUITE, "the suite hash differs from that of the baseline (x -> y)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sides *sides = sides_make();
        sides->base.figures.environment[rows[i].property] = "x";
        sides->now.figures.environment[rows[i].property] = "y";
        struct gate gate = gate_of(&sides->now, &sides->base, NULL, 0);
        assert_int_equal(gate.refused, 1U << rows[i].refusal);
        outcome_check(&gate, RUN_INCONCLUSIVE, rows[i].words);
        gate = gate_of(&sides->now, &sides->base, NULL, 1U << rows[i].refusal);
        assert_true(gate.differs[rows[i].property]);
        outcome_check(&gate, RUN_PASS, "5 cases held");
        sides->now.figures.environment[rows[i].property] = NULL; /* nobody knows */
        gate = gate_of(&sides->now, &sides->base, NULL, 0);
        outcome_check(&gate, RUN_PASS, "5 cases held");
    }
    struct sides *sides = sides_make(); /* what is wrong by itself is wrong all the same */
    sides->base.figures.environment[ENVIRONMENT_DRIVER] = "x";
    sides->now.cases[0].standing = STANDING_FAIL;
    struct gate gate = gate_of(&sides->now, &sides->base, NULL, 0);
    outcome_check(&gate, RUN_FAIL, "first case-0");
}

/* With another suite allowed, what only one of them has says nothing. */
static void cases_of_another_suite_are_told_and_decide_nothing(void **state)
{
    struct sides *sides = sides_make();
    (void)state;
    sides->base.figures.environment[ENVIRONMENT_PLAN_HASH] = "x";
    side_remove(&sides->now, 0);
    struct gate gate = gate_of(&sides->now, &sides->base, NULL, 1U << GATE_REFUSAL_SUITE);
    assert_int_equal(gate.counts[GATE_MISSING], 1);
    outcome_check(&gate, RUN_PASS, "4 cases held");
}

static void disturbed_readings_and_other_devices_say_nothing(void **state)
{
    struct sides *sides = sides_make();
    (void)state;
    sides->now.cases[0].invalid = true;
    sides->now.cases[0].disturbance = "another process held 2 GiB";
    sides->now.cases[0].measured.of[LEVEL_DEVICE] += 2048 * mib;
    sides->base.cases[1].machine = "host|a CPU|host|4";
    sides->now.cases[1].measured.of[LEVEL_PROCESS] += 100 * mib;
    struct gate gate = gate_of(&sides->now, &sides->base, NULL, 0);
    assert_int_equal(gate_case_of(&gate, "case-0")->levels[LEVEL_DEVICE], GATE_INSUFFICIENT);
    assert_int_equal(gate_case_of(&gate, "case-0")->levels[LEVEL_PROCESS], GATE_PASS);
    assert_int_equal(gate_case_of(&gate, "case-1")->levels[LEVEL_PROCESS], GATE_INSUFFICIENT);
    assert_non_null(strstr(words_of(&gate, "case-0"), "but another process held 2 GiB"));
    assert_non_null(strstr(words_of(&gate, "case-1"), "but the devices differ"));
    outcome_check(&gate, RUN_INCONCLUSIVE, "2 of 5 cases are missing or could not be judged");
    sides->now.cases[0].invalid = false;
    sides->base.cases[0].invalid = true;
    sides->base.cases[0].disturbance = "the machine swapped";
    sides->base.cases[1].machine = "cuda|NVIDIA H200|sm_90|0";
    sides->now.cases[1].machine = "cuda|NVIDIA H200|sm_90a|0";
    gate = gate_of(&sides->now, &sides->base, NULL, 0);
    assert_non_null(strstr(words_of(&gate, "case-0"), "but the machine swapped (in the baseline)"));
    assert_int_equal(gate_case_of(&gate, "case-1")->levels[LEVEL_PROCESS], GATE_INSUFFICIENT);
    outcome_check(&gate, RUN_INCONCLUSIVE, "2 of 5 cases are missing or could not be judged");
    sides->now.cases[1].machine = "cuda|NVIDIA H200|sm_90|8"; /* threads are another machine, unless they may differ */
    gate = gate_of(&sides->now, &sides->base, NULL, 0);
    assert_int_equal(gate_case_of(&gate, "case-1")->levels[LEVEL_PROCESS], GATE_INSUFFICIENT);
    gate_release(&gate);
    sides->base.figures.environment[ENVIRONMENT_THREADS] = "2";
    sides->now.figures.environment[ENVIRONMENT_THREADS] = "8";
    gate = gate_of(&sides->now, &sides->base, NULL, 0);
    outcome_check(&gate, RUN_INCONCLUSIVE, "the threads differ from those of the baseline (2 -> 8), so that nothing");
    gate = gate_of(&sides->now, &sides->base, NULL, 1U << GATE_REFUSAL_THREADS);
    assert_int_equal(gate_case_of(&gate, "case-1")->levels[LEVEL_PROCESS], GATE_BREACH);
    gate_release(&gate);
    sides->base.figures.environment[ENVIRONMENT_THREADS] = NULL;
    sides->now.cases[1].measured = sides->base.cases[1].measured;
    sides->now.cases[0].measured.of[LEVEL_REQUESTED] += 1; /* what is counted nobody disturbs */
    gate = gate_of(&sides->now, &sides->base, NULL, 0);
    outcome_check(&gate, RUN_FAIL, "first case-0: requested peak");
}

static void a_figure_that_is_gone_is_insufficient_and_one_that_came_is_new(void **state)
{
    struct sides *sides = sides_make();
    (void)state;
    sides->now.cases[0].measured.of[LEVEL_PROCESS] = FIGURE_BYTES_UNKNOWN;
    sides->base.cases[1].measured.of[LEVEL_PROCESS] = FIGURE_BYTES_UNKNOWN;
    struct gate gate = gate_of(&sides->now, &sides->base, NULL, 0);
    assert_int_equal(gate_case_of(&gate, "case-0")->verdict, GATE_INSUFFICIENT);
    assert_int_equal(gate_case_of(&gate, "case-1")->levels[LEVEL_PROCESS], GATE_NEW);
    outcome_check(&gate, RUN_INCONCLUSIVE, "first case-0: process peak 610.00 MiB in the baseline, and not known now");
}

/* What attempts at the baseline differ by among themselves is no change, of readings. */
static void noise_of_the_baseline_is_allowed_of_readings(void **state)
{
    struct sides *sides = sides_make();
    (void)state;
    sides->base.cases[0].spread.of[LEVEL_PROCESS] = 30 * mib;
    sides->base.cases[0].spread.of[LEVEL_REQUESTED] = 30 * mib;
    sides->now.cases[0].measured.of[LEVEL_PROCESS] += 30 * mib;
    struct gate gate = gate_of(&sides->now, &sides->base, NULL, 0);
    outcome_check(&gate, RUN_PASS, "");
    sides->now.cases[0].measured.of[LEVEL_PROCESS] += 1;
    gate = gate_of(&sides->now, &sides->base, NULL, 0);
    outcome_check(&gate, RUN_FAIL, "process peak");
    sides = sides_make();
    sides->base.cases[0].spread.of[LEVEL_REQUESTED] = 30 * mib;
    sides->now.cases[0].measured.of[LEVEL_REQUESTED] += 1;
    gate = gate_of(&sides->now, &sides->base, NULL, 0);
    outcome_check(&gate, RUN_FAIL, "requested peak");
}

static void words_of_allow_are_read(void **state)
{
    unsigned allowed = 0;
    struct status error = {0};
    (void)state;
    assert_int_equal(gate_allow_parse("suite,device", &allowed, NULL), STATUS_OK);
    assert_int_equal(allowed, 1U << GATE_REFUSAL_SUITE | 1U << GATE_REFUSAL_DEVICE);
    assert_int_equal(gate_allow_parse("drivers", &allowed, &error), STATUS_INVALID);
    assert_string_equal(error.text,
                        "'drivers' is nothing that could be allowed; write one or several of device,driver,suite,"
                        "threads,tolerances,repeat,constants,note-calibrated,fitting,prove,jobs");
    assert_int_equal(gate_allow_parse("suite,", &allowed, NULL), STATUS_INVALID);
    assert_int_equal(gate_allow_parse("", &allowed, NULL), STATUS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_held_against_itself_is_go),
        cmocka_unit_test(every_single_change_is_found_and_told_in_its_direction),
        cmocka_unit_test(an_improvement_alone_is_told_and_passes),
        cmocka_unit_test(the_largest_change_comes_first_and_says_why),
        cmocka_unit_test(a_case_that_is_gone_is_missing_and_a_new_one_is_new),
        cmocka_unit_test(a_run_that_was_cut_short_is_never_go),
        cmocka_unit_test(a_case_with_too_few_attempts_is_insufficient),
        cmocka_unit_test(how_a_case_ended_counts),
        cmocka_unit_test(without_a_baseline_the_run_judges_itself),
        cmocka_unit_test(what_is_known_and_not_measured_makes_no_go),
        cmocka_unit_test(a_lacking_baseline_is_inconclusive),
        cmocka_unit_test(another_device_driver_or_suite_is_refused_unless_allowed),
        cmocka_unit_test(cases_of_another_suite_are_told_and_decide_nothing),
        cmocka_unit_test(disturbed_readings_and_other_devices_say_nothing),
        cmocka_unit_test(a_figure_that_is_gone_is_insufficient_and_one_that_came_is_new),
        cmocka_unit_test(noise_of_the_baseline_is_allowed_of_readings),
        cmocka_unit_test(words_of_allow_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Gate policies: which rule holds, what a bound allows, what is known, and everything that is wrong with a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "harness/gate/gate_words.h"
#include "tests/gate/gate_fixture.h"
#include "tests/support/whole_file.h"

static const int64_t mib = 1024 * 1024;

#define HEAD "version: 1\nrules:\n"

static struct side base, now;

static void sides_begin(void)
{
    side_make(&base);
    side_make(&now);
}

static void outcome_check(const char *policy_text, enum run_outcome outcome, const char *part)
{
    struct gate_policy policy = policy_of(policy_text);
    struct gate gate = gate_of(&now, &base, &policy, 0);
    if (gate.outcome != outcome || strstr(gate.why, part) == NULL) {
        fail_msg("not %s with '%s': %s", run_outcome_verdict(outcome), part, gate.why);
    }
    gate_release(&gate);
    gate_policy_release(&policy);
}

static void the_first_rule_that_matches_case_and_level_holds(void **state)
{
    struct gate_policy policy = policy_of(HEAD "  - {cases: case-1, levels: process, fail: 1MiB}\n"
                                               "  - {cases: [odd, case-2], levels: [process, device], fail: 2MiB}\n"
                                               "  - {cases: 'case-*', fail: 3MiB, tier: supporting}\n"
                                               "  - {cases: '*', levels: [requested], fail: 4MiB}\n");
    struct gate_rules rules;
    (void)state;
    sides_begin();
    gate_policy_settle(&policy, &now.cases[1], &rules);
    assert_int_equal(rules.of[LEVEL_PROCESS].fail.bytes, 1 * mib);
    assert_int_equal(rules.of[LEVEL_DEVICE].fail.bytes, 2 * mib);
    assert_int_equal(rules.of[LEVEL_REQUESTED].fail.bytes, 3 * mib);
    assert_int_equal(rules.of[LEVEL_REQUESTED].tier, GATE_TIER_SUPPORTING);
    assert_int_equal(rules.numbers[LEVEL_PROCESS], 0);
    gate_policy_settle(&policy, &now.cases[0], &rules); /* even */
    assert_int_equal(rules.of[LEVEL_PROCESS].fail.bytes, 3 * mib);
    struct case_figures stranger = now.cases[0];
    stranger.id = "other";
    gate_policy_settle(&policy, &stranger, &rules);
    assert_int_equal(rules.of[LEVEL_REQUESTED].fail.bytes, 4 * mib);
    assert_int_equal(rules.of[LEVEL_RESERVED].fail.bytes, 0); /* built in */
    assert_int_equal(rules.numbers[LEVEL_RESERVED], -1);
    assert_int_equal(rules.of[LEVEL_PROCESS].fail.bytes, 4 * mib);
    assert_int_equal(rules.of[LEVEL_PROCESS].tier, GATE_TIER_CRITICAL);
    gate_policy_release(&policy);
}

static void of_bytes_and_a_percentage_the_larger_is_allowed(void **state)
{
    const struct gate_bound both = {.bytes = 8 * mib, .fraction = 0.02}, open = {.is_open = true}, exact = {0};
    struct text text = {0};
    (void)state;
    assert_true(gate_bound_holds(&both, 8 * mib, 100 * mib));
    assert_false(gate_bound_holds(&both, 8 * mib + 1, 100 * mib));
    assert_true(gate_bound_holds(&both, -20 * mib, 1000 * mib));
    assert_false(gate_bound_holds(&both, -20 * mib - 1, 1000 * mib));
    assert_true(gate_bound_holds(&open, INT64_MAX, 0));
    assert_true(gate_bound_holds(&exact, 0, 0));
    assert_false(gate_bound_holds(&exact, 1, INT64_MAX));
    gate_bound_append(&text, &both);
    text_append(&text, "; ");
    gate_bound_append(&text, &open);
    text_append(&text, "; ");
    gate_bound_append(&text, &exact);
    assert_string_equal(text_string(&text), "8.00 MiB or 2 %; any change; 0 B");
    text_release(&text);
}

static void warn_lies_below_fail(void **state)
{
    static const char policy[] = HEAD "  - {cases: '*', levels: process, warn: 1%, fail: 2%}\n";
    (void)state;
    sides_begin();
    now.cases[0].measured.of[LEVEL_PROCESS] += 6 * mib; /* of 610 */
    outcome_check(policy, RUN_PASS, "5 cases held against the baseline, none beyond its bounds");
    now.cases[0].measured.of[LEVEL_PROCESS] += 1 * mib;
    outcome_check(policy, RUN_PASS, "1 with a warning");
    now.cases[0].measured.of[LEVEL_PROCESS] += 6 * mib;
    outcome_check(policy, RUN_FAIL, "(+13.00 MiB, +2.13 %), allowed are 2 % more (rule of line 3)");
    outcome_check(HEAD "  - {cases: '*', levels: process, fail: none}\n", RUN_PASS, "none beyond its bounds");
    outcome_check(HEAD "  - {cases: '*', levels: process, warn: 0, fail: none}\n", RUN_PASS, "1 with a warning");
}

static void a_direction_says_where_it_gets_worse(void **state)
{
    static const char *const directions[] = {"higher", "lower", "both"};
    static const enum run_outcome outcomes[][2] = {{RUN_FAIL, RUN_PASS}, {RUN_PASS, RUN_FAIL}, {RUN_FAIL, RUN_FAIL}};
    (void)state;
    for (int direction = 0; direction < 3; direction++) {
        for (int less = 0; less < 2; less++) {
            struct text policy = {0};
            text_format(&policy, HEAD "  - {cases: '*', fail: 0, direction: %s}\n", directions[direction]);
            sides_begin();
            now.cases[0].measured.of[LEVEL_ALLOCATED] += less ? -512 : 512;
            outcome_check(text_string(&policy), outcomes[direction][less], less ? "" : "");
            text_release(&policy);
        }
    }
    sides_begin();
    now.cases[0].measured.of[LEVEL_ALLOCATED] -= 512;
    outcome_check(HEAD "  - {cases: '*', direction: both}\n", RUN_FAIL,
                  "(-512 B, -0.00 %), no other figure is allowed (rule of line 3)");
}

static void a_tier_says_what_decides(void **state)
{
    static const struct {
        const char *tier;
        enum run_outcome beyond, missing;
    } rows[] = {
        {"critical", RUN_FAIL, RUN_INCONCLUSIVE}, {"supporting", RUN_FAIL, RUN_PASS}, {"advisory", RUN_PASS, RUN_PASS}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text policy = {0};
        text_format(&policy, HEAD "  - {cases: case-1, tier: %s}\n", rows[i].tier);
        sides_begin();
        now.cases[1].measured.of[LEVEL_RESERVED] += 1;
        outcome_check(text_string(&policy), rows[i].beyond, "");
        now.cases[0].measured.of[LEVEL_RESERVED] += 1; /* of another tier */
        outcome_check(text_string(&policy), RUN_FAIL, "first case-0");
        sides_begin();
        side_remove(&now, 1);
        outcome_check(text_string(&policy), rows[i].missing, "");
        text_release(&policy);
    }
}

/* ---- known failures ---- */

#define KNOWN "known_failures:\n  - {cases: case-1, reason: driver 580, expires: 2026-11-20}\n"

struct notes {
    struct text text;
};

static void note_take(void *context, const char *words)
{
    struct notes *notes = context;
    text_format(&notes->text, "%s\n", words);
}

static void notes_check(const char *policy_text, const char *expected)
{
    struct gate_policy policy = policy_of(policy_text);
    struct gate gate = gate_of(&now, &base, &policy, 0);
    struct notes notes = {.text = {0}};
    gate_notes_visit(&gate, note_take, &notes);
    assert_string_equal(text_string(&notes.text), expected);
    text_release(&notes.text);
    gate_release(&gate);
    gate_policy_release(&policy);
}

/* The run began on the last day, then on the next one; today's date is neither. */
static void a_known_failure_counts_again_when_it_has_expired(void **state)
{
    static const char policy[] = "version: 1\n" KNOWN;
    (void)state;
    sides_begin();
    now.cases[1].measured.of[LEVEL_RESERVED] += 1;
    outcome_check(policy, RUN_PASS, "1 known to fail");
    notes_check(policy, "");
    now.figures.started = "2026-11-21T00:00:00Z";
    outcome_check(policy, RUN_FAIL, "known, but no longer: driver 580 (expired after 2026-11-20)");
    notes_check(policy, "known failure of line 3 (driver 580) expired after 2026-11-20 and counts; mend it, or give it "
                        "another date\n");
    now.figures.started = "";
    outcome_check(policy, RUN_FAIL, "known, but no longer");
}

/* Of two entries that a case fails by, the one that does not hold any more says why it counts. */
static void what_has_expired_is_told_before_what_is_known(void **state)
{
    static const char policy[] = "version: 1\nknown_failures:\n"
                                 "  - {cases: case-1, levels: requested, reason: young, expires: 2030-01-01}\n"
                                 "  - {cases: case-1, levels: reserved, reason: old, expires: 2020-01-01}\n";
    (void)state;
    sides_begin();
    now.cases[1].measured.of[LEVEL_REQUESTED] += 1;
    now.cases[1].measured.of[LEVEL_RESERVED] += 1;
    outcome_check(policy, RUN_FAIL, "known, but no longer: old (expired after 2020-01-01)");
}

/* An old entry in front takes nothing from one that holds, whatever their order is. */
static void of_entries_that_overlap_one_that_holds_is_enough(void **state)
{
    static const char old_first[] = "version: 1\nknown_failures:\n"
                                    "  - {cases: case-1, levels: reserved, reason: old, expires: 2020-01-01}\n"
                                    "  - {cases: case-*, reason: young, expires: 2030-01-01}\n";
    static const char young_first[] = "version: 1\nknown_failures:\n"
                                      "  - {cases: case-1, reason: young, expires: 2030-01-01}\n"
                                      "  - {cases: case-*, reason: old, expires: 2020-01-01}\n";
    (void)state;
    sides_begin();
    now.cases[1].measured.of[LEVEL_RESERVED] += 1;
    outcome_check(old_first, RUN_PASS, "1 known to fail");
    notes_check(old_first, "known failure of line 3 (old) expired after 2020-01-01, and another entry knows the same; "
                           "remove it\n");
    outcome_check(young_first, RUN_PASS, "1 known to fail");
    now.cases[2].measured.of[LEVEL_REQUESTED] += 1; /* that the expired one alone matches */
    outcome_check(young_first, RUN_FAIL, "first case-2: requested peak");
    notes_check(young_first, "known failure of line 4 (old) expired after 2020-01-01 and counts; mend it, or give it "
                             "another date\n");
}

static void a_known_failure_that_passes_or_matches_nothing_is_told(void **state)
{
    (void)state;
    sides_begin();
    notes_check("version: 1\n" KNOWN,
                "known failure of line 3 (driver 580) does not fail any more in 1 case; remove it\n");
    notes_check("version: 1\nknown_failures:\n  - {cases: 'casse-*', reason: none, expires: 2026-11-20}\n",
                "known failure of line 3 (none) matches no case; remove it, or mend its pattern\n");
    notes_check(HEAD "  - {cases: casse-1}\n", "rule of line 3 matches no figure; remove it, or mend its pattern\n");
}

/* Nothing is held against another suite; what is another in it is told. A case that was not made is not gone. */
static void of_another_suite_the_cases_are_told(void **state)
{
    (void)state;
    sides_begin();
    now.figures.environment[ENVIRONMENT_PLAN_HASH] = "9e6b";
    notes_check(HEAD "  - {cases: '*'}\n", "");
    side_remove(&now, 1);
    side_remove(&now, 1);
    side_remove(&base, 4);
    notes_check(HEAD "  - {cases: '*'}\n",
                "between the two suites 2 cases are gone (first case-1), and 1 is new (first case-4)\n");
    now.absent[0] = (struct absent_case){.id = "case-1", .wanted_count = 1};
    now.figures.absent_count = 1;
    notes_check(HEAD "  - {cases: '*'}\n",
                "between the two suites 1 case is gone (first case-2), and 1 is new (first case-4)\n");
}

static void a_known_failure_is_of_its_levels_alone(void **state)
{
    static const char policy[] = "version: 1\nknown_failures:\n"
                                 "  - {cases: case-1, levels: process, reason: noise, expires: 2030-02-28}\n";
    (void)state;
    sides_begin();
    now.cases[1].measured.of[LEVEL_PROCESS] += 5 * mib;
    outcome_check(policy, RUN_PASS, "1 known to fail");
    now.cases[1].measured.of[LEVEL_RESERVED] += 1;
    outcome_check(policy, RUN_FAIL, "first case-1: reserved peak");
    sides_begin();
    now.cases[1].status = "oom";
    now.cases[1].standing = STANDING_BROKEN;
    outcome_check(policy, RUN_FAIL, "first case-1: ok in the baseline, now oom");
    sides_begin();
    side_remove(&now, 1);
    outcome_check("version: 1\n" KNOWN, RUN_PASS, "1 known to fail");
}

/* ---- files ---- */

static void what_is_wrong_with_a_policy_is_said_with_its_place(void **state)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"version: 1\nrulse: []\n", "policy.yaml:2:1: unknown key 'rulse' in a policy; did you mean 'rules'?"},
        {"", "policy.yaml:1:1: the file is empty; a policy begins with 'version: 1'"},
        {"version: 1\n---\na: 1\n", "policy.yaml:2:1: a second document begins; a policy is one document in one file"},
        {"version: 1\nrules: [[[[[[[[[[[[[[[[a]]]]]]]]]]]]]]]]\n", "nested deeper than 16 levels; a policy needs five"},
        {"version: 1\n\xff\n", "policy.yaml:2:1: invalid leading UTF-8 octet; a policy is UTF-8 text"},
        {"<html>\n<p>a: b: c</p>\n", "policy.yaml:1:1: this is no YAML: it is an HTML page; name a policy file"},
        {"rules: []\n", "policy.yaml:1:1: the policy has no version; write version: 1"},
        {"version: 2\nrules: []\n", "policy.yaml:1:10: version: 2 is out of range; write 1"},
        {"version: 1\n", "policy.yaml:1:1: the policy has no 'rules', 'known_failures' or 'first_night'"},
        {"version: 1\nrules: []\n", "policy.yaml:2:8: rules is an empty list"},
        {"- a\n", "policy.yaml:1:1: a policy must be a map"},
        {HEAD "  - {cases: a, teir: critical}\n",
         "policy.yaml:3:16: unknown key 'teir' in a rule; did you mean 'tier'?"},
        {HEAD "  - {cases: a, tier: critcal}\n",
         "policy.yaml:3:22: tier: 'critcal' is not known; did you mean 'critical'?"},
        {HEAD "  - {cases: a, direction: up}\n",
         "policy.yaml:3:27: direction: 'up' is not known; write one of higher, lower, both"},
        {HEAD "  - {cases: a, levels: [process, alocated]}\n",
         "policy.yaml:3:34: levels: 'alocated' is not known; did you mean 'allocated'?"},
        {HEAD "  - {cases: a, levels: [process, process]}\n", "policy.yaml:3:34: levels: process stands here twice"},
        {HEAD "  - {levels: process}\n", "policy.yaml:3:5: a rule has no 'cases'"},
        {HEAD "  - {cases: a, fail: -1}\n", "policy.yaml:3:22: fail: "},
        {HEAD "  - {cases: a, fail: -2%}\n", "policy.yaml:3:22: fail: "},
        {HEAD "  - {cases: a, fail: 5}\n", "policy.yaml:3:22: fail: '5' has no unit"},
        {HEAD "  - {cases: a, fail: {bytes: 2%}}\n", "policy.yaml:3:30: bytes: write a size such as 8MiB here"},
        {HEAD "  - {cases: a, fail: {relative: 2MiB}}\n", "policy.yaml:3:33: relative: write a percentage such as 2%"},
        {HEAD "  - {cases: a, fail: {}}\n", "policy.yaml:3:22: fail is empty; write bytes, relative or both"},
        {HEAD "  - {cases: a, fail: {byte: 1MiB}}\n",
         "policy.yaml:3:23: unknown key 'byte' in fail; did you mean 'bytes'?"},
        {HEAD "  - {cases: a, warn: 1MiB}\n", "policy.yaml:3:22: 'warn' stands without 'fail'"},
        {HEAD "  - {cases: a, warn: 3%, fail: 2%}\n", "policy.yaml:3:22: 'warn' is not below 'fail'"},
        {HEAD "  - {cases: a, warn: none, fail: 2%}\n", "policy.yaml:3:22: 'warn' is not below 'fail'"},
        {HEAD "  - {cases: [a, b]}\n  - {cases: b, fail: 2%}\n",
         "policy.yaml:4:5: this rule never holds, because the first that matches does, and that of line 3 matches all "
         "of it"},
        {HEAD "  - {cases: '*', levels: process}\n  - {cases: b, levels: process}\n",
         "policy.yaml:4:5: this rule never"},
        {HEAD "  - {cases: a}\n    {cases: b}\n", "policy.yaml:"},
        {"version: 1\nknown_failures:\n  - {cases: a, expires: 2026-01-01}\n",
         "policy.yaml:3:5: a known failure has no 'reason'; say in a sentence why it fails"},
        {"version: 1\nknown_failures:\n  - {cases: a, reason: b}\n",
         "policy.yaml:3:5: a known failure has no 'expires'; write the last day"},
        {"version: 1\nknown_failures:\n  - {cases: a, reason: b, expires: 2026-02-29}\n",
         "policy.yaml:3:36: expires: '2026-02-29' is no day of the calendar; write it as 2026-12-31"},
        {"version: 1\nknown_failures:\n  - {cases: a, reason: b, expires: 2026-1-1}\n", "is no day of the calendar"},
        {"version: 1\nknown_failures:\n  - {cases: a, reason: b, expires: 2026-13-01}\n", "is no day of the calendar"},
        {"version: 1\nknown_failures:\n  - {cases: a, reason: b, expires: '2026-12-31T00:00'}\n", "is no day of"},
        {"version: 1\nknown_failures:\n  - {cases: a, reason: b, expires: 0000-12-31}\n", "is no day of the calendar"},
        {"version: 1\nknown_failures:\n  - {cases: [a, b], reason: b, expires: 2026-12-31}\n"
         "  - {cases: b, levels: process, reason: c, expires: 2027-12-31}\n",
         "policy.yaml:4:5: this known failure is that of line 3 again"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *error = policy_error(rows[i].text, strlen(rows[i].text));
        if (strstr(error, rows[i].error) == NULL) {
            fail_msg("not '%s' but '%s' for:\n%s", rows[i].error, error, rows[i].text);
        }
    }
}

/* Every policy that docs/GATE.md shows. */
static void the_policies_of_the_documentation_are_ones(void **state)
{
    char *page = whole_file_read("docs/GATE.md");
    int count = 0;
    (void)state;
    for (char *at = page; (at = strstr(at, "```yaml\n")) != NULL; count++) {
        at += strlen("```yaml\n");
        char *end = strstr(at, "```");
        assert_non_null(end);
        *end = '\0';
        struct gate_policy policy = policy_of(at);
        gate_policy_release(&policy);
        at = end + 1;
    }
    assert_int_equal(count, 1);
    free(page);
}

static void a_leap_day_is_a_day(void **state)
{
    struct gate_policy policy =
        policy_of("version: 1\nknown_failures:\n  - {cases: a, reason: b, expires: 2028-02-29}\n");
    (void)state;
    assert_string_equal(policy.knowns[0].expires, "2028-02-29");
    gate_policy_release(&policy);
}

/* Files that are made to cost more than they are long. */
static void hostile_files_are_refused_with_a_place(void **state)
{
    struct text anchors = {0}, rules = {0}, globs = {0}, zero = {0}, large = {0};
    (void)state;
    text_append(&anchors, "version: 1\na0: &a0 [x, x]\n");
    for (int i = 1; anchors.length < 1000 * 1000; i++) {
        text_format(&anchors, "a%d: &a%d [*a%d, *a%d]\n", i, i, i - 1, i - 1);
    }
    assert_non_null(strstr(policy_error(text_string(&anchors), anchors.length),
                           "more than 100000 values, aliases expanded; join rules and patterns with * or use"));
    text_append(&rules, HEAD);
    for (int i = 0; i <= GATE_RULES_MAXIMUM; i++) {
        text_format(&rules, "  - {cases: case-%d}\n", i);
    }
    assert_non_null(strstr(policy_error(text_string(&rules), rules.length), "policy.yaml:3:3: rules has 257 entries"));
    text_append(&globs, HEAD "  - cases: [a");
    for (int i = 0; i < GATE_GLOBS_MAXIMUM; i++) {
        text_format(&globs, ", b%d", i);
    }
    text_append(&globs, "]\n");
    assert_non_null(strstr(policy_error(text_string(&globs), globs.length), "has more than 1024 patterns"));
    text_format(&large, "version: 1\n#%*s\n", 1024 * 1024, "x");
    assert_non_null(strstr(policy_error(text_string(&large), large.length), "larger than 1 MiB; join rules and"));
    struct gate_policy absent;
    struct status error = {0};
    assert_int_equal(gate_policy_read("absent.yaml", &absent, &error), STATUS_INVALID);
    assert_string_equal(error.text, "absent.yaml: cannot be opened: No such file or directory; name a policy file");
    gate_policy_release(&absent);
    text_append_bytes(&zero, HEAD "  - {cases: a\0b}\n", strlen(HEAD) + 17);
    assert_non_null(strstr(policy_error(text_string(&zero), zero.length), "policy.yaml:"));
    assert_non_null(strstr(policy_error("version: 1\nrules: !!python/object [x]\n", 38), "policy.yaml:2:"));
    text_release(&anchors);
    text_release(&rules);
    text_release(&globs);
    text_release(&zero);
    text_release(&large);
}

static void the_policy_that_is_shipped_is_one(void **state)
{
    struct gate_policy policy;
    struct gate_rules rules;
    struct status error = {0};
    (void)state;
    if (gate_policy_read("ci/policy.yaml", &policy, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(policy.rule_count, 3);
    assert_int_equal(policy.known_count, 0); /* a copy of it excuses nothing */
    sides_begin();
    now.cases[0].id = "gpt2/train/float32/b8";
    gate_policy_settle(&policy, &now.cases[0], &rules);
    assert_int_equal(rules.of[LEVEL_PROCESS].fail.bytes, 16 * mib);
    assert_true(rules.of[LEVEL_PROCESS].fail.fraction == 0.02);
    assert_int_equal(rules.of[LEVEL_REQUESTED].fail.bytes, 0);
    gate_policy_release(&policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_rule_that_matches_case_and_level_holds),
        cmocka_unit_test(of_bytes_and_a_percentage_the_larger_is_allowed),
        cmocka_unit_test(warn_lies_below_fail),
        cmocka_unit_test(a_direction_says_where_it_gets_worse),
        cmocka_unit_test(a_tier_says_what_decides),
        cmocka_unit_test(a_known_failure_counts_again_when_it_has_expired),
        cmocka_unit_test(what_has_expired_is_told_before_what_is_known),
        cmocka_unit_test(of_entries_that_overlap_one_that_holds_is_enough),
        cmocka_unit_test(a_known_failure_that_passes_or_matches_nothing_is_told),
        cmocka_unit_test(of_another_suite_the_cases_are_told),
        cmocka_unit_test(a_known_failure_is_of_its_levels_alone),
        cmocka_unit_test(what_is_wrong_with_a_policy_is_said_with_its_place),
        cmocka_unit_test(the_policies_of_the_documentation_are_ones),
        cmocka_unit_test(a_leap_day_is_a_day),
        cmocka_unit_test(hostile_files_are_refused_with_a_place),
        cmocka_unit_test(the_policy_that_is_shipped_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

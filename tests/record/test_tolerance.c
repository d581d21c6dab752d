/* Tolerances: what is understood, what is refused and in which words, and where a difference begins to be too large. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/record/tolerance.h"

static struct level_rules parsed(const char *text)
{
    struct level_rules rules;
    struct status error = {0};
    if (level_rules_parse(text, &rules, &error) != STATUS_OK) {
        fail_msg("%s: %s", text, error.text);
    }
    return rules;
}

static void a_list_names_levels(void **state)
{
    (void)state;
    struct level_rules rules = parsed("device=2%,process=8MiB,reserved=none");
    assert_int_equal(rules.of[LEVEL_DEVICE].kind, LEVEL_RULE_TOLERATED);
    assert_int_equal(rules.of[LEVEL_DEVICE].tolerance.kind, TOLERANCE_FRACTION);
    assert_true(rules.of[LEVEL_DEVICE].tolerance.fraction > 0.0199 &&
                rules.of[LEVEL_DEVICE].tolerance.fraction < 0.02001);
    assert_int_equal(rules.of[LEVEL_PROCESS].tolerance.bytes, 8 << 20);
    assert_int_equal(rules.of[LEVEL_RESERVED].kind, LEVEL_RULE_NONE);
    assert_int_equal(rules.of[LEVEL_REQUESTED].kind, LEVEL_RULE_ABSENT);
}

static void what_is_not_understood_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"process", "'process' has no '='; write LEVEL=TOLERANCE, as device=4MiB,process=2%"},
        {"", "'' has no '='"},
        {"process=1%,", "'' has no '='"},
        {"proces=1%", "'proces' is not a level; the levels are requested, allocated, reserved, device and process"},
        {"process=1%,process=2%", "process is there twice; keep one"},
        {"process=-1%", "process: "},
        {"process=1e3%", "process: "},
        {"process=10gb", "process: "},
        {"process=5", "process: '5' has no unit; write 5% for a percentage, or 5MiB, 5KiB, 5B for a size"},
        {"process=0.02", "process: '0.02' has no unit; write 2% for that part of the measurement, or a size such as"},
        {"process=", "process: "},
        {"process=None", ", or a percentage such as 0.5%"},
        {"process=00000000000000000000000000000000000000000000000000000000000001%", "is too long"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct level_rules rules = parsed("device=none");
        struct status error = {0};
        assert_int_equal(level_rules_parse(rows[i].text, &rules, &error), STATUS_INVALID);
        if (strstr(error.text, rows[i].says) == NULL) {
            fail_msg("'%s' does not say '%s'", error.text, rows[i].says);
        }
        assert_int_equal(rules.of[LEVEL_DEVICE].kind, LEVEL_RULE_NONE); /* untouched */
    }
}

static void rules_come_back_from_a_record(void **state)
{
    (void)state;
    struct level_rules rules = parsed("device=2%,process=8MiB,reserved=none");
    struct json *object = level_rules_json(&rules);
    struct text text = {0};
    assert_int_equal(json_write(object, 0, &text, NULL), STATUS_OK);
    assert_string_equal(
        text_string(&text),
        "{\"reserved\": \"none\", \"device\": {\"fraction\": 0.02}, \"process\": {\"bytes\": 8388608}}");
    struct level_rules read = level_rules_from_json(object);
    assert_int_equal(read.of[LEVEL_RESERVED].kind, LEVEL_RULE_NONE);
    assert_int_equal(read.of[LEVEL_PROCESS].tolerance.bytes, 8 << 20);
    assert_int_equal(read.of[LEVEL_DEVICE].tolerance.kind, TOLERANCE_FRACTION);
    assert_int_equal(read.of[LEVEL_ALLOCATED].kind, LEVEL_RULE_ABSENT);
    json_release(object);
    text_release(&text);
    const struct level_rules nothing = {0};
    object = level_rules_json(&nothing);
    assert_int_equal(json_kind(object), JSON_KIND_NULL);
    json_release(object);
    read = level_rules_from_json(NULL);
    assert_int_equal(read.of[LEVEL_PROCESS].kind, LEVEL_RULE_ABSENT);
}

static void the_limit_itself_is_within(void **state)
{
    (void)state;
    const struct tolerance bytes = {.kind = TOLERANCE_BYTES, .bytes = 512};
    const struct tolerance part = {.kind = TOLERANCE_FRACTION, .fraction = 0.5};
    assert_true(tolerance_holds(&bytes, -512, 0));
    assert_false(tolerance_holds(&bytes, 513, 1 << 30));
    assert_true(tolerance_holds(&part, 500, 1000));
    assert_false(tolerance_holds(&part, -501, 1000));
    assert_false(tolerance_holds(&part, 1, 0));
    assert_true(tolerance_holds(&bytes, 0, INT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_names_levels),
        cmocka_unit_test(what_is_not_understood_is_refused),
        cmocka_unit_test(rules_come_back_from_a_record),
        cmocka_unit_test(the_limit_itself_is_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Which cases of a suite a run takes, and how often: patterns, their opposites, further rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/run/case_choice.h"
#include "tests/support/status_said.h"

/* m/infer/float32/bN/s128 for N of 1, 2, 3, 16; the last two are tagged, and the last has three attempts. */
static const char text[] = "version: 1\nname: t\ncases:\n"
                           "  - {model: m, mode: infer, batch: [1, 2]}\n"
                           "  - {model: m, mode: infer, batch: 3, tags: large}\n"
                           "  - {model: m, mode: infer, batch: 16, tags: [large, slow], repeat: 3}\n";

struct scene {
    struct suite suite;
    struct case_choice choice;
    struct status error;
};

static int scene_open(void **state)
{
    static struct scene scene;
    scene = (struct scene){0};
    *state = &scene;
    return suite_read_text("my suites/s.yaml", text, sizeof text - 1, NULL, &scene.suite, &scene.error) != STATUS_OK;
}

static int scene_close(void **state)
{
    struct scene *scene = *state;
    case_choice_release(&scene->choice);
    suite_release(&scene->suite);
    return 0;
}

/* The attempts at each of the four cases, as digits. */
static const char *chosen(const struct scene *scene)
{
    static char digits[5];
    for (int i = 0; i < 4; i++) {
        digits[i] = (char)('0' + case_choice_attempts(&scene->choice, &scene->suite, i));
    }
    return digits;
}

static void patterns_choose_and_their_opposites_leave_out(void **state)
{
    static const struct {
        const char *filters[3], *nots[3];
        int repeat;
        const char *chosen, *words;
    } rows[] = {
        {{NULL}, {NULL}, 0, "1113", ""},
        {{NULL}, {NULL}, 2, "2222", ""},
        {{"*/b1/*"}, {NULL}, 0, "1000", "*/b1/*"},
        {{"*/b1/*", "slow"}, {NULL}, 0, "1003", "*/b1/* or slow"},
        {{NULL}, {"slow"}, 0, "1110", "not slow"},
        {{NULL}, {"slow", "*/b2/*"}, 5, "5050", "not slow, not */b2/*"},
        {{"large", "*/b2/*"}, {"slow"}, 0, "0110", "large or */b2/*, not slow"},
        {{"large"}, {"nothing is called so"}, 0, "0013", "large, not nothing is called so"},
    };
    struct scene *scene = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct case_rules rules = {.filters = rows[i].filters, .nots = rows[i].nots, .repeat = rows[i].repeat};
        int attempt_count = 0, case_count = 0;
        while (rows[i].filters[rules.filter_count] != NULL) {
            rules.filter_count++;
        }
        while (rows[i].nots[rules.not_count] != NULL) {
            rules.not_count++;
        }
        assert_int_equal(case_choice_make(&scene->suite, &rules, &scene->choice, &scene->error), STATUS_OK);
        assert_string_equal(chosen(scene), rows[i].chosen);
        assert_string_equal(text_string(&scene->choice.words), rows[i].words);
        for (int k = 0; k < 4; k++) {
            attempt_count += rows[i].chosen[k] - '0';
            case_count += rows[i].chosen[k] > '0';
        }
        assert_int_equal(scene->choice.attempt_count, attempt_count);
        assert_int_equal(scene->choice.case_count, case_count);
        case_choice_release(&scene->choice);
    }
}

/* A slip in one of several patterns would leave out what was meant, and nobody would see it. */
static void a_pattern_that_matches_nothing_is_refused(void **state)
{
    struct scene *scene = *state;
    const char *const filters[] = {"large", "lrage"}, *const nots[] = {"*"};
    struct case_rules rules = {.filters = filters, .filter_count = 2};
    assert_int_equal(case_choice_make(&scene->suite, &rules, &scene->choice, &scene->error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&scene->error), "no case of my suites/s.yaml matches 'lrage'; assay plan "
                                                    "\"my suites/s.yaml\" --ids lists them");
    rules = (struct case_rules){.filters = filters, .filter_count = 1, .nots = nots, .not_count = 1};
    assert_int_equal(case_choice_make(&scene->suite, &rules, &scene->choice, &scene->error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&scene->error), "no case of my suites/s.yaml matches 'large, not *'; assay plan "
                                                    "\"my suites/s.yaml\" --ids lists them");
}

static void a_further_rule_leaves_cases_out_and_is_told(void **state)
{
    struct scene *scene = *state;
    const char *const filters[] = {"large"};
    const struct case_rules rules = {.filters = filters, .filter_count = 1};
    assert_int_equal(case_choice_make(&scene->suite, &rules, &scene->choice, &scene->error), STATUS_OK);
    case_choice_drop(&scene->choice, 0); /* is out already */
    case_choice_drop(&scene->choice, 3);
    case_choice_drop(&scene->choice, 3);
    case_choice_tell(&scene->choice, "part 2 of 4");
    assert_string_equal(chosen(scene), "0010");
    assert_int_equal(scene->choice.case_count, 1);
    assert_int_equal(scene->choice.attempt_count, 1);
    assert_string_equal(text_string(&scene->choice.words), "large, part 2 of 4");
    case_choice_drop(&scene->choice, 2);
    assert_int_equal(scene->choice.case_count, 0);
    assert_int_equal(case_choice_attempts(NULL, &scene->suite, 3), 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(patterns_choose_and_their_opposites_leave_out),
        TEST(a_pattern_that_matches_nothing_is_refused),
        TEST(a_further_rule_leaves_cases_out_and_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The story of each recipe: a first night, a good one, nights whose run fails, red ones, a good one again. A good
 * night is green, one that differs is red, and one whose run failed is red and leaves no trace in the history. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/ci/night_recipes.h"

/* A run that failed before anything was measured, though yesterday's records still lie there; the code of one that
 * says that all is well is the gate's. */
static void broken_nights_expect(const struct scratch_scene *scene, int recipe)
{
    static const struct {
        const char *prepare, *clean;
        int exit_code;
    } rows[] = {
        {"echo 4 >fail", "rm fail", 4},
        {"echo 5 >fail", "rm fail", 5},
        {"echo 2 >fail", "rm fail", 2},
        {"echo 77 >fail", "rm fail", 77},
        {"echo 99 >fail", "rm fail", 99},
        {"echo 137 >fail", "rm fail", 137},
        {": >fail", "rm fail", 2},
        {"echo 1 >fail", "rm fail", 2},
        {"echo '--device cuda:0 --need-gpu' >device", "echo '--device host' >device", 4},
        {"mv work/suite.yaml kept.yaml && echo 'nonsense: 1' >work/suite.yaml", "mv kept.yaml work/suite.yaml", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        workflow_expect(scene, rows[i].prepare, 0, "");
        night_expect(scene, recipe, "", rows[i].exit_code, "");
        workflow_expect(scene, rows[i].clean, 0, "");
    }
}

static void story_expect(const struct scratch_scene *scene, int recipe)
{
    workflow_scene_make(scene);
    first_night_expect(scene, recipe);
    night_expect(scene, recipe, "", 0, "held against the baseline");
    broken_nights_expect(scene, recipe);
    history_expect(scene, recipe, ": 2 runs\n");
    workflow_expect(scene, WORSE, 0, "");
    night_expect(scene, recipe, "", 1, "NO-GO");
    night_expect(scene, recipe, "", 1, "NO-GO"); /* the red night is no baseline */
    workflow_expect(scene, AS_IT_WAS, 0, "");
    night_expect(scene, recipe, "", 0, "held against the baseline");
    history_expect(scene, recipe, ": 5 runs\n"); /* the red ones are in the history all the same */
}

static void github_tells_the_story(void **state)
{
    story_expect(*state, GITHUB);
}

static void gitlab_tells_the_story(void **state)
{
    story_expect(*state, GITLAB);
}

static void elsewhere_tells_the_story(void **state)
{
    story_expect(*state, ELSEWHERE_PLAIN);
}

static void elsewhere_tells_the_story_if_errors_stop_it(void **state)
{
    story_expect(*state, ELSEWHERE_ERREXIT);
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, scratch_scene_open, scratch_scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(github_tells_the_story),
        SCENE_TEST(gitlab_tells_the_story),
        SCENE_TEST(elsewhere_tells_the_story),
        SCENE_TEST(elsewhere_tells_the_story_if_errors_stop_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

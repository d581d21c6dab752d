/* Rarer nights of the recipes: a first one fails, somebody accepts one, the history is lost, the time is over. The
 * plain story is test_night_story's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/ci/night_recipes.h"

/* A first night that fails or measures nothing is no baseline either. */
static void a_failed_first_night_is_no_night(void **state)
{
    const struct scratch_scene *scene = *state;
    workflow_scene_make(scene);
    for (int recipe = 0; recipe < RECIPE_COUNT; recipe++) {
        const char *accept = recipe == GITLAB ? "the first night" : "";
        workflow_expect(scene, "echo '--device cuda:0 --need-gpu' >device; rm -rf work/history work/history.db", 0, "");
        night_expect(scene, recipe, accept, 4, "");
        workflow_expect(scene, "echo '--device host' >device; : >fail", 0, "");
        night_expect(scene, recipe, accept, 2, "");
        workflow_expect(scene, "rm fail; test ! -s work/history/history.db && test ! -e work/history.db", 0, "");
        first_night_expect(scene, recipe);
    }
}

/* Later nights are held against the one that a person accepted. Nobody accepts figures that were not measured. */
static void a_person_accepts_a_night(void **state)
{
    const struct scratch_scene *scene = *state;
    static const int accepting[] = {GITHUB, GITLAB};
    workflow_scene_make(scene);
    for (size_t i = 0; i < sizeof accepting / sizeof accepting[0]; i++) {
        const int recipe = accepting[i];
        first_night_expect(scene, recipe);
        workflow_expect(scene, "echo 4 >fail", 0, "");
        night_expect(scene, recipe, "I insist", 4, "");
        workflow_expect(scene, "rm fail && " WORSE, 0, "");
        night_expect(scene, recipe, "", 1, "NO-GO");
        night_expect(scene, recipe, "two more layers", 0, "accepted by ada: two more layers");
        night_expect(scene, recipe, "", 0, "held against the baseline");
        workflow_expect(scene, AS_IT_WAS, 0, "");
    }
    workflow_expect(scene, "cat summary.md", 0, "accepted by ada: two more layers");
}

/* Not even as an artifact. */
static void an_ill_machine_leaves_nothing_of_yesterday(void **state)
{
    const struct scratch_scene *scene = *state;
    static const int asking[] = {GITHUB, GITLAB};
    workflow_scene_make(scene);
    for (size_t i = 0; i < sizeof asking / sizeof asking[0]; i++) {
        first_night_expect(scene, asking[i]);
        workflow_expect(scene, "echo 4 >ill", 0, "");
        night_expect(scene, asking[i], "", 4, "");
        workflow_expect(scene, "rm ill; ls work/results/* work/assay-results/* 2>/dev/null | wc -l", 0, "0\n");
        history_expect(scene, asking[i], ": 1 run\n");
    }
}

/* A case that ended in an error has no figures that could be right. */
static void a_night_with_an_error_is_not_accepted(void **state)
{
    const struct scratch_scene *scene = *state;
    static const int accepting[] = {GITHUB, GITLAB};
    workflow_scene_make(scene);
    workflow_expect(scene, BROKEN, 0, "");
    for (size_t i = 0; i < sizeof accepting / sizeof accepting[0]; i++) {
        night_expect(scene, accepting[i], "I insist", 3, "INCONCLUSIVE");
    }
}

/* What is known would be the new state otherwise, and never count again. */
static void a_night_with_a_known_failure_is_green_and_no_baseline(void **state)
{
    const struct scratch_scene *scene = *state;
    workflow_scene_make(scene);
    first_night_expect(scene, GITHUB);
    workflow_expect(scene,
                    WORSE
                    " && printf 'version: 1\nknown_failures:\n  - {cases: \"*\", reason: seen, expires: 2999-12-31}\n' "
                    ">policy.yaml",
                    0, "");
    night_expect(scene, GITHUB, "", 0, "2 known to fail");
    night_expect(scene, GITHUB, "", 0, "2 known to fail");
    workflow_expect(scene, "rm policy.yaml", 0, "");
    night_expect(scene, GITHUB, "", 1, "NO-GO");
}

/* A night without its history would be judged as the first, and green. */
static void a_history_that_cannot_be_asked_for_is_no_first_night(void **state)
{
    const struct scratch_scene *scene = *state;
    workflow_scene_make(scene);
    first_night_expect(scene, GITHUB);
    workflow_expect(scene, "mv origin.git elsewhere.git", 0, "");
    night_expect(scene, GITHUB, "", 1, "");
    workflow_expect(scene, "cat summary.md", 0, "The history of the nights cannot be asked for (git ls-remote: 128).");
    workflow_expect(scene, "mv elsewhere.git origin.git && git -C work push -qf origin main:assay-history", 0, "");
    night_expect(scene, GITHUB, "", 1, "");
    workflow_expect(scene, "cat summary.md", 0, "The branch assay-history has no history.db.");
    first_night_expect(scene, GITLAB);
    workflow_expect(scene, "rm -r work/history", 0, "");
    night_expect(scene, GITLAB, "", 1, "The cache has no history. ");
}

/* A job that its timeout ends is cancelled, which is no red: the run must end before. 400 cases take far longer. */
static void a_night_that_takes_too_long_is_incomplete(void **state)
{
    const struct scratch_scene *scene = *state;
    static const int limited[] = {GITHUB, GITLAB};
    workflow_scene_make(scene);
    workflow_expect(
        scene,
        "printf 'version: 1\\nname: mine\\ncases:\\n  - model: tiny-gpt2\\n    mode: train\\n    seq: [%s]\\n' "
        "\"$(seq -s, 16 415)\" >work/suite.yaml && echo 3s >limit",
        0, "");
    for (size_t i = 0; i < sizeof limited / sizeof limited[0]; i++) {
        night_expect(scene, limited[i], limited[i] == GITLAB ? "the first night" : "", 7, "INCOMPLETE");
    }
}

/* The one who pushes last does not take away what another has kept. */
static void two_nights_do_not_overwrite_each_other(void **state)
{
    const struct scratch_scene *scene = *state;
    workflow_scene_make(scene);
    first_night_expect(scene, GITHUB);
    workflow_expect(
        scene,
        "git clone -q -b assay-history origin.git other && cd other && git commit -q --allow-empty -m b && cd "
        ".. && export parent=$(git -C origin.git rev-parse assay-history) && git -C other push -q && "
        "awk -v step='Keep the history' -f \"$1/tests/ci/night_step.awk\" "
        "\"$1/ci/workflows/github/nightly.yml\" >step.sh && cd keep && "
        "PARENT=$parent HISTORY_BRANCH=assay-history bash -e -o pipefail ../step.sh 2>&1",
        1, "rejected");
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, scratch_scene_open, scratch_scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_failed_first_night_is_no_night),
        SCENE_TEST(a_person_accepts_a_night),
        SCENE_TEST(an_ill_machine_leaves_nothing_of_yesterday),
        SCENE_TEST(a_night_with_an_error_is_not_accepted),
        SCENE_TEST(a_night_with_a_known_failure_is_green_and_no_baseline),
        SCENE_TEST(a_history_that_cannot_be_asked_for_is_no_first_night),
        SCENE_TEST(a_night_that_takes_too_long_is_incomplete),
        SCENE_TEST(two_nights_do_not_overwrite_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

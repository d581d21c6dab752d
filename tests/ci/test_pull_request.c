/* What the recipes for GitHub and GitLab do with a change: their own shell is carried out, in a repository whose
 * suite has a model by its path. A change is held against what was before it, and against nothing only if there is
 * nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "tests/ci/workflow_scene.h"

/* In the scene's folder, with the branch "change" of work. GitHub checks out what it would be if it were merged. */
static const struct recipe {
    const char *name, *run;
} recipes[] = {
    {"GitHub",
     "git -C work checkout -q -B merged main && git -C work merge -q --no-ff -m merged change && rm -f summary.md && "
     "mkdir -p ci && cd ci && rm -rf new old && git clone -q --branch merged --depth 2 \"file://$2/work\" new && "
     "FILTER='*' SUITE=suite.yaml \"$1/tests/ci/github_steps.sh\" \"$1/ci/workflows/github/pull-request.yml\" \"$2\" "
     "'What was before' 'What is predicted' 'Measure on the host, before and after' Gate 2>&1; "
     "code=$?; cat \"$2/summary.md\"; exit $code"},
    {"GitLab", "awk -v job=assay-merge-request -f \"$1/tests/ci/gitlab_script.awk\" "
               "\"$1/ci/workflows/gitlab/assay.gitlab-ci.yml\" >step.sh && rm -rf ci && "
               "git clone -q --branch change --depth 1 \"file://$2/work\" ci && cd ci && FILTER='*' SUITE=suite.yaml "
               "CI_MERGE_REQUEST_DIFF_BASE_SHA=$(git -C \"$2/work\" rev-parse main) bash -e -o pipefail ../step.sh"},
};
enum { RECIPE_COUNT = sizeof recipes / sizeof recipes[0] };

/* before, after: lines that commit something on main and on the branch; said: words of the page, by each recipe. */
static void change_expect(void **state, const char *before, const char *after, int exit_code, const char *said)
{
    const struct scratch_scene *scene = *state;
    char line[1024];
    workflow_scene_make(scene);
    snprintf(
        line, sizeof line,
        "cd work && %s && git add -A && git commit -q --allow-empty -m before && git checkout -q -b change && %s && "
        "git add -A && git commit -q --allow-empty -m after && git push -q origin main",
        before, after);
    workflow_expect(scene, line, 0, "");
    for (int i = 0; i < RECIPE_COUNT; i++) {
        workflow_expect(scene, recipes[i].run, exit_code, said);
    }
}

static void a_change_of_nothing_passes(void **state)
{
    change_expect(state, "true", "true", 0, "2 cases held against the baseline");
}

/* The suite is the same, and so is the path that it has: the trees differ. */
static void a_model_that_grew_is_red(void **state)
{
    change_expect(state, "true", "sed -i 's/\"n_layer\": *[0-9]*/\"n_layer\": 8/' mine/config.json", 1, "NO-GO");
}

static void a_new_suite_is_judged_by_itself(void **state)
{
    change_expect(
        state, "git mv suite.yaml other.yaml", "git mv other.yaml suite.yaml", 0,
        "Before this change there was no such suite. The change is judged by its own verdicts and predictions.");
}

static void a_suite_that_was_broken_is_not_told_to_be_new(void **state)
{
    change_expect(state, "cp suite.yaml kept.yaml && echo 'nonsense: 1' >suite.yaml", "cp kept.yaml suite.yaml", 0,
                  "Before this change the suite was refused");
}

static void a_change_that_breaks_the_suite_is_red(void **state)
{
    change_expect(state, "true", "echo 'nonsense: 1' >suite.yaml", 2, "");
}

/* The base may well take less: nobody knows. */
static void a_run_that_failed_before_is_no_reason_to_pass(void **state)
{
    change_expect(state, "echo 99 >\"$2/fail-old\"", "true", 99,
                  "Before this change assay run ended with exit code 99");
}

static void a_run_that_fails_is_red(void **state)
{
    change_expect(state, "echo 99 >\"$2/fail\"", "true", 99, "assay run ended with exit code 99, so nothing is judged");
}

/* A run that says that all is well, and has left nothing. */
static void a_run_that_measured_nothing_is_red(void **state)
{
    change_expect(state, ": >\"$2/fail\"", "true", 2, "");
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, scratch_scene_open, scratch_scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_change_of_nothing_passes),
        SCENE_TEST(a_model_that_grew_is_red),
        SCENE_TEST(a_new_suite_is_judged_by_itself),
        SCENE_TEST(a_suite_that_was_broken_is_not_told_to_be_new),
        SCENE_TEST(a_change_that_breaks_the_suite_is_red),
        SCENE_TEST(a_run_that_failed_before_is_no_reason_to_pass),
        SCENE_TEST(a_run_that_fails_is_red),
        SCENE_TEST(a_run_that_measured_nothing_is_red),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

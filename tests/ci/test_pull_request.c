/* The steps of the workflow for pull requests, carried out here: what a change is held against, and what is said where
 * there is nothing to hold it against. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

/* Runs a line of bash in the scene's folder; $1: this repository, $2: the program. */
static void line_expect(const struct scratch_scene *scene, const char *line, int exit_code, const char *said)
{
    char *here = realpath(".", NULL), *program = realpath(program_path(), NULL), text[2048];
    snprintf(text, sizeof text, "cd %s && %s", scene->folder, line);
    const char *const words[] = {"bash", "-c", text, "bash", here, program, NULL};
    const char *const environment[] = {"LC_ALL=C", NULL};
    struct command_result result = command_run(words, environment);
    if (result.exit_code != exit_code || strstr(text_string(&result.output), said) == NULL) {
        fail_msg("%s: exit code %d, '%s' is wanted: %s%s", line, result.exit_code, said, text_string(&result.output),
                 text_string(&result.error));
    }
    command_result_release(&result);
    free(program);
    free(here);
}

static void step_expect(const struct scratch_scene *scene, const char *step, int exit_code, const char *said)
{
    char line[1024];
    snprintf(line, sizeof line,
             "awk -v step='%s' -f \"$1/tests/ci/night_step.awk\" \"$1/ci/workflows/github/pull-request.yml\" >step.sh "
             "&& PATH=$PWD/bin:$PATH SUITE=s.yaml FILTER='*' GITHUB_STEP_SUMMARY=$PWD/summary.md "
             "bash -e -o pipefail step.sh",
             step);
    line_expect(scene, line, exit_code, said);
}

/* The trees after and before the change, as the checkouts leave them. */
static void trees_make(const struct scratch_scene *scene)
{
    line_expect(scene,
                "mkdir bin new old && ln -s \"$2\" bin/assay && printf 'version: 1\nname: mine\ncases:\n"
                "  - {model: tiny-gpt2, mode: load}\n' >new/s.yaml",
                0, "");
}

static void a_change_is_held_against_what_was_before(void **state)
{
    const struct scratch_scene *scene = *state;
    trees_make(scene);
    line_expect(scene, "cp new/s.yaml old", 0, "");
    step_expect(scene, "Measure on the host, before and after", 0, "");
    step_expect(scene, "Gate", 0, "GO: 1 case held against the baseline");
    line_expect(scene, "! grep 'Before this change' summary.md", 0, "");
}

static void a_new_suite_is_judged_by_itself(void **state)
{
    const struct scratch_scene *scene = *state;
    trees_make(scene);
    step_expect(scene, "Measure on the host, before and after", 0, "");
    line_expect(scene, "cat summary.md", 0,
                "Before this change there was no such suite. The change is judged by its own verdicts.\n");
    step_expect(scene, "Gate", 0, "GO: 1 case measured, none failed");
}

/* Not for a suite that is new. */
static void a_suite_that_was_broken_is_not_told_to_be_new(void **state)
{
    const struct scratch_scene *scene = *state;
    trees_make(scene);
    line_expect(scene, "echo 'nonsense: 1' >old/s.yaml", 0, "");
    step_expect(scene, "Measure on the host, before and after", 0, "");
    line_expect(scene, "cat summary.md", 0,
                "Before this change assay run ended with exit code 2 and measured nothing; see its log. The change is "
                "judged by its own verdicts.\n");
    step_expect(scene, "Gate", 0, "GO: 1 case measured, none failed");
}

static void a_change_that_measures_nothing_is_red(void **state)
{
    const struct scratch_scene *scene = *state;
    trees_make(scene);
    line_expect(scene, "echo 'nonsense: 1' >new/s.yaml", 0, "");
    step_expect(scene, "Measure on the host, before and after", 1, "");
    line_expect(scene, "cat summary.md", 0, "assay run ended with exit code 2 and measured nothing; see its log.\n");
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, scratch_scene_open, scratch_scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_change_is_held_against_what_was_before),
        SCENE_TEST(a_new_suite_is_judged_by_itself),
        SCENE_TEST(a_suite_that_was_broken_is_not_told_to_be_new),
        SCENE_TEST(a_change_that_measures_nothing_is_red),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

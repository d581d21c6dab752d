/* The nightly workflow's own steps, carried out here: a repository with a suite of its own and a branch for the
 * history, on the host in place of the GPU. A good night is green and becomes a baseline; one that differs is red and
 * does not. */
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
static struct command_result line_run(const struct scratch_scene *scene, const char *line)
{
    char *here = realpath(".", NULL), *program = realpath(program_path(), NULL), text[4096];
    snprintf(text, sizeof text, "cd %s && %s", scene->folder, line);
    const char *const words[] = {"bash", "-c", text, "bash", here, program, NULL};
    const char *const environment[] = {"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", NULL};
    struct command_result result = command_run(words, environment);
    free(program);
    free(here);
    return result;
}

static void line_expect(const struct scratch_scene *scene, const char *line, int exit_code, const char *said)
{
    struct command_result result = line_run(scene, line);
    if (result.exit_code != exit_code || strstr(text_string(&result.output), said) == NULL) {
        fail_msg("%s: exit code %d, '%s' is wanted: %s%s", line, result.exit_code, said, text_string(&result.output),
                 text_string(&result.error));
    }
    command_result_release(&result);
}

static void repository_make(const struct scratch_scene *scene)
{
    line_expect(scene,
                "git init -q --bare origin.git && git clone -q origin.git work 2>/dev/null && mkdir bin work/suites && "
                "ln -s \"$2\" bin/assay && printf 'version: 1\\nname: mine\\ncases:\\n  - model: tiny-gpt2\\n    "
                "mode: [load, train]\\n    seq: 16\\n' >work/suites/mine.yaml && cd work && git add -A && "
                "git -c user.name=a -c user.email=a@b commit -qm one",
                0, "");
}

/* One step as GitHub's runner starts it. gate: the outcome of the gate, for the steps behind it. */
static void step_expect(const struct scratch_scene *scene, const char *step, const char *gate, int exit_code,
                        const char *said)
{
    char line[2048];
    snprintf(line, sizeof line,
             "awk -v step='%s' -f \"$1/tests/ci/night_step.awk\" \"$1/ci/workflows/github/nightly.yml\" | "
             "sed 's/--device cuda:0 --need-gpu/--device host/' >step.sh && cd work && PATH=$PWD/../bin:$PATH "
             "SUITE=suites/mine.yaml POLICY=$(ls ../policy.yaml 2>/dev/null) BASELINE_NIGHTS=2 KEEP_NIGHTS=1 "
             "RUN_LIMIT=$(cat ../limit 2>/dev/null || "
             "echo 10m) HISTORY_BRANCH=assay-history GATE=%s "
             "GITHUB_STEP_SUMMARY=$PWD/../summary.md bash -e -o pipefail ../step.sh",
             step, gate);
    line_expect(scene, line, exit_code, said);
}

static void night_pass(const struct scratch_scene *scene, const char *verdict, int gate)
{
    step_expect(scene, "The history so far", "", 0, "");
    step_expect(scene, "Measure", "", 0, "report: ");
    step_expect(scene, "Gate", "", gate, verdict);
    step_expect(scene, "Keep the night", gate == 0 ? "success" : "failure", 0, "assay-results/history.db");
    line_expect(scene, "cd work && git worktree remove --force assay-history && sleep 1", 0,
                ""); /* its name has seconds */
}

static void nights_are_green_and_red_for_the_right_reason(void **state)
{
    const struct scratch_scene *scene = *state;
    command_needed("git");
    repository_make(scene);
    night_pass(scene, "GO: ", 0);
    night_pass(scene, "2 PASS", 0);
    /* The baseline says less than what is measured. */
    line_expect(
        scene,
        "git clone -q -b assay-history origin.git t && cd t && "
        "sed -i -E 's/\"allocated_bytes_peak\": ?[0-9]+/\"allocated_bytes_peak\": 512/g' nights/*/records.jsonl && "
        "git -c user.name=a -c user.email=a@b commit -qam less && git push -q",
        0, "");
    night_pass(scene, "NO-GO: ", 1);
    line_expect(scene, "grep -c 'NO-GO' summary.md", 0, "1");
    line_expect(scene, "git -C origin.git ls-tree -r --name-only assay-history | grep -c go$", 0, "2\n");
    line_expect(scene, "git -C origin.git ls-tree -r --name-only assay-history | grep -c jsonl$", 0, "3\n");
    /* Of the red nights one is kept; the good ones stay, and the gate still stands against them. */
    night_pass(scene, "NO-GO: ", 1);
    line_expect(scene, "git -C origin.git ls-tree -r --name-only assay-history | grep -c jsonl$", 0, "3\n");
}

static void a_night_that_measured_nothing_is_red(void **state)
{
    const struct scratch_scene *scene = *state;
    command_needed("git");
    repository_make(scene);
    line_expect(scene, "echo 'nonsense: 1' >work/suites/mine.yaml", 0, "");
    step_expect(scene, "The history so far", "", 0, "");
    step_expect(scene, "Measure", "", 1, "");
    line_expect(scene, "cat summary.md", 0, "assay run ended with exit code 2 and measured nothing; see its log.");
}

/* What is known would be the new state otherwise, and never count again. */
static void a_night_with_a_known_failure_is_green_and_no_baseline(void **state)
{
    const struct scratch_scene *scene = *state;
    command_needed("git");
    repository_make(scene);
    night_pass(scene, "GO: ", 0);
    line_expect(
        scene,
        "git clone -q -b assay-history origin.git t && cd t && "
        "sed -i -E 's/\"allocated_bytes_peak\": ?[0-9]+/\"allocated_bytes_peak\": 512/g' nights/*/records.jsonl && "
        "git -c user.name=a -c user.email=a@b commit -qam less && git push -q && cd .. && "
        "printf 'version: 1\nknown_failures:\n  - {cases: \"*\", reason: seen, expires: 2999-12-31}\n' >policy.yaml",
        0, "");
    night_pass(scene, "2 known to fail", 0);
    night_pass(scene, "2 known to fail", 0);
    line_expect(scene, "git -C origin.git ls-tree -r --name-only assay-history | grep -c go$", 0, "1\n");
}

/* A night without its history would be judged by its own verdicts, and green. */
static void a_history_that_cannot_be_asked_for_is_no_first_night(void **state)
{
    const struct scratch_scene *scene = *state;
    command_needed("git");
    repository_make(scene);
    line_expect(scene, "mv origin.git elsewhere.git", 0, "");
    step_expect(scene, "The history so far", "", 1, "");
    line_expect(scene, "cat summary.md", 0, "The history of the nights cannot be asked for (git ls-remote: 128).");
}

/* A job that its timeout ends is cancelled, which is no red: the run must end before. 400 cases take far longer. */
static void a_night_that_takes_too_long_is_incomplete(void **state)
{
    const struct scratch_scene *scene = *state;
    command_needed("git");
    repository_make(scene);
    line_expect(scene,
                "printf 'version: 1\\nname: mine\\ncases:\\n  - model: tiny-gpt2\\n    mode: train\\n    seq: [%s]\\n' "
                "\"$(seq -s, 16 415)\" >work/suites/mine.yaml && echo 3s >limit",
                0, "");
    step_expect(scene, "The history so far", "", 0, "");
    step_expect(scene, "Measure", "", 0, "");
    step_expect(scene, "Gate", "", 7, "INCOMPLETE: ");
    line_expect(scene, "grep -c '\"interrupted\": true' work/assay-results/night/records.jsonl", 0, "1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nights_are_green_and_red_for_the_right_reason, scratch_scene_open,
                                        scratch_scene_close),
        cmocka_unit_test_setup_teardown(a_night_that_measured_nothing_is_red, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(a_night_with_a_known_failure_is_green_and_no_baseline, scratch_scene_open,
                                        scratch_scene_close),
        cmocka_unit_test_setup_teardown(a_history_that_cannot_be_asked_for_is_no_first_night, scratch_scene_open,
                                        scratch_scene_close),
        cmocka_unit_test_setup_teardown(a_night_that_takes_too_long_is_incomplete, scratch_scene_open,
                                        scratch_scene_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

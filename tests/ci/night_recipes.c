/* Night recipes: where each of them stands, how its shell is taken out and run, and where its history is. */
#include "tests/ci/night_recipes.h"

#include <stdio.h>

#define SETTINGS                                                                                                       \
    "export SUITE=suite.yaml BASELINE=median:2 RUN_LIMIT=$(cat limit 2>/dev/null || echo 10m) "                        \
    "POLICY=$(ls \"$2/policy.yaml\" 2>/dev/null) ACTOR=ada GITLAB_USER_LOGIN=ada HISTORY_BRANCH=assay-history && "
#define ON_THE_DEVICE " | sed \"s/--device cuda:0 --need-gpu/$(cat device)/; s/SUITE --/suite.yaml --/\" >step.sh && "
#define ELSEWHERE                                                                                                      \
    "awk '/^## / { there = /Elsewhere/ } there && /^```/ { blocks++; next } there && blocks == 1' "                    \
    "\"$1/docs/CI.md\"" ON_THE_DEVICE "cd work && "

/* night: in the scene's folder, with $ACCEPT; database: prints the path of the history. */
static const struct recipe {
    const char *name, *night, *database;
} recipes[] = {
    {"GitHub", SETTINGS "cd work && \"$1/tests/ci/github_night.sh\" \"$2\"",
     "git -C origin.git show assay-history:history.db >h.db; echo h.db"},
    {"GitLab",
     SETTINGS "awk -v job=assay-night -f \"$1/tests/ci/gitlab_script.awk\" "
              "\"$1/ci/workflows/gitlab/assay.gitlab-ci.yml\"" ON_THE_DEVICE
              "cd work && bash -e -o pipefail ../step.sh",
     "echo work/history/history.db"},
    {"elsewhere",
     ELSEWHERE "if [ -n \"$ACCEPT\" ]; then bash ../step.sh; "
               "assay gate night/run --accept --by ada --reason \"$ACCEPT\" --history history.db; "
               "else bash ../step.sh; fi",
     "echo work/history.db"},
    {"elsewhere, in a shell that stops at the first error", ELSEWHERE "bash -e ../step.sh", "echo work/history.db"},
};

void night_expect(const struct scratch_scene *scene, int recipe, const char *accept, int exit_code, const char *said)
{
    char line[2048];
    /* Nights are told apart by the second in which they begin. */
    snprintf(line, sizeof line, ": %s; [ -e fail ] || sleep 1; export ACCEPT='%s'; %s", recipes[recipe].name, accept,
             recipes[recipe].night);
    workflow_expect(scene, line, exit_code, said);
}

void first_night_expect(const struct scratch_scene *scene, int recipe)
{
    night_expect(scene, recipe, recipe == GITLAB ? "the first night" : "", 0,
                 recipe == GITLAB ? "accepted by ada: the first night" : "first night: ");
}

void history_expect(const struct scratch_scene *scene, int recipe, const char *said)
{
    char line[512];
    snprintf(line, sizeof line, "assay history show --database \"$(%s)\"", recipes[recipe].database);
    workflow_expect(scene, line, 0, said);
}

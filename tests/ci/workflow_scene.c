/* Workflow scene: lines of bash make it. */
#include "tests/ci/workflow_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command_run.h"

void workflow_expect(const struct scratch_scene *scene, const char *line, int exit_code, const char *said)
{
    char *here = realpath(".", NULL), *program = realpath(program_path(), NULL);
    struct text text = {0};
    text_format(&text, "cd \"$2\" && export PATH=$2/bin:$PATH && %s", line);
    const char *const words[] = {"bash", "-c", text_string(&text), "bash", here, scene->folder, program, NULL};
    const char *const environment[] = {
        "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",   "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
        "GIT_COMMITTER_NAME=a",        "GIT_COMMITTER_EMAIL=a@b", "LC_ALL=C",          NULL};
    struct command_result result = command_run(words, environment);
    if (result.exit_code != exit_code || strstr(text_string(&result.output), said) == NULL) {
        fail_msg("%s: exit code %d, not %d; '%s' is wanted: %s%s", line, result.exit_code, exit_code, said,
                 text_string(&result.output), text_string(&result.error));
    }
    command_result_release(&result);
    text_release(&text);
    free(program);
    free(here);
}

/* A shell script: the program's name is written into it. */
static const char assay[] = "scene=${0%/bin/assay}\n"
                            "[ \"$1\" != doctor ] || exit $(cat \"$scene/ill\" 2>/dev/null || echo 0)\n"
                            "case $PWD in */old) fail=$scene/fail-old ;; *) fail=$scene/fail ;; esac\n"
                            "[ \"$1\" != run ] || [ ! -e \"$fail\" ] || exit $(cat \"$fail\")\n"
                            "PROGRAM \"$@\"\n"
                            "code=$?\n"
                            "if [ \"$1\" = run ] && [ -e \"$scene/edit\" ]; then\n"
                            "    while [ \"$1\" != --out ]; do shift; done\n"
                            "    sed -i -E -f \"$scene/edit\" \"$2/records.jsonl\"\n"
                            "fi\n"
                            "exit $code\n";

void workflow_scene_make(const struct scratch_scene *scene)
{
    command_needed("git");
    workflow_expect(scene,
                    "git init -q --bare -b main origin.git && git clone -q origin.git work 2>/dev/null && mkdir bin && "
                    "echo '--device host' >device && cd work && git checkout -q -b main && "
                    "cp -r \"$1/models/catalogue/tiny-gpt2\" mine && printf 'version: 1\\nname: mine\\ncases:\\n"
                    "  - {model: ./mine, mode: [load, train], seq: 16}\\n' >suite.yaml && "
                    "git add -A && git commit -qm one && git push -q origin main",
                    0, "");
    char bin[96];
    snprintf(bin, sizeof bin, "%s/bin", scene->folder);
    script_write(bin, "assay", assay);
    workflow_expect(scene, "sed -i \"s|PROGRAM|$3|\" bin/assay", 0, "");
}

/* Paths in a suite: they begin at the folder of the suite, wherever the program is started, so that a checkout of an
 * earlier state measures its own models and asks its own programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

/* Two checkouts, old and new, of one repository; the model of the new one has a layer more. $assay is the program. */
#define CHECKOUTS                                                                                                      \
    "for side in old new; do mkdir -p $side/suites/models/own $side/tools; "                                           \
    "printf 'version: 1\\nname: s\\nexternal:\\n  asked: {command: [../tools/ask, \"{model}\", \"{config}\"], "        \
    "quantities: {total_bytes: /bytes}}\\ncases:\\n  - {model: models/own, mode: load}\\n"                             \
    "  - {model: models/own/config.json, mode: load, checkpoint: single, device: host}\\n' >$side/suites/s.yaml; "     \
    "printf '#!/bin/sh\\ntest -e \"$1\" && test -e \"$2\" && echo \"{\\\\\"bytes\\\\\": $(wc -c <\"$0\")}\"\\n'"       \
    " >$side/tools/ask; chmod +x $side/tools/ask; sed 's/\"n_layer\": 2/\"n_layer\": '$((${#side} + ${layers:-0}))'/'" \
    " $catalogue/tiny-gpt2/config.json >$side/suites/models/own/config.json; layers=1; done; "                         \
    "echo '#' >>new/tools/ask; "

static struct command_result script_do(const struct scratch_scene *scene, const char *script)
{
    char *program = realpath(program_path(), NULL), *catalogue = realpath("models/catalogue", NULL);
    struct text text = {0};
    assert_non_null(program);
    assert_non_null(catalogue);
    text_format(&text, "assay='%s' catalogue='%s'; cd '%s' || exit 9; %s", program, catalogue, scene->folder, script);
    const char *const words[] = {"sh", "-c", text_string(&text), NULL};
    struct command_result result = command_run(words, NULL);
    text_release(&text);
    free(program);
    free(catalogue);
    return result;
}

static void script_says(const struct scratch_scene *scene, const char *script, const char *output)
{
    struct command_result result = script_do(scene, script);
    if (strcmp(text_string(&result.output), output) != 0) {
        fail_msg("%s\n%s", text_string(&result.output), text_string(&result.error));
    }
    command_result_release(&result);
}

/* The ids are those of the words that the suite has, so that the two sides are compared case by case. */
static void a_checkout_measures_its_own_models(void **state)
{
    script_says(*state,
                CHECKOUTS
                "measure() { \"$assay\" run $1 --device meta --out $2 --records-only --quiet >/dev/null; }; "
                "measure old/suites/s.yaml old/out; measure new/suites/s.yaml new/out; top=$PWD; "
                "(cd / && measure $top/old/suites/s.yaml $top/root); (cd old/suites && measure s.yaml $top/inside); "
                "for other in new/out root inside; do \"$assay\" compare old/out $other >/dev/null; echo $?; done",
                "1\n0\n0\n");
}

static void a_checkout_is_predicted_by_its_own_models(void **state)
{
    script_says(*state,
                CHECKOUTS "for side in old new; do \"$assay\" plan $side/suites/s.yaml --ids >$side/ids; "
                          "\"$assay\" plan $side/suites/s.yaml >$side/plan; done; cmp -s old/ids new/ids; echo $?; "
                          "cmp -s old/plan new/plan; echo $?; "
                          "cd new/suites; \"$assay\" plan s.yaml >../inside; cmp ../plan ../inside; echo $?",
                "0\n1\n0\n");
}

/* assay starts it in the folder of the suite, so that it finds the model by the path that the suite has. */
static void an_external_estimator_is_that_of_the_checkout(void **state)
{
    script_says(*state,
                CHECKOUTS
                "for side in old new; do \"$assay\" run $side/suites/s.yaml --device meta --out $side/out "
                "--records-only --quiet >/dev/null; "
                "sed -n 's/.*\"asked\": {[^}]*\"total_bytes\": \\([0-9]*\\).*/\\1/p' $side/out/records.jsonl | "
                "sort -u >$side/answer; [ \"$(cat $side/answer)\" -eq $(wc -c <$side/tools/ask) ]; echo $?; done",
                "0\n0\n");
}

static void a_path_of_the_working_directory_is_refused(void **state)
{
    struct command_result result =
        script_do(*state, CHECKOUTS "sed -i 's|models/own,|old/suites/models/own,|' old/suites/s.yaml; "
                                    "\"$assay\" run old/suites/s.yaml --device meta --out out; echo $?; ls -d out");
    command_says(&result.output, "2\n");
    command_says(&result.error, "old/suites/s.yaml:6:13: 'old/suites/models/own': old/suites/old/suites/models/own is "
                                "not there; paths in a suite begin at its own folder");
    command_says(&result.error, "'out': No such file");
    command_result_release(&result);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_scene_open, scratch_scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_checkout_measures_its_own_models),
        TEST(a_checkout_is_predicted_by_its_own_models),
        TEST(an_external_estimator_is_that_of_the_checkout),
        TEST(a_path_of_the_working_directory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

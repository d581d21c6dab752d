/* --verbose: what is looked for where, each step of a case, every verdict; on standard error alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

enum { WORDS_MAXIMUM = 16 };

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char suite[] = "tests/cli/data/small-suite.yaml";

/* Runs one case of the suite into a folder of the scene, with further words, ended by NULL. */
static struct command_result run_one(const struct scratch_scene *scene, const char *name, const char *const *more,
                                     const char *const *environment)
{
    char folder[128];
    snprintf(folder, sizeof folder, "%s/%s", scene->folder, name);
    const char *words[WORDS_MAXIMUM] = {program_path(), "run",  suite, "--filter", "tiny-gpt2/load/float32*",
                                        "--out",        folder, NULL};
    for (int i = 0; more[i] != NULL; i++) {
        words[i + 7] = more[i];
    }
    return command_run(words, environment);
}

static void each_step_is_told(void **state)
{
    const struct scratch_scene *scene = *state;
    struct command_result result =
        run_one(scene, "out", WORDS("--device", "host", "--verbose", "--records-only"), NULL);
    static const char *const said[] = {
        "assay: run: suite: tests/cli/data/small-suite.yaml, ",
        "assay: run: models: models/catalogue\n",
        "assay: run: the catalogue has ",
        "assay: run: constants of the device that is measured, by its name: results/reference\n",
        "assay: run: device host: ",
        "OpenBLAS",
        "assay: run: plots: ",
        "out/records.jsonl\n",
        "[1/1] starts, attempt 1: tiny-gpt2/load/float32",
        " s  tiny-gpt2/load/float32: predicted by ",
        "; replay, requested ",
        " s  tiny-gpt2/load/float32: measured, requested ",
        "; peak in load\n",
        " s  tiny-gpt2/load/float32: ends: ok\n",
        "replay requested_bytes_peak: measured ",
        ": not judged\n",
        "[1/1] ok after ",
    };
    const char *rest = text_string(&result.error);
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        const char *place = strstr(rest, said[i]);
        if (place == NULL) {
            fail_msg("'%s' is not there, or not behind what stands before it: %s", said[i], text_string(&result.error));
        }
        rest = place;
    }
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

/* What a pipe gets of standard output does not change. */
static void results_stay_as_they_are(void **state)
{
    const struct scratch_scene *scene = *state;
    struct command_result loud = run_one(scene, "loud", WORDS("--device", "host", "--verbose", "--records-only"), NULL);
    struct command_result plain = run_one(scene, "plain", WORDS("--device", "host", "--records-only"), NULL);
    assert_string_equal(text_string(&loud.output), text_string(&plain.output));
    assert_true(loud.error.length > 10 * plain.error.length);
    command_result_release(&plain);
    command_result_release(&loud);
}

static void what_is_missing_is_named_with_its_place(void **state)
{
    const struct scratch_scene *scene = *state;
    const char *const environment[] = {"ASSAY_PLUGIN_DIR=/nowhere/plugins", "CUDA_VISIBLE_DEVICES=-1", "PATH=/nowhere",
                                       NULL};
    struct command_result result = run_one(scene, "out", WORDS("--verbose", "--records-only"), environment);
    command_says(&result.error, "assay: run: device: cuda: the plug-in libassay_cuda.so is not in /nowhere/plugins; ");
    command_says(&result.error, "assay: run: device host: ");
    command_says(&result.error, "assay: run: plots: gnuplot ");
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

static void quiet_and_verbose_are_refused(void **state)
{
    const struct scratch_scene *scene = *state;
    command_refused(run_one(scene, "out", WORDS("--quiet", "--verbose"), NULL),
                    "run: --quiet and --verbose contradict each other; leave one out");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_step_is_told, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(results_stay_as_they_are, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(what_is_missing_is_named_with_its_place, scratch_scene_open,
                                        scratch_scene_close),
        cmocka_unit_test_setup_teardown(quiet_and_verbose_are_refused, scratch_scene_open, scratch_scene_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* How ci/gpu.sh ends where it could not: a signal amid the parts of the GPU, a process that nothing ends, a shell that
 * hangs. There is a verdict each time, of what was measured until then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/ci/gpu_scene.h"

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The script that started the program which says this, as its number: the first of the row of those above it. */
#define SCRIPT_ABOVE                                                                                                   \
    "above=$PPID script=; while [ \"$above\" -gt 1 ]; do\n"                                                            \
    "case $(tr '\\0' ' ' <\"/proc/$above/cmdline\") in *gpu.sh*) script=$above ;; *) [ -z \"$script\" ] || break ;; "  \
    "esac\n"                                                                                                           \
    "above=$(sed 's/.*) [A-Z] \\([0-9]*\\) .*/\\1/' \"/proc/$above/stat\"); done\n"

static void a_signal_keeps_what_is_finished(void **state)
{
    const struct gpu_scene *scene = *state;
    script_write(scene->folder, "compute-sanitizer", SCRIPT_ABOVE "kill -TERM \"$script\"; exec sleep 60");
    struct command_result result = gpu_scene_run_emulated(scene, OPTIONS("--tier", "host"), "X=");
    gpu_scene_expect(scene, &result, 3, "inconclusive, interrupted: sanitizer, pytorch, compare, host; exit code 3");
    assert_true(gpu_scene_part_is(scene, "adam", "ok"));
    gpu_scene_says(scene, "records.jsonl", "\"type\": \"case\"");
}

/* A program that stops who watches over it, and that no signal of the script ends, as one does not that hangs in a
 * driver: nothing is begun after it. */
static void what_does_not_end_is_named(void **state)
{
    struct gpu_scene *scene = *state;
    scene->starter =
        "at=${2%/out}; kill() {\n"
        "for word; do :; done\n"
        "case \" $(cat \"$at/stuck\" 2>/dev/null) \" in *\" $word \"*) [ \"$1\" = -0 ] || return 0 ;; esac\n"
        "command kill \"$@\"; }; . \"$0\"";
    script_write(scene->folder, "compute-sanitizer",
                 "trap '' TERM; echo \" $$ \" >\"${0%/*}/stuck\"; kill -STOP $PPID; while :; do sleep 1; done");
    struct command_result result = gpu_scene_run_emulated(scene, OPTIONS("--tier", "host", "--seconds", "45"), "X=");
    const char *const words[] = {"sh", "-c", "kill -KILL $(cat \"$1/stuck\")", "sh", scene->folder, NULL};
    struct command_result killed = command_run(words, NULL);
    assert_int_equal(killed.exit_code, 0);
    command_result_release(&killed);
    gpu_scene_expect(scene, &result, 3, "inconclusive, the driver is stuck (process ");
    gpu_scene_says(scene, "timing.tsv", "\tpytorch\topen\t3\t0.0\t");
    gpu_scene_says(scene, "timing.tsv", "\thost\topen\t3\t0.0\t");
    gpu_scene_says(scene, "timing.tsv", "not begun: the driver is stuck");
    assert_true(gpu_scene_part_is(scene, "adam", "ok"));
}

/* The shell itself waits for something without a limit; the clock of the one that watches runs fast. */
static void a_shell_that_hangs_is_given_up(void **state)
{
    struct gpu_scene *scene = *state;
    scene->starter =
        "at=${2%/out}; date() {\n"
        "[ ! -e \"$at/late\" ] || echo >>\"$at/late\"; late=$(cat \"$at/late\" 2>/dev/null | wc -l)\n"
        "case $1 in +%s) echo $(($(command date +%s) + 100 * late)) ;; *) command date \"$@\" ;; esac; }; . \"$0\"";
    script_write(scene->folder, "nproc",
                 "at=${0%/*}; [ -e \"$at/once\" ] && { : >\"$at/late\"; exec sleep 600; }; : >\"$at/once\"; echo 2");
    struct command_result result = gpu_scene_run_emulated(scene, OPTIONS("--tier", "host"), "X=");
    gpu_scene_expect(scene, &result, 3,
                     "inconclusive, the driver is stuck (not ended: the script was to be over by now)");
    assert_true(gpu_scene_part_is(scene, "adam", "ok"));
    gpu_scene_says(scene, "timing.tsv", "\thost\topen\t3\t");
}

#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, gpu_scene_make, gpu_scene_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_signal_keeps_what_is_finished),
        SCENE_TEST(what_does_not_end_is_named),
        SCENE_TEST(a_shell_that_hangs_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

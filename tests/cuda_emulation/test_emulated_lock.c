/* A script that holds a GPU for all that it starts, as ci/gpu.sh does: assay lock. */
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

/* Of a shell script that calls the program as $assay and may write into $folder. Locks are in the scene's folder. */
static struct command_result script_run(const struct scratch_scene *scene, const char *body)
{
    char program[PATH_MAX] = "", plugins[PATH_MAX + 32], locks[PATH_MAX], assay[PATH_MAX], folder[PATH_MAX];
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    *strrchr(program, '/') = '\0'; /* where the emulated plug-in lies too */
    snprintf(plugins, sizeof plugins, "ASSAY_PLUGIN_DIR=%s", program);
    snprintf(locks, sizeof locks, "ASSAY_LOCK_DIR=%s", scene->folder);
    snprintf(assay, sizeof assay, "assay=%s", program_path());
    snprintf(folder, sizeof folder, "folder=%s", scene->folder);
    return command_run((const char *const[]){"sh", "-c", body, NULL},
                       (const char *const[]){plugins, locks, assay, folder, NULL});
}

static void script_says(const struct scratch_scene *scene, const char *body, const char *output)
{
    struct command_result result = script_run(scene, body);
    if (result.exit_code != 0 || strcmp(text_string(&result.output), output) != 0) {
        fail_msg("exit code %d, \"%s\" where \"%s\" was meant; %s", result.exit_code, text_string(&result.output),
                 output, text_string(&result.error));
    }
    command_result_release(&result);
}

#define SUITE                                                                                                          \
    "printf 'version: 1\\nname: t\\ncases:\\n  - {model: tiny-bert, mode: load, repeat: 2}\\n' >$folder/t.yaml; "      \
    "measure() { \"$assay\" run $folder/t.yaml --device cuda:0 --out $folder/$1 --quiet >/dev/null; echo $1 $?; }; "

static void what_a_script_starts_neither_waits_nor_is_refused(void **state)
{
    script_says(*state,
                SUITE "lock=$(\"$assay\" lock --device cuda:0) && exec 9<\"$lock\" && "
                      "\"$assay\" lock --device cuda:0 --fd 9 --out $folder/night || exit; "
                      "measure within; (measure again); (exec 9<&-; measure without); exec 9<&-; measure after",
                "within 0\nagain 0\nwithout 5\nafter 0\n");
}

/* The command has the GPU, and so has what it starts; who comes without the descriptor is refused. */
static void a_command_has_the_lock_while_it_runs(void **state)
{
    script_says(*state,
                SUITE "export assay folder; \"$assay\" lock --out $folder/night -- sh -c '"
                      "\"$assay\" run $folder/t.yaml --device cuda:0 --out $folder/within --quiet >/dev/null; echo $?; "
                      "(for n in 3 4 5 6 7 8 9; do eval \"exec $n<&-\"; done; exec 9<$(\"$assay\" lock); "
                      "\"$assay\" lock --fd 9; echo $?); exit 9' -- 2>/dev/null; echo $?; measure after",
                "0\n5\n9\nafter 0\n");
    command_refused(script_run(*state, "\"$assay\" lock --name -- true"), "a command holds its lock itself");
    command_refused(script_run(*state, "\"$assay\" lock -- /none/such"), "'/none/such' cannot be started: ");
}

static void who_is_refused_learns_what_the_script_does(void **state)
{
    struct command_result result =
        script_run(*state, "exec 9<$(\"$assay\" lock) && \"$assay\" lock --fd 9 --out $folder/night && "
                           "exec 8<$(\"$assay\" lock) && \"$assay\" lock --fd 8 --wait-device 1s");
    assert_int_equal(result.exit_code, 5);
    command_says(&result.error, "assay: lock: waiting up to 1 s: GPU-");
    command_says(&result.error, "/night");
    command_result_release(&result);
}

/* A load would count the bytes of whoever measures there, and be counted by them. */
static void a_load_holds_its_gpus_as_a_run_does(void **state)
{
#define LOAD                                                                                                           \
    "\"$assay\" synth tiny-gpt2 --out $folder/made >/dev/null; "                                                       \
    "load() { \"$assay\" load $folder/made --max-memory 0=100MB,cpu=100MB --device $1 ${2:+--dispatch --seq 8} "       \
    ">$folder/said 2>&1; "                                                                                             \
    "echo $1 $?; sed -n 's/.*is taken by process.*records in .*;/taken;/p' $folder/said; }; "                          \
    "lock=$(\"$assay\" lock --device cuda:0) && exec 9<\"$lock\" && "                                                  \
    "\"$assay\" lock --device cuda:0 --fd 9 --out $folder/night || exit; "
    script_says(*state,
                LOAD "load cuda; (exec 9<&-; load cuda; load cuda dispatch; load host); exec 9<&-; load cuda; "
                     "load cuda dispatch",
                "cuda 0\n"
                "cuda 5\ntaken; start this again when that has ended\n"
                "cuda 5\ntaken; start this again when that has ended\n"
                "host 0\ncuda 0\ncuda 0\n");
#undef LOAD
}

static void a_descriptor_of_something_else_is_refused(void **state)
{
    struct command_result result = script_run(*state, "exec 9</dev/null; \"$assay\" lock --fd 9");
    command_refused(result, "descriptor 9 is not ");
    command_refused(script_run(*state, "\"$assay\" lock --fd 2"), "lock: --fd");
    script_says(*state, "ASSAY_LOCK_DIR=/none \"$assay\" lock --name --device cuda:0",
                "GPU-00000000-0000-0000-0000-000000000001\n");
    result = script_run(*state, "\"$assay\" lock --device host");
    assert_int_equal(result.exit_code, 77);
    command_says(&result.error, "host is no GPU, and only GPUs have locks");
    command_result_release(&result);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_scene_open, scratch_scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_a_script_starts_neither_waits_nor_is_refused), TEST(a_command_has_the_lock_while_it_runs),
        TEST(who_is_refused_learns_what_the_script_does),        TEST(a_load_holds_its_gpus_as_a_run_does),
        TEST(a_descriptor_of_something_else_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* assay assumptions on the emulated GPU, which is as assumed until the emulated driver or NVML is told not to be: each
 * exit code, and a second GPU. */
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

#include "tests/cuda_emulation/fault_plan.h"
#include "tests/cuda_emulation/gpus_need.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

/* Little of what the suite of the program has, and each kind of it: the search fills this GPU. */
static const char suite[] =
    "version: 1\n"
    "name: few\n"
    "tolerances:\n"
    "  replay: {requested_bytes_peak: 0, allocated_bytes_peak: 0, reserved_bytes_peak: 0}\n"
    "cases:\n"
    "  - {model: tiny-gpt2, mode: load, for: sm_75, tags: quick}\n"
    "  - {model: tiny-bert, mode: infer, seq: 4, for: sm_75, repeat: 2, tags: quick}\n"
    "  - {model: tiny-gpt2, mode: infer, seq: 32, batch: 256, find_batch: halve, for: sm_75, tags: full}\n";

struct scene {
    char folder[64], suite[96], out[96];
};

static int scene_open(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    snprintf(scene->folder, sizeof scene->folder, "/tmp/assay-assumptions-XXXXXX");
    *state = scene;
    if (mkdtemp(scene->folder) == NULL) {
        return 1;
    }
    snprintf(scene->suite, sizeof scene->suite, "%s/few.yaml", scene->folder);
    snprintf(scene->out, sizeof scene->out, "%s/deep/out", scene->folder);
    FILE *file = fopen(scene->suite, "w");
    return file == NULL || fputs(suite, file) < 0 || fclose(file) != 0;
}

static int scene_close(void **state)
{
    struct scene *scene = *state;
    int code = scratch_folder_remove(scene->folder);
    free(scene);
    return code;
}

/* On a GPU of 44 MiB. nvml: EMULATED_NVML; setting: one more; device: NULL is the default, with the search. */
static struct command_result ask(const struct scene *scene, const char *nvml, const char *setting, const char *device,
                                 const char *format)
{
    char program[PATH_MAX] = "", plugins[PATH_MAX + 32], locks[PATH_MAX], told[256];
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    *strrchr(program, '/') = '\0';
    snprintf(plugins, sizeof plugins, "ASSAY_PLUGIN_DIR=%s", program);
    snprintf(locks, sizeof locks, "ASSAY_LOCK_DIR=%s", scene->folder);
    snprintf(told, sizeof told, "EMULATED_NVML=%s", nvml);
    return command_run((const char *const[]){program_path(), "assumptions", "--suite", scene->suite, "--out",
                                             scene->out, "--quiet", "--format", format, "--device",
                                             device != NULL ? device : "cuda", "--filter",
                                             device != NULL ? "quick" : "*", NULL},
                       (const char *const[]){plugins, locks, told, "EMULATED_DEVICE_BYTES=46137344",
                                             "EMULATED_DRIVER=context:1000000 kernel:100",
                                             setting != NULL ? setting : "ASSAY_NOTHING=", NULL});
}

static void row_check(const struct json *document, const char *name, const char *verdict)
{
    const struct json *rows = json_get(document, "assumptions");
    for (size_t i = 0; i < json_count(rows); i++) {
        const struct json *row = json_at(rows, i);
        if (strcmp(json_string_or(json_get(row, "name"), ""), name) == 0) {
            if (strcmp(json_string_or(json_get(row, "verdict"), ""), verdict) != 0) {
                fail_msg("%s is %s where %s was meant: %s", name, json_string_or(json_get(row, "verdict"), ""), verdict,
                         json_string_or(json_get(row, "seen"), ""));
            }
            return;
        }
    }
    fail_msg("there is no row %s", name);
}

static void an_emulated_gpu_is_as_assumed(void **state)
{
    static const char *const rows[] = {"cases", "alone", "start",   "baseline", "process", "both",
                                       "loads", "full",  "repeats", "ballast",  "segments"};
    struct command_result result = ask(*state, "ecc=0", NULL, NULL, "json");
    struct json *document = command_document(&result);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        row_check(document, rows[i], "holds");
    }
    assert_int_equal(result.exit_code, 0);
    json_release(document);
    command_result_release(&result);
}

/* Whatever the driver's granule, a healthy GPU is none that fails. */
static void another_granule_is_noted(void **state)
{
    static const struct {
        const char *setting, *verdict;
    } rows[] = {{"EMULATED_GRANULES=1", "holds"}, {"EMULATED_GRANULES=2", "noted"}, {"EMULATED_GRANULES=4", "noted"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = ask(*state, "ecc=0", rows[i].setting, NULL, "json");
        struct json *document = command_document(&result);
        row_check(document, "cases", "holds");
        row_check(document, "ballast", rows[i].verdict);
        row_check(document, "full", "holds");
        assert_int_equal(result.exit_code, 0);
        json_release(document);
        command_result_release(&result);
    }
}

/* What is judged is this run, not one before it into the same folder. */
static void each_fault_has_its_row_and_its_exit_code(void **state)
{
    static const struct {
        const char *nvml, *setting, *row, *verdict;
        int exit_code;
        bool measured; /* by its name it is of a class that results/reference has */
    } rows[] = {
        {"memoryless", NULL, "baseline", "otherwise", 1, false},
        {"process=77:4096", NULL, "alone", "open", 3, false},
        {"hidden", NULL, "process", "untold", 0, false},
        {"mig=1", NULL, "instance", "holds", 0, false},
        {"ecc=0", "EMULATED_DRIVER=context:1000000 kernel:30000000", "loads", "otherwise", 1, false},
        {"hidden", "EMULATED_DRIVER=context:1000000 kernel:30000000", "loads", "open", 3,
         false}, /* or somebody unseen */
        {"offset=-8388608", "EMULATED_DRIVER=context:12000000 kernel:100", "both", "otherwise", 1, true},
        {"offset=-8388608", "EMULATED_DRIVER=context:12000000 kernel:100", "both", "noted", 0, false},
        {"memoryless", NULL, "baseline", "otherwise", 1, true},
        {"ecc=0", NULL, "cases", "open", 3, false}, /* the fault below */
        {"ecc=0", NULL, "cases", "holds", 0, false},
    };
    struct scene *scene = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].row, "cases") == 0 && rows[i].exit_code == 3) {
            fault_plan(scene->folder, "launch:2:700");
        }
        assert_int_equal(rows[i].measured ? setenv("EMULATED_NAME", "NVIDIA H200", 1) : unsetenv("EMULATED_NAME"), 0);
        struct command_result result = ask(scene, rows[i].nvml, rows[i].setting, "cuda:0", "json");
        struct json *document = command_document(&result);
        row_check(document, rows[i].row, rows[i].verdict);
        if (result.exit_code != rows[i].exit_code) {
            fail_msg("%s: exit code %d: %s", rows[i].nvml, result.exit_code, text_string(&result.error));
        }
        if (getenv("EMULATED_FAULT") != NULL) {
            fault_unplan();
        }
        json_release(document);
        command_result_release(&result);
    }
}

static void who_disturbed_it_is_named(void **state)
{
    struct command_result result = ask(*state, "process=77:4096", NULL, "gpu", "table");
    assert_int_equal(result.exit_code, 3);
    command_says(&result.error, "DISTURBED");
    command_says(&result.error, "another process (77) held 4096 bytes");
    command_says(&result.output, "what to do: stop what else runs on the GPU");
    assert_null(strstr(text_string(&result.output), "gpu_watch")); /* nothing is wrong with it */
    command_result_release(&result);
}

static void the_second_gpu_is_asked_by_its_number(void **state)
{
    struct command_result result = ask(*state, "ecc=0", NULL, "cuda:1", "json");
    struct json *document = command_document(&result);
    const char *uuid = json_string_or(json_get(document, "uuid"), "");
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(uuid[strlen(uuid) - 1], '2');
    json_release(document);
    command_result_release(&result);
}

/* Neither a host nor a machine without a plug-in has anything to ask. */
static void without_a_gpu_it_is_skipped(void **state)
{
    struct scene *scene = *state;
    struct command_result result = ask(scene, "ecc=0", NULL, "host", "table");
    assert_int_equal(result.exit_code, 77);
    command_says(&result.error, "there is nothing to ask");
    command_result_release(&result);
    char nowhere[96];
    snprintf(nowhere, sizeof nowhere, "ASSAY_PLUGIN_DIR=%s", scene->folder);
    const char *const settings[] = {nowhere, "CUDA_VISIBLE_DEVICES=", NULL};
    result = command_run(
        (const char *const[]){program_path(), "assumptions", "--suite", scene->suite, "--out", scene->out, NULL},
        settings);
    assert_int_equal(result.exit_code, 77);
    command_says(&result.output, "there was none");
    assert_null(strstr(text_string(&result.error), "[2/")); /* the reason is told once */
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_emulated_gpu_is_as_assumed, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(another_granule_is_noted, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(each_fault_has_its_row_and_its_exit_code, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(who_disturbed_it_is_named, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(the_second_gpu_is_asked_by_its_number, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(without_a_gpu_it_is_skipped, scene_open, scene_close),
    };
    gpus_need_two();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

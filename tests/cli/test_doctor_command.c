/* assay doctor where no GPU answers: what nvidia-smi says alone, tools that are missing, narrow pages, no colour. */
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

#define LISTED                                                                                                         \
    "echo '0, GPU-1, NVIDIA L4, 580.95.05, 8.9, Disabled, Prohibited, [N/A], 3'\n"                                     \
    "echo '1, GPU-2, NVIDIA A100, 580.95.05, 8.0, Enabled, Exclusive_Process, Enabled, 5'\n"

/* No plug-in; programs are those of the scene alone. smi: the body of nvidia-smi; NULL: there is none. */
static struct command_result doctor(const struct scratch_scene *scene, const char *smi, const char *columns,
                                    const char *option)
{
    char path[96], plugins[96], width[32];
    snprintf(path, sizeof path, "PATH=%s", scene->folder);
    snprintf(plugins, sizeof plugins, "ASSAY_PLUGIN_DIR=%s", scene->folder);
    snprintf(width, sizeof width, "COLUMNS=%s", columns);
    if (smi != NULL) {
        script_write(scene->folder, "nvidia-smi", smi);
    }
    char program[PATH_MAX];
    assert_non_null(realpath(program_path(), program));
    return command_run((const char *const[]){program, "doctor", option, NULL},
                       (const char *const[]){path, plugins, width, NULL});
}

static const struct json *finding_of(const struct json *document, const char *topic, const char *state)
{
    const struct json *findings = json_get(document, "findings");
    for (size_t i = 0; i < json_count(findings); i++) {
        const struct json *one = json_at(findings, i);
        if (strcmp(json_string_or(json_get(one, "topic"), ""), topic) == 0 &&
            strcmp(json_string_or(json_get(one, "state"), ""), state) == 0) {
            return one;
        }
    }
    fail_msg("%s is nowhere %s", topic, state);
    return NULL;
}

static void says(const struct json *finding, const char *member, const char *words)
{
    const char *said = json_string_or(json_get(finding, member), "");
    if (strstr(said, words) == NULL) {
        fail_msg("'%s' is not in '%s'", words, said);
    }
}

/* Every finding that is not in order has what mends it. */
static void remedies_check(const struct json *document)
{
    const struct json *findings = json_get(document, "findings");
    for (size_t i = 0; i < json_count(findings); i++) {
        const struct json *one = json_at(findings, i);
        const char *topic = json_string_or(json_get(one, "topic"), "");
        bool bad = strcmp(json_string_or(json_get(one, "state"), ""), "missing") == 0;
        if (bad && json_string_or(json_get(one, "remedy"), NULL) == NULL) {
            fail_msg("%s has no remedy", topic);
        }
    }
}

static void a_gpu_that_cannot_be_used_is_told_with_its_command(void **state)
{
    struct command_result result = doctor(*state, LISTED, "80", "--json");
    struct json *document = command_document(&result);
    assert_int_equal(result.exit_code, 4);
    assert_false(json_boolean_or(json_get(document, "ready"), true));
    assert_true(json_boolean_or(json_get(document, "has_gpu"), false));
    says(finding_of(document, "plug-in", "missing"), "remedy", "make CUDA_ARCHS=89");
    says(finding_of(document, "driver", "ok"), "seen", "NVIDIA L4 of capability 8.9; driver 580.95.05");
    says(finding_of(document, "persistence", "note"), "remedy", "sudo nvidia-smi -i 0 -pm 1");
    says(finding_of(document, "persistence", "ok"), "seen", "GPU 1");
    says(finding_of(document, "compute mode", "missing"), "remedy", "sudo nvidia-smi -i 0 -c DEFAULT");
    says(finding_of(document, "compute mode", "note"), "seen", "GPU 1 is for one process at a time");
    says(finding_of(document, "MIG", "note"), "remedy", "CUDA_VISIBLE_DEVICES=MIG-");
    assert_int_equal(json_integer_or(json_get(document, "missing_count"), 0), 2);
    remedies_check(document);
    command_says(&result.error, "exit code 4: NOT READY: 2 missing");
    json_release(document);
    command_result_release(&result);
}

/* The host computes whatever is missing of a GPU that is not there. */
static void without_a_gpu_the_host_is_enough(void **state)
{
    struct command_result result = doctor(*state, NULL, "80", "--json");
    struct json *document = command_document(&result);
    if (!json_boolean_or(json_get(document, "has_gpu"), false)) { /* else this machine has one */
        assert_int_equal(result.exit_code, 0);
        assert_true(json_boolean_or(json_get(document, "ready"), false));
        finding_of(document, "GPU", "note");
        finding_of(document, "plug-in", "note");
    }
    assert_true(json_boolean_or(json_get(json_get(document, "runs"), "host"), false));
    assert_false(json_boolean_or(json_get(json_get(document, "runs"), "plots"), true));
    says(finding_of(document, "gnuplot", "note"), "remedy", "apt-get install gnuplot-nox");
    json_release(document);
    command_result_release(&result);
}

/* A night that names its GPU must not begin without one. Hidden, there is none on any machine. */
static void a_gpu_that_was_named_is_missing_if_there_is_none(void **state)
{
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "-1", 1), 0);
    struct command_result result = doctor(*state, NULL, "80", "--device=cuda:0");
    unsetenv("CUDA_VISIBLE_DEVICES");
    assert_int_equal(result.exit_code, 4);
    command_says(&result.output, "no libassay_cuda.so in ");
    command_says(&result.error, "NOT READY: 2 missing");
    assert_null(strstr(text_string(&result.output), "the host measures"));
    command_result_release(&result);
}

static void a_driver_that_complains_is_quoted(void **state)
{
    static const struct {
        const char *body, *seen;
    } rows[] = {
        {"echo 'Failed to initialize NVML: Driver/library version mismatch' >&2; exit 18", "library version mismatch"},
        {"echo nonsense, of, a, kind", "it lists no GPU"},
        {"kill -9 $$", "it could not be run"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = doctor(*state, rows[i].body, "80", "--json");
        struct json *document = command_document(&result);
        const struct json *finding = finding_of(document, "nvidia-smi", "note");
        says(finding, "seen", rows[i].seen);
        says(finding, "remedy", "after a new driver, restart the machine");
        json_release(document);
        command_result_release(&result);
    }
}

/* Hidden by the user, no GPU is asked for, and none is missing. */
static void a_hidden_gpu_is_not_missing(void **state)
{
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "-1", 1), 0);
    struct command_result result = doctor(*state, LISTED, "80", "--json");
    unsetenv("CUDA_VISIBLE_DEVICES");
    struct json *document = command_document(&result);
    assert_int_equal(result.exit_code, 0);
    says(finding_of(document, "variables", "note"), "remedy", "unset CUDA_VISIBLE_DEVICES");
    json_release(document);
    command_result_release(&result);
}

static void pages_are_narrow_and_plain(void **state)
{
    static const struct {
        const char *columns;
        int width;
    } rows[] = {{"200", 80}, {"80", 80}, {"60", 60}, {"40", 40}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result = doctor(*state, LISTED, rows[i].columns, NULL);
        char *rest = result.output.data;
        assert_null(strchr(text_string(&result.output), '\x1b'));
        for (char *line = strtok_r(rest, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
            size_t length = strlen(line);
            if ((int)length > rows[i].width || line[length - 1] == ' ') {
                fail_msg("%s columns: '%s'", rows[i].columns, line);
            }
        }
        command_result_release(&result);
    }
}

static void a_folder_that_cannot_be_written_is_told(void **state)
{
    char body[PATH_MAX + 128], program[PATH_MAX];
    command_needed("setpriv");
    assert_non_null(realpath(program_path(), program));
    if (geteuid() != 0) {
        skip();
    }
    (void)state;
    snprintf(body, sizeof body, "cd / && exec setpriv --reuid=65534 --regid=65534 --clear-groups '%s' doctor", program);
    struct command_result result = command_run((const char *const[]){"sh", "-c", body, NULL}, NULL);
    if (result.exit_code != 126 && result.exit_code != 127) { /* that user may not come to the program */
        command_says(&result.output, "this folder cannot be written: Permission denied");
        command_says(&result.output, "--out");
    }
    command_result_release(&result);
}

static void another_device_than_a_gpu_is_refused(void **state)
{
    (void)state;
    command_refused(command_named("doctor", (const char *const[]){"--device", "host", NULL}),
                    "doctor: --device: 'host' is no GPU; write cuda:0, or leave it out");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_gpu_that_cannot_be_used_is_told_with_its_command, scratch_scene_open,
                                        scratch_scene_close),
        cmocka_unit_test_setup_teardown(without_a_gpu_the_host_is_enough, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(a_gpu_that_was_named_is_missing_if_there_is_none, scratch_scene_open,
                                        scratch_scene_close),
        cmocka_unit_test_setup_teardown(a_driver_that_complains_is_quoted, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(a_hidden_gpu_is_not_missing, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(pages_are_narrow_and_plain, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_written_is_told, scratch_scene_open,
                                        scratch_scene_close),
        cmocka_unit_test(another_device_than_a_gpu_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

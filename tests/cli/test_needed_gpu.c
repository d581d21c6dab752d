/* run --need-gpu: exit code 3 and nothing measured where no GPU opens; where one does, nothing else than without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

static struct command_result run_with(const struct scratch_scene *scene, const char *device, const char *plugins)
{
    char folder[128], plugin_setting[256];
    snprintf(folder, sizeof folder, "%s/out", scene->folder);
    snprintf(plugin_setting, sizeof plugin_setting, "ASSAY_PLUGIN_DIR=%s", plugins);
    const char *const words[] = {program_path(),
                                 "run",
                                 "tests/cli/data/small-suite.yaml",
                                 "--filter",
                                 "tiny-gpt2/load/*",
                                 "--records-only",
                                 "--device",
                                 device,
                                 "--out",
                                 folder,
                                 "--need-gpu",
                                 NULL};
    const char *const environment[] = {plugin_setting, NULL};
    return command_run(words, environment);
}

static bool has_records(const struct scratch_scene *scene)
{
    char path[128];
    snprintf(path, sizeof path, "%s/out/records.jsonl", scene->folder);
    return access(path, F_OK) == 0;
}

static void a_missing_gpu_is_no_reason_to_measure_the_host(void **state)
{
    const struct scratch_scene *scene = *state;
    static const char *const devices[] = {"auto", "cuda", "cuda:0"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        struct command_result result = run_with(scene, devices[i], "/nowhere/plugins");
        assert_int_equal(result.exit_code, 4);
        assert_int_equal(result.output.length, 0);
        command_says(&result.error, "--need-gpu: cuda: the plug-in libassay_cuda.so is not in /nowhere/plugins; ");
        command_says(&result.error, "; nothing was measured\n");
        assert_false(has_records(scene));
        command_result_release(&result);
    }
}

static void another_device_contradicts_it(void **state)
{
    const struct scratch_scene *scene = *state;
    command_refused(run_with(scene, "host", "/nowhere"), "--need-gpu contradicts --device host; leave one out");
    assert_false(has_records(scene));
}

static void an_emulated_gpu_is_measured(void **state)
{
    const struct scratch_scene *scene = *state;
    if (access("build/tests/cuda_emulation/libassay_cuda.so", R_OK) != 0) {
        print_message("skip: there is no emulated GPU in build/tests/cuda_emulation\n");
        skip();
    }
    struct command_result result = run_with(scene, "cuda", "build/tests/cuda_emulation");
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "1 case: 1 ok");
    assert_true(has_records(scene));
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_missing_gpu_is_no_reason_to_measure_the_host, scratch_scene_open,
                                        scratch_scene_close),
        cmocka_unit_test_setup_teardown(another_device_contradicts_it, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(an_emulated_gpu_is_measured, scratch_scene_open, scratch_scene_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

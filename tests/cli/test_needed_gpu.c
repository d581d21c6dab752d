/* run --need-gpu: exit code 4 and nothing measured where no GPU opens; where one does, nothing else than without it. */
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

static struct command_result run_of(const struct scratch_scene *scene, const char *suite, const char *filter,
                                    const char *device, const char *plugins)
{
    char folder[128], plugin_setting[256];
    snprintf(folder, sizeof folder, "%s/out", scene->folder);
    snprintf(plugin_setting, sizeof plugin_setting, "ASSAY_PLUGIN_DIR=%s", plugins);
    const char *const words[] = {program_path(), "run",  suite,   "--filter", filter,       "--records-only",
                                 "--device",     device, "--out", folder,     "--need-gpu", NULL};
    const char *const environment[] = {plugin_setting, NULL};
    return command_run(words, environment);
}

static struct command_result run_with(const struct scratch_scene *scene, const char *device, const char *plugins)
{
    return run_of(scene, "tests/cli/data/small-suite.yaml", "tiny-gpt2/load/*", device, plugins);
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

/* It was so before: what the suite puts on the host or on nothing at all was measured there, and passed. */
static void a_suite_that_says_otherwise_is_no_gpu(void **state)
{
    static const char *const devices[] = {"meta", "host", "host:mem=1GiB", "meta:mem=80GiB"};
    const struct scratch_scene *scene = *state;
    char suite[128], words[512];
    snprintf(suite, sizeof suite, "%s/suite.yaml", scene->folder);
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        FILE *file = fopen(suite, "w");
        assert_non_null(file);
        fprintf(file,
                "version: 1\nname: t\ncases:\n  - {model: tiny-gpt2, mode: load}\n"
                "  - {model: tiny-bert, mode: load, device: '%s'}\n",
                devices[i]);
        assert_int_equal(fclose(file), 0);
        struct command_result result = run_of(scene, suite, "*", "auto", "/nowhere/plugins");
        snprintf(words, sizeof words,
                 "%s:5:5: --need-gpu: this case says device: %s; write --device cuda as well, or leave it out with "
                 "--not; nothing was measured\n",
                 suite, devices[i]);
        assert_string_equal(text_string(&result.error), words);
        assert_int_equal(result.exit_code, 4);
        assert_false(has_records(scene));
        command_result_release(&result);
        result = run_of(scene, suite, "tiny-gpt2/*", "auto", "/nowhere/plugins"); /* without that case it is asked */
        command_says(&result.error, "--need-gpu: cuda: the plug-in ");
        assert_int_equal(result.exit_code, 4);
        command_result_release(&result);
        result = run_of(scene, suite, "tiny-bert/*", "cuda:1", "/nowhere/plugins"); /* nor if another is asked for */
        command_says(&result.error, "--need-gpu: cuda: the plug-in ");
        assert_int_equal(result.exit_code, 4);
        command_result_release(&result);
    }
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
        cmocka_unit_test_setup_teardown(a_suite_that_says_otherwise_is_no_gpu, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test_setup_teardown(an_emulated_gpu_is_measured, scratch_scene_open, scratch_scene_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

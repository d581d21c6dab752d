/* The cases that peers/pytorch/truth.py makes of a plan: none that the GPU suites have is left out because the script
 * does not know an axis of it, and a class that has one form of attention alone is built in that. What PyTorch answers
 * on a GPU is test_pytorch_truth's affair. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

enum { PATH_BYTES = 128 };

static void text_save(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* The plan of a suite, in a file below folder. */
static void plan_write(const char *suite, const char *path)
{
    struct command_result plan = command_named("plan", (const char *[]){suite, "--json", NULL});
    assert_int_equal(plan.exit_code, 0);
    text_save(path, text_string(&plan.output));
    command_result_release(&plan);
}

/* Prints what truth.py would refuse on a GPU, one line each; no torch is needed for it. */
static const char refusals_of_plan[] = "import sys\n"
                                       "sys.path.insert(0, 'peers/pytorch')\n"
                                       "import truth_plan\n"
                                       "_, cases = truth_plan.read(sys.argv[1])\n"
                                       "for case in cases:\n"
                                       "    reason = truth_plan.refusal(case, lambda name: None, 'cuda')\n"
                                       "    if reason:\n"
                                       "        print(case['id'], reason, sep=': ')\n";

static void every_axis_of_the_gpu_suites_is_known(void **state)
{
    static const char *const suites[] = {"load-gpu", "inference-overhead-gpu", "adam-gpu", "generate-gpu",
                                         "pytorch",  "pytorch-families"};
    char folder[] = "/tmp/assay-plan-XXXXXX", path[PATH_BYTES], suite[PATH_BYTES];
    (void)state;
    command_needed("python3");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/plan.json", folder);
    for (size_t i = 0; i < sizeof suites / sizeof suites[0]; i++) {
        snprintf(suite, sizeof suite, "suites/%s.yaml", suites[i]);
        plan_write(suite, path);
        struct command_result result =
            command_run((const char *[]){"python3", "-c", refusals_of_plan, path, NULL}, NULL);
        if (result.exit_code != 0 || strstr(text_string(&result.output), "does not know") != NULL) {
            fail_msg("%s:\n%s%s", suite, text_string(&result.output), text_string(&result.error));
        }
        command_result_release(&result);
    }
    assert_int_equal(scratch_folder_remove(folder), 0);
}

static void a_cache_that_truth_does_not_make_is_refused(void **state)
{
    char folder[] = "/tmp/assay-plan-XXXXXX", path[PATH_BYTES], suite[PATH_BYTES];
    (void)state;
    command_needed("python3");
    assert_non_null(mkdtemp(folder));
    snprintf(suite, sizeof suite, "%s/suite.yaml", folder);
    snprintf(path, sizeof path, "%s/plan.json", folder);
    text_save(suite, "version: 1\nname: cache\ncases:\n"
                     "  - {model: tiny-llama, mode: generate, seq: 4, new_tokens: 2, cache_dtype: fp8}\n");
    plan_write(suite, path);
    struct command_result result = command_run((const char *[]){"python3", "-c", refusals_of_plan, path, NULL}, NULL);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, ": a cache in fp8 is run by shadow_truth.py alone, on the meta device\n");
    command_result_release(&result);
    assert_int_equal(scratch_folder_remove(folder), 0);
}

/* A program of this name that has the libraries, of $PYTHON or python3; the test is skipped where it has not. */
static const char *torch_python(void)
{
    const char *python = getenv("PYTHON") != NULL ? getenv("PYTHON") : "python3";
    command_needed(python);
    struct command_result result =
        command_run((const char *[]){python, "-c", "import torch, torchvision, transformers", NULL}, NULL);
    bool is_there = result.exit_code == 0;
    command_result_release(&result);
    if (!is_there) {
        print_message("skipped: %s has no torch, torchvision and transformers; PYTHON names another\n", python);
        skip();
    }
    return python;
}

static void a_class_without_sdpa_is_built_as_its_users_do(void **state)
{
    char folder[] = "/tmp/assay-plan-XXXXXX", path[PATH_BYTES], suite[PATH_BYTES];
    (void)state;
    const char *python = torch_python();
    assert_non_null(mkdtemp(folder));
    snprintf(suite, sizeof suite, "%s/suite.yaml", folder);
    snprintf(path, sizeof path, "%s/plan.json", folder);
    text_save(suite, "version: 1\nname: forms\ncases:\n"
                     "  - {model: tiny-bloom, mode: [infer, train], precision: float32, batch: 2, seq: 8}\n"
                     "  - {model: tiny-bloom, mode: generate, precision: bfloat16, batch: 2, seq: 8, new_tokens: 4}\n"
                     "  - {model: tiny-convnext, mode: [infer, train], precision: float32, batch: 2}\n");
    plan_write(suite, path);
    const char *words[] = {python, "peers/pytorch/truth.py", "--plan", path, "--device", "cpu", NULL};
    struct command_result result = command_run(words, NULL);
    const char *line = text_string(&result.output);
    int ok_count = 0;
    for (; (line = strstr(line, "\"status\":\"ok\"")) != NULL; line++) {
        ok_count++;
    }
    if (result.exit_code != 0 || ok_count != 5) {
        fail_msg("exit code %d, %d cases are ok:\n%s", result.exit_code, ok_count, text_string(&result.error));
    }
    command_result_release(&result);
    assert_int_equal(scratch_folder_remove(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_axis_of_the_gpu_suites_is_known),
        cmocka_unit_test(a_cache_that_truth_does_not_make_is_refused),
        cmocka_unit_test(a_class_without_sdpa_is_built_as_its_users_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

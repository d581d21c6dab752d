/* assay place --run on emulated GPUs, each with memory, kernels and handles of its own: two GPUs and the host hold what
 * was predicted, and a GPU that has less than its budget is told of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/json.h"
#include "tests/cuda_emulation/gpus_need.h"
#include "tests/support/command_run.h"

/* The emulated plug-in lies beside this program. */
static int plugin_choose(void **state)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    (void)state;
    assert_true(length > 0);
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    setenv("EMULATED_APART", "1", 1);
    return setenv("ASSAY_PLUGIN_DIR", path, 1);
}

static struct command_result place(const char *budgets, const char *seq)
{
    const char *const words[] = {program_path(), "place", "tiny-llama", "--precision",  "float32", "--seq", seq,
                                 "--run",        "cuda",  "--json",     "--max-memory", budgets,   NULL};
    return command_run(words, NULL);
}

static struct json *execution_of(const struct command_result *result, struct json **document)
{
    struct status error = {0};
    if (json_parse_text("stdout", text_string(&result->output), result->output.length, document, &error) != STATUS_OK) {
        fail_msg("%s: %s", error.text, text_string(&result->error));
    }
    return json_get(*document, "execution");
}

static void two_gpus_hold_what_was_predicted(void **state)
{
    struct command_result result = place("0=100MB,1=100MB,cpu=1MB", "16");
    struct json *document = NULL;
    const struct json *done = execution_of(&result, &document), *devices = json_get(done, "devices");
    (void)state;
    assert_int_equal(result.exit_code, 0);
    assert_true(json_boolean_or(json_get(done, "agrees"), false));
    assert_false(json_boolean_or(json_get(done, "host_stands_in"), true));
    assert_string_equal(json_string_or(json_get(json_at(devices, 0), "spec"), ""), "cuda:0");
    assert_string_equal(json_string_or(json_get(json_at(devices, 1), "spec"), ""), "cuda:1");
    assert_true(json_count(json_get(done, "measured_copies")) > 0);
    json_release(document);
    command_result_release(&result);
}

/* The budgets say 100 MB, and the GPUs have less: predicted to run, measured not to. */
static void a_gpu_with_less_than_its_budget_is_told(void **state)
{
    struct json *document = NULL;
    (void)state;
    setenv("EMULATED_DEVICE_BYTES", "9000000", 1);
    struct command_result result = place("0=100MB,1=100MB,cpu=1MB", "16");
    unsetenv("EMULATED_DEVICE_BYTES");
    const struct json *done = execution_of(&result, &document);
    assert_int_equal(result.exit_code, 1);
    assert_true(json_boolean_or(json_get(done, "predicted_fits"), false));
    assert_false(json_boolean_or(json_get(done, "measured_fits"), true));
    assert_int_equal(json_integer_or(json_get(json_get(done, "measured_out_of_memory"), "device"), -1), 0);
    assert_non_null(strstr(text_string(&result.error), "what was measured is not what was predicted"));
    json_release(document);
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_gpus_hold_what_was_predicted),
        cmocka_unit_test(a_gpu_with_less_than_its_budget_is_told),
    };
    gpus_need_two();
    return cmocka_run_group_tests(tests, plugin_choose, NULL);
}

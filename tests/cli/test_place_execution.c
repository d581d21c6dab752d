/* assay place, carried out: what --run, --predict and --exact print, how they end, and what they refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/json.h"
#include "harness/checkpoint/offload_folder.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

#define PLACE(...) command_named("place", (const char *const[]){__VA_ARGS__, NULL})

static const struct json *at(const struct json *value, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        value =
            json_kind(value) == JSON_KIND_ARRAY ? json_at(value, (size_t)((*keys)[0] - '0')) : json_get(value, *keys);
    }
    return value;
}

#define AT(value, ...) at(value, (const char *const[]){__VA_ARGS__, NULL})

/* tiny-llama over two devices of the host: every figure is measured as it was predicted. */
static void a_run_measures_what_was_predicted(void **state)
{
    struct command_result result =
        PLACE("tiny-llama", "--precision", "float32", "--max-memory", "0=100MB,1=100MB,cpu=1MB", "--run", "host",
              "--batch", "2", "--seq", "16", "--json");
    struct json *document = command_document(&result);
    const struct json *done = json_get(document, "execution");
    (void)state;
    assert_int_equal(result.exit_code, 0);
    assert_true(json_boolean_or(json_get(done, "agrees"), false));
    assert_true(json_boolean_or(json_get(done, "measured_fits"), false));
    assert_true(json_boolean_or(json_get(done, "host_stands_in"), false));
    assert_int_equal(json_integer_or(json_get(done, "batch"), -1), 2);
    assert_string_equal(json_string_or(AT(done, "devices", "0", "spec"), ""), "host:mem=100000000B");
    assert_int_equal(json_integer_or(AT(done, "devices", "0", "measured", "forward", "reserved_bytes_peak"), -1),
                     json_integer_or(AT(done, "devices", "0", "predicted", "forward", "reserved_bytes_peak"), -2));
    assert_true(json_integer_or(AT(done, "measured_copies", "0", "bytes"), 0) > 0);
    json_release(document);
    command_result_release(&result);
    result = PLACE("tiny-llama", "--max-memory", "0=100MB,1=100MB,cpu=1MB", "--run", "host");
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "carried out: the host stands for the GPUs\n");
    command_says(&result.output, "fits: it ran within the budgets, with the predicted bytes\n");
    command_result_release(&result);
}

/* Keys and values of each layer lie where it runs: two devices and the cpu, measured as predicted, stage by stage. */
static void a_generation_runs_over_devices(void **state)
{
    (void)state;
    struct command_result result =
        PLACE("tiny-llama", "--precision", "float32", "--max-memory", "0=100MB,1=100MB,cpu=1MB", "--run", "host",
              "--mode", "generate", "--seq", "8", "--new-tokens", "5", "--json");
    struct json *document = command_document(&result);
    const struct json *done = json_get(document, "execution");
    assert_int_equal(result.exit_code, 0);
    assert_true(json_boolean_or(json_get(done, "agrees"), false));
    assert_string_equal(json_string_or(json_get(done, "mode"), ""), "generate");
    assert_int_equal(json_integer_or(json_get(done, "new_tokens"), -1), 5);
    assert_true(json_integer_or(AT(done, "devices", "1", "measured", "generate", "requested_bytes_peak"), -1) > 0);
    json_release(document);
    command_result_release(&result);
    result = PLACE("tiny-llama", "--max-memory", "0=100MB,1=100MB,cpu=1MB", "--predict", "--mode", "generate");
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "generation of 32 tokens, batch 1, seq 128, as on sm_90\n");
    command_says(&result.output, "\n0      generate ");
    command_says(&result.output, "copied between devices by the load and a generation: ");
    command_result_release(&result);
    command_refused(PLACE("tiny-t5", "--max-memory", "0=100MB,1=100MB", "--predict", "--mode", "generate"),
                    "generation beside an encoder over several devices is not built");
    command_refused(PLACE("tiny-llama", "--max-memory", "0=100MB", "--new-tokens", "5"),
                    "accelerate's plan does not look at --new-tokens");
    command_refused(PLACE("tiny-llama", "--max-memory", "0=100MB", "--predict", "--new-tokens", "5"),
                    "--new-tokens belongs to a generation; add --mode generate, or leave it out");
}

/* The 32 MiB of cuBLAS have no room beside gpt2's blocks: predicted, and met. */
static void out_of_memory_is_told_and_fails(void **state)
{
    struct command_result predicted =
        PLACE("gpt2", "--precision", "float32", "--max-memory", "0=300MB,1=300MB,cpu=1GB", "--predict", "--json");
    struct json *document = command_document(&predicted);
    const struct json *refusal = AT(document, "execution", "predicted_out_of_memory");
    (void)state;
    assert_int_equal(predicted.exit_code, 1);
    command_says(&predicted.error, "the map runs out of memory within these budgets");
    assert_int_equal(json_integer_or(json_get(refusal, "device"), -1), 1);
    assert_string_equal(json_string_or(json_get(refusal, "stage"), ""), "forward");
    assert_string_equal(json_string_or(json_get(refusal, "tensor"), ""), "cuBLAS workspace");
    assert_int_equal(json_integer_or(json_get(refusal, "wanted_bytes"), -1), 32 << 20);
    assert_true(json_kind(AT(document, "execution", "devices", "0", "measured")) == JSON_KIND_NULL);
    json_release(document);
    command_result_release(&predicted);
    struct command_result tiny = PLACE("tiny-llama", "--max-memory", "0=2MB,1=100MB,cpu=1MB", "--run", "host");
    assert_int_equal(tiny.exit_code, 1);
    command_says(&tiny.output, "as predicted, out of memory on 0: stage load: ");
    command_says(&tiny.output, "did not end");
    command_result_release(&tiny);
}

/* accelerate's map of gpt2 in 250 MB is the two blocks that leave no room for the workspace; ours has none, and
 * runs. */
static void an_exact_plan_has_accelerates_beside_it(void **state)
{
    struct command_result result =
        PLACE("gpt2", "--precision", "float32", "--max-memory", "0=250MB,cpu=1GB", "--exact", "--json");
    struct json *document = command_document(&result);
    (void)state;
    assert_int_equal(result.exit_code, 0);
    assert_string_equal(json_string_or(json_get(document, "strategy"), ""), "exact");
    assert_int_equal(json_integer_or(AT(document, "device_map", "transformer.wte"), -1), 0);
    assert_int_equal(json_integer_or(AT(document, "device_map", "lm_head"), -1), 0);
    assert_string_equal(json_string_or(AT(document, "device_map", "transformer.h"), ""), "cpu");
    assert_true(json_boolean_or(AT(document, "execution", "predicted_fits"), false));
    assert_int_equal(json_integer_or(AT(document, "accelerate", "device_map", "transformer.h.1"), -1), 0);
    assert_false(json_boolean_or(AT(document, "accelerate", "execution", "predicted_fits"), true));
    assert_int_equal(json_integer_or(AT(document, "accelerate", "execution", "predicted_out_of_memory", "device"), -1),
                     0);
    assert_int_equal(json_integer_or(AT(document, "accelerate", "kept_free", "0", "kept_bytes"), -1), 28351488);
    assert_int_equal(json_integer_or(AT(document, "accelerate", "kept_free", "0", "wasted_bytes"), -1), 0);
    json_release(document);
    command_result_release(&result);
    result = PLACE("gpt2", "--precision", "float32", "--max-memory", "0=250MB,cpu=1GB", "--exact");
    command_says(&result.output, "on GPUs: 150.24 MiB in ours, 204.31 MiB in accelerate's\n");
    command_says(&result.output, "it would run out of memory on 0: stage forward: cuBLAS workspace wants 32.00 MiB");
    command_says(&result.output, "device_map = {\n    \"transformer.wte\": 0");
    command_result_release(&result);
}

static void wrong_options_are_refused_with_a_remedy(void **state)
{
    (void)state;
    command_refused(PLACE("gpt2", "--max-memory", "0=1GB", "--batch", "4"), "add --predict, --run or --exact");
    command_refused(PLACE("gpt2", "--max-memory", "0=1GB", "--run=hots"),
                    "'hots' is not known; write --run alone, or with host|cuda");
    command_refused(PLACE("gpt2", "--max-memory", "0=1GB", "--run", "--mode", "train"),
                    "--mode load, infer or generate");
    command_refused(PLACE("gpt2", "--max-memory", "0=1GB", "--run", "--precision", "int8"), "quantised weights");
    command_refused(PLACE("gpt2", "--max-memory", "0=1GB", "--predict", "--special-dtypes", "lm_head.weight=float16"),
                    "leave --special-dtypes out");
    command_refused(PLACE("gpt2", "--max-memory", "0=1GB", "--predict", "--seq", "5000"), "5000");
    command_refused(PLACE("gpt2", "--check", "map.json", "--exact"), "leave --check out");
    command_refused(PLACE("gpt2", "--max-memory", "0=10MB,cpu=10MB", "--exact"),
                    "no device map runs within these budgets");
}

/* -- the disk */

static void the_offload_folder_is_kept_where_it_is_named(void **state)
{
    char folder[] = "/tmp/assay-place-XXXXXX", kept[64];
    struct offload_folder *read = NULL;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(kept, sizeof kept, "%s/kept", folder);
    struct command_result result = PLACE("tiny-llama", "--max-memory", "0=100MB", "--run", "host", "--mode", "load",
                                         "--precision", "bfloat16", "--offload-folder", kept, "--json");
    struct json *document = command_document(&result);
    assert_int_equal(result.exit_code, 0);
    assert_true(json_get(AT(document, "execution"), "offload_folder") != NULL);
    assert_true(json_kind(AT(document, "execution", "offload_folder")) == JSON_KIND_NULL); /* nothing is on the disk */
    json_release(document);
    command_result_release(&result);
    result = PLACE("gpt2", "--max-memory", "0=200MB,cpu=6MB", "--run", "host", "--mode", "load", "--precision",
                   "bfloat16", "--sequential", "--offload-folder", kept, "--json");
    document = command_document(&result);
    int64_t written = json_integer_or(AT(document, "execution", "offload_folder", "written_count"), -1);
    assert_true(written > 50);
    assert_string_equal(json_string_or(AT(document, "execution", "offload_folder", "path"), ""), kept);
    assert_int_equal(offload_folder_open(kept, &read, NULL), STATUS_OK);
    assert_int_equal(offload_folder_count(read), written);
    offload_folder_close(read);
    json_release(document);
    command_result_release(&result);
    assert_int_equal(scratch_folder_remove(folder), 0);
    command_refused(PLACE("tiny-llama", "--max-memory", "0=100MB", "--predict", "--offload-folder", kept),
                    "place: --offload-folder is where a run puts what goes to the disk; add --run, or leave it out");
}

/* Whether a temporary offload folder with files in it is there. */
static bool folder_is_used(const char *tmpdir)
{
    glob_t found = {0};
    char pattern[96];
    snprintf(pattern, sizeof pattern, "%s/assay-offload-*/*.dat", tmpdir);
    bool is_there = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
    globfree(&found);
    return is_there;
}

/* Ctrl-C in the middle: the exit code says that nothing was found out, and the temporary folder is gone. */
static void an_interrupted_run_leaves_no_folder(void **state)
{
    char folder[] = "/tmp/assay-place-XXXXXX", text[512] = "";
    const struct timespec pause = {.tv_nsec = 5000000};
    int wait_status = 0, ends[2];
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        setenv("TMPDIR", folder, 1);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        execl(program_path(), program_path(), "place", "gpt2", "--max-memory", "0=330MB,cpu=12MB", "--run", "host",
              "--seq", "512", "--precision", "float32", "--sequential", NULL);
        _exit(127);
    }
    close(ends[1]);
    while (!folder_is_used(folder) && waitpid(child, &wait_status, WNOHANG) == 0) {
        nanosleep(&pause, NULL);
    }
    kill(child, SIGINT);
    assert_int_equal(waitpid(child, &wait_status, 0), child);
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    close(ends[0]);
    assert_true(WIFEXITED(wait_status));
    assert_int_equal(WEXITSTATUS(wait_status), 7);
    if (strstr(text, "assay: place: the run was interrupted in stage ") == NULL) {
        fail_msg("%s", text);
    }
    assert_int_equal(rmdir(folder), 0); /* it is empty */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_measures_what_was_predicted),
        cmocka_unit_test(a_generation_runs_over_devices),
        cmocka_unit_test(out_of_memory_is_told_and_fails),
        cmocka_unit_test(an_exact_plan_has_accelerates_beside_it),
        cmocka_unit_test(wrong_options_are_refused_with_a_remedy),
        cmocka_unit_test(the_offload_folder_is_kept_where_it_is_named),
        cmocka_unit_test(an_interrupted_run_leaves_no_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* assay plan of many cases: the same with any number of processors, errors of the first case that has one, and no
 * memory for a case but what is printed of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/command_run.h"

enum { FEW = 100, MANY = 3000, KIB_PER_CASE_MAXIMUM = 2 };

struct scene {
    char path[64];
};

static int scene_make(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    *state = scene;
    if (scene == NULL) {
        return -1;
    }
    snprintf(scene->path, sizeof scene->path, "/tmp/assay-plan-%ld.yaml", (long)getpid());
    return 0;
}

static int scene_remove(void **state)
{
    struct scene *scene = *state;
    unlink(scene->path);
    free(scene);
    return 0;
}

static void suite_write(const struct scene *scene, const char *cases)
{
    FILE *file = fopen(scene->path, "we");
    assert_non_null(file);
    fprintf(file, "version: 1\nname: many\ncases:\n%s", cases);
    assert_int_equal(fclose(file), 0);
}

static struct command_result plan(const struct scene *scene, const char *option)
{
    const char *const words[] = {program_path(), "plan", scene->path, option, NULL};
    return command_run(words, (const char *const[]){"NO_COLOR=1", "HF_HUB_OFFLINE=1", NULL});
}

static void first_processor_only(cpu_set_t *before)
{
    cpu_set_t one;
    assert_int_equal(sched_getaffinity(0, sizeof *before, before), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, before)) {
            CPU_SET(i, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

/* The child inherits on how many processors the test may run. */
static void plan_is_the_same_on_one_processor(const struct scene *scene, const char *option, int exit_code)
{
    cpu_set_t before;
    struct command_result several = plan(scene, option);
    first_processor_only(&before);
    struct command_result one = plan(scene, option);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(several.exit_code, exit_code);
    assert_int_equal(one.exit_code, exit_code);
    assert_string_equal(text_string(&one.output), text_string(&several.output));
    assert_string_equal(text_string(&one.error), text_string(&several.error));
    command_result_release(&one);
    command_result_release(&several);
}

static const char mixed[] = "  - {model: [tiny-gpt2, tiny-bert, tiny-llama], mode: [infer, train], batch: [1, 2, 3], "
                            "seq: [16, 24],\n"
                            "     precision: [float32, bfloat16]}\n"
                            "  - {model: tiny-bloom, mode: [infer, train], batch: [1, 2, 3], seq: [16, 24],\n"
                            "     precision: [float32, bfloat16], attention: native}\n"
                            "  - {model: tiny-llama, mode: generate, batch: [1, 2], seq: 16, new_tokens: [4, 9]}\n"
                            "  - {model: tiny-gpt2, mode: train, batch: 64, seq: 64, memory: 4MiB}\n";

/* tiny-bloom has no native attention: reasons are told in order, and none of them is lost. */
static void bytes_are_the_same_with_any_number_of_processors(void **state)
{
    suite_write(*state, mixed);
    plan_is_the_same_on_one_processor(*state, NULL, 3);
    plan_is_the_same_on_one_processor(*state, "--json", 3);
    plan_is_the_same_on_one_processor(*state, "--ids", 0);
    struct command_result result = plan(*state, NULL);
    int lines = 0;
    for (const char *at = text_string(&result.error); (at = strstr(at, "assay: plan: tiny-bloom/")) != NULL; at++) {
        lines++;
    }
    assert_int_equal(lines, 24);
    assert_non_null(strstr(text_string(&result.error), "24 of 101 cases cannot be predicted"));
    assert_non_null(strstr(text_string(&result.output), "1 of 101 cases do not fit"));
    command_result_release(&result);
}

/* Two cases have an error of their own: the first in order is told, after what is told of the cases before it, and
 * nothing is printed of a plan that is not whole. */
static void a_case_in_the_middle_ends_the_plan(void **state)
{
    char cases[2048];
    snprintf(cases, sizeof cases, "%s%s%s", mixed,
             "  - {model: tiny-qwen2-moe, mode: train, batch: 1, seq: 16, lora_rank: 4, lora_targets: attention}\n"
             "  - {model: tiny-gpt2, mode: infer, batch: [4, 5, 6, 7, 8], seq: [16, 24]}\n",
             "  - {model: tiny-qwen3-moe, mode: train, batch: 1, seq: 16, lora_rank: 4, lora_targets: attention}\n");
    suite_write(*state, cases);
    struct command_result result = plan(*state, NULL);
    if (result.exit_code != 2) {
        fail_msg("exit code %d: %s", result.exit_code, text_string(&result.error));
    }
    assert_string_equal(text_string(&result.output), "");
    const char *told = strstr(text_string(&result.error), "PEFT has no targets of its own for tiny-qwen2-moe");
    assert_non_null(told);
    assert_null(strstr(told + 1, "assay:"));
    assert_null(strstr(text_string(&result.error), "tiny-qwen3-moe"));
    command_result_release(&result);
    plan_is_the_same_on_one_processor(*state, NULL, 2);
    plan_is_the_same_on_one_processor(*state, "--json", 2);
}

static long peak_of(const struct scene *scene, const char *option, long *printed_kib)
{
    struct rusage usage;
    int ended = 0;
    char output[96];
    snprintf(output, sizeof output, "%s.out", scene->path);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int file = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        dup2(file, STDOUT_FILENO);
        setenv("ASAN_OPTIONS", "quarantine_size_mb=1", 1);
        const char *const words[] = {program_path(), "plan", scene->path, option, NULL};
        execv(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    assert_int_equal(wait4(child, &ended, 0, &usage), child);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    FILE *file = fopen(output, "re");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *printed_kib = ftell(file) / 1024;
    fclose(file);
    unlink(output);
    return usage.ru_maxrss;
}

static long peak_of_cases(const struct scene *scene, int count, const char *option, long *printed_kib)
{
    char cases[256];
    char *batches = calloc((size_t)count, 8);
    assert_non_null(batches);
    for (int i = 1, at = 0; i <= count / 4; i++) {
        at += snprintf(batches + at, 8, "%s%d", i > 1 ? ", " : "", i);
    }
    snprintf(cases, sizeof cases, "  - {model: [tiny-gpt2, tiny-bert], mode: infer, seq: [16, 24], batch: [");
    char *whole = calloc(strlen(cases) + strlen(batches) + 8, 1);
    assert_non_null(whole);
    memcpy(whole, cases, strlen(cases));
    memcpy(whole + strlen(cases), batches, strlen(batches));
    memcpy(whole + strlen(cases) + strlen(batches), "]}\n", 4);
    suite_write(scene, whole);
    free(whole);
    free(batches);
    return peak_of(scene, option, printed_kib);
}

/* A text that grows may be twice as large as what is in it. */
static void memory_grows_by_what_is_printed(void **state)
{
    const char *const options[] = {NULL, "--ids", "--json"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        long printed_few = 0, printed_many = 0;
        long few = peak_of_cases(*state, FEW, options[i], &printed_few);
        long many = peak_of_cases(*state, MANY, options[i], &printed_many);
        long allowed = 2 * (printed_many - printed_few) + (long)(MANY - FEW) * KIB_PER_CASE_MAXIMUM;
        if (many - few > allowed) {
            fail_msg("plan %s: %ld KiB more for %d cases more, of which %ld KiB were printed",
                     options[i] != NULL ? options[i] : "", many - few, MANY - FEW, printed_many - printed_few);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_the_same_with_any_number_of_processors),
        cmocka_unit_test(a_case_in_the_middle_ends_the_plan),
        cmocka_unit_test(memory_grows_by_what_is_printed),
    };
    return cmocka_run_group_tests(tests, scene_make, scene_remove);
}

/* Growth: what thousands of records take. Memory is compared between a small file and a large one, so that neither the
 * size of the program nor a sanitizer's own needs count; no time is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/command_run.h"
#include "tests/support/record_multiplier.h"
#include "tests/support/scratch_folder.h"

/* A record has 7.7 KB; as a tree it had 55 KB, and a page with it. */
enum { FEW = 100, MANY = 4000, KIB_PER_RECORD_MAXIMUM = 16 };

struct scene {
    char folder[64], few[96], many[96];
};

static void folder_fill(const struct scene *scene, const char *folder, int count)
{
    const struct multiplication how = {
        .count = count, .runs = 3, .repeat = 50, .fail = 17, .skip = 40, .measured = true};
    char from[128], to[128];
    char *const words[] = {"mkdir", (char *)(uintptr_t)folder, NULL};
    snprintf(from, sizeof from, "%s/run/records.jsonl", scene->folder);
    snprintf(to, sizeof to, "%s/records.jsonl", folder);
    struct command_result made = command_run((const char *const *)words, NULL);
    assert_int_equal(made.exit_code, 0);
    command_result_release(&made);
    assert_true(records_multiply(from, to, &how));
}

static int scene_make(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    char run[128];
    if (scene == NULL) {
        return -1;
    }
    *state = scene;
    snprintf(scene->folder, sizeof scene->folder, "/tmp/assay-growth-XXXXXX");
    if (mkdtemp(scene->folder) == NULL) {
        return -1;
    }
    snprintf(scene->few, sizeof scene->few, "%s/few", scene->folder);
    snprintf(scene->many, sizeof scene->many, "%s/many", scene->folder);
    snprintf(run, sizeof run, "%s/run", scene->folder);
    const char *const words[] = {
        program_path(), "run", "tests/bench/records.yaml", "--device", "meta", "--out", run, NULL};
    struct command_result made = command_run(words, NULL);
    assert_int_equal(made.exit_code, 1); /* its estimators are off */
    command_result_release(&made);
    folder_fill(scene, scene->few, FEW);
    folder_fill(scene, scene->many, MANY);
    return 0;
}

static int scene_remove(void **state)
{
    struct scene *scene = *state;
    int removed = scratch_folder_remove(scene->folder);
    free(scene);
    return removed;
}

/* The most memory that the command had resident, in KiB; its output is thrown away. */
static long peak_of(const char *const *words)
{
    struct rusage usage;
    int ended = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        setenv("ASAN_OPTIONS", "quarantine_size_mb=1", 1); /* what is freed is free */
        execv(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    assert_int_equal(wait4(child, &ended, 0, &usage), child);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) <= 3);
    return usage.ru_maxrss;
}

static void memory_grows_less_than_the_file(const struct scene *scene, const char *command, const char *option,
                                            const char *value)
{
    bool compares = strcmp(command, "compare") == 0;
    const char *few[] = {program_path(), command, scene->few, compares ? scene->few : option, value, NULL};
    const char *many[] = {program_path(), command, scene->many, compares ? scene->many : option, value, NULL};
    long grown = peak_of(many) - peak_of(few);
    if (grown > (long)(MANY - FEW) * KIB_PER_RECORD_MAXIMUM) {
        fail_msg("%s %s %s: %ld KiB more for %d records more", command, option != NULL ? option : "",
                 value != NULL ? value : "", grown, MANY - FEW);
    }
}

static void every_page_keeps_little_of_a_record(void **state)
{
    static const char *const formats[] = {"table", "summary", "md", "csv", "json", "junit"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        memory_grows_less_than_the_file(*state, "report", "--format", formats[i]);
    }
    memory_grows_less_than_the_file(*state, "report", "--league", NULL);
    memory_grows_less_than_the_file(*state, "report", "--rule", "1.2");
    memory_grows_less_than_the_file(*state, "compare", NULL, NULL);
    memory_grows_less_than_the_file(*state, "calibrate", "--filter", "no case of these");
}

/* What a pipe gives is the same report, records as they were recorded included. */
static void a_pipe_gives_the_same_report(void **state)
{
    const struct scene *scene = *state;
    char piped[512], plain[512];
    snprintf(plain, sizeof plain, "%s report %s/records.jsonl --format json", program_path(), scene->many);
    snprintf(piped, sizeof piped, "cat %s/records.jsonl | %s report /dev/stdin --format json", scene->many,
             program_path());
    struct command_result expected = command_run((const char *const[]){"/bin/sh", "-c", plain, NULL}, NULL);
    struct command_result result = command_run((const char *const[]){"/bin/sh", "-c", piped, NULL}, NULL);
    assert_int_equal(expected.exit_code, result.exit_code);
    assert_true(expected.output.length > 10 << 20);
    assert_int_equal(expected.output.length, result.output.length);
    assert_memory_equal(expected.output.data, result.output.data, expected.output.length);
    command_result_release(&expected);
    command_result_release(&result);
}

/* "3822/3822" is wider than its column: the count alone, and not the beginning of both. */
static void counts_of_a_large_league_are_whole(void **state)
{
    const struct scene *scene = *state;
    const char *const words[] = {program_path(), "report", scene->many, "--league", NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 0);
    assert_null(strstr(text_string(&result.output), "…"));
    command_result_release(&result);
}

/* A page that does not fit leaves the old one; one that nobody reads to its end says so. */
static void a_long_page_is_whole_or_told(void **state)
{
    const struct scene *scene = *state;
    char script[512];
    snprintf(script, sizeof script, "%s report %s --format csv > /dev/full", program_path(), scene->many);
    struct command_result result = command_run((const char *const[]){"/bin/sh", "-c", script, NULL}, NULL);
    assert_int_equal(result.exit_code, 2);
    assert_non_null(strstr(text_string(&result.error), "could not be written to standard output: No space left"));
    command_result_release(&result);
    snprintf(script, sizeof script,
             "echo old > %s/page; ulimit -f 1000; trap '' XFSZ; %s report %s --format csv --output %s/page; echo $?; "
             "cat %s/page",
             scene->folder, program_path(), scene->many, scene->folder, scene->folder);
    result = command_run((const char *const[]){"/bin/sh", "-c", script, NULL}, NULL);
    assert_string_equal(text_string(&result.output), "2\nold\n");
    assert_non_null(strstr(text_string(&result.error), "/page: cannot be written: File too large"));
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_page_keeps_little_of_a_record),
        cmocka_unit_test(a_pipe_gives_the_same_report),
        cmocka_unit_test(counts_of_a_large_league_are_whole),
        cmocka_unit_test(a_long_page_is_whole_or_told),
    };
    return cmocka_run_group_tests(tests, scene_make, scene_remove);
}

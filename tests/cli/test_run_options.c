/* assay run over a part of a suite, over what failed before, with an end before the end, and its JUnit page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/record/record.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

static char folder[64];

static int folder_make(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/assay-options-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int folder_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(folder);
}

/* Three cases; of the first so many bytes are expected, and 95,232 are right. */
static void suite_write(const char *expected)
{
    char path[128];
    snprintf(path, sizeof path, "%s/suite.yaml", folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file,
            "version: 1\nname: t\ncases:\n  - {model: tiny-bert, mode: load, expect: {requested_bytes_peak: %s}}\n"
            "  - {model: tiny-gpt2, mode: load}\n  - {model: tiny-llama, mode: load}\n",
            expected);
    assert_int_equal(fclose(file), 0);
}

/* assay run SUITE --device meta --out FOLDER/out --records-only, and up to four words more. */
static struct command_result run_with(const char *const *more)
{
    char suite[128], out[128];
    const char *words[20] = {"run", suite, "--device", "meta", "--out", out, "--records-only"};
    snprintf(suite, sizeof suite, "%s/suite.yaml", folder);
    snprintf(out, sizeof out, "%s/out", folder);
    const char *all[24] = {program_path()};
    size_t count = 1;
    for (size_t i = 0; words[i] != NULL; i++) {
        all[count++] = words[i];
    }
    for (size_t i = 0; more[i] != NULL; i++) {
        all[count++] = more[i];
    }
    return command_run(all, NULL);
}

static void run_check(const char *const *more, int exit_code, const char *says)
{
    struct command_result result = run_with(more);
    if (result.exit_code != exit_code ||
        (strstr(text_string(&result.error), says) == NULL && strstr(text_string(&result.output), says) == NULL)) {
        fail_msg("exit code %d, not %d with \"%s\":\n%s%s", result.exit_code, exit_code, says,
                 text_string(&result.error), text_string(&result.output));
    }
    command_result_release(&result);
}

/* How many case lines the last run of the folder has, and how many runs there are. */
static void records_check(int runs, int cases)
{
    char out[128];
    struct record_file file = {0};
    snprintf(out, sizeof out, "%s/out", folder);
    assert_int_equal(record_file_read(out, &file, NULL), STATUS_OK);
    assert_int_equal(file.run_count, runs);
    assert_int_equal(file.runs[runs - 1].case_count, cases);
    record_file_release(&file);
}

static void what_failed_is_measured_again(void **state)
{
    (void)state;
    suite_write("1MiB");
    run_check((const char *[]){"--last-failed", NULL}, 2, "out has no results; run without it first");
    run_check((const char *[]){NULL}, 1, "3 cases: 2 ok, 1 fail");
    run_check((const char *[]){"--last-failed", NULL}, 1, "[1/1] fail");
    records_check(2, 1);
    run_check((const char *[]){"--last-failed", "--not", "tiny-bert/*", NULL}, 0, "no case that is chosen failed in ");
    records_check(2, 1);
    suite_write("95232B"); /* as it is */
    run_check((const char *[]){"--last-failed", NULL}, 0, "3 cases: 3 ok");
    records_check(3, 1);
    run_check((const char *[]){"--last-failed", NULL}, 0, "nothing was measured");
    records_check(3, 1);
}

/* Cases that an earlier run did not come to did not end well either. */
static void what_is_missing_is_measured_too(void **state)
{
    (void)state;
    suite_write("1MiB");
    run_check((const char *[]){"--max-failures", "1", NULL}, 1, "the run stopped early, as --max-failures asked");
    records_check(1, 1);
    run_check((const char *[]){"--last-failed", "--not", "tiny-bert*", NULL}, 0, "[2/2] ok");
    records_check(2, 2);
}

/* A run that was killed before it wrote which cases it had selected: all of them may be those. */
static void what_is_missing_without_a_name_is_measured_too(void **state)
{
    char path[128];
    (void)state;
    suite_write("95232B");
    run_check((const char *[]){NULL}, 0, "3 cases: 3 ok");
    snprintf(path, sizeof path, "%s/out/records.jsonl", folder);
    char *text = whole_file_read(path), *end = strchr(text, '\n');
    assert_non_null(end);
    assert_int_equal(truncate(path, end + 1 - text), 0);
    free(text);
    run_check((const char *[]){"--last-failed", NULL}, 0, "[3/3] ok");
    records_check(2, 3);
    run_check((const char *[]){"--last-failed", NULL}, 0, "nothing was measured");
}

static void a_run_that_stops_early_says_so_in_its_summary(void **state)
{
    (void)state;
    suite_write("1MiB");
    struct command_result result = run_with((const char *[]){"--max-failures", "1", NULL});
    assert_int_equal(result.exit_code, 1);
    command_says(&result.output, "1 case: 1 fail; 2 selected cases are missing; the run stopped early, as "
                                 "--max-failures asked");
    command_says(&result.error, "FAIL: 1 of 3 cases failed, 2 missing: the run stopped early, as --max-failures asked");
    command_result_release(&result);
    run_check((const char *[]){"--max-failures", "0", NULL}, 2, "--max-failures: 0 is out of range");
}

static void attempts_are_repeated_over_what_the_suite_says(void **state)
{
    (void)state;
    suite_write("95232B");
    run_check((const char *[]){"--repeat", "2", "--filter", "tiny-gpt2/*", "--filter", "tiny-llama/*", NULL}, 0,
              "[4/4] ok");
    records_check(1, 4);
}

/* Words of pytest and ctest are answered with those of this program. */
static void options_of_other_programs_are_answered(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"--exclude=x", "'--exclude'; did you mean --not?"},
                                          {"--lf", "'--lf'; did you mean --last-failed?"},
                                          {"--maxfail=1", "'--maxfail'; did you mean --max-failures?"},
                                          {"--junit-xml=x", "'--junit-xml'; did you mean --junit?"},
                                          {"--count=2", "'--count'; did you mean --repeat?"},
                                          {"--continue", "'--continue'; did you mean --resume?"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        run_check((const char *[]){rows[i][0], NULL}, 2, rows[i][1]);
    }
}

/* ---- --junit ---- */

static void page_check(const char *path, int tests, const char *has, const char *lacks)
{
    char words[32], *text = whole_file_read(path);
    snprintf(words, sizeof words, "tests=\"%d\"", tests);
    if (strstr(text, words) == NULL || strstr(text, has) == NULL || strstr(text, lacks) != NULL) {
        fail_msg("not %s, with \"%s\" and without \"%s\":\n%s", words, has, lacks, text);
    }
    free(text);
}

static void the_page_is_that_of_this_run_alone(void **state)
{
    char page[128];
    (void)state;
    snprintf(page, sizeof page, "%s/junit.xml", folder);
    suite_write("1MiB");
    run_check((const char *[]){"--junit", page, NULL}, 1, "1 fail");
    page_check(page, 3, "<failure", "<error");
    run_check((const char *[]){"--junit", page, "--filter", "tiny-gpt2/*", NULL}, 0, "this run comes to exit code 0");
    page_check(page, 1, "name=\"tiny-gpt2/load/float32\"", "<failure");
    run_check((const char *[]){"--junit", page, "--max-failures=1", NULL}, 1, "stopped early");
    page_check(page, 3, "selected, but not attempted: the run stopped early, as --max-failures asked", "replaced");
    run_check((const char *[]){"--junit", page, "--resume", NULL}, 1, "[3/3] ok");
    page_check(page, 3, "<failure", "<error"); /* of both parts of the run */
    records_check(3, 3);
}

/* A page of another run must not stand for a run that measured nothing, or did not begin. */
static void a_run_that_measures_nothing_leaves_no_page_of_another(void **state)
{
    char page[128];
    (void)state;
    snprintf(page, sizeof page, "%s/junit.xml", folder);
    suite_write("95232B");
    run_check((const char *[]){"--junit", page, NULL}, 0, "3 ok");
    page_check(page, 3, "<testcase", "nothing was measured");
    run_check((const char *[]){"--junit", page, "--last-failed", NULL}, 0, "nothing was measured");
    page_check(page, 0, "failures=\"0\" errors=\"0\"", "<testcase");
    page_check(page, 0, "no case that is chosen failed in ", "<error");
    run_check((const char *[]){"--junit", page, NULL}, 0, "3 ok");
    setenv("MALLOC_ARENA_MAX", "3", 1);
    run_check((const char *[]){"--junit", page, "--resume", NULL}, 2, "MALLOC_ARENA_MAX was not set, and is 3");
    unsetenv("MALLOC_ARENA_MAX");
    page_check(page, 1, "type=\"not begun\"/>", "3 ok");
    page_check(page, 1, "MALLOC_ARENA_MAX was not set, and is 3", "<failure");
    run_check((const char *[]){"--junit", page, "--shard", "4/4", NULL}, 2, "4/4");
    page_check(page, 1, "--shard 4/4", "<failure");
    suite_write("many"); /* no number of bytes */
    run_check((const char *[]){"--junit", page, NULL}, 2, "suite.yaml:4:");
    page_check(page, 1, "suite.yaml:4:", "4/4");
}

static void a_page_that_cannot_be_written_is_told_before_anything_is_measured(void **state)
{
    char page[128];
    (void)state;
    suite_write("1MiB");
    snprintf(page, sizeof page, "%s/absent/junit.xml", folder);
    run_check((const char *[]){"--junit", page, NULL}, 2, "absent/junit.xml: cannot be written");
    run_check((const char *[]){NULL}, 1, "1 fail");
    snprintf(page, sizeof page, "%s/out/records.jsonl", folder);
    run_check((const char *[]){"--junit", page, NULL}, 2, "out/records.jsonl: is what is read here; name another file");
    records_check(1, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_failed_is_measured_again),
        TEST(what_is_missing_is_measured_too),
        TEST(what_is_missing_without_a_name_is_measured_too),
        TEST(a_run_that_stops_early_says_so_in_its_summary),
        TEST(attempts_are_repeated_over_what_the_suite_says),
        TEST(options_of_other_programs_are_answered),
        TEST(the_page_is_that_of_this_run_alone),
        TEST(a_run_that_measures_nothing_leaves_no_page_of_another),
        TEST(a_page_that_cannot_be_written_is_told_before_anything_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

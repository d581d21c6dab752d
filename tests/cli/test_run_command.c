/* assay run as its callers see it: exit codes, what is left in the folder, and that nothing finished is ever lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/record/record.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

static char folder[] = "/tmp/assay-run-XXXXXX";

static int folder_make(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int folder_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(folder);
}

/* A name below the folder of this program; lives until the next call. */
static const char *below(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Without the constants of the machine that the results in the repository are of: this may be that machine. */
static struct command_result suite_run(const char *suite, const char *device, const char *out)
{
    const char *const words[] = {program_path(), "run", suite,         "--device", device,
                                 "--out",        out,   "--constants", "none",     NULL};
    return command_run(words, NULL);
}

static const char small[] = "tests/cli/data/small-suite.yaml";

static int count_of(const char *out, enum case_status status)
{
    struct record_file file = {0};
    struct status error = {0};
    int count = 0;
    assert_int_equal(record_file_read(out, &file, &error), STATUS_OK);
    const struct record_run *run = &file.runs[file.run_count - 1];
    for (int i = 0; i < run->case_count; i++) {
        count += strcmp(json_string_or(json_get(run->cases[i], "status"), ""), case_status_name(status)) == 0;
    }
    record_file_release(&file);
    return count;
}

static void a_run_leaves_records_and_a_report(void **state)
{
    (void)state;
    const char *out = below("nested/folder");
    struct command_result result = suite_run(small, "host", out);
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(text_string(&result.output), "4 cases: 4 ok\n"));
    assert_non_null(strstr(text_string(&result.output), "\nreport: "));
    assert_non_null(strstr(text_string(&result.error), "[4/4] ok"));
    assert_null(strchr(text_string(&result.error), '\033')); /* no terminal, no moving line */
    command_result_release(&result);
    assert_int_equal(count_of(out, CASE_STATUS_OK), 4);
    assert_int_equal(access(below("nested/folder/report.html"), R_OK), 0);
    assert_int_equal(access(below("nested/folder/report.md"), R_OK), 0);
}

/* A file stands where the folder of the plots should be, as a full disk would: the records and the summary are
 * there. */
static void a_report_that_cannot_be_written_loses_nothing(void **state)
{
    (void)state;
    const char *const make[] = {"mkdir", below("unwritable"), NULL};
    struct command_result result = command_run(make, NULL);
    command_result_release(&result);
    FILE *file = fopen(below("unwritable/plots"), "w");
    assert_non_null(file);
    fclose(file);
    result = suite_run(small, "meta", below("unwritable"));
    assert_int_equal(result.exit_code, 2);
    assert_non_null(strstr(text_string(&result.output), "4 cases: 4 ok\n"));
    assert_null(strstr(text_string(&result.output), "\nreport: "));
    assert_non_null(strstr(text_string(&result.error), "unwritable/plots"));
    command_result_release(&result);
    assert_int_equal(count_of(below("unwritable"), CASE_STATUS_OK), 4);
}

static void the_same_records_compare_as_equal(void **state)
{
    (void)state;
    const char *const words[] = {program_path(), "compare", below("nested/folder"), below("nested/folder"), NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

static void a_missing_case_makes_a_comparison_inconclusive(void **state)
{
    (void)state;
    char base[128];
    snprintf(base, sizeof base, "%s", below("nested/folder"));
    const char *part = below("part");
    const char *const run[] = {program_path(), "run",      small,      "--device", "host", "--out",
                               part,           "--filter", "*/load/*", "--quiet",  NULL};
    struct command_result result = command_run(run, NULL);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
    const char *const words[] = {program_path(), "compare", base, part, NULL};
    result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 3);
    command_result_release(&result);
}

static void a_wrong_prediction_exits_with_1(void **state)
{
    (void)state;
    struct command_result result = suite_run("suites/selftest.yaml", "auto", below("selftest"));
    assert_int_equal(result.exit_code, 1);
    assert_non_null(strstr(text_string(&result.output), "2 cases: 1 ok, 1 fail"));
    assert_non_null(
        strstr(text_string(&result.error), "\nassay: run: exit code 1: FAIL: 1 of 2 cases failed; first tiny-"));
    command_result_release(&result);
    assert_int_equal(count_of(below("selftest"), CASE_STATUS_FAIL), 1);
}

static void out_of_memory_is_a_row_and_exits_with_3(void **state)
{
    (void)state;
    struct command_result result = suite_run(small, "host:mem=1MiB", below("oom"));
    assert_int_equal(result.exit_code, 3);
    assert_non_null(strstr(text_string(&result.error),
                           "\nassay: run: exit code 3: INCONCLUSIVE: 4 of 4 cases ran out of memory; "));
    command_result_release(&result);
    assert_int_equal(count_of(below("oom"), CASE_STATUS_OOM), 4);
}

static void a_device_that_is_not_there_exits_with_77(void **state)
{
    (void)state;
    char setting[160];
    snprintf(setting, sizeof setting, "ASSAY_PLUGIN_DIR=%s", folder); /* holds no plug-in */
    const char *const words[] = {program_path(), "run", small, "--device", "cuda:0", "--out", below("skip"), NULL};
    const char *const environment[] = {setting, NULL};
    struct command_result result = command_run(words, environment);
    assert_int_equal(result.exit_code, 77);
    assert_non_null(
        strstr(text_string(&result.error), "\nassay: run: exit code 77: SKIPPED: all 4 cases were skipped; "));
    command_result_release(&result);
    assert_int_equal(count_of(below("skip"), CASE_STATUS_SKIP), 4);
}

static void skipped_cases_stand_apart(void **state)
{
    (void)state;
    char setting[160];
    snprintf(setting, sizeof setting, "ASSAY_PLUGIN_DIR=%s", folder);
    const char *const environment[] = {setting, NULL};
    const char *const words[] = {program_path(), "run", small, "--device", "cuda:0", "--out", below("skipped"), NULL};
    struct command_result result = command_run(words, environment);
    assert_int_equal(result.exit_code, 77);
    command_says(&result.error, "plot accuracy.svg: not drawn: no case has ");
    command_says(&result.error, "assay: run: exit code 77: SKIPPED: ");
    const char *said = text_string(&result.output);
    assert_non_null(strstr(said, "\nPeak of allocated bytes: nothing was measured\n\nSkipped, not measured: cuda: the "
                                 "plug-in libassay_cuda.so is not in "));
    assert_null(strstr(said, ", measured"));
    assert_null(strstr(strstr(said, "Skipped, not measured: ") + 1, "Skipped, not measured: ")); /* one reason, once */
    int count = 0;
    for (const char *line = strstr(said, "\nskip   "); line != NULL; line = strstr(line + 1, "\nskip   ")) {
        count++;
    }
    assert_int_equal(count, 4);
    command_result_release(&result);
}

static void quiet_expect(const char *const *words, int exit_code, const char *error)
{
    struct command_result result = command_run(words, NULL);
    const char *said = text_string(&result.error);
    if (result.exit_code != exit_code || result.output.length > 0 || strncmp(said, error, strlen(error)) != 0 ||
        strchr(said, '\n') != (*error != '\0' ? said + strlen(said) - 1 : NULL)) {
        fail_msg("%s: exit code %d: %s%s", words[1], result.exit_code, text_string(&result.output), said);
    }
    command_result_release(&result);
}

/* Nothing on either stream where all is well; else the one line that has the reason. */
static void quiet_is_quiet(void **state)
{
    (void)state;
    char base[128], failed[128];
    snprintf(base, sizeof base, "%s", below("quiet"));
    snprintf(failed, sizeof failed, "%s", below("quiet-failed"));
    quiet_expect((const char *[]){program_path(), "run", small, "--device", "host", "--out", base, "--quiet", NULL}, 0,
                 "");
    quiet_expect((const char *[]){program_path(), "gate", base, "--baseline", base, "--quiet", NULL}, 0, "");
    quiet_expect((const char *[]){program_path(), "compare", base, base, "--quiet", NULL}, 0, "");
    quiet_expect((const char *[]){program_path(), "run", "suites/selftest.yaml", "--device", "host", "--out", failed,
                                  "--quiet", NULL},
                 1, "assay: run: exit code 1: FAIL: ");
    quiet_expect((const char *[]){program_path(), "gate", failed, "--quiet", NULL}, 1, "assay: gate: exit code 1: ");
    quiet_expect((const char *[]){program_path(), "compare", base, failed, "--quiet", NULL}, 1, "");
}

/* The page that --output names is written all the same. */
static void a_quiet_gate_writes_its_file(void **state)
{
    (void)state;
    char page[128];
    snprintf(page, sizeof page, "%s", below("quiet-gate.md"));
    quiet_expect((const char *[]){program_path(), "gate", below("nested/folder"), "--quiet", "--format", "md",
                                  "--output", page, NULL},
                 0, "");
    char *content = whole_file_read(page);
    assert_non_null(strstr(content, "**GO**: "));
    free(content);
}

/* The one that had no word: nothing failed, nothing is broken, and yet the run is not green. It says so when it is
 * quiet, too. */
static void a_figure_that_cannot_be_judged_exits_with_3_and_says_why(void **state)
{
    (void)state;
    char suite[160];
    snprintf(suite, sizeof suite, "%s/open.yaml", folder);
    FILE *file = fopen(suite, "w");
    assert_non_null(file);
    fputs("version: 1\nname: open\ntolerances: {replay: {footprint_bytes: 10%}}\n"
          "cases: [{model: tiny-bert, mode: load}, {model: tiny-gpt2, mode: load}]\n",
          file);
    assert_int_equal(fclose(file), 0);
    const char *const words[] = {program_path(), "run",     suite,   "--device",    "host",           "--constants",
                                 "none",         "--quiet", "--out", below("open"), "--records-only", NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 3);
    const char *said = text_string(&result.error);
    assert_ptr_equal(
        strstr(said, "assay: run: exit code 3: INCONCLUSIVE: 2 of 2 cases left open (a figure that has a "
                     "tolerance could not be judged); first tiny-bert/load/float32: replay: footprint not predicted, "),
        said);
    assert_non_null(strstr(said, "tolerance 10 %: not judged, no constants of this device are known; assay calibrate "
                                 "makes them, --constants names them\n"));
    command_result_release(&result);
    assert_int_equal(count_of(below("open"), CASE_STATUS_OK), 2);
}

static void wrong_words_exit_with_2_and_write_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *option, *value, *error; /* error: part of it */
    } rows[] = {
        {"--device", "mta", "device 'mta' is not known; write auto, meta, host"},
        {"--jobs", "0", "run: --jobs: 0 is out of range"},
        {"--filter", "nothing-is-called-so", "nothing-is-called-so"},
        {"--out", "/dev/null/x", "/dev/null/x: "},
        {"--out", "/dev/null", "/dev/null"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const words[] = {program_path(), "run", small, rows[i].option, rows[i].value, NULL};
        struct command_result result = command_run(words, NULL);
        assert_int_equal(result.exit_code, 2);
        assert_string_equal(text_string(&result.output), "");
        assert_non_null(strstr(text_string(&result.error), rows[i].error));
        command_result_release(&result);
    }
}

/* Waits until the first case stands in the records; false after ten seconds. */
static bool first_case_wait(const char *out)
{
    for (int i = 0; i < 1000; i++) {
        struct record_file file = {0};
        bool there = record_file_read(out, &file, NULL) == STATUS_OK && file.runs[0].case_count > 0;
        record_file_release(&file);
        if (there) {
            return true;
        }
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return false;
}

static void an_interrupted_run_keeps_what_is_finished(void **state)
{
    (void)state;
    char out[128];
    snprintf(out, sizeof out, "%s", below("interrupted"));
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        /* 200 cases: far more than can end before the signal */
        execl(program_path(), program_path(), "run", "tests/cli/data/long-suite.yaml", "--device", "host", "--out", out,
              "--quiet", (char *)NULL);
        _exit(127);
    }
    bool started = first_case_wait(out);
    kill(child, SIGINT);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(started);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    int finished = count_of(out, CASE_STATUS_OK);
    assert_in_range(finished, 1, 199);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_leaves_records_and_a_report),
        cmocka_unit_test(a_report_that_cannot_be_written_loses_nothing),
        cmocka_unit_test(the_same_records_compare_as_equal),
        cmocka_unit_test(a_missing_case_makes_a_comparison_inconclusive),
        cmocka_unit_test(a_wrong_prediction_exits_with_1),
        cmocka_unit_test(out_of_memory_is_a_row_and_exits_with_3),
        cmocka_unit_test(a_device_that_is_not_there_exits_with_77),
        cmocka_unit_test(skipped_cases_stand_apart),
        cmocka_unit_test(quiet_is_quiet),
        cmocka_unit_test(a_quiet_gate_writes_its_file),
        cmocka_unit_test(a_figure_that_cannot_be_judged_exits_with_3_and_says_why),
        cmocka_unit_test(wrong_words_exit_with_2_and_write_nothing),
        cmocka_unit_test(an_interrupted_run_keeps_what_is_finished),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}

/* The test runner is itself given programs that pass, fail, crash, hang and do nothing: a green line must be earned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

/* Runs one program with this body through the runner. */
static void expect(const char *body, int exit_code, const char *message, const char *last_line)
{
    char folder[] = "/tmp/assay-runner-XXXXXX";
    char program[128];
    assert_non_null(mkdtemp(folder));
    script_write(folder, "program", body);
    snprintf(program, sizeof program, "%s/program", folder);
    const char *const words[] = {"ci/run-tests.sh", folder, program, NULL};
    const char *const environment[] = {"TEST_TIMEOUT_S=1", NULL};
    struct command_result result = command_run(words, environment);
    assert_int_equal(result.exit_code, exit_code);
    const char *output = text_string(&result.output);
    assert_non_null(strstr(output, message));
    size_t length = strlen(last_line);
    assert_true(result.output.length > length);
    assert_string_equal(output + result.output.length - length, last_line);
    command_result_release(&result);
    scratch_folder_remove(folder);
}

static void what_cmocka_prints_is_summed(void **state)
{
    (void)state;
    expect("echo '[  PASSED  ] 3 test(s).'", 0, "3 passed", "\n3 passed, 0 failed, 0 skipped\n");
    expect("echo '[  PASSED  ] 3 test(s).'; echo '[  PASSED  ] 2 test(s).'\n"
           "echo '[  SKIPPED ] 1 test(s), listed below:' >&2",
           0, "5 passed, 1 skipped", "\n5 passed, 0 failed, 1 skipped\n");
    expect(
        "echo '[  PASSED  ] 3 test(s).'; echo '[  FAILED  ] 2 test(s), listed below:' >&2; echo why it failed; exit 2",
        1, "    why it failed", "\n3 passed, 2 failed, 0 skipped\n");
}

/* What the libraries themselves printed for one program of three groups: cmocka up to 1.1.5 says how many, 1.1.7 and
 * 2.0.2 say of which group before it. */
static void each_release_of_cmocka_is_understood(void **state)
{
    (void)state;
    static const char *const groups[][3] = {{"", "", ""}, {"tests: ", "more tests: ", "12 test(s): "}};
    for (size_t release = 0; release < sizeof groups / sizeof groups[0]; release++) {
        const char *const *group = groups[release];
        char body[1024];
        snprintf(body, sizeof body,
                 "cat <<end\n[==========] %sRunning 3 test(s).\n[ RUN      ] passes\n[       OK ] passes\n"
                 "[ RUN      ] skips\n[  SKIPPED ] skips\n[ RUN      ] skips_too\n[  SKIPPED ] skips_too\n"
                 "[==========] %s3 test(s) run.\n[  PASSED  ] 1 test(s).\n[  SKIPPED ] %s2 test(s), listed below:\n"
                 "[  SKIPPED ] skips\n[  SKIPPED ] skips_too\n\n 2 SKIPPED TEST(S)\nend\n",
                 group[0], group[0], group[0]);
        expect(body, 0, "1 passed, 2 skipped\n", "\n1 passed, 0 failed, 2 skipped\n");
        size_t used = strlen(body);
        snprintf(body + used, sizeof body - used,
                 "echo '[  PASSED  ] 5 test(s).'; echo '[  FAILED  ] %s4 test(s), listed below:'\nexit 4\n", group[1]);
        expect(body, 1, ": 4 failed\n", "\n6 passed, 4 failed, 2 skipped\n");
        snprintf(body, sizeof body, "echo '[  PASSED  ] 0 test(s).'; echo '[  SKIPPED ] %s7 test(s), listed below:'\n",
                 group[2]);
        expect(body, 0, "0 passed, 7 skipped\n", "\n0 passed, 0 failed, 7 skipped\n");
    }
}

static void what_cmocka_does_not_say_is_a_failure(void **state)
{
    (void)state;
    expect("kill -SEGV $$", 1, "died from signal 11", "\n0 passed, 1 failed, 0 skipped\n");
    expect("exit 3", 1, "exited with 3 although no test failed", "\n0 passed, 1 failed, 0 skipped\n");
    expect("echo '[  PASSED  ] 3 test(s).'; exit 1", 1, "exited with 1", "\n3 passed, 1 failed, 0 skipped\n");
    expect("exit 0", 1, "ran no test", "\n0 passed, 1 failed, 0 skipped\n");
    expect("exec sleep 30", 1, "ran longer than 1 s", "\n0 passed, 1 failed, 0 skipped\n");
}

static void what_is_left_behind_is_a_failure(void **state)
{
    (void)state;
    expect("echo '[  PASSED  ] 3 test(s).'; mkdir \"$TMPDIR/lost\"", 1, "    left behind in TMPDIR: lost\n",
           "\n3 passed, 1 failed, 0 skipped\n");
    expect("echo '[  PASSED  ] 3 test(s).'; file=$(mktemp) && rm \"$file\"", 0, "3 passed",
           "\n3 passed, 0 failed, 0 skipped\n");
}

/* What a test program makes itself, wherever it lies: seen when it passes, and removed in any case. */
static void what_a_test_program_leaves_is_removed(void **state)
{
    (void)state;
    char paths[2][64];
    for (int exit_code = 0; exit_code <= 2; exit_code += 2) {
        int status = 0, ends[2];
        assert_int_equal(pipe(ends), 0);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            char folder[64] = "/tmp/assay-runner-XXXXXX", file[64] = "/tmp/assay-runner-XXXXXX";
            bool made = mkdtemp(folder) != NULL && mkstemp(file) >= 0 && dup2(ends[1], STDERR_FILENO) >= 0;
            made = made && write(ends[1], folder, sizeof folder) > 0 && write(ends[1], file, sizeof file) > 0;
            script_write(folder, "inside", "");
            exit(made ? exit_code : 9);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        close(ends[1]);
        char said[256] = "";
        assert_int_equal(read(ends[0], paths, sizeof paths), sizeof paths);
        ssize_t length = read(ends[0], said, sizeof said - 1);
        close(ends[0]);
        assert_int_equal(WEXITSTATUS(status), exit_code == 0 ? 1 : 2);
        assert_int_equal(length > 0, exit_code == 0);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(access(paths[i], F_OK), -1);
            assert_int_equal(strstr(said, paths[i]) != NULL, exit_code == 0);
        }
    }
}

/* The first waits for the second, which has long ended when it is reported. */
static void programs_run_at_once_and_are_reported_in_order(void **state)
{
    (void)state;
    char folder[] = "/tmp/assay-runner-XXXXXX";
    char first[128], second[128], body[256];
    assert_non_null(mkdtemp(folder));
    snprintf(first, sizeof first, "%s/first", folder);
    snprintf(second, sizeof second, "%s/second", folder);
    snprintf(body, sizeof body, "until [ -e %s/begun ]; do sleep 0.02; done; echo '[  PASSED  ] 1 test(s).'", folder);
    script_write(folder, "first", body);
    snprintf(body, sizeof body, ": >%s/begun; echo '[  PASSED  ] 2 test(s).'", folder);
    script_write(folder, "second", body);
    const char *const words[] = {"ci/run-tests.sh", folder, first, second, NULL};
    const char *const environment[] = {"TEST_TIMEOUT_S=60", "TEST_JOBS=2", NULL};
    char expected[512];
    snprintf(expected, sizeof expected, "ok   %s: 1 passed\nok   %s: 2 passed\n3 passed, 0 failed, 0 skipped\n", first,
             second);
    struct command_result result = command_run(words, environment);
    assert_int_equal(result.exit_code, 0);
    assert_string_equal(text_string(&result.output), expected);
    command_result_release(&result);
    scratch_folder_remove(folder);
}

/* What had no time is neither passed nor lost. */
static void programs_beyond_the_budget_are_named(void **state)
{
    (void)state;
    char folder[] = "/tmp/assay-runner-XXXXXX";
    char program[128];
    assert_non_null(mkdtemp(folder));
    script_write(folder, "program", "echo '[  PASSED  ] 1 test(s).'");
    snprintf(program, sizeof program, "%s/program", folder);
    const char *const words[] = {"ci/run-tests.sh", folder, program, NULL};
    const char *const environment[] = {"TEST_BUDGET_S=0", NULL};
    struct command_result result = command_run(words, environment);
    assert_int_equal(result.exit_code, 3);
    assert_non_null(strstr(text_string(&result.output), "late "));
    assert_non_null(strstr(text_string(&result.output), "\n0 passed, 0 failed, 0 skipped\n"));
    command_result_release(&result);
    scratch_folder_remove(folder);
}

/* A signal to the script alone, while the second program sleeps with a child of its own: neither of the two is left,
 * nor what they had for their files, and the program before them is reported. $1: the folder; $2: the signal. */
static const char signal_script[] =
    "TMPDIR=\"$1/files\" TEST_JOBS=1 TEST_BUDGET_S= ci/run-tests.sh \"$1\" \"$1/quick\" \"$1/sleeper\" \"$1/later\" & "
    "runner=$!\n"
    "until [ -e \"$1/pids\" ]; do sleep 0.05; done; kill \"-$2\" $runner; wait $runner; echo \"code $?\"\n"
    "for pid in $(cat \"$1/pids\"); do tries=0; while grep -qs . /proc/$pid/cmdline; do\n" /* a dead one has none */
    "[ $tries -lt 20 ] || { echo \"$pid is alive\"; break; }; tries=$((tries + 1)); sleep 0.1; done; done\n"
    "ls -A \"$1/files\"";

static void a_signal_ends_the_programs(void **state)
{
    (void)state;
    static const struct {
        const char *signal, *code, *heeds;
    } rows[] = {{"TERM", "143", ""}, {"HUP", "129", ""}, {"TERM", "143", "trap '' TERM; "}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char folder[] = "/tmp/assay-runner-XXXXXX", body[512], expected[512];
        assert_non_null(mkdtemp(folder));
        snprintf(body, sizeof body, "%s/files", folder);
        assert_int_equal(mkdir(body, 0700), 0);
        script_write(folder, "quick", "echo '[  PASSED  ] 2 test(s).'");
        script_write(folder, "later", "echo '[  PASSED  ] 2 test(s).'");
        snprintf(body, sizeof body, "%ssleep 60 & mktemp; echo $$ $! >%s/made; mv %s/made %s/pids; wait", rows[i].heeds,
                 folder, folder, folder);
        script_write(folder, "sleeper", body);
        const char *const words[] = {"sh", "-c", signal_script, "sh", folder, rows[i].signal, NULL};
        struct command_result result = command_run(words, NULL);
        snprintf(expected, sizeof expected,
                 "ok   %s/quick: 2 passed\ncut  %s/sleeper: not finished when all were ended\n"
                 "cut  %s/later: not finished when all were ended\n2 passed, 0 failed, 0 skipped\ncode %s\n",
                 folder, folder, folder, rows[i].code);
        assert_string_equal(text_string(&result.output), expected);
        command_result_release(&result);
        assert_int_equal(scratch_folder_remove(folder), 0);
    }
}

/* With two places, of three programs of which the first two wait for the third. */
static void what_takes_longest_begins_first(void **state)
{
    (void)state;
    char folder[] = "/tmp/assay-runner-XXXXXX";
    char path[3][128], copy[128], body[512];
    assert_non_null(mkdtemp(folder));
    snprintf(body, sizeof body, "cp ci/run-tests.sh %s; mkdir %s/tests; echo third >%s/long-tests.txt", folder, folder,
             folder);
    struct command_result copied = command_run((const char *[]){"sh", "-c", body, NULL}, NULL);
    assert_int_equal(copied.exit_code, 0);
    command_result_release(&copied);
    snprintf(copy, sizeof copy, "%s/tests", folder);
    static const char *const names[] = {"first", "second", "third"};
    for (int k = 0; k < 3; k++) {
        snprintf(body, sizeof body, "%s; echo '[  PASSED  ] 1 test(s).'",
                 k < 2 ? "until [ -e \"${0%/*}/begun\" ]; do sleep 0.02; done" : ": >\"${0%/*}/begun\"");
        script_write(copy, names[k], body);
        snprintf(path[k], sizeof path[k], "%s/tests/%s", folder, names[k]);
    }
    snprintf(copy, sizeof copy, "%s/run-tests.sh", folder);
    const char *const words[] = {copy, folder, path[0], path[1], path[2], NULL};
    const char *const environment[] = {"TEST_TIMEOUT_S=20", "TEST_JOBS=2", "TEST_BUSY_S=0", NULL};
    struct command_result result = command_run(words, environment);
    command_says(&result.output, "3 passed, 0 failed, 0 skipped\n");
    command_says(&result.output, "busy second: 0.");
    command_result_release(&result);
    scratch_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cmocka_prints_is_summed),
        cmocka_unit_test(each_release_of_cmocka_is_understood),
        cmocka_unit_test(what_cmocka_does_not_say_is_a_failure),
        cmocka_unit_test(what_is_left_behind_is_a_failure),
        cmocka_unit_test(what_a_test_program_leaves_is_removed),
        cmocka_unit_test(what_takes_longest_begins_first),
        cmocka_unit_test(programs_run_at_once_and_are_reported_in_order),
        cmocka_unit_test(programs_beyond_the_budget_are_named),
        cmocka_unit_test(a_signal_ends_the_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

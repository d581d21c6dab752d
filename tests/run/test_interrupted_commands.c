/* The program interrupted: by Ctrl-C at a terminal, once and again, by a terminal or a session that goes away, by
 * SIGKILL. In each case the records can be read, what was finished is there, and no child goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/run/command_scene.h"
#include "tests/support/whole_file.h"

/* One case that is measured, and one that lasts. */
#define CASES                                                                                                          \
    "  - {model: tiny-bert, mode: load, device: host}\n"                                                               \
    "  - {model: bert-base-cased, mode: train, batch: 8, seq: 512, device: host, timeout_seconds: 3600}\n"

static struct run_words words_of(struct command_scene *scene)
{
    return run_words_of(scene_suite(scene, "suite.yaml", CASES), "auto", scene_path(scene, "out"), NULL, NULL);
}

/* Waits for the first case, then stops the child of the second, so that it lasts however fast the machine is; not
 * before it has asked to die with the run. */
static pid_t second_child_stop(struct command_scene *scene, pid_t run)
{
    cases_wait(scene_path(scene, "out"), 1);
    pid_t child = run_child(run);
    prepared_wait(child);
    assert_int_equal(kill(child, SIGSTOP), 0);
    return child;
}

static void one_case_and_an_end_check(struct command_scene *scene)
{
    struct record_file records = records_of(scene_path(scene, "out"));
    const struct record_run *run = &records.runs[records.run_count - 1];
    assert_int_equal(run->case_count, 1);
    assert_int_equal(records.damaged_line_count, 0);
    assert_non_null(run->end);
    assert_true(json_boolean_or(json_get(run->end, "interrupted"), false));
    assert_string_equal(json_string_or(json_get(run->end, "outcome"), ""), "incomplete");
    assert_int_equal(json_integer_or(json_get(json_get(run->end, "counts"), "done"), -1), 1);
    record_file_release(&records);
}

/* The run as the only job of a terminal. Returns the terminal's other end. */
static int terminal_run(struct command_scene *scene, const struct run_words *words, pid_t *run)
{
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal >= 0);
    assert_int_equal(grantpt(terminal), 0);
    assert_int_equal(unlockpt(terminal), 0);
    *run = fork();
    assert_true(*run >= 0);
    if (*run == 0) {
        setsid();
        int here = open(ptsname(terminal), O_RDWR);
        setenv("ASSAY_LOCK_DIR", scene->folder, 1);
        if (here < 0 || ioctl(here, TIOCSCTTY, 0) != 0 || dup2(here, STDIN_FILENO) < 0 ||
            dup2(here, STDOUT_FILENO) < 0 || dup2(here, STDERR_FILENO) < 0) {
            _exit(126);
        }
        execv(words->words[0], (char *const *)words->words);
        _exit(127);
    }
    scene->runs[scene->run_count++] = *run;
    return terminal;
}

/* What the terminal shows until the run has ended. */
static void terminal_drain(int terminal, char *shown, size_t room)
{
    size_t length = 0;
    for (;;) {
        char bytes[512];
        ssize_t count = read(terminal, bytes, sizeof bytes);
        if (count <= 0 && errno != EINTR) { /* EIO: nobody has it open any more */
            break;
        }
        for (ssize_t i = 0; i < count && length < room - 1; i++) {
            shown[length++] = bytes[i];
        }
    }
    shown[length] = '\0';
}

static void control_c_at_a_terminal_ends_the_case_and_reports(void **state)
{
    struct command_scene *scene = *state;
    struct run_words words = words_of(scene);
    static char shown[65536];
    pid_t run = 0;
    words.words[7] = "--jobs"; /* instead of --quiet: as a person sees it */
    words.words[8] = "1";
    int terminal = terminal_run(scene, &words, &run);
    pid_t child = second_child_stop(scene, run);
    assert_int_equal(write(terminal, "\003", 1), 1);
    terminal_drain(terminal, shown, sizeof shown);
    assert_int_equal(run_wait(run), 7);
    close(terminal);
    end_wait(child);
    one_case_and_an_end_check(scene);
    if (strstr(shown, "1 case: 1 ok; 1 selected case is missing") == NULL) {
        fail_msg("%s", shown);
    }
}

/* The child is traced, so that it does not go when it is killed: the first Ctrl-C waits for it, the second does not. */
static void control_c_again_does_not_wait_for_a_child_that_hangs(void **state)
{
    struct command_scene *scene = *state;
    struct run_words words = words_of(scene);
    static char shown[65536];
    pid_t run = 0;
    int terminal = terminal_run(scene, &words, &run);
    pid_t child = second_child_stop(scene, run);
    if (ptrace(PTRACE_SEIZE, child, NULL, NULL) != 0) {
        kill(run, SIGKILL);
        run_wait(run);
        close(terminal);
        skip(); /* this machine lets nobody trace */
    }
    assert_int_equal(write(terminal, "\003", 1), 1);
    end_wait(child); /* killed, and seen by its tracer alone */
    assert_int_equal(waitpid(run, NULL, WNOHANG), 0);
    assert_int_equal(write(terminal, "\003", 1), 1);
    terminal_drain(terminal, shown, sizeof shown);
    assert_int_equal(run_wait(run), 7);
    close(terminal);
    one_case_and_an_end_check(scene);
    waitpid(child, NULL, __WALL);
}

static void a_terminal_that_goes_away_ends_the_run(void **state)
{
    struct command_scene *scene = *state;
    struct run_words words = words_of(scene);
    pid_t run = 0;
    int terminal = terminal_run(scene, &words, &run);
    pid_t child = second_child_stop(scene, run);
    close(terminal);
    run_wait(run); /* nobody is there to be told, so the code is not 3 */
    end_wait(child);
    one_case_and_an_end_check(scene);
}

static void each_signal_that_asks_for_an_end_is_one(void **state)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct command_scene *scene = *state;
    struct run_words words = words_of(scene);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        words.words[6] = scene_path(scene, "out");
        pid_t run = run_start(scene, &words);
        pid_t child = second_child_stop(scene, run);
        assert_int_equal(kill(run, numbers[i]), 0);
        assert_int_equal(run_wait(run), 7);
        end_wait(child);
        one_case_and_an_end_check(scene);
        assert_int_equal(unlink(scene_path(scene, "out/records.jsonl")), 0);
    }
}

/* As nohup and a shell's background jobs start it. */
static void a_signal_that_was_ignored_stays_so(void **state)
{
    struct command_scene *scene = *state;
    struct run_words words = words_of(scene);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    pid_t run = run_start(scene, &words);
    signal(SIGHUP, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    pid_t child = second_child_stop(scene, run);
    assert_int_equal(kill(run, SIGHUP), 0);
    assert_int_equal(kill(run, SIGINT), 0);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(run_wait(run), 3); /* for the killed case */
    struct record_file records = records_of(scene_path(scene, "out"));
    assert_int_equal(records.runs[0].case_count, 2);
    assert_false(json_boolean_or(json_get(records.runs[0].end, "interrupted"), true));
    record_file_release(&records);
}

/* Whoever ends the run, as a scheduler does, finds its page all the same, with what is missing. */
static void a_run_that_is_ended_leaves_its_junit_page(void **state)
{
    struct command_scene *scene = *state;
    const char *page = scene_path(scene, "junit.xml");
    struct run_words words = words_of(scene);
    words.words[8] = "--junit";
    words.words[9] = page;
    pid_t run = run_start(scene, &words);
    pid_t child = second_child_stop(scene, run);
    assert_int_equal(kill(run, SIGTERM), 0);
    assert_int_equal(run_wait(run), 7);
    end_wait(child);
    char *text = whole_file_read(page);
    assert_non_null(strstr(text, "tests=\"2\""));
    assert_non_null(strstr(text, "name=\"tiny-bert/load/float32\""));
    assert_non_null(strstr(text, "selected, but not attempted: the run was interrupted"));
    assert_non_null(strstr(text, "</testsuites>\n"));
    free(text);
}

static void a_run_that_was_killed_leaves_what_is_finished_and_no_child(void **state)
{
    struct command_scene *scene = *state;
    struct run_words words = words_of(scene);
    pid_t run = run_start(scene, &words);
    pid_t child = second_child_stop(scene, run);
    assert_int_equal(kill(run, SIGKILL), 0);
    assert_int_equal(run_wait(run), 128 + SIGKILL);
    end_wait(child);
    struct record_file records = records_of(scene_path(scene, "out"));
    assert_int_equal(records.run_count, 1);
    assert_int_equal(records.runs[0].case_count, 1);
    assert_null(records.runs[0].end);
    assert_int_equal(records.damaged_line_count, 0);
    record_file_release(&records);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, command_scene_open, command_scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(control_c_at_a_terminal_ends_the_case_and_reports),
        TEST(control_c_again_does_not_wait_for_a_child_that_hangs),
        TEST(a_terminal_that_goes_away_ends_the_run),
        TEST(each_signal_that_asks_for_an_end_is_one),
        TEST(a_signal_that_was_ignored_stays_so),
        TEST(a_run_that_is_ended_leaves_its_junit_page),
        TEST(a_run_that_was_killed_leaves_what_is_finished_and_no_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

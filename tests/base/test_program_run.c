/* Program run: how it is told that a program ended by itself, was late, said too much or is not there, and that nothing
 * of its group lives on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/base/program_run.h"

enum { OUTPUT_BYTES = 4096, TIMEOUT_SECONDS = 60 };

/* The plain request for a line of the shell, in a group of its own. */
#define SHELL_REQUEST(line)                                                                                            \
    {                                                                                                                  \
        .words = (const char *const[]){"sh", "-c", line, NULL}, .timeout_seconds = TIMEOUT_SECONDS, .own_group = true, \
        .output_bytes_maximum = OUTPUT_BYTES                                                                           \
    }

static int open_file_count(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

/* Runs it, and sees that neither a child nor a descriptor of ours is left. The caller releases the output. */
static struct program_outcome run(const struct program_request *request)
{
    struct program_outcome outcome;
    int before = open_file_count();
    program_run(request, &outcome);
    assert_int_equal(open_file_count(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    return outcome;
}

static void expect_end(const struct program_request *request, enum program_end end, int number, const char *output)
{
    struct program_outcome outcome = run(request);
    assert_int_equal(outcome.end, end);
    assert_int_equal(outcome.number, number);
    assert_string_equal(text_string(&outcome.output), output);
    text_release(&outcome.output);
}

/* Whether a process is at work; one that is dead and not yet reaped by its parent is not. */
static bool is_alive(long pid)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    bool is_read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    const char *state = is_read ? strrchr(line, ')') : NULL;
    return state != NULL && state[1] == ' ' && state[2] != 'Z' && state[2] != 'X';
}

/* A killed process of which we are not the parent may take a moment to go. */
static bool ends_soon(long pid)
{
    for (int i = 0; i < 2000 && is_alive(pid); i++) {
        usleep(5000);
    }
    return !is_alive(pid);
}

static void exit_code_output_and_complaint_are_kept_apart(void **state)
{
    (void)state;
    const struct program_request request = SHELL_REQUEST("cat; echo said; echo complained >&2; exit 7");
    struct program_outcome outcome = run(&request);
    assert_int_equal(outcome.end, PROGRAM_EXITED);
    assert_int_equal(outcome.number, 7);
    assert_string_equal(text_string(&outcome.output), "said\n");
    assert_int_equal(outcome.complaint_length, strlen("complained\n"));
    assert_memory_equal(outcome.complaint, "complained\n", outcome.complaint_length);
    text_release(&outcome.output);
}

static void joined_errors_are_output_in_their_order(void **state)
{
    (void)state;
    struct program_request request = SHELL_REQUEST("echo 1; echo 2 >&2; echo 3");
    request.errors_joined = true;
    expect_end(&request, PROGRAM_EXITED, 0, "1\n2\n3\n");
    request.own_group = false;
    expect_end(&request, PROGRAM_EXITED, 0, "1\n2\n3\n");
}

static void a_signal_is_told_by_its_number(void **state)
{
    (void)state;
    struct program_request request = SHELL_REQUEST("echo last; kill -SEGV $$");
    expect_end(&request, PROGRAM_SIGNALLED, SIGSEGV, "last\n");
    request.own_group = false;
    expect_end(&request, PROGRAM_SIGNALLED, SIGSEGV, "last\n");
}

/* Neither a program that ignores what it can ignore, nor what it has started, nor a held pipe outlives the limit. */
static void a_late_program_goes_with_what_it_has_started(void **state)
{
    (void)state;
    struct program_request request =
        SHELL_REQUEST("trap '' TERM INT HUP; sh -c 'sleep 600 & echo $!; wait' & echo $$; while :; do sleep 600; done");
    request.timeout_seconds = 1;
    int64_t start_ns = clock_ns();
    struct program_outcome outcome = run(&request);
    assert_true(clock_ns() - start_ns >= INT64_C(1000000000));
    assert_int_equal(outcome.end, PROGRAM_LATE);
    char *rest = outcome.output.data;
    for (int i = 0; i < 2; i++) {
        long pid = strtol(rest, &rest, 10);
        assert_true(pid > 1);
        assert_true(ends_soon(pid));
    }
    text_release(&outcome.output);
}

/* A program that has closed its output is still at work, and still has its time. */
static void a_silent_program_is_late_too(void **state)
{
    (void)state;
    struct program_request late = SHELL_REQUEST("exec >&- 2>&-; exec sleep 600");
    late.timeout_seconds = 1;
    for (int own_group = 0; own_group < 2; own_group++) {
        late.own_group = own_group != 0;
        expect_end(&late, PROGRAM_LATE, 0, "");
    }
    const struct program_request request = SHELL_REQUEST("echo said; exec >&- 2>&-; sleep 0.2; exit 9");
    expect_end(&request, PROGRAM_EXITED, 9, "said\n");
}

/* Without a group of its own the program alone is killed. */
static void a_late_program_of_our_group_is_killed_alone(void **state)
{
    (void)state;
    struct program_request request =
        SHELL_REQUEST("trap '' TERM; sleep 600 & echo $! $(cut -d' ' -f5 /proc/$$/stat); wait");
    request.timeout_seconds = 1;
    request.own_group = false;
    struct program_outcome outcome = run(&request);
    assert_int_equal(outcome.end, PROGRAM_LATE);
    char *rest = outcome.output.data;
    long started = strtol(rest, &rest, 10);
    assert_int_equal(strtol(rest, NULL, 10), getpgrp());
    assert_true(started > 1 && is_alive(started));
    kill((pid_t)started, SIGKILL);
    text_release(&outcome.output);
}

/* What holds the output open is not waited for, and it goes with the group. */
static void what_it_leaves_behind_is_not_waited_for(void **state)
{
    (void)state;
    const struct program_request request = SHELL_REQUEST("sleep 600 & echo $!");
    struct program_outcome outcome = run(&request);
    assert_int_equal(outcome.end, PROGRAM_EXITED);
    assert_true(ends_soon(strtol(text_string(&outcome.output), NULL, 10)));
    text_release(&outcome.output);
}

static void output_beyond_the_maximum_ends_it_or_is_dropped(void **state)
{
    (void)state;
    struct program_request exact = SHELL_REQUEST("head -c 4096 /dev/zero"), more = SHELL_REQUEST("yes");
    struct program_outcome outcome = run(&exact);
    assert_int_equal(outcome.end, PROGRAM_EXITED);
    assert_int_equal(outcome.output.length, OUTPUT_BYTES);
    text_release(&outcome.output);
    outcome = run(&more);
    assert_int_equal(outcome.end, PROGRAM_TOO_LONG);
    assert_true(outcome.output.length <= OUTPUT_BYTES);
    text_release(&outcome.output);
    struct program_request dropped = SHELL_REQUEST("printf beginning; head -c 200000 /dev/zero; exit 3");
    dropped.excess_is_dropped = true;
    dropped.output_bytes_maximum = 5;
    expect_end(&dropped, PROGRAM_EXITED, 3, "begin");
}

/* Of a long complaint the end counts. */
static void the_end_of_a_complaint_is_kept(void **state)
{
    (void)state;
    const struct program_request request = SHELL_REQUEST("seq 100000 >&2; printf 'the cause' >&2");
    struct program_outcome outcome = run(&request);
    assert_int_equal(outcome.complaint_length, PROGRAM_COMPLAINT_BYTES);
    static const char end[] = "99999\n100000\nthe cause";
    assert_memory_equal(outcome.complaint + outcome.complaint_length - strlen(end), end, strlen(end));
    text_release(&outcome.output);
}

static void a_program_that_is_not_there_is_told_with_its_reason(void **state)
{
    (void)state;
    struct program_request request = SHELL_REQUEST("");
    for (int own_group = 0; own_group < 2; own_group++) {
        request.own_group = own_group != 0;
        request.words = (const char *const[]){"assay-no-such-program", NULL};
        expect_end(&request, PROGRAM_NOT_STARTED, ENOENT, "");
        request.words = (const char *const[]){"/etc/passwd", NULL};
        expect_end(&request, PROGRAM_NOT_STARTED, EACCES, "");
    }
}

static bool is_third_time(void *context)
{
    int *count = context;
    return ++*count == 3;
}

static void it_is_ended_when_the_caller_says_so(void **state)
{
    (void)state;
    int count = 0;
    struct program_request request = SHELL_REQUEST("trap '' TERM; sleep 600");
    request.is_to_stop = is_third_time;
    request.context = &count;
    expect_end(&request, PROGRAM_STOPPED, 0, "");
    assert_int_equal(count, 3);
}

/* The environment is the one given, and of our descriptors it gets those named. */
static void it_gets_what_is_named_and_nothing_else(void **state)
{
    (void)state;
    int kept = memfd_create("kept", MFD_CLOEXEC), other = memfd_create("other", MFD_CLOEXEC);
    char line[160];
    assert_true(kept > 2 && other > 2);
    snprintf(line, sizeof line,
             "echo \"$ONE,$HOME\"; for f in /proc/self/fd/%d /proc/self/fd/%d; do test -e $f; echo $?; done", kept,
             other);
    struct program_request request = SHELL_REQUEST(line);
    char path[4096];
    snprintf(path, sizeof path, "PATH=%s", getenv("PATH"));
    request.environment = (const char *const[]){"ONE=1", path, NULL};
    request.kept_files = &kept;
    request.kept_file_count = 1;
    expect_end(&request, PROGRAM_EXITED, 0, "1,\n0\n1\n");
    close(kept);
    close(other);
}

/* What we hold or ignore for ourselves is not for the program, if the caller says so. */
static void signals_are_as_the_caller_says(void **state)
{
    (void)state;
    sigset_t held, before, none, usual;
    struct program_request request = SHELL_REQUEST("kill -USR1 $$; echo held");
    sigemptyset(&none);
    sigemptyset(&held);
    sigaddset(&held, SIGUSR1);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigprocmask(SIG_BLOCK, &held, &before);
    expect_end(&request, PROGRAM_EXITED, 0, "held\n");
    request.mask = &none;
    expect_end(&request, PROGRAM_SIGNALLED, SIGUSR1, "");
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, SIG_IGN);
    struct program_request piped = SHELL_REQUEST("kill -PIPE $$; echo ignored");
    expect_end(&piped, PROGRAM_EXITED, 0, "ignored\n");
    piped.usual_handling = &usual;
    expect_end(&piped, PROGRAM_SIGNALLED, SIGPIPE, "");
    signal(SIGPIPE, SIG_DFL);
}

/* Whoever ignores the end of children has no exit code of them, and waits no longer for it. */
static void ignored_ends_of_children_are_no_reason_to_wait(void **state)
{
    (void)state;
    struct program_request request = SHELL_REQUEST("echo said");
    signal(SIGCHLD, SIG_IGN);
    request.own_group = false;
    expect_end(&request, PROGRAM_EXITED, 0, "said\n");
    signal(SIGCHLD, SIG_DFL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_code_output_and_complaint_are_kept_apart),
        cmocka_unit_test(joined_errors_are_output_in_their_order),
        cmocka_unit_test(a_signal_is_told_by_its_number),
        cmocka_unit_test(a_late_program_goes_with_what_it_has_started),
        cmocka_unit_test(a_silent_program_is_late_too),
        cmocka_unit_test(a_late_program_of_our_group_is_killed_alone),
        cmocka_unit_test(what_it_leaves_behind_is_not_waited_for),
        cmocka_unit_test(output_beyond_the_maximum_ends_it_or_is_dropped),
        cmocka_unit_test(the_end_of_a_complaint_is_kept),
        cmocka_unit_test(a_program_that_is_not_there_is_told_with_its_reason),
        cmocka_unit_test(it_is_ended_when_the_caller_says_so),
        cmocka_unit_test(it_gets_what_is_named_and_nothing_else),
        cmocka_unit_test(signals_are_as_the_caller_says),
        cmocka_unit_test(ignored_ends_of_children_are_no_reason_to_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Children that are killed: by whom, and what becomes of a run where one cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/run/case_line.h"
#include "tests/run/run_scene.h"

enum { MILLISECOND_NS = 1000000 };

static struct case_job job_of(struct scene *scene, const char *settings)
{
    suite_set(scene, settings);
    return (struct case_job){.case_ = &scene->suite.cases[0], .device = "host", .attempt = 1};
}

static struct json *line_of(const struct case_job *job, const struct child *child, enum case_status *status)
{
    struct json *line = NULL;
    struct status error;
    if (case_line_make(job, child, &line, status, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return line;
}

/* The kernel counts the processes that it kills for want of memory; a row for each way in which that number may
 * stand. */
static void who_killed_a_child_is_told_by_the_kernels_count(void **state)
{
    struct scene *scene = *state;
    static const struct {
        int64_t before, after;
        enum case_status status;
        const char *reason;
    } rows[] = {
        {3, 4, CASE_STATUS_OOM, "the kernel killed the child (SIGKILL): host or cgroup has no memory left"},
        {3, 3, CASE_STATUS_ERROR, "the child was killed (SIGKILL) by somebody, not by the kernel for want of memory"},
        {-1, -1, CASE_STATUS_OOM,
         "the child was killed (SIGKILL), as the kernel does when the host has no memory left"},
        {3, -1, CASE_STATUS_OOM, "the child was killed (SIGKILL), as the kernel does when the host has no memory left"},
    };
    struct case_job job = job_of(scene, "batch: 1");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct child child = {.pipe = -1,
                                    .ended = true,
                                    .wait_status = SIGKILL, /* as waitpid has a process that a signal ended */
                                    .oom_kills_before = rows[i].before,
                                    .oom_kills_after = rows[i].after};
        enum case_status status = CASE_STATUS_OK;
        assert_true(WIFSIGNALED(child.wait_status));
        struct json *line = line_of(&job, &child, &status);
        assert_int_equal(status, rows[i].status);
        assert_string_equal(text_at(line, "reason"), rows[i].reason);
        json_release(line);
    }
}

/* Starts a process of another session that traces the child: a traced process that was killed stays for its tracer to
 * look at, and its parent does not see it end. That is how a process looks that hangs in a driver. */
static void hold_run(void *context, const struct case_job *job, int file)
{
    pid_t held = getpid();
    (void)context;
    (void)job;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    if (fork() == 0) {
        setsid();
        bool holds = ptrace(PTRACE_SEIZE, held, NULL, NULL) == 0;
        dprintf(file, "{\"tracer\": %d}\n", holds ? (int)getpid() : 0);
        close(file);
        while (holds) {
            pause();
        }
        _exit(0);
    }
    close(file);
    for (;;) {
        pause();
    }
}

static void a_child_that_cannot_be_killed_is_left_behind(void **state)
{
    struct scene *scene = *state;
    const struct case_runner runner = {.run = hold_run};
    struct case_job job = job_of(scene, "batch: 1, timeout_seconds: 600");
    struct child child;
    struct json *said = NULL;
    sigset_t mask;
    sigemptyset(&mask);
    assert_int_equal(child_start(&runner, &job, &mask, &child, &scene->error), STATUS_OK);
    child.grace_ns = 200 * MILLISECOND_NS;
    while (!child.ended) {
        child_tend(&child);
        if (child.output.length > 0 && !child.timed_out) { /* it is held: its time is over */
            child.deadline_ns = clock_ns();
        }
        usleep(1000);
    }
    assert_int_equal(json_parse_text("tracer", text_string(&child.output), child.output.length, &said, NULL),
                     STATUS_OK);
    pid_t tracer = (pid_t)json_integer_or(json_get(said, "tracer"), 0);
    json_release(said);
    if (tracer == 0) {
        child_release(&child);
        skip(); /* this machine lets nobody trace: nothing is shown */
    }
    assert_true(child.left);
    enum case_status status = CASE_STATUS_OK;
    struct json *line = line_of(&job, &child, &status);
    assert_int_equal(status, CASE_STATUS_TIMEOUT);
    assert_string_equal(text_at(line, "reason"),
                        "not done after 600 s and killed, but still there 0 s later: it waits for the "
                        "kernel or a driver that hangs");
    json_release(line);
    pid_t pid = child.pid;
    child_release(&child);
    assert_int_equal(kill(tracer, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid); /* now it can be seen to have ended */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_killed_a_child_is_told_by_the_kernels_count),
        TEST(a_child_that_cannot_be_killed_is_left_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

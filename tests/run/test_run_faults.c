/* Runs in which something goes wrong: children that misbehave, interruption, folders and disks that refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/device/kernel_file.h"
#include "tests/run/run_scene.h"

struct ending {
    int batch;
    const char *status, *reason;
};

static const struct ending ENDINGS[] = {
    {DO_CRASH, "error", "the child crashed: Segmentation fault (SIGSEGV)"},
    {DO_OOM, "oom", "no memory"},
    {DO_GARBAGE, "error", "the child sent something that is no result"},
    {DO_NOTHING, "error", "the child ended without a result"},
    {DO_EXIT, "error", "the child ended with exit code 3"},
    {DO_LIE, "error",
     "the child sent a wrong result: 'stages.load.requested_bytes' is negative; an unknown figure is null"},
    {DO_FLOOD, "error", "the child sent more than 4194304 bytes and was ended"},
    {DO_KILLED, "error", "the child was killed (SIGKILL) by somebody, not by the kernel for want of memory"},
    {DO_ABORT_AFTER_ESTIMATES, "error", "the child crashed: Aborted (SIGABRT)"},
    {DO_UNKNOWN_STATUS, "error", "the child sent a status that is not known"},
    {DO_HALF_LINE, "error", "the child sent something that is no result"},
};

static bool kills_are_counted(void)
{
    int64_t count = 0;
    return kernel_count_read("/proc/vmstat", "oom_kill", &count);
}

static void whatever_a_child_does_is_one_row(void **state)
{
    struct scene *scene = *state;
    for (int jobs = 1; jobs <= 4; jobs += 3) {
        suite_release(&scene->suite);
        suite_set(scene, "batch: [2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]");
        struct run_options options = options_of(scene);
        options.jobs = jobs;
        assert_int_equal(run_with(scene, &options), RUN_INCONCLUSIVE);
        int count = (int)(sizeof ENDINGS / sizeof ENDINGS[0]);
        assert_int_equal(scene->records.runs[scene->records.run_count - 1].case_count, count);
        for (int i = 0; i < count; i++) {
            char id[64];
            const struct json *line = NULL;
            snprintf(id, sizeof id, "m/infer/float32/b%d/s128", ENDINGS[i].batch);
            for (int n = 0; n < count && line == NULL; n++) {
                line = strcmp(text_at(case_at(scene, n), "id"), id) == 0 ? case_at(scene, n) : NULL;
            }
            assert_non_null(line);
            if (ENDINGS[i].batch == DO_KILLED &&
                !kills_are_counted()) { /* then who killed is not known: test_child.c */
                continue;
            }
            assert_string_equal(text_at(line, "reason"), ENDINGS[i].reason);
            assert_string_equal(text_at(line, "status"), ENDINGS[i].status);
            assert_int_equal(json_count(json_get(line, "verdicts")), 0);
            bool kept = ENDINGS[i].batch == DO_ABORT_AFTER_ESTIMATES || ENDINGS[i].batch == DO_OOM;
            assert_int_equal(json_count(json_get(line, "estimates")), kept ? 3 : 0);
        }
    }
}

static void a_hanging_case_is_ended_in_time(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_of(scene, "batch: [3, 1], timeout_seconds: 1"), RUN_INCONCLUSIVE);
    assert_string_equal(text_at(case_at(scene, 0), "status"), "timeout");
    assert_string_equal(text_at(case_at(scene, 0), "reason"),
                        "not done after 1 s, so it was ended; raise timeout_seconds");
    assert_true(json_real_or(json_get(case_at(scene, 0), "duration_s"), 0) >= 1.0);
    assert_string_equal(text_at(case_at(scene, 1), "status"), "ok");
}

/* The run in a child of ours, which is interrupted while its second case hangs. */
static void interrupted_by(struct scene *scene, int number)
{
    suite_release(&scene->suite);
    suite_set(scene, "batch: [1, 3, 4]");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct run_options options = options_of(scene);
        enum status_code code = run_suite(&options, &scene->result, &scene->error);
        _exit(code == STATUS_OK && scene->result.interrupted && scene->result.outcome == RUN_INCOMPLETE ? 0 : 1);
    }
    for (int tries = 0; tries < 3000; tries++) { /* until the first case is on the disk; the second hangs then */
        struct record_file file = {0};
        bool there = record_file_read(scene->folder, &file, NULL) == STATUS_OK &&
                     file.runs[file.run_count - 1].end == NULL && file.runs[file.run_count - 1].case_count == 1;
        record_file_release(&file);
        if (there) {
            break;
        }
        usleep(10000);
    }
    assert_int_equal(kill(pid, number), 0);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    record_file_release(&scene->records);
    assert_int_equal(record_file_read(scene->folder, &scene->records, NULL), STATUS_OK);
    const struct record_run *run = &scene->records.runs[scene->records.run_count - 1];
    assert_int_equal(run->case_count, 1);
    assert_true(json_boolean_or(json_get(run->end, "interrupted"), false));
    assert_int_equal(json_integer_or(json_get(json_get(run->end, "counts"), "done"), -1), 1);
}

static void an_interrupted_run_keeps_what_is_done(void **state)
{
    struct scene *scene = *state;
    interrupted_by(scene, SIGINT);
    interrupted_by(scene, SIGTERM);
    assert_int_equal(scene->records.run_count, 2); /* the second run follows the first in the file */
}

static void no_child_is_left_behind(void **state)
{
    struct scene *scene = *state;
    run_of(scene, "batch: [1, 2, 10]");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* not even a dead one */
}

/* A limit on the size of files stands for a full disk, set in a child because it cannot be lifted again. */
static void a_full_disk_is_an_error_and_leaves_whole_rows(void **state)
{
    struct scene *scene = *state;
    suite_set(scene, "batch: 4, repeat: 50");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit limit = {.rlim_cur = 4096, .rlim_max = 4096};
        struct run_options options = options_of(scene);
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        enum status_code code = run_suite(&options, &scene->result, &scene->error);
        _exit(code == STATUS_IO && strstr(scene->error.text, "stays readable") != NULL ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(record_file_read(scene->folder, &scene->records, NULL), STATUS_OK);
    assert_true(scene->records.runs[0].case_count > 0);
    assert_true(scene->records.runs[0].case_count < 50);
    assert_int_equal(scene->records.damaged_line_count, 0);
}

static void a_folder_that_cannot_be_made_is_an_error(void **state)
{
    struct scene *scene = *state;
    suite_set(scene, "batch: 1");
    struct run_options options = options_of(scene);
    options.folder = "/proc/no/such/folder";
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_IO);
    assert_non_null(strstr(scene->error.text, "the folder cannot be made"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(whatever_a_child_does_is_one_row),
        TEST(a_hanging_case_is_ended_in_time),
        TEST(an_interrupted_run_keeps_what_is_done),
        TEST(no_child_is_left_behind),
        TEST(a_full_disk_is_an_error_and_leaves_whole_rows),
        TEST(a_folder_that_cannot_be_made_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

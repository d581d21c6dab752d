/* Retries: a child that crashed is followed by another one, which is recorded, and makes no run greener. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/run/run_scene.h"
#include "tests/support/command_run.h"

/* The first children of a run do this, and those after them what their case says. Shared with the children. */
static struct {
    int started_count, failing_count;
    int what, signal_number;
} * plan;

static char warned[2048];

static void planned_run(void *context, const struct case_job *job, int file)
{
    const struct case_runner *runner = context;
    struct case_job planned = *job;
    struct suite_case case_ = *job->case_;
    if (plan->started_count++ < plan->failing_count) {
        if (plan->signal_number > 0) {
            kill(getppid(), plan->signal_number);
        }
        case_.identity.workload.batch = plan->what;
    }
    planned.case_ = &case_;
    runner->run(runner->context, &planned, file);
}

static void warned_keep(void *context, const char *text)
{
    (void)context;
    snprintf(warned + strlen(warned), sizeof warned - strlen(warned), "%s\n", text);
}

static enum run_outcome run_planned(struct scene *scene, int what, int failing_count, int retries, const char *rest)
{
    suite_release(&scene->suite);
    suite_set(scene, rest);
    unlink(scene->file);
    struct run_options options = options_of(scene);
    struct case_runner runner = *options.runner;
    runner.context = (void *)options.runner;
    runner.run = planned_run;
    options.runner = &runner;
    options.retries = retries;
    options.progress.warned = warned_keep;
    warned[0] = '\0';
    plan->started_count = 0;
    plan->failing_count = failing_count;
    plan->what = what;
    return run_with(scene, &options);
}

#define CRASHED "the child crashed: Segmentation fault (SIGSEGV)"

static void a_case_that_ran_only_after_a_retry_says_so(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_planned(scene, DO_CRASH, 2, 3, "batch: 1"), RUN_INCONCLUSIVE);
    assert_int_equal(plan->started_count, 3);
    const struct json *line = case_at(scene, 0), *retried = json_get(line, "retried");
    assert_int_equal(scene->records.runs[0].case_count, 1);
    assert_string_equal(text_at(line, "status"), "ok");
    assert_int_equal(integer_at(line, "attempt"), 1);
    assert_int_equal(json_count(retried), 2);
    assert_string_equal(text_at(json_at(retried, 1), "status"), "error");
    assert_string_equal(text_at(json_at(retried, 1), "reason"), CRASHED);
    assert_true(json_real_or(json_get(json_at(retried, 1), "duration_s"), -1) >= 0);
    assert_string_equal(scene->result.reason, "INCONCLUSIVE: 1 of 1 case ran only after a retry; first "
                                              "m/infer/float32/b1/s128: ran only after 2 retries: " CRASHED);
    assert_string_equal(warned, "m/infer/float32/b1/s128: " CRASHED "; retry 1 of 3\n"
                                "m/infer/float32/b1/s128: " CRASHED "; retry 2 of 3\n");
    assert_int_equal(integer_at(scene->records.runs[0].run, "retries"), 3);
}

static void one_that_never_runs_is_as_before(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_planned(scene, DO_CRASH, 9, 2, "batch: 1"), RUN_INCONCLUSIVE);
    assert_int_equal(plan->started_count, 3);
    assert_string_equal(text_at(case_at(scene, 0), "status"), "error");
    assert_string_equal(text_at(case_at(scene, 0), "reason"), CRASHED "; so it ended after 2 retries");
    assert_int_equal(json_count(json_get(case_at(scene, 0), "retried")), 2);
    assert_int_equal(scene->result.counts[CASE_STATUS_ERROR], 1);
}

/* A case that ran out of memory, failed or was skipped has an answer, and is not measured again. */
static void only_what_could_not_be_measured_is_begun_again(void **state)
{
    static const struct {
        int what;
        const char *rest;
        int started;
        enum run_outcome outcome;
    } rows[] = {{DO_OOM, "batch: 1", 1, RUN_INCONCLUSIVE},
                {DO_SKIP, "batch: 1", 1, RUN_SKIPPED},
                {DO_MEASURE, "batch: 1", 1, RUN_PASS},
                {DO_MEASURE_JUDGED, "batch: 17, tolerances: {replay: {process_bytes: 0}}", 1, RUN_FAIL},
                {DO_GARBAGE, "batch: 1", 2, RUN_INCONCLUSIVE},
                {DO_EXIT, "batch: 1", 2, RUN_INCONCLUSIVE},
                {DO_HANG, "batch: 1, timeout_seconds: 1", 2, RUN_INCONCLUSIVE}};
    struct scene *scene = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const enum run_outcome outcome = run_planned(scene, rows[i].what, 1, 1, rows[i].rest);
        if (outcome != rows[i].outcome || plan->started_count != rows[i].started) {
            fail_msg("row %zu: outcome %d, %d children: %s", i, (int)outcome, plan->started_count,
                     scene->result.reason);
        }
    }
}

/* What fails its verdict after a retry fails. */
static void a_retry_hides_no_failure(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_planned(scene, DO_CRASH, 1, 1, "batch: 17, tolerances: {replay: {process_bytes: 0}}"),
                     RUN_FAIL);
    assert_int_equal(json_count(json_get(case_at(scene, 0), "retried")), 1);
    assert_string_equal(text_at(case_at(scene, 0), "status"), "fail");
}

/* Each attempt of --repeat has retries of its own. */
static void attempts_are_retried_each(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_planned(scene, DO_CRASH, 1, 1, "batch: 1, repeat: 3"), RUN_INCONCLUSIVE);
    assert_int_equal(plan->started_count, 4);
    assert_int_equal(scene->records.runs[0].case_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(integer_at(case_at(scene, i), "attempt"), i + 1);
        assert_int_equal(json_count(json_get(case_at(scene, i), "retried")), i == 0 ? 1 : 0);
    }
}

/* A run that was asked to end begins nothing more. */
static void an_interrupted_run_retries_nothing(void **state)
{
    struct scene *scene = *state;
    plan->signal_number = SIGINT;
    const enum run_outcome outcome = run_planned(scene, DO_CRASH, 9, 5, "batch: 1, repeat: 2");
    plan->signal_number = 0;
    assert_int_equal(outcome, RUN_INCOMPLETE);
    assert_true(plan->started_count <= 2);
}

/* The pages and what other programs read say what the run said. */
static void pages_tell_of_a_retry(void **state)
{
    static const char *const formats[] = {"table", "md", "html", "junit"};
    struct scene *scene = *state;
    assert_int_equal(run_planned(scene, DO_CRASH, 1, 1, "batch: 1"), RUN_INCONCLUSIVE);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct command_result result =
            command_named("report", (const char *const[]){scene->folder, "--format", formats[i], NULL});
        assert_int_equal(result.exit_code, 3);
        command_says(&result.output, "ran only after 1 retry: the child crashed");
        command_says(&result.error, "INCONCLUSIVE: 1 of 1 case ran only after a retry; first ");
        command_result_release(&result);
    }
    struct command_result result = command_named("gate", (const char *const[]){scene->folder, NULL});
    assert_int_equal(result.exit_code, 3);
    command_says(&result.output, "ran only after 1 retry: the child crashed");
    command_result_release(&result);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_case_that_ran_only_after_a_retry_says_so),
        TEST(one_that_never_runs_is_as_before),
        TEST(only_what_could_not_be_measured_is_begun_again),
        TEST(a_retry_hides_no_failure),
        TEST(attempts_are_retried_each),
        TEST(an_interrupted_run_retries_nothing),
        TEST(pages_tell_of_a_retry),
    };
    plan = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return plan != MAP_FAILED ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}

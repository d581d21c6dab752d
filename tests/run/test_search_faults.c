/* Searches that go wrong: a try that ends otherwise than was predicted fails the case, what nobody could predict leaves
 * it open, and what ends a try of another case ends one of a search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/device/refusal.h"
#include "tests/run/search_scene.h"

struct meddler {
    int64_t refuses;       /* this batch; -1: every one; 0: none */
    int64_t hangs, errs;   /* this batch hangs, ends in an error */
    int64_t signals;       /* at this batch the run is told to end */
    bool halves;           /* it is predicted with half the bytes */
    const char *predicted; /* what the child says that predicts; "": it crashes; NULL: it predicts */
};

static void meddler_run(void *context, const struct case_job *job, int file)
{
    const struct meddler *meddler = context;
    int64_t batch = job->case_->identity.workload.batch;
    if (batch == meddler->refuses || meddler->refuses < 0) {
        dprintf(file, "{\"device\": {\"kind\": \"host\", \"name\": null, \"spec\": \"host:mem=67108864B\", \"target\": "
                      "\"host\", \"total_bytes\": null, \"driver\": null, \"runtime\": null, \"pci_bus_id\": null, "
                      "\"uuid\": null}, \"status\": \"oom\", \"reason\": \"host: out of memory: 3 bytes wanted, 2 "
                      "bytes " REFUSAL_WORDS_BOUND "; raise it\", \"oom\": {\"wanted_bytes\": 1048576, \"held_bytes\": "
                      "2, \"stage\": \"load\", \"label\": \"w\"}}\n");
        return;
    }
    if (batch == meddler->errs) {
        dprintf(file, "{\"status\": \"error\", \"reason\": \"the driver is lost\"}\n");
        return;
    }
    if (batch == meddler->signals) {
        kill(getppid(), SIGTERM);
    }
    while (batch == meddler->hangs || batch == meddler->signals) {
        pause();
    }
    case_runner_measure.run(case_runner_measure.context, job, file);
}

static void meddler_predict(void *context, const struct case_job *job, int file)
{
    const struct meddler *meddler = context;
    struct search_question question = *job->question;
    struct case_job meant = *job;
    meant.question = &question;
    if (meddler->predicted == NULL) {
        question.least_bytes /= meddler->halves ? 2 : 1;
        question.most_bytes /= meddler->halves ? 2 : 1;
        case_runner_measure.predict(case_runner_measure.context, &meant, file);
    } else if (meddler->predicted[0] == '\0') {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    } else {
        dprintf(file, "%s", meddler->predicted);
    }
}

static struct case_runner runner_of(struct meddler *meddler)
{
    return (struct case_runner){.run = meddler_run, .predict = meddler_predict, .context = meddler};
}

static enum run_outcome meddle(struct scene *scene, struct meddler meddler, const char *cases)
{
    const struct case_runner runner = runner_of(&meddler);
    cases_set(scene, cases);
    return search_measure(scene, &runner, "meta"); /* which refuses as a host with that bound does */
}

static void a_try_that_is_refused_too_early_fails_the_case(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(meddle(scene, (struct meddler){.refuses = 75}, HALVE("")), RUN_FAIL);
    const struct json *line = case_at(scene, 0);
    assert_string_equal(text_at(line, "status"), "fail");
    assert_string_equal(text_at(line, "reason"),
                        "search: batch 75: out of memory, predicted to run (load: w wants 1.00 MiB)");
    tries_expect(search_at(scene, 0), "150 refused, 75 refused, 37 ran");
    pass_expect(search_at(scene, 0), JSON_KIND_BOOLEAN, false);
    assert_int_equal(integer_at(search_at(scene, 0), "found"), 37);
    assert_int_equal(meddle(scene, (struct meddler){.refuses = -1}, HALVE("")), RUN_FAIL); /* a zero, too */
    assert_string_equal(text_at(search_at(scene, 0), "end"), "zero");
}

/* Replay under half the bytes says that the batch that runs does not. */
static void a_prediction_that_is_wrong_fails_the_case(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(meddle(scene, (struct meddler){.halves = true}, HALVE("")), RUN_FAIL);
    assert_string_equal(text_at(case_at(scene, 0), "reason"), "search: batch 75: runs, predicted to run out of memory");
    pass_expect(search_at(scene, 0), JSON_KIND_BOOLEAN, false);
    assert_int_equal(integer_at(search_at(scene, 0), "found"), 75);
    assert_true(integer_at(search_at(scene, 0), "predicted") < 75);
}

static void what_could_not_be_predicted_is_open(void **state)
{
    struct scene *scene = *state;
    static const char *const said[] = {"", "{\"status\": \"ok\"}\n", "{\"status\": \"ok\", \"prediction\": 7}\n",
                                       "{\"status\": \"ok\", \"prediction\": {\"limit\": -3, \"runs\": []}}\n",
                                       "{\"status\": \"error\", \"reason\": \"the tape is lost\"}\n"};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        assert_int_equal(meddle(scene, (struct meddler){.predicted = said[i]}, HALVE("")), RUN_INCONCLUSIVE);
        assert_non_null(strstr(scene->result.reason, "search: what replay says of it is not known"));
        assert_string_equal(text_at(case_at(scene, 0), "status"), "ok"); /* the measurement stands */
        pass_expect(search_at(scene, 0), JSON_KIND_NULL, false);
        tries_expect(search_at(scene, 0), "150 refused, 75 ran");
    }
}

/* As on a GPU whose memory nobody tells: it is reported, and no failure. */
static void where_nothing_is_to_be_predicted_nothing_is_judged(void **state)
{
    struct scene *scene = *state;
    struct meddler meddler = {0};
    struct case_runner runner = runner_of(&meddler);
    runner.predict = NULL;
    cases_set(scene, HALVE(""));
    assert_int_equal(search_measure(scene, &runner, "meta"), RUN_PASS);
    pass_expect(search_at(scene, 0), JSON_KIND_NULL, false);
    meddler.refuses = -1;
    assert_int_equal(search_measure(scene, &runner, "meta"), RUN_INCONCLUSIVE);
    assert_string_equal(text_at(case_at(scene, 0), "status"), "oom");
    assert_memory_equal(text_at(case_at(scene, 0), "reason"),
                        "No executable batch size found, reached zero. batch 1: host: out of memory", 72);
}

static void another_failure_ends_the_search(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(meddle(scene, (struct meddler){.errs = 100}, BISECT("")), RUN_INCONCLUSIVE);
    const struct json *line = case_at(scene, 0);
    assert_string_equal(text_at(line, "status"), "error");
    assert_string_equal(text_at(line, "reason"), "batch 100: the driver is lost");
    assert_string_equal(text_at(search_at(scene, 0), "end"), "failed");
    assert_string_equal(text_at(search_at(scene, 0), "error"), "the driver is lost");
    assert_int_equal(integer_at(search_at(scene, 0), "found"), 50);
    tries_expect(search_at(scene, 0), "50 ran, 100 error");
}

static void each_try_has_the_time_of_a_case(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(meddle(scene, (struct meddler){.hangs = 100}, BISECT(", timeout_seconds: 4")), RUN_INCONCLUSIVE);
    assert_string_equal(text_at(case_at(scene, 0), "status"), "timeout");
    assert_non_null(strstr(text_at(case_at(scene, 0), "reason"), "batch 100: not done after 4 s"));
}

static void a_device_that_is_not_here_is_skipped(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, BISECT(""));
    assert_int_equal(search_measure(scene, &case_runner_measure, "cuda:63"), RUN_SKIPPED);
    assert_string_equal(text_at(case_at(scene, 0), "status"), "skip");
}

static void an_interruption_loses_the_case_in_progress_alone(void **state)
{
    struct scene *scene = *state;
    struct meddler meddler = {.signals = 100};
    cases_set(scene, HALVE("") BISECT(""));
    const struct case_runner runner = runner_of(&meddler);
    assert_int_equal(search_measure(scene, &runner, "host"), RUN_INCOMPLETE);
    assert_true(scene->result.interrupted);
    const struct record_run *run = &scene->records.runs[scene->records.run_count - 1];
    assert_int_equal(run->case_count, 1);
    assert_string_equal(text_at(run->cases[0], "id"), scene->suite.cases[0].id);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    assert_int_equal(errno, ECHILD);
}

/* As in test_run_faults.c. */
static void a_full_disk_leaves_the_searches_that_had_ended(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, HALVE(", repeat: 6"));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit limit = {.rlim_cur = 40000, .rlim_max = 40000};
        struct run_options options = options_of(scene);
        options.runner = &case_runner_measure;
        options.device = "meta";
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        enum status_code code = run_suite(&options, &scene->result, &scene->error);
        _exit(code == STATUS_IO && strstr(scene->error.text, "stays readable") != NULL ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(record_file_read(scene->folder, &scene->records, NULL), STATUS_OK);
    int count = scene->records.runs[0].case_count;
    assert_true(count > 0 && count < 6);
    for (int i = 0; i < count; i++) {
        tries_expect(search_at(scene, i), "150 refused, 75 ran");
    }
    assert_int_equal(scene->records.damaged_line_count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_try_that_is_refused_too_early_fails_the_case),
        TEST(a_prediction_that_is_wrong_fails_the_case),
        TEST(what_could_not_be_predicted_is_open),
        TEST(where_nothing_is_to_be_predicted_nothing_is_judged),
        TEST(another_failure_ends_the_search),
        TEST(each_try_has_the_time_of_a_case),
        TEST(a_device_that_is_not_here_is_skipped),
        TEST(an_interruption_loses_the_case_in_progress_alone),
        TEST(a_full_disk_leaves_the_searches_that_had_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

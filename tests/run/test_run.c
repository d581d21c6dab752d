/* Runs with injected children: every way in which a case can end, verdicts, outcomes, interruption, folders. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/run/run.h"

/* Batch numbers say what the child does, so that one suite can hold every kind. */
enum {
    DO_MEASURE = 1,
    DO_CRASH,
    DO_HANG,
    DO_SKIP,
    DO_OOM,
    DO_GARBAGE,
    DO_NOTHING,
    DO_EXIT,
    DO_LIE,
    DO_FLOOD,
    DO_KILLED,
    DO_ABORT_AFTER_ESTIMATES,
    DO_UNKNOWN_STATUS,
    DO_HALF_LINE,
    DO_NAME_DEVICE
};

#define STAGE                                                                                                          \
    "{\"requested_bytes\": 900, \"requested_bytes_peak\": 1000, \"allocated_bytes\": 1024, "                           \
    "\"allocated_bytes_peak\": 2048, \"reserved_bytes\": 4096, \"reserved_bytes_peak\": 4096, \"device_bytes\": "      \
    "null, "                                                                                                           \
    "\"process_bytes\": 9000, \"process_bytes_peak\": 9500, \"seconds\": 0.5, \"categories_at_peak\": {\"weights\": "  \
    "1000}}"
#define ESTIMATES                                                                                                      \
    "{\"estimates\": {\"replay\": {\"requested_bytes_peak\": 1000, \"allocated_bytes_peak\": 2048, "                   \
    "\"reserved_bytes_peak\": 4096}, \"rule\": {\"total_bytes\": 1024}, \"silent\": {\"total_bytes\": null}}}\n"
#define RESULT                                                                                                         \
    "{\"status\": \"ok\", \"stages\": {\"load\": " STAGE                                                               \
    "}, \"context\": {\"device_bytes\": null, \"process_bytes\": "                                                     \
    "5000}, \"peak_stage\": \"load\", \"id\": \"forged\", \"surprise\": 1}\n"

static void say(int file, const char *text)
{
    if (write(file, text, strlen(text)) < 0) {
        _exit(9);
    }
}

static void flood(int file)
{
    char block[4096];
    memset(block, 'x', sizeof block);
    for (;;) {
        if (write(file, block, sizeof block) < 0) {
            _exit(9);
        }
    }
}

static void child_run(void *context, const struct case_job *job, int file)
{
    (void)context;
    switch (job->case_->identity.workload.batch) {
    case DO_MEASURE:
        say(file, ESTIMATES);
        say(file, RESULT);
        break;
    case DO_CRASH:
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would turn it into an exit code */
        raise(SIGSEGV);
        break;
    case DO_HANG:
        for (;;) {
            pause();
        }
    case DO_SKIP:
        say(file, "{\"status\": \"skip\", \"reason\": \"no such device; plug one in\"}\n");
        break;
    case DO_OOM:
        say(file, ESTIMATES "{\"status\": \"oom\", \"reason\": \"no memory\", \"oom\": {\"wanted_bytes\": 7, "
                            "\"held_bytes\": 5, \"stage\": \"load\", \"label\": \"w\"}}\n");
        break;
    case DO_GARBAGE:
        say(file, "segmentation of the brain\n");
        break;
    case DO_EXIT:
        _exit(3);
    case DO_LIE:
        say(file, "{\"status\": \"ok\", \"stages\": {\"load\": {\"requested_bytes\": -1}}}\n");
        break;
    case DO_FLOOD:
        flood(file);
        break;
    case DO_KILLED:
        raise(SIGKILL);
        break;
    case DO_ABORT_AFTER_ESTIMATES:
        say(file, ESTIMATES);
        signal(SIGABRT, SIG_DFL);
        raise(SIGABRT);
        break;
    case DO_UNKNOWN_STATUS:
        say(file, "{\"status\": \"fine\"}\n");
        break;
    case DO_HALF_LINE:
        say(file, "{\"status\": \"ok\"}");
        break;
    case DO_NAME_DEVICE:
        dprintf(file, "{\"status\": \"skip\", \"reason\": \"%s\"}\n", job->device);
        break;
    default:
        break;
    }
}

static bool estimator_known(const char *name)
{
    return strcmp(name, "replay") == 0 || strcmp(name, "rule") == 0 || strcmp(name, "silent") == 0;
}

static const struct case_runner RUNNER = {.run = child_run, .knows_estimator = estimator_known};

struct scene {
    char folder[64], file[96];
    struct suite suite;
    struct run_result result;
    struct record_file records;
    struct status error;
};

static int scene_open(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    if (scene == NULL) {
        return -1;
    }
    snprintf(scene->folder, sizeof scene->folder, "/tmp/assay-run-XXXXXX");
    if (mkdtemp(scene->folder) == NULL) {
        free(scene);
        return -1;
    }
    snprintf(scene->file, sizeof scene->file, "%s/records.jsonl", scene->folder);
    *state = scene;
    return 0;
}

static int scene_close(void **state)
{
    struct scene *scene = *state;
    record_file_release(&scene->records);
    suite_release(&scene->suite);
    unlink(scene->file);
    rmdir(scene->folder);
    free(scene);
    return 0;
}

/* A suite with one case of tiny-bert; rest: its further keys. Models are not looked up. */
static void suite_set(struct scene *scene, const char *rest)
{
    char text[1024];
    int length = snprintf(text, sizeof text, "version: 1\nname: t\ncases:\n  - {model: m, mode: infer, %s}\n", rest);
    if (suite_read_text("s.yaml", text, (size_t)length, NULL, &scene->suite, &scene->error) != STATUS_OK) {
        fail_msg("%s", scene->error.text);
    }
}

static struct run_options options_of(const struct scene *scene)
{
    return (struct run_options){.suite = &scene->suite,
                                .runner = &RUNNER,
                                .folder = scene->folder,
                                .jobs = 1,
                                .catalogue_dir = "models/catalogue",
                                .version = "1.2.3"};
}

/* Runs and reads back; -1 where it failed. */
static enum run_outcome run_with(struct scene *scene, const struct run_options *options)
{
    if (run_suite(options, &scene->result, &scene->error) != STATUS_OK) {
        fail_msg("%s", scene->error.text);
    }
    record_file_release(&scene->records);
    if (record_file_read(scene->folder, &scene->records, &scene->error) != STATUS_OK) {
        fail_msg("%s", scene->error.text);
    }
    return scene->result.outcome;
}

static enum run_outcome run_of(struct scene *scene, const char *rest)
{
    suite_set(scene, rest);
    struct run_options options = options_of(scene);
    return run_with(scene, &options);
}

static const struct json *case_at(const struct scene *scene, int index)
{
    const struct record_run *run = &scene->records.runs[scene->records.run_count - 1];
    assert_true(index < run->case_count);
    return run->cases[index];
}

static const char *text_at(const struct json *object, const char *key)
{
    return json_string_or(json_get(object, key), "(null)");
}

static const struct json *verdict_at(const struct json *line, const char *estimator, const char *quantity)
{
    const struct json *verdicts = json_get(line, "verdicts");
    for (size_t i = 0; i < json_count(verdicts); i++) {
        const struct json *verdict = json_at(verdicts, i);
        if (strcmp(text_at(verdict, "estimator"), estimator) == 0 &&
            strcmp(text_at(verdict, "quantity"), quantity) == 0) {
            return verdict;
        }
    }
    return NULL;
}

static void assert_near(double value, double wanted)
{
    assert_true(fabs(value - wanted) < 1e-12);
}

static void a_measured_case_is_a_row_with_its_verdicts(void **state)
{
    struct scene *scene = *state;
    enum run_outcome outcome =
        run_of(scene, "batch: 1, tags: [quick], tolerances: {replay: {allocated_bytes_peak: 0, process_bytes: 10%}}");
    assert_int_equal(outcome, RUN_PASS);
    const struct json *line = case_at(scene, 0);
    assert_string_equal(text_at(line, "status"), "ok");
    assert_string_equal(text_at(line, "id"), "m/infer/float32/b1/s128"); /* not what the child claimed */
    assert_null(json_get(line, "surprise"));
    assert_int_equal(json_kind(json_get(line, "reason")), JSON_KIND_NULL);
    assert_int_equal(json_integer_or(json_get(line, "attempt"), 0), 1);
    assert_string_equal(json_string_or(json_at(json_get(line, "tags"), 0), ""), "quick");
    const struct json *exact = verdict_at(line, "replay", "allocated_bytes_peak");
    assert_int_equal(json_integer_or(json_get(exact, "predicted"), -1), 2048);
    assert_int_equal(json_integer_or(json_get(exact, "measured"), -1), 2048);
    assert_true(json_boolean_or(json_get(exact, "pass"), false));
    /* 9500 at the highest less 5000 of the context are 4500; 4096 is 8.98 % less */
    const struct json *process = verdict_at(line, "replay", "process_bytes");
    assert_int_equal(json_integer_or(json_get(process, "measured"), -1), 4500);
    assert_int_equal(json_integer_or(json_get(process, "signed_error_bytes"), 0), -404);
    assert_near(json_real_or(json_get(process, "signed_error"), 0), -404.0 / 4500.0);
    assert_near(json_real_or(json_get(json_get(process, "tolerance"), "fraction"), 0), 0.1);
    /* reported, not judged: no tolerance */
    const struct json *rule = verdict_at(line, "rule", "total_bytes");
    assert_int_equal(json_integer_or(json_get(rule, "measured"), -1), 2048);
    assert_near(json_real_or(json_get(rule, "signed_error"), 0), -0.5);
    assert_int_equal(json_kind(json_get(rule, "tolerance")), JSON_KIND_NULL);
    assert_int_equal(json_kind(json_get(rule, "pass")), JSON_KIND_NULL);
    assert_null(verdict_at(line, "silent", "total_bytes")); /* an unknown that nobody asked for is no row */
}

static void the_run_and_end_lines_say_what_was_run(void **state)
{
    struct scene *scene = *state;
    run_of(scene, "batch: [1, 4], repeat: 2");
    const struct json *run = scene->records.runs[0].run, *end = scene->records.runs[0].end;
    assert_string_equal(text_at(json_get(run, "suite"), "name"), "t");
    assert_string_equal(text_at(json_get(run, "suite"), "plan_hash"), scene->suite.plan_hash);
    assert_int_equal(json_integer_or(json_get(json_get(run, "suite"), "selected_count"), -1), 4);
    assert_string_equal(text_at(json_get(run, "tool"), "version"), "1.2.3");
    assert_int_equal(strlen(text_at(run, "run_id")), 32);
    assert_string_equal(text_at(end, "outcome"), "pass");
    assert_int_equal(json_integer_or(json_get(json_get(end, "counts"), "ok"), -1), 2);
    assert_int_equal(json_integer_or(json_get(json_get(end, "counts"), "skip"), -1), 2);
    assert_int_equal(json_integer_or(json_get(case_at(scene, 1), "attempt"), -1), 2);
}

static void a_wrong_prediction_fails(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_of(scene, "batch: 1, expect: {allocated_bytes_peak: 2047}"), RUN_FAIL);
    const struct json *line = case_at(scene, 0);
    assert_string_equal(text_at(line, "status"), "fail");
    assert_string_equal(text_at(line, "reason"),
                        "expected predicted 2047 for allocated_bytes_peak, measured were 2048");
    assert_int_equal(
        json_integer_or(json_get(json_get(json_get(line, "estimates"), "expected"), "allocated_bytes_peak"), -1), 2047);
    assert_int_equal(scene->result.counts[CASE_STATUS_FAIL], 1);
}

static void a_prediction_within_its_tolerance_passes(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_of(scene, "batch: 1, expect: {allocated_bytes_peak: 2047, requested_bytes_peak: 1100}, "
                                   "tolerances: {expected: {allocated_bytes_peak: 1, requested_bytes_peak: 10%}}"),
                     RUN_PASS);
}

static void a_judged_figure_that_is_unknown_is_inconclusive(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_of(scene, "batch: 1, tolerances: {replay: {device_bytes: 1%}}"), RUN_INCONCLUSIVE);
    const struct json *verdict = verdict_at(case_at(scene, 0), "replay", "device_bytes");
    assert_int_equal(json_kind(json_get(verdict, "measured")), JSON_KIND_NULL);
    assert_int_equal(json_kind(json_get(verdict, "pass")), JSON_KIND_NULL);
    assert_string_equal(text_at(case_at(scene, 0), "status"), "ok");
}

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
    {DO_KILLED, "oom", "the child was killed (SIGKILL), as the kernel does when the host has no memory left"},
    {DO_ABORT_AFTER_ESTIMATES, "error", "the child crashed: Aborted (SIGABRT)"},
    {DO_UNKNOWN_STATUS, "error", "the child sent a status that is not known"},
    {DO_HALF_LINE, "error", "the child sent something that is no result"},
};

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

static void a_skipped_suite_says_so(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(run_of(scene, "batch: 4"), RUN_SKIPPED);
    assert_string_equal(text_at(case_at(scene, 0), "reason"), "no such device; plug one in");
    assert_string_equal(text_at(scene->records.runs[0].end, "outcome"), "skipped");
}

static void a_filter_selects_and_one_without_matches_is_an_error(void **state)
{
    struct scene *scene = *state;
    suite_set(scene, "batch: [1, 2]");
    struct run_options options = options_of(scene);
    options.filter = "*/b1/*";
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    assert_int_equal(scene->records.runs[0].case_count, 1);
    options.filter = "nothing*";
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_INVALID);
    assert_string_equal(scene->error.text, "no case of s.yaml matches 'nothing*'; assay plan lists their ids");
    options.filter = NULL;
    options.jobs = 0;
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_INVALID);
}

static void an_unknown_estimator_is_found_before_anything_is_written(void **state)
{
    struct scene *scene = *state;
    suite_set(scene, "batch: 1, tolerances: {relpay: {allocated_bytes_peak: 0}}");
    struct run_options options = options_of(scene);
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_INVALID);
    assert_ptr_equal(strstr(scene->error.text, "s.yaml:4:"), scene->error.text);
    assert_non_null(strstr(scene->error.text, "there is no estimator 'relpay'"));
    struct stat file;
    assert_int_not_equal(stat(scene->file, &file), 0);
}

static void the_device_asked_for_wins_over_the_suite(void **state)
{
    struct scene *scene = *state;
    static const char *const asked[] = {NULL, "auto", "meta", NULL, "host"};
    static const char *const rest[] = {"batch: 15", "batch: 15, device: host", "batch: 15, device: host",
                                       "batch: 15, device: host", "batch: 15"};
    static const char *const used[] = {"auto", "host", "meta", "host", "host"};
    for (int i = 0; i < 5; i++) {
        suite_release(&scene->suite);
        suite_set(scene, rest[i]);
        struct run_options options = options_of(scene);
        options.device = asked[i];
        run_with(scene, &options);
        assert_string_equal(text_at(case_at(scene, 0), "reason"), used[i]);
    }
}

struct tally {
    int started, ended, last_done, total;
};

static void tally_started(void *context, const struct suite_case *case_, int attempt, int done, int total)
{
    struct tally *tally = context;
    assert_non_null(case_);
    assert_true(attempt >= 1 && done < total);
    tally->started++;
}

static void tally_ended(void *context, const struct json *line, int done, int total)
{
    struct tally *tally = context;
    assert_int_equal(json_kind(line), JSON_KIND_OBJECT);
    tally->ended++;
    tally->last_done = done;
    tally->total = total;
}

static void progress_is_told_of_every_attempt(void **state)
{
    struct scene *scene = *state;
    struct tally tally = {0};
    suite_set(scene, "batch: [1, 2, 4], repeat: 2");
    struct run_options options = options_of(scene);
    options.jobs = 3;
    options.progress = (struct run_progress){.context = &tally, .started = tally_started, .ended = tally_ended};
    run_with(scene, &options);
    assert_int_equal(tally.started, 6);
    assert_int_equal(tally.ended, 6);
    assert_int_equal(tally.last_done, 6);
    assert_int_equal(tally.total, 6);
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
        _exit(code == STATUS_OK && scene->result.interrupted && scene->result.outcome == RUN_INCONCLUSIVE ? 0 : 1);
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
        TEST(a_measured_case_is_a_row_with_its_verdicts),
        TEST(the_run_and_end_lines_say_what_was_run),
        TEST(a_wrong_prediction_fails),
        TEST(a_prediction_within_its_tolerance_passes),
        TEST(a_judged_figure_that_is_unknown_is_inconclusive),
        TEST(whatever_a_child_does_is_one_row),
        TEST(a_hanging_case_is_ended_in_time),
        TEST(a_skipped_suite_says_so),
        TEST(a_filter_selects_and_one_without_matches_is_an_error),
        TEST(an_unknown_estimator_is_found_before_anything_is_written),
        TEST(the_device_asked_for_wins_over_the_suite),
        TEST(progress_is_told_of_every_attempt),
        TEST(an_interrupted_run_keeps_what_is_done),
        TEST(no_child_is_left_behind),
        TEST(a_full_disk_is_an_error_and_leaves_whole_rows),
        TEST(a_folder_that_cannot_be_made_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

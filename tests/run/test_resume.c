/* A run that goes on with one that was interrupted: what it makes again, what it refuses, what the records say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/report/report.h"
#include "tests/run/run_scene.h"
#include "tests/support/status_said.h"
#include "tests/support/whole_file.h"

/* How many attempts were started since the last look. */
static int started_count;

static void attempt_started(void *context, const struct suite_case *case_, int attempt, int done, int total)
{
    (void)context;
    (void)case_;
    (void)attempt;
    (void)done;
    (void)total;
    started_count++;
}

static char told[STATUS_TEXT_BYTES];

static void attempt_warned(void *context, const char *text)
{
    (void)context;
    snprintf(told, sizeof told, "%s", text);
}

static struct run_options options_resuming(const struct scene *scene)
{
    struct run_options options = options_of(scene);
    options.resume = true;
    options.progress.started = attempt_started;
    options.progress.warned = attempt_warned;
    started_count = 0;
    told[0] = '\0';
    return options;
}

/* Cuts the file of records behind its first lines, of which the last may lose some of its end. */
static void records_cut(const struct scene *scene, int line_count, int lost)
{
    char *text = whole_file_read(scene->file), *end = text;
    for (int i = 0; i < line_count; i++) {
        end = strchr(end, '\n');
        assert_non_null(end);
        end++;
    }
    assert_int_equal(truncate(scene->file, end - text - lost), 0);
    free(text);
}

static void records_append(const struct scene *scene, const char *bytes, size_t count)
{
    FILE *file = fopen(scene->file, "ae");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* The run line, the `selected` line, and one case of three; in every form in which a kill may have left what follows.
 * Each case is in the records once, and the run is one. */
static void only_what_is_not_there_is_measured(void **state)
{
    static const struct {
        int lines, lost;
        const char *tail;
        size_t tail_bytes;
        int started;
    } rows[] = {
        {3, 0, "", 0, 2},                                                                /* between two cases */
        {3, 1, "", 0, 2},                                                                /* a newline is lost */
        {4, 30, "", 0, 2},                                                               /* in the middle of a line */
        {3, 0, "{\"type\": \"case\", \"id\": \"m/inf\0\0\0\0\0\0\0\0\0\0\0\0\0", 40, 2}, /* a block without its end */
        {3, 0, "\0\0\0\0\0\0\0\0", 8, 2},                                                /* a block that never came */
        {5, 0, "", 0, 0},                                                                /* before the end line */
        {1, 0, "", 0, 3},                                                                /* before the selection */
        {2, 9, "", 0, 3},                                                                /* in it */
    };
    struct scene *scene = *state;
    suite_set(scene, "batch: [1, 16, 17]");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct run_options options = options_of(scene);
        unlink(scene->file);
        assert_int_equal(run_with(scene, &options), RUN_PASS);
        char run_id[RUN_ID_BYTES];
        snprintf(run_id, sizeof run_id, "%s", scene->result.run_id);
        records_cut(scene, rows[i].lines, rows[i].lost);
        records_append(scene, rows[i].tail, rows[i].tail_bytes);
        options = options_resuming(scene);
        assert_int_equal(run_with(scene, &options), RUN_PASS);
        assert_int_equal(started_count, rows[i].started);
        assert_int_equal(scene->records.run_count, 1);
        assert_int_equal(scene->records.damaged_line_count, 0);
        assert_int_equal(scene->records.runs[0].case_count, 3);
        assert_non_null(strstr(told, "goes on: "));
        const struct record_run *run = &scene->records.runs[0];
        assert_string_equal(text_at(run->run, "run_id"), run_id);
        assert_string_equal(scene->result.run_id, run_id);
        assert_int_equal(integer_at(json_get(run->end, "counts"), "ok"), 3);
        assert_int_equal(scene->result.counts[CASE_STATUS_OK], 3);
        struct report *report = NULL;
        assert_int_equal(report_open(scene->folder, &report, &scene->error), STATUS_OK);
        struct report_counts counts = report_count(report);
        assert_int_equal(counts.ok, 3);
        assert_int_equal(counts.missing + counts.short_cases + counts.damaged_lines + counts.earlier, 0);
        assert_true(counts.ended);
        report_release(report);
    }
}

/* The line with which it goes on has the id of the run, and counts. */
static void each_resumption_is_recorded(void **state)
{
    struct scene *scene = *state;
    suite_set(scene, "batch: [1, 16, 17]");
    struct run_options options = options_of(scene);
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    for (int number = 1; number <= 3; number++) {
        char words[64];
        records_cut(scene, 3 + number - 1, 0);
        options = options_resuming(scene);
        assert_int_equal(run_with(scene, &options), RUN_PASS);
        snprintf(words, sizeof words, "\"resumption\": %d", number);
        char *text = whole_file_read(scene->file);
        assert_non_null(strstr(text, words));
        free(text);
    }
}

/* As when all processes of a job are killed, children first: what the run came to write of them says nothing. What was
 * killed before another case ended is a result. */
static void children_that_went_down_with_the_run_are_measured_again(void **state)
{
    struct scene *scene = *state;
    suite_set(scene, "batch: [1, 11, 16]"); /* the second is killed */
    struct run_options options = options_of(scene);
    assert_int_equal(run_with(scene, &options), RUN_INCONCLUSIVE);
    records_cut(scene, 4, 0); /* its line is the last */
    options = options_resuming(scene);
    assert_int_equal(run_with(scene, &options), RUN_INCONCLUSIVE);
    assert_int_equal(started_count, 2);
    assert_int_equal(scene->records.runs[0].case_count, 3);
    records_cut(scene, 6, 0); /* the third case stands behind it: run, selected, case, run, case, case */
    options = options_resuming(scene);
    assert_int_equal(run_with(scene, &options), RUN_INCONCLUSIVE);
    assert_int_equal(started_count, 0);
    assert_int_equal(scene->records.runs[0].case_count, 3);
}

/* As a scheduler ends a job: all of its processes get the signal, and the child may be the first to act on it. */
static void all_signalled(void *context, const struct case_job *job, int file)
{
    (void)context;
    (void)file;
    if (job->case_->identity.workload.batch == 16) {
        kill(getppid(), SIGTERM);
        signal(SIGTERM, SIG_DFL);
        raise(SIGTERM);
    }
    dprintf(file, "{\"status\": \"skip\", \"reason\": \"not here\"}\n");
}

static void children_that_a_signal_ended_with_the_run_are_not_recorded(void **state)
{
    struct scene *scene = *state;
    suite_set(scene, "batch: [1, 16, 17]");
    struct run_options options = options_of(scene);
    const struct case_runner signalled = {.run = all_signalled};
    options.runner = &signalled;
    assert_int_equal(run_with(scene, &options), RUN_INCOMPLETE);
    assert_true(scene->result.interrupted);
    assert_int_equal(scene->records.runs[0].case_count, 1);
    assert_true(json_boolean_or(json_get(scene->records.runs[0].end, "interrupted"), false));
    options = options_resuming(scene);
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    assert_int_equal(started_count, 2);
    assert_int_equal(scene->records.runs[0].case_count, 3);
}

static void attempts_are_counted_one_by_one(void **state)
{
    struct scene *scene = *state;
    suite_set(scene, "batch: [1, 16], repeat: 3");
    struct run_options options = options_of(scene);
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    records_cut(scene, 4, 0); /* two attempts at the first case */
    options = options_resuming(scene);
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    assert_int_equal(started_count, 4);
    const struct record_run *run = &scene->records.runs[0];
    assert_int_equal(run->case_count, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(integer_at(run->cases[i], "attempt"), i % 3 + 1);
    }
}

/* A child that somebody killed goes down with its run only if the run went down: here it was the last case, and the run
 * came to its end. */
static void a_killed_last_case_of_a_finished_run_is_counted(void **state)
{
    struct scene *scene = *state;
    suite_set(scene, "batch: [1, 11]"); /* DO_KILLED */
    struct run_options options = options_of(scene);
    assert_int_equal(run_with(scene, &options), RUN_INCONCLUSIVE);
    char reason[RUN_REASON_BYTES];
    snprintf(reason, sizeof reason, "%s", scene->result.reason);
    options = options_resuming(scene);
    assert_int_equal(run_with(scene, &options), RUN_INCONCLUSIVE);
    assert_string_equal(scene->result.reason, reason);
    assert_int_equal(scene->result.counts[CASE_STATUS_OK] + scene->result.counts[CASE_STATUS_ERROR] +
                         scene->result.counts[CASE_STATUS_OOM],
                     2);
    assert_int_equal(started_count, 0);
}

/* Numbers that no program wrote are no reason to write wrong ones. */
static void numbers_beyond_all_bounds_are_counted_to_the_bound(void **state)
{
    static const char null[] = "\"resumption\": null", most[] = "\"resumption\": 9223372036854775807";
    static const char ids[] = "{\"type\": \"selected\", \"ids\": [\"a\", \"b\"], "
                              "\"attempts\": [9223372036854775807, 7]}\n";
    struct scene *scene = *state;
    suite_set(scene, "batch: [1, 16]");
    struct run_options options = options_of(scene);
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    char *text = whole_file_read(scene->file), *end = strchr(text, '\n'), *at = strstr(text, null);
    assert_true(at != NULL && at < end);
    records_cut(scene, 3, 0);
    records_append(scene, text, (size_t)(at - text));
    records_append(scene, most, sizeof most - 1);
    at += sizeof null - 1;
    records_append(scene, at, (size_t)(end + 1 - at));
    records_append(scene, ids, sizeof ids - 1);
    free(text);
    options = options_resuming(scene);
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    assert_int_equal(started_count, 1);
}

/* Nothing is written, and the outcome is that of the run that is there. */
static void a_finished_run_is_left_as_it_is(void **state)
{
    struct scene *scene = *state;
    suite_set(scene, "batch: [1, 2]"); /* the second crashes */
    struct run_options options = options_of(scene);
    assert_int_equal(run_with(scene, &options), RUN_INCONCLUSIVE);
    char reason[RUN_REASON_BYTES], *before = whole_file_read(scene->file);
    snprintf(reason, sizeof reason, "%s", scene->result.reason);
    options = options_resuming(scene);
    assert_int_equal(run_with(scene, &options), RUN_INCONCLUSIVE);
    char *after = whole_file_read(scene->file);
    assert_string_equal(after, before);
    assert_string_equal(scene->result.reason, reason);
    assert_true(scene->result.finished);
    assert_int_equal(started_count, 0);
    assert_int_equal(strncmp(told, "nothing to resume: the run of 20", 32), 0);
    assert_non_null(strstr(told, " is finished"));
    free(before);
    free(after);
}

static void without_a_run_one_begins(void **state)
{
    static const char *const left[] = {NULL, "", "{\"type\": \"run\", \"schema\": {\"na"};
    struct scene *scene = *state;
    suite_set(scene, "batch: 1");
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        unlink(scene->file);
        if (left[i] != NULL) {
            records_append(scene, left[i], strlen(left[i]));
        }
        struct run_options options = options_resuming(scene);
        assert_int_equal(run_with(scene, &options), RUN_PASS);
        assert_int_equal(started_count, 1);
        assert_int_equal(scene->records.run_count, 1);
        assert_int_equal(json_kind(json_get(scene->records.runs[0].run, "resumption")), JSON_KIND_NULL);
        assert_non_null(strstr(told, "has no run to resume; one begins"));
    }
}

/* ---- what is refused ---- */

static const char *driver = "driver 1";

static void device_tell(void *context, const struct case_job *job, int file)
{
    (void)context;
    dprintf(file,
            "{\"kind\": \"host\", \"uuid\": \"%d\", \"pci_bus_id\": null, \"name\": \"%s\", \"driver\": \"%s\"}\n",
            getpid(), job->device, driver);
}

static struct case_runner runner;

static struct run_options options_told(const struct scene *scene)
{
    struct run_options options = options_resuming(scene);
    runner = *options.runner;
    runner.identify = device_tell;
    options.runner = &runner;
    return options;
}

static void refused_check(struct scene *scene, const struct run_options *options, const char *words)
{
    char *before = whole_file_read(scene->file);
    assert_int_equal(run_suite(options, &scene->result, &scene->error), STATUS_INVALID);
    const char *said = STATUS_SAID(&scene->error);
    if (strstr(said, words) == NULL || strstr(said, "cannot go on: ") == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", said, words);
    }
    char *after = whole_file_read(scene->file);
    assert_string_equal(after, before);
    assert_int_equal(started_count, 0);
    free(before);
    free(after);
}

static void interrupted_make(struct scene *scene)
{
    suite_set(scene, "batch: [1, 16], tolerances: {rule: {total_bytes: 60%}}");
    struct run_options options = options_told(scene);
    options.resume = false;
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    records_cut(scene, 3, 0);
}

static void other_options_are_refused(void **state)
{
    struct scene *scene = *state;
    interrupted_make(scene);
    struct run_options options = options_told(scene);
    options.device = "host";
    refused_check(scene, &options, "--device was auto, and is host; give what it was begun with");
    options = options_told(scene);
    options.fitting = true;
    refused_check(scene, &options, "--fitting was false, and is true");
    options = options_told(scene);
    options.note_calibrated = true;
    refused_check(scene, &options, "--note-calibrated was false, and is true");
    options = options_told(scene);
    options.jobs = 2;
    refused_check(scene, &options, "a device that is shared (--jobs, --share-device) was false, and is true");
    options = options_told(scene);
    options.proof = RUN_PROOF_REPLAY;
    refused_check(scene, &options, "--prove was none, and is replay");
    options = options_told(scene);
    options.version = "1.2.4";
    refused_check(scene, &options, "the version of assay was 1.2.3, and is 1.2.4");
    options = options_told(scene);
    options.revision = "abc";
    refused_check(scene, &options, "the revision of assay was not set, and is abc");
    options = options_told(scene);
    options.reference_dir = "results/reference";
    refused_check(scene, &options, "--constants was none, and is not set");
    options = options_told(scene);
    const struct case_rules rules = {.repeat = 2};
    struct case_choice choice = {0};
    assert_int_equal(case_choice_make(&scene->suite, &rules, &choice, &scene->error), STATUS_OK);
    options.choice = &choice;
    refused_check(scene, &options, "the number of attempts was 2, and is 4");
    case_choice_drop(&choice, 1);
    case_choice_tell(&choice, "part 1 of 2");
    refused_check(scene, &options, "--not, --shard and --last-failed choose was not set, and is part 1 of 2");
    case_choice_release(&choice);
}

static void another_suite_device_or_environment_is_refused(void **state)
{
    struct scene *scene = *state;
    interrupted_make(scene);
    struct run_options options = options_told(scene);
    driver = "driver 2";
    refused_check(scene, &options, "the driver of device auto was driver 1, and is driver 2");
    driver = "driver 1";
    setenv("MALLOC_ARENA_MAX", "3", 1);
    refused_check(scene, &options, "MALLOC_ARENA_MAX was not set, and is 3");
    unsetenv("MALLOC_ARENA_MAX");
    struct suite kept = scene->suite;
    suite_set(scene, "batch: [1, 15], tolerances: {rule: {total_bytes: 60%}}");
    refused_check(scene, &options, "the hash of the suite's cases was ");
    suite_release(&scene->suite);
    suite_set(scene, "batch: [1, 16], tolerances: {rule: {total_bytes: 61%}}");
    refused_check(scene, &options, "the hash of the suite's settings was ");
    suite_release(&scene->suite);
    scene->suite = kept;
    setenv("CUDA_VISIBLE_DEVICES", "1", 1); /* which GPU is no matter, and neither is its number */
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

/* ---- --max-failures ---- */

static void a_run_stops_after_so_many_failed_cases(void **state)
{
    struct scene *scene = *state;
    suite_set(scene, "batch: [1, 2, 4, 16], repeat: 2"); /* ok, crashes, is skipped, ok */
    struct run_options options = options_resuming(scene);
    options.resume = false;
    options.max_failures = 2;
    assert_int_equal(run_with(scene, &options), RUN_INCONCLUSIVE); /* one case failed, twice */
    assert_int_equal(started_count, 8);
    assert_false(scene->result.stopped);
    options.max_failures = 1;
    unlink(scene->file);
    assert_int_equal(run_with(scene, &options), RUN_INCOMPLETE);
    assert_true(scene->result.stopped);
    assert_int_equal(started_count, 8 + 3);
    assert_non_null(strstr(scene->result.reason, "5 missing: the run stopped early, as --max-failures asked"));
    const struct json *end = scene->records.runs[0].end;
    assert_string_equal(text_at(end, "stopped"), "max-failures");
    assert_true(json_boolean_or(json_get(end, "interrupted"), false));
    options.resume = true; /* it may not go on, then it may */
    assert_int_equal(run_with(scene, &options), RUN_INCOMPLETE);
    assert_true(scene->result.finished);
    assert_non_null(strstr(told, "nothing to resume: "));
    assert_int_equal(started_count, 8 + 3);
    options.max_failures = 0;
    assert_int_equal(run_with(scene, &options), RUN_INCONCLUSIVE);
    assert_int_equal(started_count, 8 + 8);
    assert_int_equal(scene->records.runs[0].case_count, 8);
    assert_false(json_boolean_or(json_get(scene->records.runs[0].end, "interrupted"), true));
}

/* What is under way then is waited for, and recorded. */
static void a_run_that_stops_loses_nothing_that_it_has_begun(void **state)
{
    struct scene *scene = *state;
    /* so many that the crash is seen before all have begun, however late it is on a busy machine */
    suite_set(scene,
              "batch: [2, 1, 16, 17, 5, 12, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, "
              "48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69]");
    struct run_options options = options_resuming(scene);
    options.resume = false;
    options.jobs = 4;
    options.max_failures = 1;
    assert_int_equal(run_with(scene, &options), RUN_INCOMPLETE);
    assert_true(started_count >= 4);
    assert_int_equal(scene->records.runs[0].case_count, started_count);
}

/* A verdict that failed is a failure of its exit code too. */
static void a_run_that_stops_at_a_failed_verdict_failed(void **state)
{
    struct scene *scene = *state;
    suite_set(scene, "batch: [1, 16, 17], tolerances: {rule: {total_bytes: 1%}}");
    struct run_options options = options_resuming(scene);
    options.resume = false;
    options.max_failures = 1;
    assert_int_equal(run_with(scene, &options), RUN_FAIL);
    assert_int_equal(scene->records.runs[0].case_count, 1);
    assert_int_equal(integer_at(json_get(scene->records.runs[0].end, "counts"), "total"), 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_what_is_not_there_is_measured),
        TEST(each_resumption_is_recorded),
        TEST(children_that_went_down_with_the_run_are_measured_again),
        TEST(children_that_a_signal_ended_with_the_run_are_not_recorded),
        TEST(attempts_are_counted_one_by_one),
        TEST(a_killed_last_case_of_a_finished_run_is_counted),
        TEST(numbers_beyond_all_bounds_are_counted_to_the_bound),
        TEST(a_finished_run_is_left_as_it_is),
        TEST(without_a_run_one_begins),
        TEST(other_options_are_refused),
        TEST(another_suite_device_or_environment_is_refused),
        TEST(a_run_stops_after_so_many_failed_cases),
        TEST(a_run_that_stops_loses_nothing_that_it_has_begun),
        TEST(a_run_that_stops_at_a_failed_verdict_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

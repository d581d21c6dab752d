/* Searches: a case that looks for its batch is a series of children, and ends as replay said before; a try that ends otherwise fails the
 * case, and what nobody could predict leaves it open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/device/refusal.h"
#include "harness/run/prediction.h"
#include "models/model.h"
#include "models/skeleton.h"
#include "tests/run/run_scene.h"

#define BOUNDED "for: host, memory: 24MiB"

static enum run_outcome search(struct scene *scene, const struct case_runner *runner, const char *device)
{
    struct run_options options = options_of(scene);
    options.runner = runner;
    options.device = device;
    return run_with(scene, &options);
}

static const struct json *search_at(const struct scene *scene, int index)
{
    return json_get(case_at(scene, index), "search");
}

/* "256 refused, 128 ran" */
static void tries_words(const struct json *of, const char *key, char words[512])
{
    const struct json *tries = json_get(of, "tries");
    int length = 0;
    words[0] = '\0';
    for (size_t i = 0; i < json_count(tries); i++) {
        const struct json *try_ = json_at(tries, i), *value = json_get(try_, key);
        length += snprintf(words + length, 512 - (size_t)length, "%s%lld %s", i > 0 ? ", " : "",
                           (long long)integer_at(try_, "batch"),
                           json_kind(value) == JSON_KIND_BOOLEAN ? (json_boolean_or(value, false) ? "ran" : "refused")
                                                                 : json_string_or(value, "unknown"));
    }
}

static void tries_expect(const struct json *of, const char *wanted)
{
    char words[512];
    tries_words(of, "ended", words);
    assert_string_equal(words, wanted);
}

static void pass_expect(const struct json *search_, enum json_kind kind, bool value)
{
    const struct json *pass = json_get(search_, "pass");
    assert_int_equal(json_kind(pass), kind);
    assert_int_equal(json_boolean_or(pass, value), value);
}

/* -- what is found, and what was predicted */

/* As assay plan asks. */
static void case_predict(const struct suite_case *case_, struct json **estimates, struct prediction *prediction)
{
    struct status error = {0};
    struct model model = {0};
    struct skeleton skeleton = {0};
    const struct model_places places = {.catalogue_dir = "models/catalogue"};
    if (model_find(&places, case_->identity.model, &model, &error) != STATUS_OK ||
        model_skeleton(&model, &case_->identity.workload, &skeleton, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    const struct estimate_input input = {.config = &model.config,
                                         .checkpoint = model.checkpoint,
                                         .skeleton = &skeleton,
                                         .workload = &case_->identity.workload,
                                         .target = case_->settings->target,
                                         .memory_bytes = case_->settings->memory_bytes};
    if (prediction_make(&input, estimates, prediction, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    skeleton_release(&skeleton);
    model_release(&model);
}

/* The plan of the case says what the run has found, try for try, and the bytes of that batch. */
static void plan_check(const struct suite_case *case_, const struct json *line)
{
    struct json *estimates = NULL;
    struct prediction prediction = {0};
    char predicted[512];
    case_predict(case_, &estimates, &prediction);
    const struct json *found = json_get(line, "search");
    static const char *const members[] = {"found", "predicted", "start"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        assert_int_equal(integer_at(prediction.search, members[i]), integer_at(found, members[i]));
    }
    assert_string_equal(text_at(prediction.search, "end"), text_at(found, "end"));
    tries_words(prediction.search, "predicted_runs", predicted);
    tries_expect(found, predicted);
    assert_int_equal(prediction.peak.is_refused, integer_at(found, "found") < 0);
    assert_int_equal(integer_at(json_get(estimates, "replay"), "reserved_bytes_peak"),
                     integer_at(line, "reserved_bytes_peak"));
    json_release(estimates);
    prediction_release(&prediction);
}

static void policies_find_what_was_predicted_in_every_mode(void **state)
{
    struct scene *scene = *state;
    static const int64_t found[] = {40, 74, 78, 19, 30, 32, 37, 63, 64};
    cases_set(scene,
              "  - {model: tiny-gpt2, mode: infer, seq: 64, batch: 160, " BOUNDED
              ", find_batch: [halve, 0.9, bisect]}\n"
              "  - {model: tiny-gpt2, mode: train, seq: 64, batch: 76, " BOUNDED ", find_batch: [halve, 0.9, bisect]}\n"
              "  - {model: tiny-llama, mode: generate, seq: 64, new_tokens: 8, batch: 150, for: host, memory: 8MiB,\n"
              "     find_batch: [halve, 0.9, bisect]}\n");
    if (search(scene, &case_runner_measure, "host") != RUN_PASS) {
        fail_msg("%s", scene->result.reason);
    }
    for (int i = 0; i < 9; i++) {
        const struct json *line = case_at(scene, i), *of = search_at(scene, i);
        plan_check(&scene->suite.cases[i], line);
        assert_int_equal(integer_at(of, "found"), found[i]);
        assert_string_equal(text_at(of, "end"), "found");
        pass_expect(of, JSON_KIND_BOOLEAN, true);
        assert_true(json_real_or(json_get(of, "per_second"), 0) > 0);
        assert_true(json_real_or(json_get(of, "best_per_second"), 0) >= json_real_or(json_get(of, "per_second"), 0));
        assert_string_equal(text_at(line, "id"), scene->suite.cases[i].id);
    }
}

/* The other members are those of the case at the batch that was found. */
static void the_line_is_that_of_the_batch_that_was_found(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-gpt2, mode: infer, seq: 64, batch: 150, " BOUNDED ", find_batch: halve}\n"
                     "  - {model: tiny-gpt2, mode: infer, seq: 64, batch: 75, " BOUNDED "}\n");
    assert_int_equal(search(scene, &case_runner_measure, "host"), RUN_PASS);
    const struct json *found = case_at(scene, 0), *plain = case_at(scene, 1);
    static const char *const members[] = {"requested_bytes_peak", "allocated_bytes_peak", "reserved_bytes_peak"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        assert_true(integer_at(plain, members[i]) > 0);
        assert_int_equal(integer_at(found, members[i]), integer_at(plain, members[i]));
    }
    assert_string_equal(text_at(found, "sequence_hash"), text_at(plain, "sequence_hash"));
    assert_int_equal(integer_at(json_get(found, "identity"), "batch"), 150);
    assert_string_equal(text_at(json_get(found, "identity"), "find_batch"), "halve");
    tries_expect(search_at(scene, 0), "150 refused, 75 ran");
    const struct json *first = json_at(json_get(search_at(scene, 0), "tries"), 0);
    assert_string_equal(text_at(first, "cause"), "segment");
    assert_string_equal(text_at(first, "stage"), "forward");
    assert_true(integer_at(first, "wanted_bytes") > 0);
    assert_true(json_boolean_or(json_get(first, "recognised"), false));
    assert_int_equal(integer_at(first, "next"), 75);
    assert_int_equal(json_kind(json_get(plain, "search")), JSON_KIND_NULL);
}

static void a_zero_that_was_predicted_is_in_order(void **state)
{
    struct scene *scene = *state;
    cases_set(scene,
              "  - {model: tiny-gpt2, mode: train, seq: 64, batch: 4, memory: 1MiB, for: host, find_batch: halve}\n");
    assert_int_equal(search(scene, &case_runner_measure, "host"), RUN_PASS);
    const struct json *line = case_at(scene, 0), *of = search_at(scene, 0);
    plan_check(&scene->suite.cases[0], line);
    assert_string_equal(text_at(line, "status"), "ok");
    assert_string_equal(text_at(of, "end"), "zero");
    assert_string_equal(text_at(of, "error"), "No executable batch size found, reached zero.");
    tries_expect(of, "4 refused, 2 refused, 1 refused");
    pass_expect(of, JSON_KIND_BOOLEAN, true);
    assert_int_equal(integer_at(of, "predicted"), 0);
    assert_int_equal(json_kind(json_get(of, "found")), JSON_KIND_NULL);
    assert_true(integer_at(json_get(line, "oom"), "wanted_bytes") > 0);
}

static void nothing_is_predicted_of_a_plan_without_a_bound(void **state)
{
    struct scene *scene = *state;
    struct json *estimates = NULL;
    struct prediction prediction = {0};
    cases_set(scene, "  - {model: tiny-gpt2, mode: train, for: host, find_batch: halve}\n");
    case_predict(&scene->suite.cases[0], &estimates, &prediction);
    assert_null(prediction.search);
    assert_int_equal(prediction.failure.code, STATUS_INVALID);
    assert_non_null(strstr(prediction.failure.text, "no bound is known; give the case 'memory'"));
    json_release(estimates);
    prediction_release(&prediction);
}

static void on_meta_a_search_needs_a_bound(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-gpt2, mode: train, seq: 8, batch: 4, for: host, find_batch: bisect}\n");
    struct run_options options = options_of(scene);
    options.runner = &case_runner_measure;
    options.device = "meta";
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_INVALID);
    assert_non_null(strstr(scene->error.text, "on meta without a bound every batch runs"));
    assert_int_equal(search(scene, &case_runner_measure, "meta:mem=32MiB"), RUN_PASS);
    const struct json *of = search_at(scene, 0);
    assert_int_equal(integer_at(of, "found"), integer_at(of, "predicted"));
    assert_int_equal(json_kind(json_get(of, "per_second")), JSON_KIND_NULL);
}

/* -- tries that end otherwise */

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
    return search(scene, &runner, "meta"); /* which refuses as a host with that bound does */
}

#define HALVE(rest) "  - {model: tiny-gpt2, mode: infer, seq: 64, batch: 150, " BOUNDED ", find_batch: halve" rest "}\n"
#define BISECT(rest)                                                                                                   \
    "  - {model: tiny-gpt2, mode: infer, seq: 64, batch: 50, " BOUNDED ", find_batch: bisect" rest "}\n"

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
    assert_int_equal(search(scene, &runner, "meta"), RUN_PASS);
    pass_expect(search_at(scene, 0), JSON_KIND_NULL, false);
    meddler.refuses = -1;
    assert_int_equal(search(scene, &runner, "meta"), RUN_INCONCLUSIVE);
    assert_string_equal(text_at(case_at(scene, 0), "status"), "oom");
    assert_memory_equal(text_at(case_at(scene, 0), "reason"),
                        "No executable batch size found, reached zero. batch 1: host: out of memory", 72);
}

/* -- what else may happen to a try */

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
    assert_int_equal(search(scene, &case_runner_measure, "cuda:63"), RUN_SKIPPED);
    assert_string_equal(text_at(case_at(scene, 0), "status"), "skip");
}

static void an_interruption_loses_the_case_in_progress_alone(void **state)
{
    struct scene *scene = *state;
    struct meddler meddler = {.signals = 100};
    cases_set(scene, HALVE("") BISECT(""));
    const struct case_runner runner = runner_of(&meddler);
    assert_int_equal(search(scene, &runner, "host"), RUN_INCONCLUSIVE);
    assert_true(scene->result.interrupted);
    const struct record_run *run = &scene->records.runs[scene->records.run_count - 1];
    assert_int_equal(run->case_count, 1);
    assert_string_equal(text_at(run->cases[0], "id"), scene->suite.cases[0].id);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    assert_int_equal(errno, ECHILD);
}

static void several_at_a_time_find_the_same(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, HALVE("") BISECT("") "  - {model: tiny-gpt2, mode: infer, seq: 64, " BOUNDED
                                          "}\n" HALVE(", repeat: 2, precision: bfloat16"));
    struct run_options options = options_of(scene);
    options.runner = &case_runner_measure;
    options.device = "host";
    options.jobs = 3;
    assert_int_equal(run_with(scene, &options), RUN_PASS);
    int counts[3] = {0};
    for (int i = 0; i < scene->result.total; i++) {
        const struct json *line = case_at(scene, i);
        int64_t found = integer_at(json_get(line, "search"), "found");
        bool is_second = strstr(text_at(line, "id"), "bisect") != NULL;
        counts[0] += strstr(text_at(line, "id"), "find-") == NULL;
        counts[1] += is_second && found == 78;
        counts[2] += !is_second && (found == 75 || found == 150);
    }
    assert_int_equal(scene->result.total, 5);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 1);
    assert_int_equal(counts[2], 3);
}

/* A figure that is off in a try is no secret, though another batch is found. */
static void a_figure_that_is_off_in_any_try_fails_the_case(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, BISECT(", tolerances: {accelerate: {total_bytes: 0}}"));
    assert_int_equal(search(scene, &case_runner_measure, "host"), RUN_FAIL);
    assert_non_null(
        strstr(text_at(case_at(scene, 0), "reason"), "; search: batch 50: a figure is off what the suite allows"));
    assert_null(strstr(text_at(case_at(scene, 0), "reason"), "batch 78"));
    tries_expect(search_at(scene, 0), "50 fail, 100 refused, 75 fail, 87 refused, 81 refused, 78 fail, 79 refused");
}

/* What a suite expects, it expects of the batch that is found. */
static void expectations_are_of_the_batch_that_is_found(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, BISECT(""));
    assert_int_equal(search(scene, &case_runner_measure, "meta"), RUN_PASS);
    long long bytes = (long long)integer_at(case_at(scene, 0), "allocated_bytes_peak");
    char cases[512];
    snprintf(cases, sizeof cases,
             BISECT(", expect: {allocated_bytes_peak: %lld}, tolerances: {expected: "
                    "{allocated_bytes_peak: 0}}"),
             bytes);
    cases_set(scene, cases);
    if (search(scene, &case_runner_measure, "meta") != RUN_PASS) {
        fail_msg("%s", scene->result.reason);
    }
}

static void the_batch_that_is_found_is_proved(void **state)
{
    struct scene *scene = *state;
    cases_set(
        scene,
        HALVE(
            "") "  - {model: tiny-gpt2, mode: load, for: host}\n"
                "  - {model: tiny-gpt2, mode: train, seq: 64, batch: 2, memory: 1MiB, for: host, find_batch: halve}\n");
    struct run_options options = options_of(scene);
    options.runner = &case_runner_measure;
    options.device = "host";
    options.proof = RUN_PROOF_REPLAY;
    if (run_with(scene, &options) != RUN_PASS) {
        fail_msg("%s", scene->result.reason);
    }
    assert_true(json_boolean_or(json_get(json_get(case_at(scene, 0), "proof"), "pass"), false));
    assert_true(json_boolean_or(json_get(json_get(case_at(scene, 1), "proof"), "pass"), false));
    assert_int_equal(integer_at(search_at(scene, 0), "found"), 75);
    assert_int_equal(json_kind(json_get(case_at(scene, 2), "proof")), JSON_KIND_NULL); /* nothing ran */
}

/* Three policies of one case, one after the other. */
static void policies_differ(const struct scene *scene, int first)
{
    int64_t found[3];
    for (int i = 0; i < 3; i++) {
        found[i] = integer_at(search_at(scene, first + i), "found");
        assert_int_equal(
            strcmp(text_at(search_at(scene, first + i), "policy"), (const char *const[]){"halve", "0.9", "bisect"}[i]),
            0);
    }
    assert_true(0 < found[0] && found[0] < found[1] && found[1] < found[2]);
    assert_int_equal(found[2], integer_at(search_at(scene, first + 2), "predicted"));
}

static void the_suite_has_each_policy_end_elsewhere(void **state)
{
    struct scene *scene = *state;
    if (suite_read("suites/batch-size-gpu.yaml", "models/catalogue", &scene->suite, &scene->error) != STATUS_OK) {
        fail_msg("%s", scene->error.text);
    }
    suite_release(&scene->suite);
    if (suite_read("suites/batch-size.yaml", "models/catalogue", &scene->suite, &scene->error) != STATUS_OK) {
        fail_msg("%s", scene->error.text);
    }
    if (search(scene, &case_runner_measure, "meta") != RUN_PASS) {
        fail_msg("%s", scene->result.reason);
    }
    assert_int_equal(scene->result.total, 20);
    for (int first = 0; first < 18; first += 3) {
        policies_differ(scene, first);
    }
    for (int i = 18; i < 20; i++) {
        assert_string_equal(text_at(search_at(scene, i), "end"), "zero");
        pass_expect(search_at(scene, i), JSON_KIND_BOOLEAN, true);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(policies_find_what_was_predicted_in_every_mode),
        TEST(the_line_is_that_of_the_batch_that_was_found),
        TEST(a_zero_that_was_predicted_is_in_order),
        TEST(nothing_is_predicted_of_a_plan_without_a_bound),
        TEST(on_meta_a_search_needs_a_bound),
        TEST(a_try_that_is_refused_too_early_fails_the_case),
        TEST(a_prediction_that_is_wrong_fails_the_case),
        TEST(what_could_not_be_predicted_is_open),
        TEST(where_nothing_is_to_be_predicted_nothing_is_judged),
        TEST(another_failure_ends_the_search),
        TEST(each_try_has_the_time_of_a_case),
        TEST(a_device_that_is_not_here_is_skipped),
        TEST(an_interruption_loses_the_case_in_progress_alone),
        TEST(several_at_a_time_find_the_same),
        TEST(a_figure_that_is_off_in_any_try_fails_the_case),
        TEST(expectations_are_of_the_batch_that_is_found),
        TEST(the_batch_that_is_found_is_proved),
        TEST(the_suite_has_each_policy_end_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Proofs: a case runs with exactly the bytes that it was predicted with and not with a granule less; a figure that does
 * not hold fails the case, and a try that could not be made leaves it open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/run/run_scene.h"

enum { GRANULE = 2 * 1024 * 1024 };

static enum run_outcome prove(struct scene *scene, const char *device, enum run_proof proof)
{
    struct run_options options = options_of(scene);
    options.runner = &case_runner_measure;
    options.device = device;
    options.proof = proof;
    return run_with(scene, &options);
}

static const struct json *proof_at(const struct scene *scene, int index)
{
    return json_get(case_at(scene, index), "proof");
}

static const struct json *limit_of(const struct json *proof, const char *estimator, const char *quantity)
{
    const struct json *limits = json_get(proof, "limits");
    for (size_t i = 0; i < json_count(limits); i++) {
        const struct json *limit = json_at(limits, i);
        if (strcmp(text_at(limit, "estimator"), estimator) == 0 && strcmp(text_at(limit, "quantity"), quantity) == 0) {
            return limit;
        }
    }
    fail_msg("no limit %s %s", estimator, quantity);
    return NULL;
}

static void flag_check(const struct json *object, const char *key, bool value)
{
    if (json_kind(json_get(object, key)) != JSON_KIND_BOOLEAN ||
        json_boolean_or(json_get(object, key), !value) != value) {
        fail_msg("%s of %s is not %d", key, text_at(object, "quantity"), value);
    }
}

/* Each case is safe and tight with its least bytes; how many are not tight with what they reserve. */
static int loose_count(struct scene *scene, const char *device, const char *cases)
{
    int count = 0;
    cases_set(scene, cases);
    if (prove(scene, device, RUN_PROOF_REPLAY) != RUN_PASS) {
        fail_msg("%s: %s", device, scene->result.reason);
    }
    for (int at = 0; at < scene->result.total; at++) {
        const struct json *proof = proof_at(scene, at);
        const struct json *least = limit_of(proof, "replay", "least_bytes");
        const struct json *reserved = limit_of(proof, "replay", "reserved_bytes_peak");
        assert_int_equal(integer_at(proof, "granule_bytes"), GRANULE);
        assert_int_equal(integer_at(reserved, "bytes"), integer_at(case_at(scene, at), "reserved_bytes_peak"));
        flag_check(least, "runs", true);
        flag_check(least, "less_runs", false);
        flag_check(reserved, "runs", true);
        bool loose = integer_at(least, "bytes") < integer_at(reserved, "bytes");
        flag_check(reserved, "less_runs", loose);
        flag_check(proof, "pass", true);
        count += loose ? 1 : 0;
    }
    return count;
}

static void every_case_is_safe_and_tight_on_meta(void **state)
{
    static const char cases[] = "  - {model: tiny-llama, mode: train, batch: [1, 17]}\n"
                                "  - {model: [tiny-resnet, tiny-t5, tiny-vit], mode: train, batch: 17}\n"
                                "  - {model: [tiny-gpt2, resnet18, gpt2], mode: load}\n"
                                "  - {model: [tiny-llama, gpt2], mode: generate, new_tokens: 40}\n"
                                "  - {model: [gpt2, bert-base-cased], mode: train, batch: [1, 4, 16]}\n"
                                "  - {model: resnet18, mode: [infer, train], batch: [3, 4]}\n";
    assert_true(loose_count(*state, "meta", cases) >= 4);
}

static void every_case_is_safe_and_tight_on_the_host(void **state)
{
    static const char cases[] = "  - {model: [tiny-llama, tiny-resnet], mode: train, batch: 4, for: host}\n"
                                "  - {model: tiny-gpt2, mode: load, for: host}\n"
                                "  - {model: tiny-llama, mode: generate, new_tokens: 4, for: host}\n"
                                "  - {model: tiny-vgg, mode: infer, batch: 64, for: host}\n";
    assert_int_equal(loose_count(*state, "host", cases), 1); /* tiny-vgg's */
}

/* accelerate's total of weights alone is no limit that an inference runs in; a generous rule is. */
static void estimators_are_tried_too(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-vgg, mode: infer, batch: 64, for: host}\n"
                     "  - {model: tiny-llama, mode: train, batch: 4, for: host}\n");
    if (prove(scene, "host", RUN_PROOF_ESTIMATORS) != RUN_PASS) {
        fail_msg("%s", scene->result.reason);
    }
    flag_check(limit_of(proof_at(scene, 0), "accelerate", "total_bytes"), "runs", false);
    flag_check(limit_of(proof_at(scene, 1), "eleutherai", "total_bytes"), "runs", true);
    const struct json *limit = limit_of(proof_at(scene, 0), "accelerate", "total_bytes");
    assert_int_equal(json_kind(json_get(limit, "less_runs")), JSON_KIND_NULL);
    flag_check(limit, "pass", true); /* replay said so: it is no failure of the case */
}

/* A case that was measured under a bound: what was given back then is not wanted. */
static void a_bound_of_the_suite_bounds_the_proof(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-vgg, mode: infer, batch: 64, for: host, memory: 25MiB}\n");
    assert_int_equal(prove(scene, "host", RUN_PROOF_REPLAY), RUN_PASS);
    assert_int_equal(integer_at(proof_at(scene, 0), "least_bytes"), 24 * 1024 * 1024);
    assert_true(integer_at(limit_of(proof_at(scene, 0), "replay", "reserved_bytes_peak"), "bytes") <= 25 * 1024 * 1024);
}

static void without_the_wish_there_is_no_proof(void **state)
{
    struct scene *scene = *state;
    cases_set(scene, "  - {model: tiny-gpt2, mode: load, for: host}\n");
    assert_int_equal(prove(scene, "meta", RUN_PROOF_NONE), RUN_PASS);
    assert_int_equal(json_kind(proof_at(scene, 0)), JSON_KIND_NULL);
}

/* -- children that say other things */

struct liar {
    const char *plan;  /* what the child that plans says; NULL: nothing */
    const char *tried; /* what each try says; NULL: it crashes */
    bool hangs;
    const char *disturbed; /* on what kind of device somebody else was seen; NULL: nobody was */
    bool unseen;           /* nobody was, because nobody is listed there */
};

static const char MEASURED[] =
    "\"status\": \"ok\", \"estimates\": {\"replay\": {\"reserved_bytes_peak\": 6291456}}, "
    "\"reserved_bytes_peak\": 6291456, \"stages\": {\"load\": {\"requested_bytes\": 1, \"requested_bytes_peak\": 1, "
    "\"allocated_bytes\": 1, \"allocated_bytes_peak\": 1, \"reserved_bytes\": 6291456, \"reserved_bytes_peak\": "
    "6291456, \"device_bytes\": null, \"process_bytes\": null, \"process_bytes_peak\": null, \"seconds\": 0.5, "
    "\"categories_at_peak\": null}}, \"context\": {\"device_bytes\": null, \"process_bytes\": null}, \"peak_stage\": "
    "\"load\"}\n";

#define LIMIT(quantity, bytes, less)                                                                                   \
    "{\"estimator\": \"replay\", \"quantity\": \"" quantity "\", \"bytes\": " bytes                                    \
    ", \"predicted_runs\": true, \"predicted_less_runs\": " less "}"
#define PLAN                                                                                                           \
    "{\"status\": \"ok\", \"proof\": {\"granule_bytes\": 2097152, \"least_bytes\": 4194304, \"larger_run\": true, "    \
    "\"limits\": [" LIMIT("least_bytes", "4194304", "false") ", " LIMIT("reserved_bytes_peak", "6291456",              \
                                                                        "true") "]}}\n"

static void liar_run(void *context, const struct case_job *job, int file)
{
    const struct liar *liar = context;
    (void)job;
    dprintf(file, "{");
    if (liar->disturbed != NULL) {
        dprintf(
            file,
            "\"device\": {\"kind\": \"%s\", \"name\": null, \"spec\": null, \"target\": null, \"total_bytes\": null, "
            "\"driver\": null, \"runtime\": null, \"pci_bus_id\": null, \"uuid\": null}, "
            "\"validity\": {\"valid\": %s, \"reasons\": [\"another process\"]}, ",
            liar->disturbed, liar->unseen ? "true" : "false");
    }
    dprintf(file, "%s", MEASURED);
}

static void liar_prove(void *context, const struct case_job *job, int file)
{
    const struct liar *liar = context;
    const char *said = job->step == CASE_PROOF_PLAN ? liar->plan : liar->tried;
    if (job->step == CASE_PROOF_TRY && liar->hangs) {
        pause();
    }
    if (said == NULL) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (strcmp(said, "honest") == 0) {
        said = job->available_bytes < 4194304
                   ? "{\"status\": \"ok\", \"runs\": false, \"refusal\": \"out of memory\"}\n"
                   : "{\"status\": \"ok\", \"runs\": true}\n";
    }
    dprintf(file, "%s", said);
}

static enum run_outcome lie(struct scene *scene, struct liar liar)
{
    const struct case_runner runner = {.run = liar_run, .prove = liar_prove, .context = &liar};
    suite_set(scene, "timeout_seconds: 1");
    struct run_options options = options_of(scene);
    options.runner = &runner;
    options.proof = RUN_PROOF_REPLAY;
    enum run_outcome outcome = run_with(scene, &options);
    suite_release(&scene->suite);
    return outcome;
}

static void an_honest_child_passes(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(lie(scene, (struct liar){.plan = PLAN, .tried = "honest"}), RUN_PASS);
    flag_check(proof_at(scene, 0), "pass", true);
}

static void what_runs_out_of_memory_with_its_bytes_fails(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(lie(scene, (struct liar){.plan = PLAN,
                                              .tried = "{\"status\": \"ok\", \"runs\": false, \"refusal\": \"a segment "
                                                       "was refused\"}\n"}),
                     RUN_FAIL);
    const struct json *line = case_at(scene, 0);
    assert_string_equal(text_at(line, "status"), "fail");
    assert_non_null(strstr(text_at(line, "reason"), "proof: replay least 4.00 MiB: out of memory, predicted to run (a "
                                                    "segment was refused)"));
    flag_check(limit_of(proof_at(scene, 0), "replay", "least_bytes"), "pass", false);
}

static void what_runs_with_a_granule_less_fails(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(lie(scene, (struct liar){.plan = PLAN, .tried = "{\"status\": \"ok\", \"runs\": true}\n"}),
                     RUN_FAIL);
    assert_non_null(
        strstr(text_at(case_at(scene, 0), "reason"),
               "proof: replay least 4.00 MiB: with one granule less: runs, predicted to run out of memory"));
    flag_check(limit_of(proof_at(scene, 0), "replay", "reserved_bytes_peak"), "pass", true);
}

/* Whoever used the GPU took the room of the tries; a bound of a host is nobody else's. */
static void what_fails_on_a_gpu_that_others_used_is_open(void **state)
{
    struct scene *scene = *state;
    static const char refused[] = "{\"status\": \"ok\", \"runs\": false, \"refusal\": \"a segment was refused\"}\n";
    assert_int_equal(lie(scene, (struct liar){.plan = PLAN, .tried = refused, .disturbed = "cuda"}), RUN_INCONCLUSIVE);
    assert_string_equal(text_at(case_at(scene, 0), "status"), "ok");
    assert_int_equal(json_kind(json_get(proof_at(scene, 0), "pass")), JSON_KIND_NULL);
    assert_non_null(strstr(text_at(limit_of(proof_at(scene, 0), "replay", "least_bytes"), "note"), "somebody else"));
    assert_int_equal(lie(scene, (struct liar){.plan = PLAN, .tried = refused, .disturbed = "host"}), RUN_FAIL);
    assert_int_equal(lie(scene, (struct liar){.plan = PLAN, .tried = refused, .disturbed = "cuda", .unseen = true}),
                     RUN_INCONCLUSIVE);
}

/* A try that says nothing is no out of memory: nobody knows, and the exit code is 3. */
static void what_could_not_be_tried_is_open(void **state)
{
    struct scene *scene = *state;
    static const struct {
        struct liar liar;
        const char *why;
    } rows[] = {
        {{.plan = PLAN, .tried = NULL}, "the child crashed"},
        {{.plan = PLAN, .tried = "{\"status\": \"ok\"}\n"}, "the child ended without a result"},
        {{.plan = PLAN, .tried = "{\"status\": \"error\", \"reason\": \"the driver is lost\", \"runs\": false}\n"},
         "the driver is lost"},
        {{.plan = PLAN, .tried = "honest", .hangs = true}, "raise timeout_seconds"},
        {{.plan = NULL, .tried = "honest"}, "the least memory was not found: the child crashed"},
        {{.plan = "{\"status\": \"ok\", \"proof\": {\"limits\": []}}\n", .tried = "honest"}, "is no plan"},
        {{.plan = "{\"status\": \"ok\", \"proof\": 7}\n", .tried = "honest"}, "is no plan"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (lie(scene, rows[i].liar) != RUN_INCONCLUSIVE || strstr(scene->result.reason, rows[i].why) == NULL) {
            fail_msg("row %zu: %s", i, scene->result.reason);
        }
        assert_string_equal(text_at(case_at(scene, 0), "status"), "ok"); /* the measurement stands */
        assert_int_equal(integer_at(case_at(scene, 0), "reserved_bytes_peak"), 6291456);
        assert_int_equal(json_kind(json_get(proof_at(scene, 0), "pass")), JSON_KIND_NULL);
    }
}

static void a_device_that_is_shared_is_not_filled(void **state)
{
    struct scene *scene = *state;
    suite_set(scene, "batch: 1");
    struct run_options options = options_of(scene);
    options.proof = RUN_PROOF_REPLAY;
    options.share_device = true;
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_INVALID);
    assert_non_null(strstr(scene->error.text, "leave out --prove or --share-device"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_case_is_safe_and_tight_on_meta),
        TEST(every_case_is_safe_and_tight_on_the_host),
        TEST(estimators_are_tried_too),
        TEST(a_bound_of_the_suite_bounds_the_proof),
        TEST(without_the_wish_there_is_no_proof),
        TEST(an_honest_child_passes),
        TEST(what_runs_out_of_memory_with_its_bytes_fails),
        TEST(what_runs_with_a_granule_less_fails),
        TEST(what_fails_on_a_gpu_that_others_used_is_open),
        TEST(what_could_not_be_tried_is_open),
        TEST(a_device_that_is_shared_is_not_filled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* assay batch: what people and scripts see of it, its exit codes, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/base/json.h"
#include "tests/support/command_run.h"

#define BATCH(...) command_named("batch", (const char *const[]){__VA_ARGS__, NULL})

/* A mode that is not said is training. */
static void a_table_has_every_try_and_what_came_of_it(void **state)
{
    struct command_result result = BATCH("tiny-gpt2", "--seq", "8", "--memory", "4MiB", "--start", "64");
    (void)state;
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(result.error.length, 0);
    command_says(&result.output, "tiny-gpt2/train/float32/s8/adamw-foreach on host:mem=4MiB, bisect from batch 64\n"
                                 "program plain-loop, the default: use_cache true, outputs kept\n");
    command_says(&result.output, "      64  oom ");
    command_says(&result.output, ": a segment of the allocator\n");
    command_says(&result.output, "largest batch that runs: ");
    command_says(&result.output, "with 4.00 MiB for segments; found is the same\n");
    command_says(&result.output, " tokens/s, a step takes ");
    command_result_release(&result);
}

/* The weights alone are a segment of 2 MiB. */
static void zero_is_accelerates_error_and_exit_code_1(void **state)
{
    static const int64_t tried[] = {4, 3, 2, 1};
    struct command_result result =
        BATCH("tiny-gpt2", "--seq", "8", "--memory", "1MiB", "--start", "4", "--policy", "0.9", "--json");
    struct json *document = command_document(&result);
    const struct json *tries = json_get(document, "tries"), *policy = json_at(json_get(document, "policies"), 0);
    (void)state;
    assert_int_equal(result.exit_code, 1);
    command_says(&result.error, "assay: batch: exit code 1: No executable batch size found, reached zero.\n");
    assert_string_equal(json_string_or(json_get(document, "error"), ""),
                        "No executable batch size found, reached zero.");
    assert_string_equal(json_string_or(json_get(document, "end"), ""), "zero");
    assert_int_equal(json_kind(json_get(document, "found")), JSON_KIND_NULL);
    assert_int_equal(json_integer_or(json_get(json_get(document, "predicted"), "limit"), -1), 0);
    assert_int_equal(json_count(tries), 4);
    for (size_t i = 0; i < 4; i++) {
        const struct json *cause = json_get(json_at(tries, i), "cause");
        assert_int_equal(json_integer_or(json_get(json_at(tries, i), "batch"), 0), tried[i]);
        assert_int_equal(json_integer_or(json_at(json_get(policy, "batches"), i), 0), tried[i]);
        assert_int_equal(json_integer_or(json_get(json_at(tries, i), "next_batch"), 0), i < 3 ? tried[i + 1] : 0);
        assert_string_equal(json_string_or(json_get(cause, "stage"), ""), "load");
        assert_string_equal(json_string_or(json_get(cause, "label"), ""), "transformer.wte.weight");
    }
    json_release(document);
    command_result_release(&result);
}

/* On meta nothing is computed, so there is no throughput; the policies end where their sequences say. */
static void all_policies_are_compared_and_no_batch_is_tried_twice(void **state)
{
    struct command_result result = BATCH("tiny-gpt2", "--seq", "32", "--device", "meta:mem=20MiB", "--for", "host",
                                         "--compare", "--json", "--program", "lean-loop");
    struct json *document = command_document(&result);
    const struct json *policies = json_get(document, "policies"), *tries = json_get(document, "tries");
    int64_t found[3];
    (void)state;
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(json_count(policies), 3);
    for (size_t i = 0; i < 3; i++) {
        found[i] = json_integer_or(json_get(json_at(policies, i), "found"), 0);
        assert_int_equal(json_kind(json_get(json_at(policies, i), "throughput")), JSON_KIND_NULL);
        assert_int_equal(json_kind(json_get(json_at(policies, i), "lost_fraction")), JSON_KIND_NULL);
    }
    assert_string_equal(json_string_or(json_get(json_at(policies, 1), "policy"), ""), "0.9");
    assert_int_equal(found[2], 64); /* of which 128, 64 and 128, 115, ... 65, 58 know no more */
    assert_int_equal(found[0], 64);
    assert_int_equal(found[1], 58);
    const struct json *predicted = json_get(document, "predicted");
    assert_int_equal(found[2], json_integer_or(json_get(predicted, "limit"), -1));
    const struct json *sure = json_get(predicted, "sure"), *possible = json_get(predicted, "possible");
    int64_t sure_batch = json_integer_or(json_get(sure, "limit"), 0);
    assert_true(sure_batch > 0 && sure_batch <= found[2]);
    assert_true(json_integer_or(json_get(possible, "limit"), 0) >= found[2]);
    assert_int_equal(json_integer_or(json_get(sure, "segment_bytes"), 0), (INT64_C(20) << 20) * 1000 / 1120);
    for (size_t i = 0; i < json_count(tries); i++) {
        for (size_t k = 0; k < i; k++) {
            assert_int_not_equal(json_integer_or(json_get(json_at(tries, i), "batch"), 0),
                                 json_integer_or(json_get(json_at(tries, k), "batch"), 0));
        }
    }
    json_release(document);
    command_result_release(&result);
}

static void throughput_is_of_the_batch_that_was_found(void **state)
{
    struct command_result result = BATCH("tiny-resnet", "--mode", "infer", "--memory", "16MiB", "--start", "2",
                                         "--policy", "halve", "--compare", "--repeat", "2", "--json");
    struct json *document = command_document(&result);
    double best = 0, least_lost = 1;
    (void)state;
    assert_int_equal(result.exit_code, 0);
    assert_string_equal(json_string_or(json_get(document, "throughput_unit"), ""), "samples/s");
    for (size_t i = 0; i < 3; i++) {
        const struct json *policy = json_at(json_get(document, "policies"), i);
        double rate = json_real_or(json_get(policy, "throughput"), 0);
        double seconds = json_real_or(json_get(policy, "step_seconds"), 0);
        double lost = json_real_or(json_get(policy, "lost_fraction"), -1);
        int64_t found = json_integer_or(json_get(policy, "found"), 0);
        assert_true(rate > 0 && lost >= 0 && lost < 1);
        assert_true(rate * seconds > (double)found - 1e-6 && rate * seconds < (double)found + 1e-6);
        assert_int_equal(json_integer_or(json_get(policy, "repeat_count"), 0), 2);
        best = rate > best ? rate : best;
        least_lost = lost < least_lost ? lost : least_lost;
    }
    assert_true(least_lost == 0);
    json_release(document);
    command_result_release(&result);
}

static void what_says_nothing_is_refused_before_anything_is_tried(void **state)
{
    (void)state;
    command_refused(BATCH("tiny-gpt2", "--batch", "4", "--memory", "4MiB"),
                    "--batch is what assay looks for; write --start");
    command_refused(BATCH("tiny-gpt2", "--seq", "4", "--start", "0", "--memory", "4MiB"), "batch: --start");
    command_refused(BATCH("tiny-gpt2", "--seq", "4", "--policy", "third", "--memory", "4MiB"),
                    "write halve, 0.9 or bisect");
    command_refused(BATCH("tiny-gpt2", "--seq", "4", "--as-accelerate", "--memory", "4MiB"),
                    "accelerate does not bisect");
    command_refused(BATCH("tiny-gpt2", "--seq", "4", "--device", "meta"), "on meta without a bound every batch runs");
    command_refused(BATCH("tiny-gpt2", "--seq", "4", "--device", "cuda:0", "--memory", "4MiB"),
                    "a GPU has the memory it has");
    command_refused(BATCH("tiny-gpt2", "--seq", "4", "--device", "host:mem=1MiB", "--memory", "4MiB"),
                    "are two bounds");
    command_refused(BATCH("tiny-gpt2", "--mode", "load", "--memory", "4MiB"), "has no batch");
    command_refused(BATCH("tiny-gpt2", "--seq", "4096", "--memory", "4MiB"), "seq 4096 is more than the 64 positions");
}

/* No GPU: skipped, as a case of a suite is, and not called out of memory. */
static void a_device_that_is_not_here_is_skipped(void **state)
{
    struct command_result result = BATCH("tiny-gpt2", "--seq", "4", "--device", "cuda:63", "--json");
    (void)state;
    if (result.exit_code == 0) {
        skip();
    }
    assert_int_equal(result.exit_code, 77);
    struct json *document = command_document(&result);
    assert_string_equal(json_string_or(json_get(document, "end"), ""), "failed");
    assert_int_equal(json_count(json_get(document, "tries")), 1);
    json_release(document);
    command_result_release(&result);
}

/* docs/BATCH.md shows the same. Of a suite without a bound there is nothing to say. */
static void a_plan_says_with_which_batch_each_policy_ends(void **state)
{
    (void)state;
    const char *words[] = {program_path(), "plan", "suites/batch-size.yaml", "--filter", "tiny-gpt2/train*", NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "/find-halve: batch 19 after 3 tries\n");
    command_says(&result.output, "/find-0.9: batch 30 after 9 tries\n");
    command_says(&result.output,
                 "   17.69 MiB  tiny-gpt2/train/float32/b76/s64/adamw-fused/find-bisect: batch 32 after 8 tries\n");
    command_result_release(&result);
    words[4] = "tiny-resnet*bisect"; /* beyond a batch of 34, which does not fit */
    result = command_run(words, NULL);
    command_says(&result.output, "/find-bisect: batch 80 after 8 tries\n");
    command_result_release(&result);
    words[4] = "distilbert*halve";
    result = command_run(words, NULL);
    command_says(&result.output, "/find-halve: a batch of 1 does not fit, zero after 3 tries\n");
    command_result_release(&result);
    words[2] = "suites/batch-size-gpu.yaml";
    words[4] = "*70B*";
    result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 3);
    command_says(&result.error,
                 "cannot be predicted: the batch that it finds depends on the memory, and no bound is known");
    command_result_release(&result);
}

static void a_plan_of_options_looks_for_a_batch(void **state)
{
    (void)state;
    const char *words[] = {program_path(), "plan",         "tiny-gpt2", "--mode", "train", "--seq",
                           "64",           "--batch",      "76",        "--for",  "host",  "--memory",
                           "24MiB",        "--find-batch", "halve,0.9", NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "find-halve: batch 19 after 3 tries\n");
    command_says(&result.output, "find-0.9: batch 30 after 9 tries\n");
    command_result_release(&result);
}

static void the_document_of_a_plan_lists_the_tries(void **state)
{
    (void)state;
    const char *words[] = {program_path(), "plan", "suites/batch-size.yaml", "--filter", "tiny-gpt2/train*halve",
                           "--json",       NULL};
    struct command_result result = command_run(words, NULL);
    struct json *document = command_document(&result);
    const struct json *case_ = json_at(json_get(document, "cases"), 0), *search = json_get(case_, "search");
    const struct json *tries = json_get(search, "tries"), *last = json_at(tries, 2);
    assert_int_equal(json_integer_or(json_get(search, "found"), -1), 19);
    assert_int_equal(json_integer_or(json_get(search, "predicted"), -1), 32);
    assert_int_equal(json_count(tries), 3);
    assert_int_equal(json_integer_or(json_get(json_at(tries, 0), "next"), -1), 38);
    assert_true(json_boolean_or(json_get(last, "predicted_runs"), false));
    assert_int_equal(json_kind(json_get(last, "next")), JSON_KIND_NULL);
    assert_int_equal(json_integer_or(json_get(json_get(case_, "identity"), "batch"), -1), 76);
    json_release(document);
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_has_every_try_and_what_came_of_it),
        cmocka_unit_test(zero_is_accelerates_error_and_exit_code_1),
        cmocka_unit_test(all_policies_are_compared_and_no_batch_is_tried_twice),
        cmocka_unit_test(throughput_is_of_the_batch_that_was_found),
        cmocka_unit_test(what_says_nothing_is_refused_before_anything_is_tried),
        cmocka_unit_test(a_device_that_is_not_here_is_skipped),
        cmocka_unit_test(a_plan_says_with_which_batch_each_policy_ends),
        cmocka_unit_test(a_plan_of_options_looks_for_a_batch),
        cmocka_unit_test(the_document_of_a_plan_lists_the_tries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

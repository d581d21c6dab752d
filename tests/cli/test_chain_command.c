/* assay chain: what it prints, how it ends, what it refuses. The bytes of a chain:
 * tests/models/test_workload_chain.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/json.h"
#include "tests/support/command_run.h"

#define CHAIN(...) command_named("chain", (const char *const[]){__VA_ARGS__, NULL})

static const struct json *model_at(const struct json *document, size_t at)
{
    return json_at(json_get(document, "models"), at);
}

static int64_t integer(const struct json *object, const char *key)
{
    return json_integer_or(json_get(object, key), -1);
}

static int64_t need(const struct json *document)
{
    return integer(json_at(json_get(document, "devices"), 0), "need_bytes");
}

static void a_run_measures_what_was_predicted(void **state)
{
    (void)state;
    struct command_result result = CHAIN("tiny-bert:batch=4,seq=64", "tiny-llama", "--seq", "16", "--precision",
                                         "float32", "--max-memory", "0=100MB,cpu=1MB", "--run", "host", "--json");
    struct json *document = command_document(&result);
    int64_t peak = 0;
    assert_int_equal(result.exit_code, 0);
    assert_true(json_boolean_or(json_get(document, "agrees"), false));
    assert_true(json_boolean_or(json_get(document, "measured_fits"), false));
    assert_true(json_boolean_or(json_get(document, "host_stands_in"), false));
    assert_int_equal(integer(model_at(document, 0), "batch"), 4); /* its own */
    assert_int_equal(integer(model_at(document, 0), "seq"), 64);
    assert_int_equal(integer(model_at(document, 1), "batch"), 1);
    assert_int_equal(integer(model_at(document, 1), "seq"), 16); /* that of all */
    assert_int_equal(integer(model_at(document, 0), "weight_bytes"), 95892);
    for (size_t i = 0; i < 2; i++) {
        const struct json *predicted = json_get(model_at(document, i), "predicted");
        const struct json *measured = json_get(model_at(document, i), "measured");
        int64_t bytes = integer(predicted, "allocated_bytes_peak");
        assert_true(bytes > integer(model_at(document, i), "weight_bytes"));
        assert_int_equal(integer(measured, "allocated_bytes_peak"), bytes);
        peak = bytes > peak ? bytes : peak;
    }
    assert_int_equal(integer(json_get(document, "measured_peak"), "allocated_bytes_peak"), peak);
    json_release(document);
    command_result_release(&result);
    result = CHAIN("tiny-bert", "tiny-resnet", "--seq", "16", "--run", "host");
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "2 models in turn on 0, each sent to the cpu when the next one runs, as on sm_90\n"
                                 "carried out: the host stands for the GPU\n");
    command_says(&result.output, "1  tiny-bert (with head) in float32: batch 1, seq 16\n"
                                 "2  tiny-resnet (with head) in float32: batch 1\n");
    command_says(&result.output, "fits: it ran, with the predicted bytes\n");
    command_result_release(&result);
}

/* What a chain is for: gpt2 twice needs little more than gpt2 once; with both resident, or with the last one left
 * there, twice the weights. */
static void a_chain_needs_what_its_largest_model_needs(void **state)
{
    (void)state;
    struct command_result one = CHAIN("gpt2", "--precision", "float32", "--json");
    struct command_result two = CHAIN("gpt2", "gpt2", "--precision", "float32", "--json");
    struct command_result left = CHAIN("gpt2", "gpt2", "--precision", "float32", "--keep-last", "--json");
    struct json *alone = command_document(&one), *both = command_document(&two), *kept = command_document(&left);
    int64_t weights = integer(model_at(alone, 0), "weight_bytes"), logits = 50257 * 128 * 4;
    assert_true(need(both) - need(alone) <= logits + (8 << 20));
    assert_true(need(kept) - need(both) > weights * 9 / 10);
    assert_true(integer(both, "resident_need_bytes") - need(both) > weights * 9 / 10);
    assert_true(json_boolean_or(json_get(kept, "keeps_last"), false));
    json_release(alone);
    json_release(both);
    json_release(kept);
    command_result_release(&one);
    command_result_release(&two);
    command_result_release(&left);
}

/* Within the need it runs, one granule below it does not, and the model that ran then is named. */
static void the_need_is_the_least_budget(void **state)
{
    (void)state;
    struct command_result free = CHAIN("tiny-gpt2", "gpt2", "--seq", "32", "--json");
    struct json *document = command_document(&free);
    char enough[64], less[64];
    snprintf(enough, sizeof enough, "0=%lldB", (long long)need(document));
    snprintf(less, sizeof less, "0=%lldB", (long long)need(document) - (2 << 20));
    json_release(document);
    command_result_release(&free);
    struct command_result runs = CHAIN("tiny-gpt2", "gpt2", "--seq", "32", "--max-memory", enough);
    assert_int_equal(runs.exit_code, 0);
    command_says(&runs.output, "fits: it would run\n");
    command_result_release(&runs);
    struct command_result fails = CHAIN("tiny-gpt2", "gpt2", "--seq", "32", "--max-memory", less, "--json");
    document = command_document(&fails);
    assert_int_equal(fails.exit_code, 1);
    command_says(&fails.error, "the chain runs out of memory within these budgets");
    assert_int_equal(integer(json_get(document, "predicted_out_of_memory"), "model"), 2);
    assert_int_equal(integer(json_get(document, "predicted_out_of_memory"), "device"), 0);
    assert_true(json_kind(json_get(document, "predicted_peak")) == JSON_KIND_NULL);
    json_release(document);
    command_result_release(&fails);
    struct command_result host =
        CHAIN("tiny-gpt2", "gpt2", "--seq", "32", "--max-memory", "0=1GB,cpu=100MB", "--run", "host");
    assert_int_equal(host.exit_code, 1);
    command_says(&host.output, "as predicted, out of memory on cpu: stage load: ");
    command_result_release(&host);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    command_refused(CHAIN("tiny-bert:foo=1"),
                    "tiny-bert:foo=1: 'foo=1' says nothing about a pass; write seq=512,batch=2");
    command_refused(CHAIN("tiny-bert", "tiny-llama:seq=abc"), "tiny-llama:seq=abc: seq: 'abc' is not an integer");
    command_refused(CHAIN("tiny-llama", "tiny-bert"), "model 2, tiny-bert: seq: 128 is more than the 64 positions");
    command_refused(CHAIN("tiny-llama:precision=int8"), "storing weights quantised is not built for a chain");
    command_refused(CHAIN("tiny-llama", "--max-memory", "0=1GB,1=1GB"), "there is a budget for 1 too");
    command_refused(CHAIN("tiny-llama", "--max-memory", "0=1GB,disk=1GB"), "there is a budget for disk too");
    command_refused(CHAIN("--json"), "an operand is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_measures_what_was_predicted),
        cmocka_unit_test(a_chain_needs_what_its_largest_model_needs),
        cmocka_unit_test(the_need_is_the_least_budget),
        cmocka_unit_test(what_is_wrong_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

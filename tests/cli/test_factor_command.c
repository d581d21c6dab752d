/* assay factor: what to use in place of 1.2 x the weights. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/command_run.h"

#define GRID "gpt2", "--batch", "1,16", "--seq", "128,1024", "--on", "RTX 4090"

static int64_t integer_at(const struct json *object, const char *key)
{
    const struct json *value = json_get(object, key);
    assert_int_equal(json_kind(value), JSON_KIND_INTEGER);
    return json_integer_or(value, 0);
}

static double real_at(const struct json *object, const char *key)
{
    return json_real_or(json_get(object, key), NAN);
}

static int occurrences(const char *text, const char *words)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, words)) != NULL; at += strlen(words)) {
        count++;
    }
    return count;
}

/* The figures of `assay estimate`, over the weights that lie in memory after loading. */
static void a_factor_is_what_estimate_says_over_the_weights(void **state)
{
    static const char *const asked[] = {"gpt2", "--mode", "infer",    "--batch", "16", "--seq",
                                        "1024", "--for",  "RTX 4090", "--json",  NULL};
    static const char *const grid[] = {GRID, "--json", NULL};
    static const char *const ends[][2] = {{"low", "low_bytes"}, {"likely", "likely_bytes"}, {"high", "high_bytes"}};
    (void)state;
    struct command_result estimate = command_named("estimate", asked), factor = command_named("factor", grid);
    struct json *said = command_document(&estimate), *document = command_document(&factor);
    const struct json *one = json_at(json_get(document, "cases"), 3);
    const struct json *replay = json_get(json_get(said, "estimates"), "replay");
    const struct json *device = json_get(json_get(said, "bounds"), "device_bytes"), *factors = json_get(one, "factor");
    double weights = (double)integer_at(json_get(json_get(replay, "stages"), "load"), "requested_bytes");
    assert_int_equal(json_count(json_get(document, "cases")), 4);
    assert_string_equal(json_string_or(json_get(one, "id"), ""), json_string_or(json_get(said, "id"), ""));
    assert_int_equal(integer_at(one, "weights_bytes"), (int64_t)weights);
    assert_int_equal(integer_at(one, "allocated_bytes_peak"), integer_at(replay, "allocated_bytes_peak"));
    assert_true(fabs(real_at(factors, "allocated") - (double)integer_at(replay, "allocated_bytes_peak") / weights) <
                1e-9);
    for (size_t at = 0; at < 3; at++) {
        assert_int_equal(integer_at(json_get(one, "device_bytes"), ends[at][1]), integer_at(device, ends[at][1]));
        assert_true(fabs(real_at(factors, ends[at][0]) - (double)integer_at(device, ends[at][1]) / weights) < 1e-9);
    }
    json_release(said);
    json_release(document);
    command_result_release(&estimate);
    command_result_release(&factor);
}

/* The recommendation holds every case at its upper end, and a hundredth less does not. */
static void the_recommendation_is_the_least_that_is_enough(void **state)
{
    static const char *const grid[] = {GRID, "--precision", "float32,bfloat16", "--json", NULL};
    (void)state;
    struct command_result result = command_named("factor", grid);
    struct json *document = command_document(&result);
    const struct json *cases = json_get(document, "cases"), *use = json_get(document, "recommendation");
    double factor = real_at(use, "factor"), highest = 0.0, beside = 0.0;
    int too_little = 0;
    assert_int_equal(json_count(cases), 8);
    for (size_t at = 0; at < json_count(cases); at++) {
        const struct json *one = json_at(cases, at);
        int64_t high = integer_at(json_get(one, "device_bytes"), "high_bytes"),
                weights = integer_at(one, "weights_bytes");
        highest = fmax(highest, (double)high / (double)weights);
        beside = fmax(beside, (double)(high - weights));
        too_little += strcmp(json_string_or(json_get(one, "rule"), ""), "too little") == 0;
    }
    assert_true(factor >= highest && factor - 0.01 < highest);
    assert_true(fabs(factor * 100.0 - round(factor * 100.0)) < 1e-6);
    assert_int_equal(integer_at(use, "beside_weights_bytes"), (int64_t)beside);
    assert_int_equal(integer_at(json_get(document, "rule"), "too_little"), too_little);
    json_release(document);
    command_result_release(&result);
}

/* One factor for cases that lie ten times apart is no advice; of those that lie near each other it is. */
static void a_wide_grid_is_told_to_have_no_factor_in_common(void **state)
{
    static const char *const wide[] = {"gpt2", "--batch", "1,16", "--seq", "128,1024", "--on", "RTX 4090", NULL};
    static const char *const narrow[] = {"gpt2", "--batch", "1", "--seq", "128,256", "--on", "RTX 4090", NULL};
    static const char words[] = "These cases have no factor in common";
    (void)state;
    struct command_result result = command_named("factor", wide);
    command_says(&result.output, words);
    /* the largest is what is recommended, digit for digit */
    const char *use = strstr(text_string(&result.output), "Use ");
    char most[32];
    assert_true(use != NULL && sscanf(use, "Use %31[0-9.]", most) == 1);
    assert_int_equal(occurrences(text_string(&result.output), most), 2);
    command_result_release(&result);
    result = command_named("factor", narrow);
    assert_null(strstr(text_string(&result.output), words));
    command_result_release(&result);
}

static void each_format_has_every_case_and_the_recommendation(void **state)
{
    static const struct {
        const char *format, *row, *use;
    } formats[] = {
        {"table", "  too little      yes\n", "Use "},
        {"md", "\n| infer/float32/b", "**Use "},
        {"latex", "\ninfer/float32/b", "\\textbf{Use "},
        {"csv", "\ngpt2,NVIDIA GeForce RTX 4090,infer/float32/b", "factor_high"},
        {"html", "<td>infer/float32/b", "Use "},
    };
    (void)state;
    for (size_t at = 0; at < sizeof formats / sizeof formats[0]; at++) {
        const char *const words[] = {GRID, "--format", formats[at].format, NULL};
        struct command_result result = command_named("factor", words);
        assert_int_equal(result.exit_code, 0);
        command_says(&result.output, formats[at].use);
        if (occurrences(text_string(&result.output), formats[at].row) != 4) {
            fail_msg("%s: not 4 rows '%s' in\n%s", formats[at].format, formats[at].row, text_string(&result.output));
        }
        command_result_release(&result);
    }
}

/* On a large GPU 16 GiB of weights make the context small: 1.2 is wasteful for a short prompt and too little for a long
 * one, which does not fit a smaller GPU. */
static void the_rule_is_judged_case_by_case(void **state)
{
    static const char *const words[] = {"meta-llama/Llama-3.1-8B",
                                        "--precision",
                                        "bfloat16",
                                        "--batch",
                                        "1,16",
                                        "--seq",
                                        "8192",
                                        "--on",
                                        "RTX 4090",
                                        NULL};
    static const char *const generation[] = {"gpt2", "--mode", "generate", "--new-tokens", "8", "--for", "A100", NULL};
    static const char *const short_prompt[] = {
        "meta-llama/Llama-3.1-8B", "--precision", "bfloat16", "--seq", "128", NULL};
    (void)state;
    struct command_result result = command_named("factor", words);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "too little       no\n");
    command_result_release(&result);
    result = command_named("factor", short_prompt);
    command_says(&result.output, "1.2 x the weights is wasteful here");
    command_result_release(&result);
    result = command_named("factor", generation);
    command_says(&result.output, "generate/float32/b1/s128/n8");
    command_result_release(&result);
}

static void what_is_no_such_question_is_refused(void **state)
{
    (void)state;
    command_refused(command_named("factor", (const char *const[]){"gpt2", "--mode", "train", NULL}),
                    "assay: factor: 1.2 x the weights is a rule of inference; --mode is infer or generate");
    command_refused(command_named("factor", (const char *const[]){"gpt2", "--format", "xml", NULL}),
                    "assay: factor: --format");
    command_refused(command_named("factor", (const char *const[]){"gpt2", "--format", "csv", "--json", NULL}),
                    "assay: factor: --json and --format csv name two formats; leave one out");
    command_refused(command_named("factor", (const char *const[]){"gpt2", "--on", "H100", "--for", "A100", NULL}),
                    "factor: --for A100, but the device is of class sm_90");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_factor_is_what_estimate_says_over_the_weights),
        cmocka_unit_test(the_recommendation_is_the_least_that_is_enough),
        cmocka_unit_test(a_wide_grid_is_told_to_have_no_factor_in_common),
        cmocka_unit_test(each_format_has_every_case_and_the_recommendation),
        cmocka_unit_test(the_rule_is_judged_case_by_case),
        cmocka_unit_test(what_is_no_such_question_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

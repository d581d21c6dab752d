/* Habit costs: each is the difference of two predictions that anybody can ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "tests/support/command_run.h"

enum { WORDS_MAXIMUM = 24 };

static struct json *answer(const char *command, const char *const *more)
{
    const char *words[WORDS_MAXIMUM] = {"gpt2", "--mode", "train", "--batch", "2", "--seq", "64", "--json"};
    struct json *document = NULL;
    int count = 8;
    for (int i = 0; more[i] != NULL; i++) {
        words[count++] = more[i];
    }
    struct command_result result = command_named(command, words);
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(
        json_parse_text("answer", text_string(&result.output), strlen(text_string(&result.output)), &document, NULL),
        STATUS_OK);
    command_result_release(&result);
    return document;
}

static int64_t peak_of(const char *const *more)
{
    struct json *document = answer("estimate", more);
    int64_t bytes =
        json_integer_or(json_get(json_get(json_get(document, "estimates"), "replay"), "allocated_bytes_peak"), -1);
    json_release(document);
    return bytes;
}

/* The row of a field; its cost, and whether the case has it. */
static int64_t cost_of(const char *const *more, const char *field, bool in_case)
{
    struct json *document = answer("explain", more), *rows = json_get(document, "habits");
    int64_t bytes = INT64_MIN;
    for (size_t i = 0; i < json_count(rows); i++) {
        const struct json *row = json_at(rows, i);
        if (strcmp(json_string_or(json_get(row, "field"), ""), field) == 0) {
            assert_int_equal(json_boolean_or(json_get(row, "in_case"), !in_case), in_case);
            bytes = json_integer_or(json_get(row, "allocated_bytes"), -1);
        }
    }
    json_release(document);
    return bytes;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void a_cost_is_the_case_less_the_case_without_the_habit(void **state)
{
    (void)state;
    int64_t plain = peak_of(WORDS("--program", "plain-loop"));
    int64_t dropped = peak_of(WORDS("--program", "plain-loop", "--outputs", "dropped"));
    int64_t no_cache = peak_of(WORDS("--program", "plain-loop", "--use-cache=false"));
    assert_true(plain > dropped && plain > no_cache);
    assert_int_equal(cost_of(WORDS("--program", "plain-loop"), "outputs", true), plain - dropped);
    assert_int_equal(cost_of(WORDS("--program", "plain-loop"), "use_cache", true), plain - no_cache);
}

static void a_lean_loop_is_told_what_the_documentations_loop_would_add(void **state)
{
    (void)state;
    int64_t lean = peak_of(WORDS("--program", "lean-loop", "--optimizer", "adamw-foreach"));
    int64_t kept = peak_of(WORDS("--program", "lean-loop", "--optimizer", "adamw-foreach", "--outputs", "kept"));
    assert_int_equal(cost_of(WORDS("--program", "lean-loop", "--optimizer", "adamw-foreach"), "outputs", false),
                     kept - lean);
}

/* Lightning's gradients live through the forward pass, and nothing else would explain its peak. */
static void what_is_fixed_is_told_with_its_cost(void **state)
{
    (void)state;
    int64_t after = peak_of(WORDS("--program", "plain-loop", "--outputs", "dropped"));
    int64_t before =
        peak_of(WORDS("--program", "plain-loop", "--outputs", "dropped", "--zero-grad", "before-backward"));
    assert_true(before > after);
    assert_int_equal(cost_of(WORDS("--program", "lightning"), "zero_grad", true), before - after);
    assert_int_equal(cost_of(WORDS("--program", "hf-trainer"), "outputs", false), INT64_MIN);
    struct json *document = answer("explain", WORDS("--program", "lightning")), *rows = json_get(document, "habits");
    for (size_t i = 0; i < json_count(rows); i++) {
        const struct json *row = json_at(rows, i);
        bool is_fixed = strcmp(json_string_or(json_get(row, "field"), ""), "zero_grad") == 0;
        assert_int_equal(json_boolean_or(json_get(row, "fixed"), !is_fixed), is_fixed);
    }
    json_release(document);
}

/* Without its own classes the model of litgpt has other tensors. */
static void classes_of_a_library_have_a_cost(void **state)
{
    (void)state;
    static const char *const programs[] = {"torchtune", "litgpt"};
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        char wanted[64];
        struct command_result result =
            command_named("explain", WORDS("tiny-llama", "--mode", "train", "--batch", "2", "--seq", "48",
                                           "--precision", "bfloat16", "--program", programs[i]));
        assert_int_equal(result.exit_code, 0);
        snprintf(wanted, sizeof wanted, ": model_code %s, which the program fixes\n", programs[i]);
        assert_non_null(strstr(text_string(&result.output), wanted));
        assert_non_null(strstr(text_string(&result.output), ": loss chunked"));
        command_result_release(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cost_is_the_case_less_the_case_without_the_habit),
        cmocka_unit_test(a_lean_loop_is_told_what_the_documentations_loop_would_add),
        cmocka_unit_test(what_is_fixed_is_told_with_its_cost),
        cmocka_unit_test(classes_of_a_library_have_a_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

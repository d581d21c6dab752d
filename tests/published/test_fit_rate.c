/* How often fit is wrong: the answers that peers/published/fit_rate.py got for what was measured, and some of them
 * asked again. A yes that turns out wrong fails, whatever the file says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/published/published_figures.h"
#include "tests/support/command_run.h"

enum { ASKED_AGAIN = 24, ROWS_LEAST = 400, WORDS_MAXIMUM = 64 };

static const char answers_path[] = "peers/published/fit.jsonl";
static const char remedy[] = "run peers/published/fit_rate.py --write and look at what changed in docs/PUBLISHED.md";

static const char *text_of(const struct json *row, const char *key)
{
    return json_string_or(json_get(row, key), "");
}

/* As fit_rate.py has it: cached segments are no excuse for tensors. */
static bool is_wrong_yes(const struct json *row)
{
    bool tensors =
        strcmp(text_of(row, "quantity"), "allocated") == 0 || strcmp(text_of(row, "quantity"), "active") == 0;
    return strcmp(text_of(row, "below"), "yes") == 0 &&
           (tensors || !json_boolean_or(json_get(row, "gives_back"), false));
}

static bool is_an_answer(const char *word)
{
    return strcmp(word, "yes") == 0 || strcmp(word, "no") == 0 || strcmp(word, "depends") == 0;
}

/* Of the figures whose whole case is known: our own, and those of quality A. */
static void a_yes_is_wrong_in_less_than_one_of_a_thousand(void **state)
{
    struct json *rows = published_lines(answers_path);
    size_t count = 0, wrong = 0;
    (void)state;
    for (size_t i = 0; i < json_count(rows); i++) {
        const struct json *row = json_at(rows, i);
        assert_true(is_an_answer(text_of(row, "below")) && is_an_answer(text_of(row, "above")));
        if (strcmp(text_of(row, "quality"), "A") != 0) {
            continue;
        }
        if (is_wrong_yes(row)) {
            print_error("%s (%s): a wrong yes\n", text_of(row, "id"), text_of(row, "quantity"));
            wrong++;
        }
        count++;
    }
    assert_true(count >= ROWS_LEAST); /* the file is not empty by accident */
    if (1000 * wrong >= count) {
        fail_msg("%zu of %zu answers are a wrong yes; %s", wrong, count, remedy);
    }
    json_release(rows);
}

/* The answer of fit now, with a byte less than was measured. Every word of the case stands in the row. */
static void one_is_asked_again(const struct json *row)
{
    const struct json *words = json_get(row, "words");
    const char *options[WORDS_MAXIMUM] = {NULL};
    size_t count = json_count(words);
    assert_true(count > 0 && count + 1 < sizeof options / sizeof options[0]);
    for (size_t i = 0; i < count; i++) {
        options[i] = json_string_or(json_at(words, i), "");
    }
    options[count] = "--json";
    struct command_result result = command_named("fit", options);
    struct json *document = command_document(&result);
    struct json *again = json_object_new();
    bool back = json_kind(json_get(document, "left_beside_allocated_high_bytes")) == JSON_KIND_INTEGER;
    assert_true(json_set(again, "below", json_string_new(text_of(document, "answer"))) &&
                json_set(again, "gives_back", json_boolean_new(back)) &&
                json_set(again, "quantity", json_string_new(text_of(row, "quantity"))));
    if (is_wrong_yes(again) && !is_wrong_yes(row)) {
        fail_msg("%s (%s): fit says yes to a byte less than it took, and did not before; %s", text_of(row, "id"),
                 text_of(row, "quantity"), remedy);
    }
    json_release(again);
    json_release(document);
    command_result_release(&result);
}

static void answers_asked_again_are_no_wrong_yes(void **state)
{
    struct json *rows = published_lines(answers_path);
    size_t count = json_count(rows);
    (void)state;
    for (size_t i = 0; i < ASKED_AGAIN; i++) {
        one_is_asked_again(json_at(rows, i * count / ASKED_AGAIN));
    }
    json_release(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_yes_is_wrong_in_less_than_one_of_a_thousand),
        cmocka_unit_test(answers_asked_again_are_no_wrong_yes),
    };
    return cmocka_run_group_tests_name("how often fit is wrong", tests, NULL, NULL);
}

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

/* Of the figures whose whole case is known: our own, and those of quality A. With a byte less, of the answers that are
 * a yes: the others cannot be a wrong one. */
static void a_yes_is_wrong_in_less_than_one_of_a_thousand(void **state)
{
    struct json *rows = published_lines(answers_path);
    size_t count = 0, wrong = 0, yes = 0;
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
        yes += strcmp(text_of(row, "below"), "yes") == 0;
        count++;
    }
    assert_true(count >= ROWS_LEAST); /* the file is not empty by accident */
    if (1000 * wrong >= yes) {
        fail_msg("%zu of %zu yeses are wrong; %s", wrong, yes, remedy);
    }
    json_release(rows);
}

struct said {
    size_t rows, yes, no, depends, wrong, more, twice;
};

static bool is_yes_at(const struct json *row, const char *share)
{
    return strncmp(text_of(json_get(row, "at"), share), "yes", 3) == 0;
}

static struct said count_of(const struct json *rows, const char *quality)
{
    struct said said = {0};
    for (size_t i = 0; i < json_count(rows); i++) {
        const struct json *row = json_at(rows, i);
        if (strcmp(text_of(row, "quality"), quality) == 0) {
            said.rows++;
            said.yes += strcmp(text_of(row, "below"), "yes") == 0;
            said.no += strcmp(text_of(row, "below"), "no") == 0;
            said.depends += strcmp(text_of(row, "below"), "depends") == 0;
            said.wrong += is_wrong_yes(row);
            said.more += is_yes_at(row, "1.25");
            said.twice += is_yes_at(row, "2.0");
        }
    }
    return said;
}

/* Whoever always says depends is never wrong: a yes must be said where it is true. */
static void a_yes_is_said_where_it_is_true(void **state)
{
    struct json *rows = published_lines(answers_path);
    struct said said = count_of(rows, "A");
    (void)state;
    assert_true(4 * said.more >= 3 * said.rows);
    assert_true(100 * said.twice >= 99 * said.rows);
    json_release(rows);
}

/* The rate of the page is one of yeses, and beside it stands what was said instead, and how often it is said. */
static void the_page_has_the_yeses_and_the_power(void **state)
{
    struct json *rows = published_lines(answers_path);
    struct said known = count_of(rows, "A"), open = count_of(rows, "B");
    struct text page = {0};
    char line[8192], wanted[512];
    FILE *file = fopen("docs/PUBLISHED.md", "r");
    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        text_append(&page, line);
    }
    assert_int_equal(fclose(file), 0);
    snprintf(
        wanted, sizeof wanted,
        "**%zu of %zu yeses were wrong, beside %zu depends and %zu no where all of the case is known**; %zu of %zu "
        "yeses were wrong, beside %zu depends and %zu no where",
        known.wrong, known.yes, known.depends, known.no, open.wrong, open.yes, open.depends, open.no);
    if (strstr(text_string(&page), wanted) == NULL) {
        fail_msg("docs/PUBLISHED.md does not say: %s; %s", wanted, remedy);
    }
    snprintf(wanted, sizeof wanted, ", with 25 %% more %zu of %zu (%.0f %%)", known.more, known.rows,
             100.0 * (double)known.more / (double)known.rows);
    if (strstr(text_string(&page), wanted) == NULL) {
        fail_msg("docs/PUBLISHED.md does not say: %s; %s", wanted, remedy);
    }
    text_release(&page);
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
        cmocka_unit_test(a_yes_is_said_where_it_is_true),
        cmocka_unit_test(the_page_has_the_yeses_and_the_power),
        cmocka_unit_test(answers_asked_again_are_no_wrong_yes),
    };
    return cmocka_run_group_tests_name("how often fit is wrong", tests, NULL, NULL);
}

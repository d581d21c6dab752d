/* JSON of one line over several: what json_write makes comes out as json_write_below has it, and any other document
 * with its numbers and its escapes as they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"

static const char *indented(const char *json, int indent, int depth, struct text *text)
{
    text_release(text);
    json_indent_below(json, strlen(json), indent, depth, text);
    assert_false(text->failed);
    return text_string(text);
}

static void documents_are_laid_out(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        int indent, depth;
        const char *lines;
    } rows[] = {
        {"{\"a\": 1, \"b\": [true, null]}", 2, 0, "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    null\n  ]\n}"},
        {"{\"a\": 1, \"b\": [true, null]}", 2, 1,
         "{\n    \"a\": 1,\n    \"b\": [\n      true,\n      null\n    ]\n  }"},
        {" {\"a\":1 ,\r\n\"b\"\t:  [ true,null ] } ", 0, 0, "{\"a\": 1, \"b\": [true, null]}"},
        {"[{}, [ ], { }, \"\"]", 1, 0, "[\n {},\n [],\n {},\n \"\"\n]"},
        {"-1.50e+3", 2, 0, "-1.50e+3"},                                         /* a number stays as it is */
        {"\"{a: [1, 2]}\"", 2, 0, "\"{a: [1, 2]}\""},                           /* a string is no document */
        {"\"a\\\"b\\\\\"", 2, 0, "\"a\\\"b\\\\\""},                             /* quotes behind backslashes */
        {"[\"\\u00e9\\/\", \"\\\\\"]", 0, 0, "[\"\\u00e9\\/\", \"\\\\\"]"},     /* escapes stay */
        {"\"a\xC2\x9B\x7F\xC3\xA9 b\"", 2, 0, "\"a\\u009b\\u007f\xC3\xA9 b\""}, /* what acts on a terminal */
        {"\xEF\xBB\xBF[1]", 0, 0, "[1]"},
        {"", 2, 0, ""},
    };
    struct text text = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(indented(rows[i].json, rows[i].indent, rows[i].depth, &text), rows[i].lines);
    }
    text_release(&text);
}

/* One of each kind of value, at every depth at which blanks are counted. */
static void what_json_write_made_comes_out_as_it_would(void **state)
{
    (void)state;
    struct json *value = json_array_new();
    for (int depth = 0; depth < 40; depth++) {
        struct json *object = json_object_new();
        assert_true(
            json_set(object, "a \"name\"\n\t\x1B", json_string_new("gr\xC3\xB6\xE2\x80\xAE \\ \xF0\x9F\x98\x80")));
        assert_true(json_set(object, "", json_real_new(1.0 / 3)));
        assert_true(json_set(object, "real", json_real_new(1e300)));
        assert_true(json_set(object, "integer", json_integer_new(-depth)));
        assert_true(json_set(object, "none", json_null_new()));
        assert_true(json_set(object, "no", json_boolean_new(false)));
        assert_true(json_set(object, "empty", json_object_new()));
        assert_true(json_set(object, "below", value));
        value = object;
    }
    struct text line = {0}, wanted = {0}, text = {0};
    assert_int_equal(json_write(value, 0, &line, NULL), STATUS_OK);
    for (int indent = 0; indent < 4; indent++) {
        text_release(&wanted);
        json_write_below(value, indent, 2, &wanted);
        assert_string_equal(indented(text_string(&line), indent, 2, &text), text_string(&wanted));
    }
    json_release(value);
    text_release(&line);
    text_release(&wanted);
    text_release(&text);
}

/* It is given what was accepted; all the same it looks at no byte behind the end. */
static void no_byte_behind_the_end_is_looked_at(void **state)
{
    (void)state;
    static const char json[] = "{\"a\\\"\": [1.5, \"\xC3\xA9\x7F\", {} ], \"b\" : {\"c\": null}}";
    for (size_t length = 0; length < sizeof json; length++) {
        char *cut = malloc(length + 1); /* a zero byte stands behind every text */
        struct text text = {0};
        assert_non_null(cut);
        memcpy(cut, json, length);
        cut[length] = '\0';
        json_indent_below(cut, length, 2, 0, &text);
        assert_false(text.failed);
        text_release(&text);
        free(cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_are_laid_out),
        cmocka_unit_test(what_json_write_made_comes_out_as_it_would),
        cmocka_unit_test(no_byte_behind_the_end_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

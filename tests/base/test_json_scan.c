/* Scanner of JSON lines: what it reads is what json_parse_text reads, value for value and error for error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"

static struct json_scanner *scanner_of(void)
{
    struct json_scanner *scanner = json_scanner_new();
    assert_non_null(scanner);
    return scanner;
}

static char *copy_of(const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

static void values_equal(const struct json *left, const struct json *right)
{
    struct text a = {0}, b = {0};
    assert_int_equal(json_write(left, 0, &a, NULL), STATUS_OK);
    assert_int_equal(json_write(right, 0, &b, NULL), STATUS_OK);
    assert_string_equal(text_string(&a), text_string(&b));
    text_release(&a);
    text_release(&b);
}

/* Both readers on one text; true where it is JSON. */
static bool readers_agree(struct json_scanner *scanner, const char *text, size_t length)
{
    char *copy = copy_of(text, length);
    struct json *tree = NULL;
    const struct json *scanned = NULL;
    struct status error = {0}, other = {0};
    enum status_code code = json_parse_text("t", text, length, &tree, &error);
    assert_int_equal(json_scan_text(scanner, "t", copy, length, &scanned, &other), code);
    if (code == STATUS_OK) {
        values_equal(tree, scanned);
        struct json *kept = json_copy_new(scanned);
        values_equal(tree, kept);
        json_release(kept);
    } else {
        assert_string_equal(other.text, error.text);
        assert_memory_equal(copy, text, length); /* so that it can be shown to somebody */
    }
    json_release(tree);
    free(copy);
    return code == STATUS_OK;
}

static const char *const TEXTS[] = {
    "{}",
    "[]",
    "null",
    " true ",
    "false",
    "0",
    "-0",
    "-1",
    "01",
    "1.",
    ".5",
    "1.5",
    "-1.5e3",
    "1E-7",
    "1e400",
    "1e99",
    "123456789012345678",
    "1234567890123456789",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "0.1",
    "0.024108422003337182",
    "\"\"",
    "\"a\"",
    "\"a\\n\\t\\\"\\\\\\/\\b\\f\\r\"",
    "\"\\u00e9\\u20ac\\u0041\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud83d\"",
    "\"\\u0000\"",
    "\"\\x\"",
    "\"\\u12g4\"",
    "\"a\nb\"",
    "\"\xc3\xa9\xe2\x82\xac\"",
    "\"\xc3\"",
    "\"\xed\xa0\x80\"",
    "\"\xf0\x9f\x98\x80\"",
    "\"\xff\"",
    "\"seven bytes, then \xc3\xa9 and more of them\"",
    "{\"a\": 1, \"b\": [1, 2, {\"c\": null}], \"d\": {\"e\": {}}}",
    "{\"a\": 1, \"a\": 2}",
    "{\"a\\u0062\": 1}",
    "{\"ab\": 1, \"a\\u0062\": 2}",
    "{\"a\" : 1 , \"b\" :2}",
    "{\"a\": 1,}",
    "[1,]",
    "[1 2]",
    "{\"a\"}",
    "{1: 2}",
    "{,}",
    "[",
    "{",
    "\"",
    "",
    " ",
    "nul",
    "nulll",
    "truefalse",
    "[1]]",
    "[1] x",
    "NaN",
    "[Infinity]",
    "-",
    "+1",
    "1e",
    "1e+",
    "[-]",
    "[1.5,2.25]",
    "{\"a\": tru",
    "\"abc",
    "{\"requested_bytes\": 1, \"requested_bytes_peak\": 2}",
    "\xef\xbb\xbf{}",
    "{\"\": 1}",
    "{\"\": 1, \"\": 2}",
    "[[[[[[[[[[1]]]]]]]]]]",
    "[\"a\", -12, 1.0, true, false, null, {}, []]",
};

static void both_readers_read_the_same(void **state)
{
    (void)state;
    struct json_scanner *scanner = scanner_of();
    int right = 0;
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        right += readers_agree(scanner, TEXTS[i], strlen(TEXTS[i])) ? 1 : 0;
    }
    assert_in_range(right, 30, sizeof TEXTS / sizeof TEXTS[0] - 20);
    assert_false(readers_agree(scanner, "\"a\0b\"", 5));
    assert_false(readers_agree(scanner, "[1]\0", 4));
    json_scanner_release(scanner);
}

/* Every text cut at every byte, and every byte replaced by some that matter. */
static void both_readers_agree_on_damage(void **state)
{
    (void)state;
    static const char marks[] = "\"\\{}[],:0-.eE\x01\x80\xc3 nu";
    struct json_scanner *scanner = scanner_of();
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        size_t length = strlen(TEXTS[i]);
        char *spoiled = copy_of(TEXTS[i], length);
        for (size_t at = 0; at < length; at++) {
            readers_agree(scanner, TEXTS[i], at);
            for (const char *mark = marks; *mark != '\0'; mark++) {
                spoiled[at] = *mark;
                readers_agree(scanner, spoiled, length);
            }
            spoiled[at] = TEXTS[i][at];
        }
        free(spoiled);
    }
    json_scanner_release(scanner);
}

static void deep_and_wide_documents_are_read(void **state)
{
    (void)state;
    struct json_scanner *scanner = scanner_of();
    for (int depth = 60; depth < 70; depth++) {
        struct text text = {0};
        for (int i = 0; i < depth; i++) {
            text_append(&text, "[");
        }
        for (int i = 0; i < depth; i++) {
            text_append(&text, "]");
        }
        assert_true(readers_agree(scanner, text_string(&text), text.length));
        text_release(&text);
    }
    static const int widths[] = {8, 40, 64, 65, 200};
    for (size_t i = 0; i < 2 * sizeof widths / sizeof widths[0]; i++) {
        const bool twin = i % 2 == 1;
        struct text text = {0};
        for (int key = 0; key < widths[i / 2]; key++) {
            text_format(&text, "%s\"key%d\": %d", key == 0 ? "{" : ", ", key, key);
        }
        text_append(&text, twin ? ", \"key7\": 1}" : "}");
        assert_int_equal(readers_agree(scanner, text_string(&text), text.length), !twin);
        text_release(&text);
    }
    json_scanner_release(scanner);
}

static void members_are_found_in_any_order(void **state)
{
    (void)state;
    struct json_scanner *scanner = scanner_of();
    char text[] = "{\"a\": 1, \"long_name\": [2, 2.5, \"x\"], \"b\": {\"c\": true}, \"long_nbme\": null}";
    const struct json *document = NULL;
    assert_int_equal(json_scan_text(scanner, "t", text, strlen(text), &document, NULL), STATUS_OK);
    for (int round = 0; round < 2; round++) {
        assert_true(json_boolean_or(json_get(json_get(document, "b"), "c"), false));
        assert_int_equal(json_integer_or(json_get(document, "a"), 0), 1);
        assert_null(json_get(document, "long_namf"));
        assert_non_null(json_get(document, "long_nbme"));
        assert_int_equal(json_kind(json_get(document, "long_nbme")), JSON_KIND_NULL);
        assert_int_equal(json_count(json_get(document, "long_name")), 3);
        assert_string_equal(json_string_or(json_at(json_get(document, "long_name"), 2), ""), "x");
        assert_true(json_real_or(json_at(json_get(document, "long_name"), 1), 0) == 2.5);
        assert_true(json_real_or(json_at(json_get(document, "long_name"), 0), 0) == 2.0);
        assert_null(json_at(json_get(document, "long_name"), 3));
    }
    assert_string_equal(json_key_at(document, 2), "b");
    assert_string_equal(json_key_after(document, "a"), "long_name");
    assert_null(json_key_after(document, "long_nbme"));
    json_scanner_release(scanner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_readers_read_the_same),
        cmocka_unit_test(both_readers_agree_on_damage),
        cmocka_unit_test(deep_and_wide_documents_are_read),
        cmocka_unit_test(members_are_found_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

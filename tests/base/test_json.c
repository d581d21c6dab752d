/* The exact error at the exact place, and what is written reads back as the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/json.h"
#include "tests/support/status_said.h"

static enum status_code parse(const char *text, struct json **document, struct status *error)
{
    return json_parse_text("model.json", text, strlen(text), document, error);
}

static void errors_name_file_line_column_and_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } rows[] = {
        {"", "model.json:1:1: unexpected token near end of file; the document is cut short; fetch or write the file "
             "again"},
        {"{\"a\": 1,\n \"a\": 2}", "model.json:2:4: duplicate object key near '\"a\"'; keep one of the two"},
        {"{\"a\": ", "model.json:1:6: unexpected token near end of file; "},
        {"{\"a\": NaN}", "model.json:1:9: invalid token near 'NaN'; correct the JSON there"},
        {"{\"a\": 9223372036854775808}", "model.json:1:25: too big integer near '9223372036854775808'; "},
        {"{\"a\": 1e999}", "model.json:1:11: real number overflow near '1e999'; "},
        {"{\"a\": 1} x", "model.json:1:10: end of file expected near 'x'; remove what follows the document"},
        {"{\"a\": 01}", "model.json:1:7: "},
        {"{\"a\": \"\\u0000\"}", "model.json:1:14: \\u0000 is not allowed"},
        {"{\"a\": \"\xff\"}", "model.json:1:7: unable to decode byte 0xff"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct json *document = NULL;
        struct status error = {0};
        assert_int_equal(parse(rows[i].text, &document, &error), STATUS_INVALID);
        assert_null(document);
        assert_int_equal(strncmp(STATUS_SAID(&error), rows[i].message, strlen(rows[i].message)), 0);
        assert_null(strchr(STATUS_SAID(&error), '\n'));
    }
}

static void depth_is_bounded(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    char *text = malloc(DEPTH);
    assert_non_null(text);
    memset(text, '[', DEPTH);
    struct json *document = NULL;
    struct status error = {0};
    assert_int_equal(json_parse_text("deep.json", text, DEPTH, &document, &error), STATUS_INVALID);
    assert_non_null(strstr(STATUS_SAID(&error), "2048 levels"));
    free(text);
}

static void readers_do_not_convert(void **state)
{
    (void)state;
    struct json *document = NULL;
    assert_int_equal(
        parse("{\"i\": 12, \"r\": 1.5, \"s\": \"12\", \"b\": true, \"n\": null, \"l\": [1, 2]}", &document, NULL),
        STATUS_OK);
    assert_int_equal(json_integer_or(json_get(document, "i"), -1), 12);
    assert_int_equal(json_integer_or(json_get(document, "s"), -1), -1);
    assert_int_equal(json_integer_or(json_get(document, "r"), -1), -1);
    assert_int_equal(json_integer_or(json_get(document, "b"), -1), -1);
    assert_true(json_real_or(json_get(document, "i"), 0) == 12.0);
    assert_true(json_real_or(json_get(document, "r"), 0) == 1.5);
    assert_string_equal(json_string_or(json_get(document, "s"), "?"), "12");
    assert_string_equal(json_string_or(json_get(document, "absent"), "?"), "?");
    assert_true(json_boolean_or(json_get(document, "b"), false));
    assert_false(json_boolean_or(json_get(document, "i"), false));
    assert_int_equal(json_kind(json_get(document, "n")), JSON_KIND_NULL);
    assert_int_equal(json_kind(NULL), JSON_KIND_NULL);
    assert_string_equal(json_kind_name(JSON_KIND_INTEGER), "an integer");
    assert_int_equal(json_count(json_get(document, "l")), 2);
    assert_int_equal(json_count(json_get(document, "i")), 0);
    assert_null(json_at(json_get(document, "l"), 2));
    assert_null(json_get(json_get(document, "l"), "i"));
    json_release(document);
}

static void members_keep_their_order(void **state)
{
    (void)state;
    struct json *document = NULL;
    assert_int_equal(parse("{\"zeta\": 1, \"alpha\": 2, \"mu\": 3}", &document, NULL), STATUS_OK);
    assert_string_equal(json_key_at(document, 0), "zeta");
    assert_string_equal(json_key_at(document, 2), "mu");
    const char *key = json_key_after(document, NULL);
    assert_string_equal(key, "zeta");
    key = json_key_after(document, key);
    assert_string_equal(key, "alpha");
    key = json_key_after(document, key);
    assert_string_equal(key, "mu");
    assert_null(json_key_after(document, key));
    json_release(document);
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    struct json *object = json_object_new();
    struct json *list = json_array_new();
    assert_true(json_append(list, json_integer_new(INT64_MAX)));
    assert_true(json_append(list, json_integer_new(INT64_MIN)));
    assert_true(json_append(list, json_real_new(0.1)));
    assert_true(json_append(list, json_real_new(1.0 / 3.0)));
    assert_true(json_append(list, json_real_new(3)));
    assert_true(json_append(list, json_real_new((double)NAN)));
    assert_false(json_append(list, NULL));
    assert_true(json_set(object, "name", json_string_new("a\"b\\c\n\t\x01 é")));
    assert_true(json_set(object, "list", json_share(list)));
    assert_true(json_set(object, "none", json_null_new()));
    assert_true(json_set(object, "yes", json_boolean_new(true)));
    assert_true(json_set(object, "empty", json_object_new()));
    assert_false(json_set(object, "absent", NULL));
    struct text text = {0};
    assert_int_equal(json_write(object, 0, &text, NULL), STATUS_OK);
    assert_string_equal(text_string(&text),
                        "{\"name\": \"a\\\"b\\\\c\\n\\t\\u0001 é\", \"list\": [9223372036854775807, "
                        "-9223372036854775808, 0.1, 0.3333333333333333, 3.0, null], \"none\": null, "
                        "\"yes\": true, \"empty\": {}}");
    struct json *again = NULL;
    assert_int_equal(parse(text_string(&text), &again, NULL), STATUS_OK);
    assert_true(json_real_or(json_at(json_get(again, "list"), 3), 0) == 1.0 / 3.0);
    assert_string_equal(json_string_or(json_get(again, "name"), ""), "a\"b\\c\n\t\x01 é");
    text_release(&text);
    assert_int_equal(json_write(json_get(again, "list"), 2, &text, NULL), STATUS_OK);
    assert_int_equal(strncmp(text_string(&text), "[\n  9223372036854775807,\n", 24), 0);
    text_release(&text);
    json_release(again);
    json_release(object);
    json_release(list);
}

static void a_value_that_was_not_made_is_released(void **state)
{
    (void)state;
    struct json *object = json_object_new();
    bool made = json_set(object, "one", json_integer_new(1));
    assert_ptr_equal(json_made(object, made), object);
    assert_null(json_made(object, json_set(object, "two", NULL)));
    assert_false(json_set(NULL, "one", json_integer_new(1)));
    assert_false(json_append(NULL, json_integer_new(1)));
    assert_null(json_made(NULL, false));
}

static void bytes_that_are_not_utf8_are_replaced(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        const char *text;
    } rows[] = {
        {"a\xff", "a\xEF\xBF\xBD"},                               /* no first byte */
        {"\xc3", "\xEF\xBF\xBD"},                                 /* cut */
        {"\xc0\xaf", "\xEF\xBF\xBD\xEF\xBF\xBD"},                 /* overlong */
        {"\xed\xa0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, /* a surrogate */
        {"\xf4\x90\x80\x80 \xf0\x9f\x98\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD \xf0\x9f\x98\x80"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct json *value = json_string_new(rows[i].bytes);
        assert_non_null(value);
        assert_string_equal(json_string_or(value, ""), rows[i].text);
        json_release(value);
    }
}

/* People look at documents in terminals. What was escaped reads back as it was. */
static void what_acts_on_a_terminal_is_escaped(void **state)
{
    static const char name[] = "gr\xC3\xB6\xC3\x9F"
                               "e\xC2\x9B"
                               "31m\xE2\x80\xAE\x1B\n\x7F\xEF\xBB\xBF\xF0\x9F\x98\x80";
    struct json *value = json_string_new(name), *read = NULL;
    struct text text = {0};
    (void)state;
    assert_int_equal(json_write(value, 0, &text, NULL), STATUS_OK);
    assert_string_equal(text_string(&text), "\"gr\xC3\xB6\xC3\x9F"
                                            "e\\u009b31m\\u202e\\u001b\\n\\u007f\\ufeff\xF0\x9F\x98\x80\"");
    assert_int_equal(json_parse_text("text", text_string(&text), text.length, &read, NULL), STATUS_OK);
    assert_string_equal(json_string_or(read, ""), name);
    json_release(read);
    json_release(value);
    text_release(&text);
}

static void files_are_bounded_and_must_be_there(void **state)
{
    (void)state;
    char path[] = "/tmp/assay-json-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, "{\"a\": [1]}", 10), 10);
    close(file);
    struct json *document = NULL;
    struct status error = {0};
    assert_int_equal(json_parse_file(path, 10, &document, &error), STATUS_OK);
    assert_int_equal(json_integer_or(json_at(json_get(document, "a"), 0), 0), 1);
    json_release(document);
    document = NULL;
    assert_int_equal(json_parse_file(path, 9, &document, &error), STATUS_INVALID);
    assert_non_null(strstr(STATUS_SAID(&error), "larger than 9 bytes"));
    unlink(path);
    assert_int_equal(json_parse_file(path, 9, &document, &error), STATUS_IO);
    assert_null(document);
}

/* A pipe that nobody writes to would be waited for, and /dev/zero has no end. */
static void what_is_no_regular_file_is_not_read(void **state)
{
    (void)state;
    char pipe_path[] = "/tmp/assay-json-XXXXXX";
    assert_int_equal(close(mkstemp(pipe_path)), 0);
    assert_int_equal(unlink(pipe_path), 0);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    const char *const paths[] = {pipe_path, "/tmp", "/dev/zero"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct json *document = NULL;
        struct status error = {0};
        char told[256];
        snprintf(told, sizeof told,
                 "%s: is not a regular file; name a file of JSON, and save what a pipe yields as one", paths[i]);
        assert_int_equal(json_parse_file(paths[i], 100, &document, &error), STATUS_IO);
        assert_string_equal(STATUS_SAID(&error), told);
        assert_null(document);
    }
    assert_int_equal(unlink(pipe_path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_name_file_line_column_and_remedy),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(readers_do_not_convert),
        cmocka_unit_test(members_keep_their_order),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(a_value_that_was_not_made_is_released),
        cmocka_unit_test(bytes_that_are_not_utf8_are_replaced),
        cmocka_unit_test(what_acts_on_a_terminal_is_escaped),
        cmocka_unit_test(files_are_bounded_and_must_be_there),
        cmocka_unit_test(what_is_no_regular_file_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

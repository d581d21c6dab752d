/* JSON pointers: the examples of RFC 6901, section 5, and what its section 4 says of indices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/base/json_pointer.h"

static const char document_text[] =
    "{\"foo\": [\"bar\", \"baz\"], \"\": 0, \"a/b\": 1, \"c%d\": 2, \"e^f\": 3, \"g|h\": 4, "
    "\"i\\\\j\": 5, \"k\\\"l\": 6, \" \": 7, \"m~n\": 8, \"~1\": 9}";

static struct json *document_read(void)
{
    struct json *document = NULL;
    assert_int_equal(json_parse_text("rfc", document_text, strlen(document_text), &document, NULL), STATUS_OK);
    return document;
}

static void examples_of_the_rfc(void **state)
{
    (void)state;
    static const struct {
        const char *pointer;
        int64_t value;
    } rows[] = {{"/", 0},     {"/a~1b", 1}, {"/c%d", 2}, {"/e^f", 3},  {"/g|h", 4},
                {"/i\\j", 5}, {"/k\"l", 6}, {"/ ", 7},   {"/m~0n", 8}, {"/~01", 9}};
    struct json *document = document_read();
    assert_ptr_equal(json_pointer_get(document, ""), document);
    assert_int_equal(json_count(json_pointer_get(document, "/foo")), 2);
    assert_string_equal(json_string_or(json_pointer_get(document, "/foo/0"), ""), "bar");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(json_pointer_check(rows[i].pointer, NULL), STATUS_OK);
        assert_int_equal(json_integer_or(json_pointer_get(document, rows[i].pointer), -1), rows[i].value);
    }
    json_release(document);
}

static void what_leads_nowhere_is_nothing(void **state)
{
    (void)state;
    static const char *const pointers[] = {"/foo/2",
                                           "/foo/-",
                                           "/foo/01",
                                           "/foo/+1",
                                           "/foo/-1",
                                           "/foo/",
                                           "/foo/1x",
                                           "/fo",
                                           "/foo/0/0",
                                           "/a/b",
                                           "/foo/99999999999999999999"};
    struct json *document = document_read();
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
        assert_null(json_pointer_get(document, pointers[i]));
    }
    assert_null(json_pointer_get(NULL, "/foo"));
    json_release(document);
}

static void wrong_pointers_are_said_to_be(void **state)
{
    (void)state;
    struct status error;
    assert_int_equal(json_pointer_check("memory", &error), STATUS_INVALID);
    assert_string_equal(error.text, "'memory' is no JSON pointer; begin it with '/': '/memory'");
    assert_int_equal(json_pointer_check("/a~2b", &error), STATUS_INVALID);
    assert_int_equal(json_pointer_check("/a~", &error), STATUS_INVALID);
    assert_int_equal(json_pointer_check("", NULL), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_of_the_rfc),
        cmocka_unit_test(what_leads_nowhere_is_nothing),
        cmocka_unit_test(wrong_pointers_are_said_to_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A document that is written member by member: its form, and that the first fault is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/base/json_document.h"

static void members_stand_on_lines_of_their_own(void **state)
{
    struct text text = {0};
    struct json_document document = {.text = &text, .what = "the comparison", .case_count = 2};
    (void)state;
    text_append(&text, "{\n");
    json_document_member(&document, "a", json_text_or_null("x\"y"));
    json_document_member(&document, "b", json_text_or_null(NULL));
    json_document_member(&document, "c", json_text_or_null(""));
    json_document_member(&document, "d", json_bytes_or_null(0));
    json_document_member(&document, "e", json_bytes_or_null(-1));
    json_document_value(&document, "  \"f\": ", json_integer_new(2));
    assert_int_equal(document.code, STATUS_OK);
    assert_string_equal(text_string(&text), "{\n  \"a\": \"x\\\"y\",\n  \"b\": null,\n  \"c\": \"\",\n  \"d\": 0,\n"
                                            "  \"e\": null,\n  \"f\": 2");
    text_release(&text);
}

static void the_first_fault_is_kept(void **state)
{
    struct text text = {0};
    struct status error = {0};
    struct json_document document = {.text = &text, .error = &error, .what = "the comparison", .case_count = 2};
    (void)state;
    json_document_value(&document, "[", NULL);
    json_document_value(&document, ", ", json_integer_new(1));
    assert_int_equal(document.code, STATUS_OUT_OF_MEMORY);
    assert_string_equal(error.text, "no memory for the comparison of 2 cases");
    assert_string_equal(text_string(&text), "");
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_stand_on_lines_of_their_own),
        cmocka_unit_test(the_first_fault_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

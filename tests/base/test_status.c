/* Status: texts stay one printable line of bounded length, whatever is quoted in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/status.h"

static void test_control_characters(void **state)
{
    struct status error = {0};
    (void)state;
    assert_int_equal(status_set(&error, STATUS_INVALID, "%s: '%s'", "file", "a\n\r\t\033[31m\x7f größe"),
                     STATUS_INVALID);
    assert_string_equal(error.text, "file: 'a????[31m? größe'");
    status_prefix(&error, "in\n%s", "a\033");
    assert_string_equal(error.text, "in?a?: file: 'a????[31m? größe'");
    assert_int_equal(error.code, STATUS_INVALID);
}

/* U+009B begins a command of a terminal, U+202E turns the rest of the line round; neither is seen in a source. */
static void test_hidden_characters(void **state)
{
    struct status error = {0};
    char longer[STATUS_TEXT_BYTES + 8];
    (void)state;
    status_set(&error, STATUS_INVALID, "%s",
               "a\xC2\x9B"
               "31m b\xE2\x80\xAE"
               "c\xE2\x80\x8B"
               "d \x9B e\xC3");
    assert_string_equal(error.text, "a?31m b?c?d ? e?");
    memset(longer, 'x', sizeof longer);
    snprintf(longer + STATUS_TEXT_BYTES - 5, 13, "ö and more"); /* cut within a character */
    status_set(&error, STATUS_INVALID, "%s", longer);
    assert_string_equal(error.text + STATUS_TEXT_BYTES - 6, "x?...");
}

static void test_length(void **state)
{
    struct status error = {0};
    char longer[2 * STATUS_TEXT_BYTES];
    (void)state;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(status_set(&error, STATUS_IO, "%s", longer), STATUS_IO);
    assert_int_equal(strlen(error.text), STATUS_TEXT_BYTES - 1);
    assert_string_equal(error.text + STATUS_TEXT_BYTES - 5, "x...");
    assert_int_equal(status_set(NULL, STATUS_DEVICE, "%s", "nobody listens"), STATUS_DEVICE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_characters),
        cmocka_unit_test(test_hidden_characters),
        cmocka_unit_test(test_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

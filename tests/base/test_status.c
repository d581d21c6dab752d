/* Status: texts stay one printable line of bounded length, whatever is quoted in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
        cmocka_unit_test(test_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

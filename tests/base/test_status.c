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

static void assert_line(const struct status *error, const char *expected)
{
    char line[STATUS_LINE_BYTES];
    assert_string_equal(status_line(error, line), expected);
}

/* What is wrong and where are told apart, also where the path looks like a place or like a key. */
static void a_place_stands_beside_the_text(void **state)
{
    struct status error;
    (void)state;
    assert_int_equal(
        status_set_at(&error, STATUS_INVALID, (struct file_place){"cache: a:1:2: b", 3, 14}, "%s", "wrong"),
        STATUS_INVALID);
    assert_string_equal(error.path, "cache: a:1:2: b");
    assert_int_equal(error.line, 3);
    assert_int_equal(error.column, 14);
    assert_string_equal(error.text, "wrong");
    assert_line(&error, "cache: a:1:2: b:3:14: wrong");
    status_extend(&error, "; mend it in %d", 2);
    assert_int_equal(error.line, 3);
    assert_line(&error, "cache: a:1:2: b:3:14: wrong; mend it in 2");
    status_set_at(&error, STATUS_INVALID, (struct file_place){.path = error.path}, "%s", error.text);
    assert_line(&error, "cache: a:1:2: b: wrong; mend it in 2");
    status_set(&error, STATUS_INVALID, "%s", error.text);
    assert_int_equal(error.path[0], '\0');
    assert_line(&error, "wrong; mend it in 2");
}

/* A suite names a file that is wrong: both places are told, and the suite's is the place of the error. */
static void a_place_within_a_place_goes_into_the_text(void **state)
{
    struct status error, copy = {.code = STATUS_IO, .text = "other"};
    (void)state;
    status_set_at(&error, STATUS_INVALID, (struct file_place){"config.json", 1, 31}, "wrong");
    status_place(&error, (struct file_place){"suite.yaml", 5, 12});
    assert_string_equal(error.path, "suite.yaml");
    assert_int_equal(error.line, 5);
    assert_line(&error, "suite.yaml:5:12: config.json:1:31: wrong");
    assert_int_equal(status_copy(&copy, STATUS_INTERNAL, &error), STATUS_INTERNAL);
    assert_int_equal(copy.code, STATUS_INTERNAL);
    assert_line(&copy, "suite.yaml:5:12: config.json:1:31: wrong");
    status_prefix(&error, "plan");
    assert_int_equal(error.line, 0);
    assert_line(&error, "plan: suite.yaml:5:12: config.json:1:31: wrong");
    assert_int_equal(status_copy(NULL, STATUS_IO, &error), STATUS_IO);
    status_place(NULL, (struct file_place){"a", 1, 1});
    status_extend(NULL, "more");
    assert_int_equal(status_set_at(NULL, STATUS_IO, (struct file_place){"a", 1, 1}, "b"), STATUS_IO);
}

/* A path of the longest kind takes nothing from the text, and says that it is cut, between two characters. */
static void a_long_path_keeps_its_end(void **state)
{
    struct status error;
    char path[4096], line[STATUS_LINE_BYTES], text[STATUS_TEXT_BYTES];
    (void)state;
    memset(text, 't', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (size_t i = 0; i + 2 < sizeof path; i += 2) {
        snprintf(path + i, 3, "ö");
    }
    snprintf(path + sizeof path - 13, 13, "/config.json");
    status_set_at(&error, STATUS_INVALID, (struct file_place){path, 2147483647, 2147483647}, "%s", text);
    assert_int_equal(strncmp(error.path, "...ö", 5), 0);
    assert_in_range(strlen(error.path), STATUS_PATH_BYTES - 3, STATUS_PATH_BYTES - 1);
    assert_string_equal(error.path + strlen(error.path) - 12, "/config.json");
    assert_string_equal(error.text, text);
    status_line(&error, line);
    assert_string_equal(line + strlen(line) - strlen(text), text);
    path[STATUS_PATH_BYTES - 1] = '\0'; /* fits */
    path[STATUS_PATH_BYTES - 2] = 'x';
    status_set_at(&error, STATUS_INVALID, (struct file_place){path, 1, 1}, "wrong");
    assert_string_equal(error.path, path);
    status_set_at(&error, STATUS_INVALID, (struct file_place){"a\033\n", 1, 1}, "wrong");
    assert_string_equal(error.path, "a??");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_characters),
        cmocka_unit_test(test_hidden_characters),
        cmocka_unit_test(test_length),
        cmocka_unit_test(a_place_stands_beside_the_text),
        cmocka_unit_test(a_place_within_a_place_goes_into_the_text),
        cmocka_unit_test(a_long_path_keeps_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

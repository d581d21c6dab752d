/* Places of values in JSON files, and errors that are given one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/base/json_place.h"
#include "harness/base/json_pointer.h"
#include "tests/support/scratch_file.h"
#include "tests/support/status_said.h"

static void file_write(const char *text)
{
    FILE *file = fopen(scratch_file_path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void expect_place(const char *pointer, int line, int column)
{
    struct json_place place = {0};
    assert_true(json_place_find(scratch_file_path, pointer, &place));
    if (place.line != line || place.column != column) {
        fail_msg("%s: %d:%d instead of %d:%d", pointer, place.line, place.column, line, column);
    }
}

static void values_are_found(void **state)
{
    (void)state;
    file_write("{\"a\": 1,\n"
               " \"text\": \"{ [ , \\\" \\\\\", \"b\": {\"a\": [10, [2, {}], -3.5e1]},\n"
               "\t\"\xC3\xA4\": true, \"last\" : null}\n");
    expect_place("", 1, 1);
    expect_place("/a", 1, 7);
    expect_place("/text", 2, 10);
    expect_place("/b", 2, 30);
    expect_place("/b/a", 2, 36);
    expect_place("/b/a/0", 2, 37);
    expect_place("/b/a/1", 2, 41);
    expect_place("/b/a/1/1", 2, 45);
    expect_place("/b/a/2", 2, 50);
    expect_place("/\xC3\xA4", 3, 7);
    expect_place("/last", 3, 22);
}

static void keys_with_slashes_are_found(void **state)
{
    (void)state;
    struct text pointer = {0};
    file_write("{\"..\": {\"x\": 1}, \"../x\": 2, \"a~1\": 3, \"a/\": 4}");
    json_pointer_append("../x", &pointer);
    assert_string_equal(text_string(&pointer), "/..~1x");
    expect_place(text_string(&pointer), 1, 26);
    text_release(&pointer);
    json_pointer_append("a~1", &pointer);
    expect_place(text_string(&pointer), 1, 36);
    text_release(&pointer);
    expect_place("/a~1", 1, 45);
    expect_place("/../x", 1, 14);
}

static void what_is_missing_is_placed_at_its_parent(void **state)
{
    (void)state;
    file_write("\n {\"a\": [1, 2], \"b\": {}, \"c\": []}");
    expect_place("/d", 2, 2);
    expect_place("/a/2", 2, 8);
    expect_place("/b/a", 2, 21);
    expect_place("/c/0", 2, 30);
    expect_place("/a/0/x", 2, 9);
}

/* Whatever stands in the file, the walk ends. */
static void damaged_files_end_the_walk(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": [1, {\"b\": \"x\\\"y\"}, [[]], 2]}";
    for (size_t length = 0; length < sizeof text; length++) {
        char cut[sizeof text];
        snprintf(cut, length + 1, "%s", text);
        file_write(cut);
        struct json_place place = {0};
        assert_true(json_place_find(scratch_file_path, "/a/3", &place));
        assert_int_equal(place.line, 1);
        assert_in_range(place.column, 1, (int)sizeof text);
    }
}

static void assert_said(const struct status *error, const char *path, const char *rest)
{
    char expected[256];
    snprintf(expected, sizeof expected, "%s%s", path, rest);
    assert_string_equal(STATUS_SAID(error), expected);
}

static void errors_are_given_their_place(void **state)
{
    (void)state;
    struct status error;
    file_write("{\"a\": 1,\n \"b\": 0}");
    status_set(&error, STATUS_INVALID, "b: 0 is too small");
    json_place_add(scratch_file_path, "/b", &error);
    assert_said(&error, scratch_file_path, ":2:7: b: 0 is too small");
    assert_int_equal(error.code, STATUS_INVALID);
    assert_string_equal(error.text, "b: 0 is too small");
    json_place_add(scratch_file_path, "/a", &error); /* it has one now */
    assert_said(&error, scratch_file_path, ":2:7: b: 0 is too small");
    status_set_at(&error, STATUS_INVALID, (struct file_place){.path = scratch_file_path}, "b: wrong");
    json_place_add(scratch_file_path, "", &error); /* of which the line was not known */
    assert_said(&error, scratch_file_path, ":1:1: b: wrong");
    json_place_add(scratch_file_path, "/b", NULL);
}

static void errors_about_what_cannot_be_read_again_have_a_path(void **state)
{
    (void)state;
    static const char *const paths[] = {"/tmp/absent",
                                        "/dev/null"}; /* to read what is no regular file could wait for ever */
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct status error;
        status_set(&error, STATUS_INVALID, "b: wrong");
        json_place_add(paths[i], "/b", &error);
        assert_said(&error, paths[i], ": b: wrong");
        assert_int_equal(error.line, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_found),
        cmocka_unit_test(keys_with_slashes_are_found),
        cmocka_unit_test(what_is_missing_is_placed_at_its_parent),
        cmocka_unit_test(damaged_files_end_the_walk),
        cmocka_unit_test(errors_are_given_their_place),
        cmocka_unit_test(errors_about_what_cannot_be_read_again_have_a_path),
    };
    return cmocka_run_group_tests(tests, scratch_file_make, scratch_file_remove);
}

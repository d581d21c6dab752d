/* Byte sources: a file gives the bytes that are there and refuses all others, whatever is asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/byte_source.h"
#include "tests/support/memory_source.h"
#include "tests/support/scratch_file.h"

static const char content[] = "0123456789";

static void content_write(void)
{
    FILE *file = fopen(scratch_file_path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void all_reads_are_right(struct byte_source *source)
{
    for (int64_t offset = -1; offset <= 12; offset++) {
        for (size_t count = 0; count <= 12; count++) {
            char bytes[16] = "";
            struct status error = {0};
            bool inside = offset >= 0 && offset + (int64_t)count <= 10;
            enum status_code code = byte_source_read(source, offset, bytes, count, &error);
            assert_int_equal(code, inside ? STATUS_OK : STATUS_INVALID);
            if (inside) {
                assert_memory_equal(bytes, &content[offset], count);
            } else {
                assert_memory_equal(bytes, (char[16]){0}, sizeof bytes);
            }
        }
    }
    assert_int_equal(byte_source_read(source, INT64_MAX, NULL, SIZE_MAX, NULL), STATUS_INVALID);
    assert_int_equal(byte_source_read(source, 1, NULL, SIZE_MAX, NULL), STATUS_INVALID);
    assert_int_equal(byte_source_read(source, INT64_MIN, NULL, 1, NULL), STATUS_INVALID);
}

static void test_file(void **state)
{
    struct byte_source *source = NULL;
    struct status error = {0};
    char expected[256], bytes[4];
    (void)state;
    content_write();
    assert_int_equal(file_source_open(scratch_file_path, &source, &error), STATUS_OK);
    assert_string_equal(source->name, scratch_file_path);
    assert_int_equal(source->size_bytes, 10);
    all_reads_are_right(source);
    assert_int_equal(byte_source_read(source, 8, bytes, 4, &error), STATUS_INVALID);
    snprintf(expected, sizeof expected,
             "%s: 4 bytes at byte 8 are wanted, but it ends at byte 10; it is cut short, or not the file that is meant",
             scratch_file_path);
    assert_string_equal(error.text, expected);
    assert_int_equal(truncate(scratch_file_path, 9), 0);
    assert_int_equal(byte_source_read(source, 6, bytes, 4, &error), STATUS_IO);
    snprintf(expected, sizeof expected, "%s: cannot be read at byte 9: it has become shorter", scratch_file_path);
    assert_string_equal(error.text, expected);
    byte_source_release(source);
}

static void test_memory(void **state)
{
    (void)state;
    struct byte_source *source = memory_source_new("memory", content, 10);
    assert_non_null(source);
    all_reads_are_right(source);
    byte_source_release(source);
    byte_source_release(NULL);
}

static void test_refused(void **state)
{
    struct byte_source *source = NULL;
    struct status error = {0};
    char expected[256];
    (void)state;
    assert_int_equal(file_source_open("/nowhere/file", &source, &error), STATUS_IO);
    assert_string_equal(error.text, "/nowhere/file: cannot be opened: No such file or directory");
    assert_int_equal(file_source_open("/tmp", &source, &error), STATUS_IO);
    assert_string_equal(error.text, "/tmp: is not a regular file");
    assert_int_equal(unlink(scratch_file_path), 0);
    assert_int_equal(mkfifo(scratch_file_path, 0600), 0);
    assert_int_equal(file_source_open(scratch_file_path, &source, &error), STATUS_IO);
    snprintf(expected, sizeof expected, "%s: is not a regular file", scratch_file_path);
    assert_string_equal(error.text, expected);
    assert_int_equal(file_source_open("/dev/zero", &source, &error), STATUS_IO);
    assert_string_equal(error.text, "/dev/zero: is not a regular file");
    assert_null(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, scratch_file_make, scratch_file_remove);
}

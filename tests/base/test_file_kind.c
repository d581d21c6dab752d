/* What files are by their first bytes, and that JSON is nothing of the kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file_kind.h"
#include "harness/base/json.h"
#include "tests/support/status_said.h"

struct row {
    const char *bytes;
    size_t length;
    const char *words;
};

#define ROW(bytes, words)                                                                                              \
    {                                                                                                                  \
        bytes, sizeof(bytes) - 1, words                                                                                \
    }

static const struct row ROWS[] = {
    ROW("\x1f\x8b\x08", "compressed with gzip"),
    ROW("\x28\xb5\x2f\xfd\x24", "compressed with zstd"),
    ROW("PK\x03\x04", "a zip archive"),
    ROW("\xff\xfe{\0", "text in UTF-16"),
    ROW("{\0\"\0", "text in UTF-16"),
    ROW("\0{\0\"", "text in UTF-16"),
    ROW("\x89PNG\r\n\x1a\n", "a PNG picture"),
    ROW("\xef\xbb\xbf\n<!DOCTYPE HTML>", "an HTML page"),
    ROW("<?xml version=\"1.0\"?>", "XML, as JUnit reports and SVG pictures are"),
    ROW("version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS and not the file itself"),
    ROW("\x40\0\0\0\0\0\0\0{\"a\":", "a model in safetensors"),
    ROW("{\"a\": \0 }", NULL),
    ROW("{\"a\": 1}", NULL),
    ROW("[]", NULL),
    ROW("<", NULL),
    ROW("", NULL),
    ROW("name: quick\n", NULL),
};

/* In memory of exactly that size, so that a sanitizer sees what is read beyond it. */
static void kinds_are_told_by_their_first_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        char *bytes = malloc(ROWS[i].length + 1);
        assert_non_null(bytes);
        bytes = realloc(bytes, ROWS[i].length > 0 ? ROWS[i].length : 1);
        assert_non_null(bytes);
        memcpy(bytes, ROWS[i].bytes, ROWS[i].length);
        const struct file_kind *kind = file_kind_of(bytes, ROWS[i].length);
        assert_true((kind == NULL) == (ROWS[i].words == NULL));
        if (kind != NULL) {
            assert_string_equal(kind->words, ROWS[i].words);
        }
        free(bytes);
    }
}

static void a_reader_of_json_says_what_it_was_given(void **state)
{
    (void)state;
    struct json *document = NULL;
    struct status error;
    assert_int_equal(json_parse_text("config.json", "\x1f\x8b\x08\0", 4, &document, &error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&error),
                        "config.json:1:1: this is no JSON: it is compressed with gzip; unpack it first, with "
                        "gunzip");
    assert_int_equal(json_parse_text("config.json", "<html>", 6, &document, &error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&error), "config.json:1:1: this is no JSON: it is an HTML page; name another file");
}

static void a_byte_order_mark_is_passed_over(void **state)
{
    (void)state;
    static const char text[] = "\xef\xbb\xbf{\"a\": 1}";
    struct json *document = NULL;
    assert_int_equal(json_parse_text("a.json", text, sizeof text - 1, &document, NULL), STATUS_OK);
    assert_int_equal(json_integer_or(json_get(document, "a"), 0), 1);
    json_release(document);
    struct status error;
    assert_int_equal(json_parse_text("a.json", "\xef\xbb\xbf{x", 5, &document, &error), STATUS_INVALID);
    assert_int_equal(strncmp(STATUS_SAID(&error), "a.json:1:2: ", 12), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_told_by_their_first_bytes),
        cmocka_unit_test(a_reader_of_json_says_what_it_was_given),
        cmocka_unit_test(a_byte_order_mark_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* JSON as Python writes it. What is read and what is not is what json.loads of Python 3.11 does with each text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "harness/base/json.h"
#include "harness/base/json_python.h"
#include "tests/support/scratch_file.h"
#include "tests/support/status_said.h"

enum { BYTES_MAXIMUM = 1 << 22 };

static enum status_code text_parse(const char *text, size_t length, struct json **document, struct status *error)
{
    FILE *file = fopen(scratch_file_path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return json_parse_python_file(scratch_file_path, BYTES_MAXIMUM, document, error);
}

static struct json *document_of(const char *text)
{
    struct json *document = NULL;
    struct status error = {0};
    if (text_parse(text, strlen(text), &document, &error) != STATUS_OK) {
        fail_msg("%s: %s", text, STATUS_SAID(&error));
    }
    return document;
}

static double number_of(const struct json *value)
{
    assert_int_equal(json_kind(value), JSON_KIND_REAL);
    return json_python_number(json_real_or(value, 0));
}

static void words_are_numbers(void **state)
{
    (void)state;
    struct json *document =
        document_of("{\"a\": [0.5, Infinity , -Infinity\n], \"a\\\"b\": NaN, \"c\": \"NaN, Infinity\"}");
    const struct json *list = json_get(document, "a");
    assert_true(number_of(json_at(list, 0)) == 0.5);
    assert_true(number_of(json_at(list, 1)) == INFINITY);
    assert_true(number_of(json_at(list, 2)) == -INFINITY);
    assert_true(isnan(number_of(json_get(document, "a\"b"))));
    assert_string_equal(json_string_or(json_get(document, "c"), ""), "NaN, Infinity");
    /* who does not ask json_python_number meets no infinity: it would not be JSON again */
    assert_true(isfinite(json_real_or(json_at(list, 1), NAN)) && isfinite(json_real_or(json_at(list, 2), NAN)));
    struct text written = {0};
    assert_int_equal(json_write(document, 0, &written, NULL), STATUS_OK);
    struct json *again = NULL;
    assert_int_equal(json_parse_text("again", text_string(&written), written.length, &again, NULL), STATUS_OK);
    assert_true(isnan(number_of(json_get(again, "a\"b"))));
    json_release(again);
    text_release(&written);
    json_release(document);
    document = document_of("NaN");
    assert_true(isnan(number_of(document)));
    json_release(document);
}

static void other_faults_keep_their_place(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"[nan]", ":1:4: invalid token near 'nan'"},
        {"[-NaN]", ":1:2: invalid token near '-'"},
        {"{NaN: 1}", ":1:4: string or '}' expected near 'NaN'"},
        {"[NaNx]", ":1:5: invalid token near 'NaNx'"},
        {"[1 NaN]", ":1:6: ']' expected near 'NaN'"},
        {"[- Infinity]", ":1:2: invalid token near '-'"},
        {"{\"a\": NaN, \"b\": -Infinity, \"c\": 1e}", ":1:34: invalid token near '1e'"},
        {"{\"a\": Infinity,\n \"b\": NaN,, 1}", ":2:11: string or '}' expected near ','"},
        {"{\"a\": NaN, \"a\": 1}", ":1:14: duplicate object key"},
        {"{\"a\": \"NaN", ":1:10: premature end of input"},
        {"{\"a\": NaN", ":1:9: '}' expected near end of file"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct json *document = NULL;
        struct status error = {0};
        assert_int_equal(text_parse(rows[i].text, strlen(rows[i].text), &document, &error), STATUS_INVALID);
        assert_null(document);
        const char *said = STATUS_SAID(&error) + strlen(scratch_file_path);
        if (strncmp(said, rows[i].message, strlen(rows[i].message)) != 0) {
            fail_msg("%s: %s, not %s", rows[i].text, said, rows[i].message);
        }
    }
}

/* 1,048,575 words of four characters: memory is a few times the file, and the time is linear. */
static void many_words_are_read(void **state)
{
    char *text = malloc(BYTES_MAXIMUM);
    struct json *document = NULL;
    size_t length = 0;
    (void)state;
    assert_non_null(text);
    text[length++] = '[';
    while (length + 5 < BYTES_MAXIMUM) {
        memcpy(text + length, "NaN,", 4);
        length += 4;
    }
    memcpy(text + length, "0]", 2);
    assert_int_equal(text_parse(text, length + 2, &document, NULL), STATUS_OK);
    assert_true(json_count(document) == (length - 1) / 4 + 1);
    json_release(document);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_numbers),
        cmocka_unit_test(other_faults_keep_their_place),
        cmocka_unit_test(many_words_are_read),
    };
    return cmocka_run_group_tests(tests, scratch_file_make, scratch_file_remove);
}

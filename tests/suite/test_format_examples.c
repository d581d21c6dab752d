/* The examples of docs/FORMAT.md are what they say they are: suites that expand, record lines that pass the check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record/record.h"
#include "harness/suite/suite.h"

enum { DOCUMENT_BYTES_MAXIMUM = 256 * 1024 };

static int document_read(void **state)
{
    FILE *file = fopen("docs/FORMAT.md", "rb");
    char *text = calloc(1, DOCUMENT_BYTES_MAXIMUM);
    if (file == NULL || text == NULL) {
        return -1;
    }
    size_t length = fread(text, 1, DOCUMENT_BYTES_MAXIMUM - 1, file);
    fclose(file);
    *state = text;
    return length > 0 ? 0 : -1;
}

static int document_release(void **state)
{
    free(*state);
    return 0;
}

/* The next block that is fenced with ``` and the word; its length, or 0 after the last one. */
static size_t block_next(const char **cursor, const char *word, const char **block)
{
    char fence[16];
    snprintf(fence, sizeof fence, "\n```%s\n", word);
    const char *start = strstr(*cursor, fence);
    const char *end = start != NULL ? strstr(start + strlen(fence), "\n```\n") : NULL;
    if (end == NULL) {
        return 0;
    }
    *block = start + strlen(fence);
    *cursor = end;
    return (size_t)(end + 1 - *block);
}

static void suites_of_the_document_expand(void **state)
{
    const char *cursor = *state, *block = NULL;
    size_t length = block_next(&cursor, "yaml", &block);
    assert_true(length > 0);
    struct suite suite;
    struct status error;
    if (suite_read_text("FORMAT.md", block, length, "models/catalogue", &suite, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(suite.case_count, 2 + 8 - 1 - 2 + 1);
    assert_string_equal(suite.cases[suite.case_count - 1].id, "bert-base-cased/infer/float32/b64/s32");
    suite_release(&suite);
    assert_int_equal(block_next(&cursor, "yaml", &block), 0);
}

static void lines_of_the_document_are_records(void **state)
{
    static const char *const types[] = {"run", "selected", "case", "end"};
    const char *cursor = *state, *block = NULL;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t length = block_next(&cursor, "json", &block);
        struct json *line = NULL;
        struct status error;
        assert_true(length > 0);
        assert_int_equal(json_parse_text("FORMAT.md", block, length, &line, &error), STATUS_OK);
        assert_string_equal(json_string_or(json_get(line, "type"), ""), types[i]);
        if (record_line_check(line, &error) != STATUS_OK) {
            fail_msg("%s", error.text);
        }
        json_release(line);
    }
    assert_int_equal(block_next(&cursor, "json", &block), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suites_of_the_document_expand),
        cmocka_unit_test(lines_of_the_document_are_records),
    };
    return cmocka_run_group_tests(tests, document_read, document_release);
}

/* Searches and decisions against the real find_executable_batch_size: peers/placement/batch_size-*.jsonl has the
 * batches that it tried and the errors that it takes for out of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "harness/question/batch_cause.h"
#include "harness/question/batch_search.h"
#include "tests/support/whole_file.h"

static const char path[] = "peers/placement/batch_size-torch-2.11.0-accelerate-1.15.0.jsonl";

/* How many of its lines are of this type; check is called with each. */
static int lines_each(const char *type, void (*check)(const struct json *line))
{
    char *whole = whole_file_read(path);
    int count = 0;
    for (char *line = whole; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        struct json *document = NULL;
        assert_int_equal(json_parse_text(path, line, length, &document, NULL), STATUS_OK);
        if (strcmp(json_string_or(json_get(document, "type"), ""), type) == 0) {
            check(document);
            count++;
        }
        json_release(document);
        line += length + (line[length] == '\n');
    }
    free(whole);
    return count;
}

static void search_check(const struct json *line)
{
    const struct json *tries = json_get(line, "tries");
    bool halves = strcmp(json_string_or(json_get(line, "policy"), ""), "halve") == 0;
    int64_t limit = json_integer_or(json_get(line, "limit"), -1);
    struct batch_search search =
        batch_search_begin(halves ? BATCH_HALVE : BATCH_NINE_TENTHS, json_integer_or(json_get(line, "start"), -1));
    size_t count = 0;
    for (; search.batch > 0; count++) {
        assert_int_equal(search.batch, json_integer_or(json_at(tries, count), -1));
        batch_search_tell(&search, search.batch <= limit);
    }
    assert_int_equal(count, json_count(tries));
    assert_int_equal(search.found, json_integer_or(json_get(line, "result"), 0));
    assert_string_equal(json_string_or(json_get(line, "error"), ""), search.found > 0 ? "" : batch_zero_text);
}

static void the_batches_are_the_originals(void **state)
{
    (void)state;
    assert_int_equal(lines_each("search", search_check), 294);
}

static int sources_seen;

/* An error that is one of ours has our class and our text, so that what is decided of it is what was decided of the
 * real one. */
static void source_check(const char *name, const char *class, const char *text)
{
    for (int i = 0; i < REFUSAL_SOURCE_COUNT; i++) {
        const struct batch_exception *exception = batch_exception_of((enum refusal_source)i);
        if (strcmp(refusal_source_name((enum refusal_source)i), name) != 0) {
            continue;
        }
        sources_seen++;
        assert_string_equal(exception->type, class);
        assert_int_equal(exception->text != NULL, text != NULL);
        if (text != NULL) {
            assert_string_equal(exception->text, text);
        }
    }
}

static void error_check(const struct json *line)
{
    const char *class = json_string_or(json_get(line, "class"), ""),
               *text = json_string_or(json_get(line, "text"), NULL);
    const char *name = json_string_or(json_get(line, "name"), "");
    bool has_one = json_integer_or(json_get(line, "arguments"), -1) == 1;
    bool reduces = json_boolean_or(json_get(line, "reduces"), false);
    if (accelerate_reduces(class, has_one ? text : NULL) != reduces) {
        fail_msg("%s: accelerate %s", name, reduces ? "reduces" : "raises");
    }
    source_check(name, class, text);
}

/* All sources but those that kill the process: machine, cgroup and killed. */
static void the_errors_are_the_originals(void **state)
{
    (void)state;
    sources_seen = 0;
    assert_int_equal(lines_each("error", error_check), 21);
    assert_int_equal(sources_seen, REFUSAL_SOURCE_COUNT - 3);
    assert_null(batch_exception_of(REFUSAL_MACHINE)->type);
    assert_null(batch_exception_of(REFUSAL_CGROUP)->type);
    assert_null(batch_exception_of(REFUSAL_KILLED)->type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_batches_are_the_originals),
        cmocka_unit_test(the_errors_are_the_originals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

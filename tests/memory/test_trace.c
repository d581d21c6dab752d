/* Traces: the vectors to the byte, and the exact words for what is wrong with a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/memory/trace.h"
#include "tests/support/status_said.h"

static struct trace_result replayed(const struct trace *trace, enum allocator_policy policy)
{
    struct trace_result result = {0};
    struct status error = {0};
    if (trace_replay(trace, policy, &result, &error) != STATUS_OK) {
        fail_msg("%s", STATUS_SAID(&error));
    }
    return result;
}

static struct trace parsed(const char *text)
{
    struct json *document = NULL;
    struct trace trace = {0};
    struct status error = {0};
    assert_int_equal(json_parse_text("t.json", text, strlen(text), &document, NULL), STATUS_OK);
    if (trace_from_json("t.json", document, TRACE_DEVICE_ONLY, &trace, &error) != STATUS_OK) {
        fail_msg("%s", STATUS_SAID(&error));
    }
    json_release(document);
    return trace;
}

static void traces_match_the_vectors(void **state)
{
    (void)state;
    struct json *document = NULL;
    assert_int_equal(json_parse_file("tests/memory/vectors/traces.json", 1 << 20, &document, NULL), STATUS_OK);
    const struct json *list = json_get(document, "traces");
    assert_int_equal(json_count(list), 3);
    for (size_t i = 0; i < json_count(list); i++) {
        const struct json *row = json_at(list, i);
        const struct json *expect = json_get(row, "expect");
        char path[256];
        struct trace trace;
        snprintf(path, sizeof path, "tests/memory/vectors/traces/%s.json", json_string_or(json_get(row, "name"), ""));
        assert_int_equal(trace_read(path, TRACE_DEVICE_ONLY, &trace, NULL), STATUS_OK);
        struct trace_result result = replayed(&trace, ALLOCATOR_CACHING);
        struct json *printed = trace_result_to_json(&result);
        assert_int_equal(json_count(expect), 6);
        assert_int_equal(json_count(printed), 6);
        for (const char *key = json_key_after(expect, NULL); key != NULL; key = json_key_after(expect, key)) {
            assert_int_equal(json_integer_or(json_get(printed, key), -1), json_integer_or(json_get(expect, key), -2));
        }
        json_release(printed);
        trace_release(&trace);
    }
    json_release(document);
}

static void zero_bytes_make_an_id_live_and_take_nothing(void **state)
{
    (void)state;
    struct trace trace = parsed("{\"events\": [[\"malloc\", 7, 0], [\"free\", 7], [\"malloc\", 7, 0]]}");
    struct trace_result result = replayed(&trace, ALLOCATOR_CACHING);
    assert_int_equal(trace.slot_count, 1);
    assert_int_equal(result.allocated_bytes, 0);
    assert_int_equal(result.reserved_bytes, 0);
    assert_int_equal(result.segment_count, 0);
    trace_release(&trace);
}

static void ids_may_be_any_integers_and_come_again(void **state)
{
    (void)state;
    struct trace trace = parsed("{\"events\": [[\"malloc\", 9223372036854775807, 700], [\"malloc\", -5, 100],"
                                "[\"free\", 9223372036854775807], [\"malloc\", 9223372036854775807, 300]]}");
    struct trace_result result = replayed(&trace, ALLOCATOR_CACHING);
    assert_int_equal(trace.slot_count, 2);
    assert_int_equal(result.requested_bytes, 400);
    assert_int_equal(result.requested_bytes_peak, 800);
    assert_int_equal(result.allocated_bytes, 1024);
    assert_int_equal(result.allocated_bytes_peak, 1536);
    assert_int_equal(result.segment_count, 1);
    result = replayed(&trace, ALLOCATOR_PLAIN);
    assert_int_equal(result.allocated_bytes, 400);
    assert_int_equal(result.reserved_bytes, 400);
    assert_int_equal(result.segment_count, 2);
    trace_release(&trace);
}

static void no_events_are_a_trace(void **state)
{
    (void)state;
    struct trace trace = parsed("{\"events\": []}");
    assert_int_equal(replayed(&trace, ALLOCATOR_CACHING).reserved_bytes, 0);
    trace_release(&trace);
}

static void wrong_traces_say_where_and_why(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[]", "t.json: it is an array; write {\"events\": [...]}"},
        {"{}", "t.json: \"events\" is missing; write a list of events"},
        {"{\"events\": 3}", "t.json: \"events\" is an integer; write a list of events"},
        {"{\"events\": [], \"event\": []}",
         "t.json: unknown key 'event'; a trace has only \"events\", and \"about\" for people"},
        {"{\"events\": [[\"malloc\", 1, 5], 3]}",
         "t.json: event 2: it is an integer; write [\"malloc\", id, bytes] or [\"free\", id]"},
        {"{\"events\": [[]]}",
         "t.json: event 1: it does not begin with \"malloc\", \"free\", \"segment\", \"segment_free\", \"reset_peaks\" "
         "or \"counters\"; write [\"malloc\", id, bytes] or [\"free\", id]"},
        {"{\"events\": [[\"alloc\", 1, 5]]}",
         "t.json: event 1: it does not begin with \"malloc\", \"free\", \"segment\", \"segment_free\", \"reset_peaks\" "
         "or \"counters\"; write [\"malloc\", id, bytes] or [\"free\", id]"},
        {"{\"events\": [[\"malloc\", 1]]}",
         "t.json: event 1: a malloc of 2 elements; write [\"malloc\", id, bytes] or [\"free\", id]"},
        {"{\"events\": [[\"free\", 1, 2]]}",
         "t.json: event 1: a free of 3 elements; write [\"malloc\", id, bytes] or [\"free\", id]"},
        {"{\"events\": [[\"malloc\", \"a\", 5]]}", "t.json: event 1: the id is a string; write an integer"},
        {"{\"events\": [[\"malloc\", 1, 5.5]]}", "t.json: event 1: the size is a real number; write an integer"},
        {"{\"events\": [[\"malloc\", 1, -5]]}", "t.json: event 1: malloc of -5 bytes; write 0 or more"},
        {"{\"events\": [[\"malloc\", 1, 5], [\"malloc\", 1, 5]]}",
         "t.json: event 2: malloc of id 1, which is live; free it first"},
        {"{\"events\": [[\"malloc\", 1, 5], [\"free\", 2]]}",
         "t.json: event 2: free of id 2, which is not live; remove it"},
        {"{\"events\": [[\"malloc\", 1, 0], [\"free\", 1], [\"free\", 1]]}",
         "t.json: event 3: free of id 1, which is not live; remove it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json *document = NULL;
        struct trace trace = {.slot_count = 77};
        struct status error = {0};
        assert_int_equal(json_parse_text("t.json", cases[i].text, strlen(cases[i].text), &document, NULL), STATUS_OK);
        assert_int_equal(trace_from_json("t.json", document, TRACE_DEVICE_ONLY, &trace, &error), STATUS_INVALID);
        assert_string_equal(STATUS_SAID(&error), cases[i].message);
        assert_int_equal(trace.slot_count, 77);
        json_release(document);
    }
}

static void sizes_that_overflow_name_the_event(void **state)
{
    (void)state;
    struct trace trace =
        parsed("{\"events\": [[\"malloc\", 1, 4611686018427387904], [\"malloc\", 2, 4611686018427387904]]}");
    struct trace_result result = {.segment_count = 77};
    struct status error = {0};
    assert_int_equal(trace_replay(&trace, ALLOCATOR_CACHING, &result, &error), STATUS_OVERFLOW);
    assert_string_equal(STATUS_SAID(&error), "t.json: event 2: all segments together exceed 63 bits");
    assert_int_equal(result.segment_count, 77);
    trace_release(&trace);
}

static void files_that_are_no_json_or_not_there_are_errors(void **state)
{
    (void)state;
    struct trace trace;
    struct status error = {0};
    assert_int_equal(trace_read("tests/memory/vectors/absent.json", TRACE_DEVICE_ONLY, &trace, &error), STATUS_IO);
    assert_non_null(strstr(STATUS_SAID(&error), "tests/memory/vectors/absent.json"));
    char path[] = "/tmp/assay-trace-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    static const char cut[] = "{\"events\": [[\"malloc\", 1, 5],";
    assert_int_equal(write(file, cut, sizeof cut - 1), sizeof cut - 1);
    close(file);
    assert_int_equal(trace_read(path, TRACE_DEVICE_ONLY, &trace, &error), STATUS_INVALID);
    assert_non_null(strstr(STATUS_SAID(&error), ":1:"));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traces_match_the_vectors),
        cmocka_unit_test(zero_bytes_make_an_id_live_and_take_nothing),
        cmocka_unit_test(ids_may_be_any_integers_and_come_again),
        cmocka_unit_test(no_events_are_a_trace),
        cmocka_unit_test(wrong_traces_say_where_and_why),
        cmocka_unit_test(sizes_that_overflow_name_the_event),
        cmocka_unit_test(files_that_are_no_json_or_not_there_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

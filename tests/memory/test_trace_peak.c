/* Which sizes were alive at the peak of a recorded history: worked by hand, and against the replay's own sum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "harness/memory/trace_peak.h"

static void trace_of(const char *events, struct trace *trace)
{
    struct json *document = NULL;
    struct status error = {0};
    if (json_parse_text("a trace", events, strlen(events), &document, &error) != STATUS_OK ||
        trace_from_json("a trace", document, TRACE_DEVICE_ONLY, trace, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    json_release(document);
}

static void row_is(const struct trace_peak *peak, size_t index, int64_t count, int64_t bytes)
{
    assert_true(index < peak->row_count);
    assert_int_equal(peak->rows[index].count, count);
    assert_int_equal(peak->rows[index].bytes, bytes);
}

static void the_worked_example_holds(void **state)
{
    (void)state;
    struct trace trace;
    struct trace_peak peak;
    trace_of("{\"events\": [[\"malloc\", 1, 700], [\"malloc\", 2, 700], [\"free\", 1], [\"malloc\", 3, 4096]]}",
             &trace);
    assert_int_equal(trace_peak_find(&trace, NULL, &peak, NULL), STATUS_OK);
    assert_int_equal(peak.requested_bytes, 4796);
    assert_int_equal(peak.row_count, 2);
    row_is(&peak, 0, 1, 4096);
    row_is(&peak, 1, 1, 700);
    trace_peak_release(&peak);
    trace_release(&trace);
}

/* A stage begins with the reset of the peaks; of two of one name the last counts. */
static void stages_are_looked_at_by_themselves(void **state)
{
    (void)state;
    struct trace trace;
    struct trace_peak peak;
    struct status error = {0};
    trace_of(
        "{\"events\": [[\"malloc\", 1, 9000], [\"counters\", {\"stage\": \"load\"}], [\"free\", 1], [\"reset_peaks\"],"
        "[\"malloc\", 2, 50], [\"counters\", {\"stage\": \"forward\"}], [\"reset_peaks\"],"
        "[\"malloc\", 3, 20], [\"malloc\", 1, 20], [\"free\", 3], [\"counters\", {\"stage\": \"forward\"}]]}",
        &trace);
    assert_int_equal(trace_peak_find(&trace, "forward", &peak, NULL), STATUS_OK);
    assert_int_equal(peak.requested_bytes, 90);
    row_is(&peak, 0, 1, 50);
    row_is(&peak, 1, 2, 20);
    trace_peak_release(&peak);
    assert_int_equal(trace_peak_find(&trace, "load", &peak, NULL), STATUS_OK);
    row_is(&peak, 0, 1, 9000);
    trace_peak_release(&peak);
    assert_int_equal(trace_peak_find(&trace, NULL, &peak, NULL), STATUS_OK);
    assert_int_equal(peak.requested_bytes, 9000);
    trace_peak_release(&peak);
    assert_int_equal(trace_peak_find(&trace, "step", &peak, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "step"));
    trace_release(&trace);
}

static void nothing_is_alive_in_an_empty_trace(void **state)
{
    (void)state;
    struct trace trace;
    struct trace_peak peak;
    trace_of("{\"events\": []}", &trace);
    assert_int_equal(trace_peak_find(&trace, NULL, &peak, NULL), STATUS_OK);
    assert_int_equal(peak.requested_bytes, 0);
    assert_int_equal(peak.row_count, 0);
    trace_peak_release(&peak);
    trace_release(&trace);
}

static void the_sum_is_the_replays_peak(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int round = 0; round < 20; round++) {
        enum { IDS = 40, EVENTS = 300 };
        bool live[IDS] = {false};
        struct text text = {0};
        struct trace trace;
        struct trace_result result;
        struct trace_peak peak;
        text_append(&text, "{\"events\": [[\"malloc\", 1000, 1]");
        for (int i = 0; i < EVENTS; i++) {
            int id = rand_r(&seed) % IDS;
            text_format(&text, live[id] ? ", [\"free\", %d]" : ", [\"malloc\", %d, %d]", id,
                        1 + 512 * (rand_r(&seed) % 9));
            live[id] = !live[id];
        }
        text_append(&text, "]}");
        trace_of(text_string(&text), &trace);
        assert_int_equal(trace_replay(&trace, ALLOCATOR_CACHING, &result, NULL), STATUS_OK);
        assert_int_equal(trace_peak_find(&trace, NULL, &peak, NULL), STATUS_OK);
        int64_t sum = 0;
        for (size_t i = 0; i < peak.row_count; i++) {
            sum += peak.rows[i].bytes * peak.rows[i].count;
        }
        assert_int_equal(sum, result.requested_bytes_peak);
        assert_int_equal(sum, peak.requested_bytes);
        trace_peak_release(&peak);
        trace_release(&trace);
        text_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worked_example_holds),
        cmocka_unit_test(stages_are_looked_at_by_themselves),
        cmocka_unit_test(nothing_is_alive_in_an_empty_trace),
        cmocka_unit_test(the_sum_is_the_replays_peak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

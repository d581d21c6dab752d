/* The replay beside PyTorch's record: a scenario worked by hand in both forms, and then with one thing in it wrong,
 * which must be told with its event. vectors/README.md derives the addresses and figures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/memory/record_text.h"
#include "tests/support/whole_file.h"

static const char events_path[] = "tests/memory/vectors/record-events.json";
static const char snapshot_path[] = "tests/memory/vectors/record-snapshot.json";

struct wrong_record {
    const char *find, *replace;
    size_t event; /* what must be told */
    const char *pytorch, *assay;
    int64_t figures, placements, segments; /* how many are then unequal */
};

static struct trace_comparison compared(const struct trace *trace, struct trace_result *result)
{
    struct trace_comparison comparison = {0};
    struct status error = {0};
    if (trace_compare(trace, result, &comparison, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return comparison;
}

static struct trace parsed(const char *text)
{
    struct trace trace = {0};
    struct status error = {0};
    if (record_text_parse(text, TRACE_DEVICE_ONLY, &trace, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return trace;
}

static void expect_equal(const char *path, int64_t figure_count)
{
    struct trace trace;
    struct trace_result result;
    assert_int_equal(trace_read(path, TRACE_DEVICE_ONLY, &trace, NULL), STATUS_OK);
    assert_true(trace_has_record(&trace));
    struct trace_comparison comparison = compared(&trace, &result);
    assert_string_equal(comparison.first_assay, "");
    assert_true(trace_comparison_is_equal(&comparison));
    assert_int_equal(comparison.first_event, 0);
    assert_int_equal(comparison.figures.count, figure_count);
    assert_int_equal(comparison.placements.count, 11);
    assert_int_equal(comparison.segments.count, 8);
    assert_int_equal(result.requested_bytes, 34 << 20);
    assert_int_equal(result.allocated_bytes, 35 << 20);
    assert_int_equal(result.reserved_bytes, 40 << 20);
    assert_int_equal(result.segment_count, 2);
    trace_comparison_release(&comparison);
    trace_release(&trace);
}

static void the_scenario_equals_the_record_in_both_forms(void **state)
{
    (void)state;
    expect_equal(events_path, 24);
    expect_equal(snapshot_path, 3);
}

/* Recorded by others on their GPUs; vectors/README.md says by whom. Every address is that of PyTorch. */
static void published_histories_are_placed_as_pytorch_placed_them(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int64_t placements, segments, allocated_bytes;
    } rows[] = {
        {"tests/memory/vectors/published/linear-forward.json", 12, 7, 3234779136},
        {"tests/memory/vectors/published/attention-backward.json", 36, 9, 31719936},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct trace trace;
        struct trace_result result;
        assert_int_equal(trace_read(rows[i].path, TRACE_DEVICE_ONLY, &trace, NULL), STATUS_OK);
        struct trace_comparison comparison = compared(&trace, &result);
        assert_string_equal(comparison.first_assay, "");
        assert_true(trace_comparison_is_equal(&comparison));
        assert_int_equal(comparison.placements.count, rows[i].placements);
        assert_int_equal(comparison.segments.count, rows[i].segments);
        assert_int_equal(comparison.figures.count, 3);
        assert_int_equal(result.allocated_bytes, rows[i].allocated_bytes);
        trace_comparison_release(&comparison);
        trace_release(&trace);
    }
}

static void expect_told(const char *path, const struct wrong_record *rows, size_t count)
{
    char *text = whole_file_read(path);
    for (size_t i = 0; i < count; i++) {
        char *wrong = record_text_exchange(text, rows[i].find, rows[i].replace);
        struct trace trace = parsed(wrong);
        struct trace_result result;
        struct trace_comparison comparison = compared(&trace, &result);
        if (comparison.first_event != rows[i].event) {
            print_error("row %zu\n", i);
        }
        assert_string_equal(comparison.first_pytorch, rows[i].pytorch);
        assert_string_equal(comparison.first_assay, rows[i].assay);
        assert_int_equal(comparison.first_event, rows[i].event);
        assert_int_equal(comparison.figures.unequal_count, rows[i].figures);
        assert_int_equal(comparison.placements.unequal_count, rows[i].placements);
        assert_int_equal(comparison.segments.unequal_count, rows[i].segments);
        assert_false(trace_comparison_is_equal(&comparison));
        trace_comparison_release(&comparison);
        trace_release(&trace);
        free(wrong);
    }
    free(text);
}

static void one_wrong_number_among_events_is_told(void **state)
{
    (void)state;
    static const struct wrong_record rows[] = {
        /* a block elsewhere: the tie of two free blocks goes to the segment that was taken first */
        {"  [\"malloc\", 0, 4718592],", "  [\"malloc\", 67108864, 4718592],", 13, "placed 4718592 bytes at 67108864",
         "placed them at 0", 0, 1, 0},
        /* half a unit more: the block behind it moves */
        {"[\"malloc\", 134217728, 700]", "[\"malloc\", 134217728, 1025]", 18, "placed 1 bytes at 134218752",
         "placed them at 134219264", 6, 1, 0},
        /* a larger segment: what is behind the blocks is not known, but reserved is */
        {"[\"segment\", 268435456, 41943040]", "[\"segment\", 268435456, 44040192]", 19,
         "took a segment of 44040192 bytes", "took a segment of 41943040 bytes", 0, 0, 1},
        /* a segment that ours does not need, because a free block is large enough */
        {"  [\"malloc\", 0, 4718592],", "  [\"segment\", 402653184, 20971520],\n  [\"malloc\", 402653184, 4718592],",
         13, "took a segment of 20971520 bytes", "found a free block at 0 in a segment that it had", 0, 1, 1},
        /* a segment that ours needs and PyTorch did not take: it raises peaks of four rows and one reserved, and is
         * given back with the next emptying */
        {"[\"free\", 0],",
         "[\"free\", 0], [\"malloc\", 0, 5242880], [\"malloc\", 67108864, 9437184], [\"free\", 0], "
         "[\"free\", 67108864],",
         14, "placed 9437184 bytes at 67108864, in a segment that it had", "took a segment of 20971520 bytes", 6, 1, 2},
        /* a segment that nothing lies in */
        {"[\"reset_peaks\"],", "[\"segment\", 402653184, 2097152], [\"reset_peaks\"],", 10,
         "took a segment of 2097152 bytes", "needed none", 0, 0, 1},
        /* a segment that PyTorch kept, and one that it gave back alone */
        {"  [\"segment_free\", 134217728],\n", "", 29, "gave back no other segment than those before",
         "gave back 1 more, of 2097152 bytes", 0, 0, 1},
        {"  [\"segment_free\", 134217728],\n", "  [\"counters\", {}], [\"segment_free\", 134217728],\n", 29,
         "gave back no other segment than those before", "gave back 1 more, of 2097152 bytes", 0, 0, 2},
        /* counters, each kind */
        {"\"stage\": \"retry\", \"requested_bytes\": 88081085", "\"stage\": \"retry\", \"requested_bytes\": 88081084",
         25, "counted 88081084 for requested_bytes", "counts 88081085", 1, 0, 0},
        {"\"allocated_bytes\": 89130496", "\"allocated_bytes\": 89131008", 25, "counted 89131008 for allocated_bytes",
         "counts 89130496", 1, 0, 0},
        {"\"reserved_bytes\": 96468992", "\"reserved_bytes\": 0", 25, "counted 0 for reserved_bytes", "counts 96468992",
         1, 0, 0},
        {"\"stage\": \"tie\", \"requested_bytes\": 35651584", "\"requested_bytes\": 35651583", 14,
         "counted 35651583 for requested_bytes", "counts 35651584", 1, 0, 0},
    };
    expect_told(events_path, rows, sizeof rows / sizeof rows[0]);
}

static void peaks_are_told(void **state)
{
    (void)state;
    static const char *const peaks[] = {"requested", "allocated", "reserved"};
    for (size_t i = 0; i < 3; i++) {
        char text[256], told[64];
        snprintf(text, sizeof text,
                 "{\"events\": [[\"malloc\", 1, 700], [\"free\", 1], [\"reset_peaks\"], [\"malloc\", 1, 100], "
                 "[\"counters\", {\"%s_bytes_peak\": 1}]]}",
                 peaks[i]);
        struct trace trace = parsed(text);
        struct trace_result result;
        struct trace_comparison comparison = compared(&trace, &result);
        snprintf(told, sizeof told, "counted 1 for %s_bytes_peak", peaks[i]);
        assert_string_equal(comparison.first_pytorch, told);
        assert_int_equal(comparison.first_event, 5);
        assert_int_equal(comparison.figures.count, 1);
        assert_int_equal(comparison.placements.count, 0); /* ids are no addresses */
        trace_comparison_release(&comparison);
        trace_release(&trace);
    }
}

static void one_wrong_number_in_a_snapshot_is_told(void **state)
{
    (void)state;
    static const struct wrong_record rows[] = {
        {"\"total_size\": 20971520, \"allocated_size\": 15728640",
         "\"total_size\": 20971520, \"allocated_size\": 15204352", 33, "counted 36175872 for allocated_bytes",
         "counts 36700160", 1, 0, 0},
        {"\"requested_size\": 20447232", "\"requested_size\": 20447231", 33, "counted 35651583 for requested_bytes",
         "counts 35651584", 1, 0, 0},
        {"\"total_size\": 20971520, \"allocated_size\": 20971520",
         "\"total_size\": 2097152, \"allocated_size\": 20971520", 33, "counted 23068672 for reserved_bytes",
         "counts 41943040", 1, 0, 0},
        {"{\"action\": \"alloc\", \"addr\": 139637976727552, \"size\": 4718592",
         "{\"action\": \"alloc\", \"addr\": 139637976728064, \"size\": 4718592", 13,
         "placed 4718592 bytes at 139637976728064", "placed them at 139637976727552", 0, 1, 0},
    };
    expect_told(snapshot_path, rows, sizeof rows / sizeof rows[0]);
}

/* After a contradiction: an announced segment that was not needed is used when one of its size is. */
static void the_replay_goes_on_after_a_contradiction(void **state)
{
    (void)state;
    struct trace trace = parsed("{\"events\": [[\"segment\", 0, 2097152], [\"malloc\", 0, 1048576],"
                                "[\"segment\", 4194304, 2097152], [\"malloc\", 4194304, 512],"
                                "[\"malloc\", 4194816, 1048576], [\"free\", 4194304], [\"free\", 4194816],"
                                "[\"segment_free\", 4194304], [\"counters\", {\"reserved_bytes\": 2097152}]]}");
    struct trace_result result;
    struct trace_comparison comparison = compared(&trace, &result);
    assert_int_equal(comparison.first_event, 3);
    assert_string_equal(comparison.first_assay, "found a free block at 1048576 in a segment that it had");
    /* event 4 lies at 1048576; event 5 takes the segment that was announced, unannounced, and lies at its start */
    assert_int_equal(comparison.placements.unequal_count, 2);
    assert_int_equal(comparison.segments.unequal_count, 2);
    assert_int_equal(comparison.segments.count, 4); /* three of PyTorch, one of ours alone */
    assert_int_equal(comparison.figures.unequal_count, 0);
    trace_comparison_release(&comparison);
    trace_release(&trace);
}

static void expect_tallies(const char *text, int64_t placements, int64_t segments)
{
    struct trace trace = parsed(text);
    struct trace_result result;
    struct trace_comparison comparison = compared(&trace, &result);
    assert_int_equal(comparison.placements.unequal_count, placements);
    assert_int_equal(comparison.segments.unequal_count, segments);
    trace_comparison_release(&comparison);
    trace_release(&trace);
}

static void segments_of_one_side_alone_are_told_when_they_go(void **state)
{
    (void)state;
    /* ours never took the second segment: one difference when it is taken, one when it is given back */
    expect_tallies("{\"events\": [[\"segment\", 0, 2097152], [\"malloc\", 0, 512], [\"segment\", 4194304, 2097152],"
                   "[\"malloc\", 4194304, 512], [\"free\", 4194304], [\"segment_free\", 4194304]]}",
                   1, 2);
    /* a tie that went the other way: each keeps the segment that the other one gives back */
    expect_tallies("{\"events\": [[\"segment\", 0, 20971520], [\"malloc\", 0, 20971520],"
                   "[\"segment\", 41943040, 20971520], [\"malloc\", 41943040, 20971520], [\"free\", 0],"
                   "[\"free\", 41943040], [\"malloc\", 41943040, 20971520], [\"segment_free\", 0]]}",
                   1, 2);
    /* later PyTorch takes a segment that overlaps the one that ours kept: ours then lies above all of them */
    expect_tallies("{\"events\": [[\"segment\", 0, 20971520], [\"malloc\", 0, 20971520],"
                   "[\"segment\", 41943040, 20971520], [\"malloc\", 41943040, 20971520], [\"free\", 0],"
                   "[\"free\", 41943040], [\"malloc\", 41943040, 20971520], [\"segment_free\", 0],"
                   "[\"segment\", 2097152, 31457280], [\"malloc\", 2097152, 31457280]]}",
                   2, 2);
}

/* A block that waits for another stream is live to the replay; the snapshot leaves it out of allocated_size. */
static void blocks_that_wait_for_another_stream_are_allocated(void **state)
{
    (void)state;
    char *text = whole_file_read(snapshot_path);
    char *fewer = record_text_exchange(text, "\"allocated_size\": 15728640", "\"allocated_size\": 9437184");
    char *waiting = record_text_exchange(
        fewer,
        "{\"address\": 139638049079296, \"size\": 6291456, \"requested_size\": 6291456, \"state\": "
        "\"active_allocated\"}",
        "{\"address\": 139638049079296, \"size\": 6291456, \"requested_size\": 6291456, \"state\": "
        "\"active_awaiting_free\"}");
    struct trace trace = parsed(waiting);
    struct trace_result result;
    struct trace_comparison comparison = compared(&trace, &result);
    assert_true(trace_comparison_is_equal(&comparison));
    trace_comparison_release(&comparison);
    trace_release(&trace);
    free(waiting);
    free(fewer);
    free(text);
}

static void the_rules_of_one_segment_a_block_play_a_record_too(void **state)
{
    (void)state;
    struct trace trace;
    struct trace_result result;
    assert_int_equal(trace_read(events_path, TRACE_DEVICE_ONLY, &trace, NULL), STATUS_OK);
    assert_int_equal(trace_replay(&trace, ALLOCATOR_PLAIN, &result, NULL), STATUS_OK);
    assert_int_equal(result.reserved_bytes, 34 << 20); /* five live blocks of just what was asked for */
    assert_int_equal(result.segment_count, 5);
    assert_int_equal(trace_replay(&trace, ALLOCATOR_CACHING, &result, NULL), STATUS_OK);
    assert_int_equal(result.reserved_bytes, 40 << 20);
    trace_release(&trace);
}

static void counters_that_tell_nothing_are_no_record(void **state)
{
    (void)state;
    struct trace trace =
        parsed("{\"events\": [[\"malloc\", 1, 5], [\"counters\", {\"stage\": \"load\", \"reserved_bytes\": null}]]}");
    assert_int_equal(trace.counters_count, 1);
    assert_false(trace_has_record(&trace));
    trace_release(&trace);
    trace = parsed("{\"events\": [[\"malloc\", 1, 5], [\"counters\", {\"reserved_bytes_peak\": 0}]]}");
    assert_true(trace_has_record(&trace));
    trace_release(&trace);
}

static void json_has_both_sides(void **state)
{
    (void)state;
    struct trace trace = parsed("{\"about\": {}, \"events\": [[\"segment\", 512, 2097152], [\"malloc\", 1024, 5],"
                                "[\"counters\", {\"requested_bytes\": 7, \"reserved_bytes\": null}]]}");
    struct trace_result result;
    struct trace_comparison comparison = compared(&trace, &result);
    struct json *object = trace_comparison_to_json(&comparison);
    struct text text = {0};
    assert_int_equal(json_write(object, 0, &text, NULL), STATUS_OK);
    assert_string_equal(
        text_string(&text),
        "{\"equal\": false, \"figures\": {\"count\": 1, \"unequal_count\": 1}, \"placements\": {\"count\": 1, "
        "\"unequal_count\": 1}, \"segments\": {\"count\": 1, \"unequal_count\": 0}, \"first_difference\": {\"event\": "
        "2, "
        "\"pytorch\": \"placed 5 bytes at 1024\", \"assay\": \"placed them at 512\"}, \"counters\": [{\"stage\": null, "
        "\"event\": 3, \"requested_bytes\": {\"assay\": 5, \"pytorch\": 7, \"difference\": -2}, \"allocated_bytes\": "
        "{\"assay\": 512, \"pytorch\": null, \"difference\": null}, \"reserved_bytes\": {\"assay\": 2097152, "
        "\"pytorch\": "
        "null, \"difference\": null}, \"requested_bytes_peak\": {\"assay\": 5, \"pytorch\": null, \"difference\": "
        "null}, "
        "\"allocated_bytes_peak\": {\"assay\": 512, \"pytorch\": null, \"difference\": null}, \"reserved_bytes_peak\": "
        "{\"assay\": 2097152, \"pytorch\": null, \"difference\": null}}]}");
    text_release(&text);
    json_release(object);
    trace_comparison_release(&comparison);
    trace_release(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scenario_equals_the_record_in_both_forms),
        cmocka_unit_test(published_histories_are_placed_as_pytorch_placed_them),
        cmocka_unit_test(one_wrong_number_among_events_is_told),
        cmocka_unit_test(peaks_are_told),
        cmocka_unit_test(one_wrong_number_in_a_snapshot_is_told),
        cmocka_unit_test(the_replay_goes_on_after_a_contradiction),
        cmocka_unit_test(segments_of_one_side_alone_are_told_when_they_go),
        cmocka_unit_test(blocks_that_wait_for_another_stream_are_allocated),
        cmocka_unit_test(the_rules_of_one_segment_a_block_play_a_record_too),
        cmocka_unit_test(counters_that_tell_nothing_are_no_record),
        cmocka_unit_test(json_has_both_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

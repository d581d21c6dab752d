/* Reading what PyTorch recorded: the exact words for a history that cannot be replayed, and what is left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/memory/record_text.h"
#include "tests/support/scratch_file.h"
#include "tests/support/status_said.h"
#include "tests/support/whole_file.h"

#define NOT_WHOLE                                                                                                      \
    "the history began when memory was already in use, or its ring buffer overflowed; record from the start of the "   \
    "process, with max_entries above the number of events"
#define DAMAGED "the file is damaged; record it anew"

struct wrong_text {
    const char *text, *message;
};

static void expect_message(const char *text, int64_t device, const char *message)
{
    struct trace trace = {.slot_count = 77};
    struct status error = {0};
    assert_int_not_equal(record_text_parse(text, device, &trace, &error), STATUS_OK);
    assert_string_equal(STATUS_SAID(&error), message);
    assert_int_equal(trace.slot_count, 77);
}

/* Each text is the list of events of a snapshot's device 0. */
static void histories_that_cannot_be_replayed_say_why(void **state)
{
    (void)state;
    static const struct wrong_text rows[] = {
        {"3", "t.json: event 1: it has no \"action\"; this is no history of PyTorch"},
        {"{\"action\": 3}", "t.json: event 1: it has no \"action\"; this is no history of PyTorch"},
        {"{\"action\": \"malloc\"}", "t.json: event 1: action 'malloc' is not known; record with PyTorch 2.11"},
        {"{\"action\": \"segment_map\", \"addr\": 0, \"size\": 2097152, \"stream\": 0}",
         "t.json: event 1: segment_map: expandable segments follow other rules than ours; record with "
         "PYTORCH_CUDA_ALLOC_CONF unset"},
        {"{\"action\": \"segment_unmap\"}",
         "t.json: event 1: segment_unmap: expandable segments follow other rules than ours; record with "
         "PYTORCH_CUDA_ALLOC_CONF unset"},
        {"{\"action\": \"alloc\"}", "t.json: event 1: addr is missing; write an integer"},
        {"{\"action\": \"alloc\", \"addr\": \"0x7f\"}", "t.json: event 1: addr is a string; write an integer"},
        {"{\"action\": \"alloc\", \"addr\": -512}", "t.json: event 1: addr is -512; it cannot be negative"},
        {"{\"action\": \"alloc\", \"addr\": 0, \"size\": 1.5}",
         "t.json: event 1: size is a real number; write an integer"},
        {"{\"action\": \"alloc\", \"addr\": 0, \"size\": 0}",
         "t.json: event 1: size is 0; PyTorch notes nothing for 0 bytes"},
        {"{\"action\": \"alloc\", \"addr\": 9223372036854775807, \"size\": 1}",
         "t.json: event 1: 1 bytes at address 9223372036854775807; addresses begin at 0 and end within 63 bits"},
        {"{\"action\": \"alloc\", \"addr\": 0, \"size\": 1}", "t.json: event 1: stream is missing; write an integer"},
        {"{\"action\": \"alloc\", \"addr\": 0, \"size\": 1, \"stream\": 0, \"pool_id\": [0, 1]}",
         "t.json: event 1: memory of a private pool (CUDA graphs, MemPool), which our rules do not have; record "
         "without "
         "them"},
        {"{\"action\": \"snapshot\"}, {\"action\": \"alloc\", \"addr\": 0, \"size\": 1, \"stream\": 0}",
         "t.json: event 2: 1 bytes at address 0 lie in no segment that was told of; " NOT_WHOLE},
        {"{\"action\": \"free_completed\", \"addr\": 0, \"size\": 1, \"stream\": 0}",
         "t.json: event 1: free of address 0, which is not live; " NOT_WHOLE},
        {"{\"action\": \"segment_free\", \"addr\": 0, \"size\": 1, \"stream\": 0}",
         "t.json: event 1: segment_free of address 0, where no live segment begins; " NOT_WHOLE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, "{\"segments\": [], \"device_traces\": [[%s, {\"action\": \"oom\"}]]}",
                 rows[i].text);
        expect_message(text, TRACE_DEVICE_ONLY, rows[i].message);
    }
}

/* The scenario of the vectors with one thing in it changed. */
static void damaged_snapshots_say_where(void **state)
{
    (void)state;
    static const struct {
        const char *find, *replace, *message;
    } rows[] = {
        {"\"addr\": 139638043836416, \"size\": 5242880, \"stream\": 0, \"time_us\": 1763668800000001",
         "\"addr\": 139638043836416, \"size\": 5242880, \"stream\": 7, \"time_us\": 1763668800000001",
         "t.json: event 2: stream 7, but the events before are of stream 0: our rules are for one stream; record a "
         "program that uses one"},
        {"\"action\": \"free_completed\", \"addr\": 139638043836416, \"size\": 5242880",
         "\"action\": \"free_completed\", \"addr\": 139638043836416, \"size\": 5242881",
         "t.json: event 10: free of 5242881 bytes at address 139638043836416, where 5242880 are live; " DAMAGED},
        {"\"action\": \"alloc\", \"addr\": 139638049079296", "\"action\": \"alloc\", \"addr\": 139638043836416",
         "t.json: event 3: malloc of address 139638043836416, which is live; " DAMAGED},
        {"\"action\": \"alloc\", \"addr\": 139638055370752, \"size\": 8912896",
         "\"action\": \"alloc\", \"addr\": 139638055370752, \"size\": 9437185",
         "t.json: event 4: 9437185 bytes at address 139638055370752 lie in no segment that was told of; " NOT_WHOLE},
        {"\"action\": \"segment_alloc\", \"addr\": 139637976727552",
         "\"action\": \"segment_alloc\", \"addr\": "
         "139638043836415",
         "t.json: event 5: a segment of 20971520 bytes at address 139638043836415 overlaps the one of 20971520 bytes "
         "at "
         "139638043836416, which is live; " DAMAGED},
        {"\"action\": \"segment_free\", \"addr\": 139638245163008, \"size\": 41943040",
         "\"action\": \"segment_free\", \"addr\": 139638245163008, \"size\": 41943039",
         "t.json: event 21: segment_free of 41943039 bytes at address 139638245163008, where a segment of 41943040 "
         "bytes "
         "is live; " DAMAGED},
        {"\"action\": \"segment_free\", \"addr\": 139638245163008, \"size\": 41943040",
         "\"action\": \"segment_free\", \"addr\": 139637976727552, \"size\": 20971520",
         "t.json: event 21: segment_free at address 139637976727552, but 3 blocks in it are live; " DAMAGED},
        {"\"total_size\": 20971520, \"allocated_size\": 15728640", "\"total_size\": null, \"allocated_size\": 15728640",
         "t.json: segment 2 of the snapshot: total_size is null; write an integer"},
        {"\"allocated_size\": 15728640", "\"allocated_size\": -1",
         "t.json: segment 2 of the snapshot: allocated_size is -1; it cannot be negative"},
        {"\"requested_size\": 20447232", "\"requested_sizes\": 1",
         "t.json: segment 1 of the snapshot: requested_size is missing; write an integer"},
        {"\"requested_size\": 20447232", "\"requested_size\": 9223372036854775807",
         "t.json: segment 2 of the snapshot: the requested_size of all segments exceed 63 bits"},
        {"{\"device\": 0, \"address\": 139637976727552", "{\"device\": \"cuda:0\", \"address\": 139637976727552",
         "t.json: segment 1 of the snapshot: device is a string; write an integer"},
    };
    char *text = whole_file_read("tests/memory/vectors/record-snapshot.json");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *wrong = record_text_exchange(text, rows[i].find, rows[i].replace);
        expect_message(wrong, TRACE_DEVICE_ONLY, rows[i].message);
        free(wrong);
    }
    free(text);
}

/* What _dump_snapshot writes, in every protocol, is the trace of the same snapshot as JSON; a fault has no line, as the
 * file has none. */
static void a_pickle_is_the_same_trace(void **state)
{
    (void)state;
    struct trace json = {0};
    assert_int_equal(trace_read("tests/memory/vectors/record-snapshot.json", TRACE_DEVICE_ONLY, &json, NULL),
                     STATUS_OK);
    assert_true(json.event_count > 10 && json.counters_count == 1);
    for (int protocol = 2; protocol <= 5; protocol++) {
        char path[96];
        struct trace pickle = {0};
        struct status error = {0};
        snprintf(path, sizeof path, "peers/python/pickles/snapshot-%d.pickle", protocol);
        if (trace_read(path, TRACE_DEVICE_ONLY, &pickle, &error) != STATUS_OK) {
            fail_msg("%s", error.text);
        }
        assert_int_equal(pickle.event_count, json.event_count);
        for (size_t i = 0; i < json.event_count; i++) {
            assert_int_equal(pickle.events[i].verb, json.events[i].verb);
            assert_int_equal(pickle.events[i].number, json.events[i].number);
            assert_int_equal(pickle.events[i].address, json.events[i].address);
            assert_int_equal(pickle.events[i].bytes, json.events[i].bytes);
        }
        assert_memory_equal(pickle.counters[0].bytes, json.counters[0].bytes, sizeof json.counters[0].bytes);
        trace_release(&pickle);
        assert_int_equal(trace_read(path, 7, &pickle, &error), STATUS_INVALID);
        assert_int_equal(error.line, 0);
        assert_string_equal(error.path, path);
    }
    trace_release(&json);
}

static void segments_of_other_rules_are_refused(void **state)
{
    (void)state;
    static const char history[] = "\"device_traces\": [[{\"action\": \"oom\"}]]}";
    char text[512];
    snprintf(text, sizeof text, "{\"segments\": [{\"device\": 0, \"is_expandable\": true}], %s", history);
    expect_message(text, TRACE_DEVICE_ONLY,
                   "t.json: segment 1 of the snapshot: expandable segments follow other rules than ours; record with "
                   "PYTORCH_CUDA_ALLOC_CONF unset");
    snprintf(text, sizeof text, "{\"segments\": [{\"device\": 0, \"segment_pool_id\": [1, 0]}], %s", history);
    expect_message(
        text, TRACE_DEVICE_ONLY,
        "t.json: segment 1 of the snapshot: memory of a private pool (CUDA graphs, MemPool), which our rules "
        "do not have; record without them");
    snprintf(text, sizeof text, "{\"segments\": 3, %s", history);
    expect_message(text, TRACE_DEVICE_ONLY, "t.json: \"segments\" is an integer; write a list");
}

static void the_device_is_chosen_where_several_have_events(void **state)
{
    (void)state;
    static const char several[] =
        "{\"device_traces\": [[{\"action\": \"snapshot\"}], [{\"action\": \"oom\"}], [], [{\"action\": \"oom\"}]]}";
    expect_message(several, TRACE_DEVICE_ONLY, "t.json: devices 1, 3 have events; choose one with --device");
    expect_message(several, 0, "t.json: device 0 has no events among the 4 devices of the snapshot");
    expect_message(several, 4, "t.json: device 4 has no events among the 4 devices of the snapshot");
    expect_message("{\"device_traces\": [[], []]}", TRACE_DEVICE_ONLY,
                   "t.json: no device has events: its history was not recorded; call "
                   "torch.cuda.memory._record_memory_history(context=None) before the first allocation");
    expect_message("{\"device_traces\": {}}", TRACE_DEVICE_ONLY,
                   "t.json: \"device_traces\" is an object; it is a list of lists of events");
    expect_message("{\"device_traces\": [[], 3]}", TRACE_DEVICE_ONLY,
                   "t.json: the trace of device 1 is an integer; it is a list of events");
    expect_message("{\"events\": []}", 0,
                   "t.json: it has no \"device_traces\" to choose a device from; leave --device out");
    struct trace trace = {0};
    assert_int_equal(record_text_parse(several, 3, &trace, NULL), STATUS_OK);
    assert_int_equal(trace.event_count, 0);
    trace_release(&trace);
}

static void segments_of_other_devices_are_left_alone(void **state)
{
    (void)state;
    struct trace trace = {0};
    assert_int_equal(
        record_text_parse(
            "{\"segments\": [{\"device\": 1, \"total_size\": 5, \"is_expandable\": true}, {\"device\": 0, "
            "\"total_size\": "
            "7, \"allocated_size\": 6, \"requested_size\": 4}], \"device_traces\": [[{\"action\": \"oom\"}]]}",
            TRACE_DEVICE_ONLY, &trace, NULL),
        STATUS_OK);
    assert_int_equal(trace.counters_count, 1);
    assert_string_equal(trace.counters[0].stage, "end");
    assert_int_equal(trace.counters[0].bytes[TRACE_REQUESTED], 4);
    assert_int_equal(trace.counters[0].bytes[TRACE_ALLOCATED], 6);
    assert_int_equal(trace.counters[0].bytes[TRACE_RESERVED], 7);
    assert_int_equal(trace.counters[0].bytes[TRACE_RESERVED_PEAK], TRACE_UNKNOWN);
    trace_release(&trace);
}

/* Our own form is strict. */
static void wrong_events_of_a_record_say_where_and_why(void **state)
{
    (void)state;
    static const struct wrong_text rows[] = {
        {"[\"segment\", 0]", "t.json: event 1: a segment of 2 elements; write [\"segment\", address, bytes]"},
        {"[\"segment\", null, 5]", "t.json: event 1: the address is null; write an integer"},
        {"[\"segment\", 0, 0]", "t.json: event 1: segment of 0 bytes; write 1 or more"},
        {"[\"segment\", -1, 5]", "t.json: event 1: 5 bytes at address -1; addresses begin at 0 and end within 63 bits"},
        {"[\"segment\", 9223372036854775807, 1]",
         "t.json: event 1: 1 bytes at address 9223372036854775807; addresses begin at 0 and end within 63 bits"},
        {"[\"segment\", 0, 512], [\"malloc\", -5, 5]",
         "t.json: event 2: 5 bytes at address -5; addresses begin at 0 and end within 63 bits"},
        {"[\"segment\", 0, 512], [\"malloc\", 1024, 5]",
         "t.json: event 2: 5 bytes at address 1024 lie in no segment that was told of; " NOT_WHOLE},
        {"[\"segment_free\", 0, 5]",
         "t.json: event 1: a segment_free of 3 elements; write [\"segment_free\", address]"},
        {"[\"segment\", 0, 512], [\"segment_free\", 256]",
         "t.json: event 2: segment_free of address 256, where no live segment begins; " NOT_WHOLE},
        {"[\"segment_free\", 9223372036854775807]",
         "t.json: event 1: 1 bytes at address 9223372036854775807; addresses begin at 0 and end within 63 bits"},
        {"[\"reset_peaks\", 0]", "t.json: event 1: a reset_peaks of 2 elements; write [\"reset_peaks\"]"},
        {"[\"counters\", 3]",
         "t.json: event 1: the counters are an integer; write [\"counters\", {\"requested_bytes\": n, ...}]"},
        {"[\"counters\", {\"stage\": 3}]", "t.json: event 1: the stage is an integer; write a string"},
        {"[\"counters\", {\"active_bytes\": 3}]",
         "t.json: event 1: unknown key 'active_bytes' in the counters; write stage, requested_bytes, allocated_bytes, "
         "reserved_bytes, or one of the three with _peak"},
        {"[\"counters\", {\"reserved_bytes\": -3}]", "t.json: event 1: reserved_bytes is -3; write 0 or more, or null"},
        {"[\"counters\", {\"reserved_bytes\": \"3\"}]",
         "t.json: event 1: reserved_bytes is a string; write an integer"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, "{\"events\": [%s]}", rows[i].text);
        expect_message(text, TRACE_DEVICE_ONLY, rows[i].message);
    }
    expect_message("{\"about\": 3, \"events\": []}", TRACE_DEVICE_ONLY,
                   "t.json: \"about\" is an integer; write a string or an object");
}

static void numbers_beyond_63_bits_are_refused(void **state)
{
    (void)state;
    expect_message("{\"device_traces\": [[{\"action\": \"alloc\", \"addr\": 9223372036854775808}]]}", TRACE_DEVICE_ONLY,
                   "t.json:1:67: too big integer near '9223372036854775808'; integers must fit 63 bits, reals 64");
    /* what lies above the highest segment does not fit */
    struct trace trace = {0};
    struct trace_result result;
    struct trace_comparison comparison;
    struct status error = {0};
    assert_int_equal(record_text_parse("{\"events\": [[\"segment\", 0, 2097152], [\"malloc\", 0, 4],"
                                       "[\"segment\", 9223372036854774784, 512], [\"malloc\", 9223372036854774784, 5],"
                                       "[\"malloc\", 512, 1048576], [\"malloc\", 1049088, 1048000]]}",
                                       TRACE_DEVICE_ONLY, &trace, NULL),
                     STATUS_OK);
    assert_int_equal(trace_compare(&trace, &result, &comparison, &error), STATUS_OVERFLOW);
    assert_string_equal(STATUS_SAID(&error), "t.json: event 6: all segments together exceed 63 bits");
    trace_release(&trace);
}

static void errors_in_a_file_have_their_line(void **state)
{
    (void)state;
    FILE *file = fopen(scratch_file_path, "w");
    assert_non_null(file);
    fputs("{\"device_traces\": [[], [\n  {\"action\": \"snapshot\"},\n  {\"action\": \"segment_map\"}\n]]}\n", file);
    fclose(file);
    struct trace trace;
    struct status error = {0};
    char message[256];
    snprintf(message, sizeof message, "%s:3:3: event 2: segment_map: ", scratch_file_path);
    assert_int_equal(trace_read(scratch_file_path, 1, &trace, &error), STATUS_INVALID);
    assert_int_equal(strncmp(STATUS_SAID(&error), message, strlen(message)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histories_that_cannot_be_replayed_say_why),
        cmocka_unit_test(damaged_snapshots_say_where),
        cmocka_unit_test(a_pickle_is_the_same_trace),
        cmocka_unit_test(segments_of_other_rules_are_refused),
        cmocka_unit_test(the_device_is_chosen_where_several_have_events),
        cmocka_unit_test(a_pickle_is_the_same_trace),
        cmocka_unit_test(segments_of_other_devices_are_left_alone),
        cmocka_unit_test(wrong_events_of_a_record_say_where_and_why),
        cmocka_unit_test(numbers_beyond_63_bits_are_refused),
        cmocka_unit_test_setup_teardown(errors_in_a_file_have_their_line, scratch_file_make, scratch_file_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

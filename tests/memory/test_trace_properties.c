/* Properties of replays: what our own allocator did under random requests, written as PyTorch would record it, replays
 * as equal in both forms; and no document, however damaged, does anything but be refused or be played. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/memory/record_text.h"
#include "tests/support/status_said.h"
#include "tests/support/whole_file.h"

#define MIB ((int64_t)1 << 20)

enum { PLACE_COUNT = 512, LIVE_COUNT = 200, STEP_COUNT = 3000, ROUND_COUNT = 12, DAMAGE_COUNT = 4000 };

static const int64_t place_bytes = INT64_C(1) << 30;

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A recorder: a source of bounded size that puts each segment at a random place, and writes down what happens. */
struct recorder {
    uint64_t random;
    bool is_taken[PLACE_COUNT];
    int64_t held_bytes, capacity_bytes;
    struct text events, history; /* the two forms */
};

static void event_write(struct recorder *recorder, const char *verb, const char *action, int64_t address, int64_t bytes,
                        bool has_bytes)
{
    struct text *events = &recorder->events;
    text_format(events, "%s[\"%s\", %lld", events->length > 0 ? ",\n" : "", verb, (long long)address);
    if (has_bytes) {
        text_format(events, ", %lld", (long long)bytes);
    }
    text_append(events, "]");
    text_format(&recorder->history,
                "%s{\"action\": \"%s\", \"addr\": %lld, \"size\": %lld, \"stream\": 3, \"time_us\": 1}",
                recorder->history.length > 0 ? ",\n" : "", action, (long long)address, (long long)bytes);
}

static enum status_code recorder_alloc(void *context, int64_t bytes, void **address, struct status *error)
{
    struct recorder *recorder = context;
    if (recorder->held_bytes + bytes > recorder->capacity_bytes) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "bound reached");
    }
    size_t place = random_next(&recorder->random) % PLACE_COUNT;
    while (recorder->is_taken[place]) {
        place = (place + 1) % PLACE_COUNT;
    }
    int64_t start = (int64_t)place * place_bytes;
    recorder->is_taken[place] = true;
    recorder->held_bytes += bytes;
    event_write(recorder, "segment", "segment_alloc", start, bytes, true);
    *address = (void *)(uintptr_t)start;
    return STATUS_OK;
}

static enum status_code recorder_free(void *context, void *address, int64_t bytes, struct status *error)
{
    (void)error;
    struct recorder *recorder = context;
    int64_t start = (int64_t)(uintptr_t)address;
    recorder->is_taken[start / place_bytes] = false;
    recorder->held_bytes -= bytes;
    event_write(recorder, "segment_free", "segment_free", start, bytes, false);
    return STATUS_OK;
}

static void counters_write(struct recorder *recorder, const struct allocator_counters *counters)
{
    text_format(&recorder->events,
                ",\n[\"counters\", {\"requested_bytes\": %lld, \"allocated_bytes\": %lld, \"reserved_bytes\": %lld, "
                "\"requested_bytes_peak\": %lld, \"allocated_bytes_peak\": %lld, \"reserved_bytes_peak\": %lld}]",
                (long long)counters->requested_bytes, (long long)counters->allocated_bytes,
                (long long)counters->reserved_bytes, (long long)counters->requested_bytes_peak,
                (long long)counters->allocated_bytes_peak, (long long)counters->reserved_bytes_peak);
}

struct held_block {
    struct block *block;
    int64_t bytes;
};

static void block_exchange(struct recorder *recorder, struct allocator *allocator, struct held_block *held)
{
    if (held->block != NULL) {
        event_write(recorder, "free", "free_completed", block_position(held->block), held->bytes, false);
        assert_int_equal(allocator_free(allocator, held->block, NULL), STATUS_OK);
        *held = (struct held_block){0};
        return;
    }
    /* sizes of all classes, often equal ones, so that there are ties */
    int64_t bytes =
        (int64_t)(random_next(&recorder->random) % (UINT64_C(1) << (4 + random_next(&recorder->random) % 21)));
    bytes = random_next(&recorder->random) % 2 == 0 ? (bytes / MIB + 1) * MIB : bytes + 1;
    enum status_code code = allocator_alloc(allocator, bytes, &held->block, NULL);
    if (code == STATUS_OK) {
        event_write(recorder, "malloc", "alloc", block_position(held->block), bytes, true);
        held->bytes = bytes;
    } else {
        assert_int_equal(code, STATUS_OUT_OF_MEMORY);
        text_format(&recorder->history, ",\n{\"action\": \"oom\", \"device_free\": 0, \"size\": %lld, \"stream\": 3}",
                    (long long)bytes);
    }
}

/* Plays random requests; the counters at the end are returned. */
static struct allocator_counters record_random(struct recorder *recorder, int64_t *retry_count)
{
    static const struct segment_source_table table = {.alloc = recorder_alloc, .free = recorder_free};
    struct segment_source source = {.table = &table, .context = recorder, .places_segments = true};
    struct held_block held[LIVE_COUNT] = {{0}};
    struct allocator *allocator = NULL;
    assert_int_equal(allocator_open(ALLOCATOR_CACHING, source, &allocator, NULL), STATUS_OK);
    for (int i = 0; i < STEP_COUNT; i++) {
        block_exchange(recorder, allocator, &held[random_next(&recorder->random) % LIVE_COUNT]);
        uint64_t chance = random_next(&recorder->random) % 400;
        if (chance == 0) {
            assert_int_equal(allocator_trim(allocator, NULL), STATUS_OK);
        } else if (chance == 1) {
            allocator_reset_peaks(allocator);
            text_append(&recorder->events, ",\n[\"reset_peaks\"]");
        } else if (chance < 10) {
            counters_write(recorder, allocator_counters(allocator));
        }
    }
    assert_int_equal(allocator_check(allocator, NULL), STATUS_OK);
    struct allocator_counters counters = *allocator_counters(allocator);
    counters_write(recorder, &counters);
    *retry_count += counters.retry_count;
    /* what the close gives back is no part of the record */
    struct text events = recorder->events, history = recorder->history;
    recorder->events = recorder->history = (struct text){0};
    assert_int_equal(allocator_close(allocator, NULL), STATUS_OK);
    text_release(&recorder->events);
    text_release(&recorder->history);
    recorder->events = events;
    recorder->history = history;
    return counters;
}

static void expect_equal(const char *text, int64_t placement_count, const struct allocator_counters *counters)
{
    struct trace trace = {0};
    struct trace_result result;
    struct trace_comparison comparison;
    struct status error = {0};
    if (record_text_parse(text, TRACE_DEVICE_ONLY, &trace, &error) != STATUS_OK ||
        trace_compare(&trace, &result, &comparison, &error) != STATUS_OK) {
        fail_msg("%s", STATUS_SAID(&error));
    }
    if (!trace_comparison_is_equal(&comparison)) {
        fail_msg("event %zu: PyTorch %s; assay %s", comparison.first_event, comparison.first_pytorch,
                 comparison.first_assay);
    }
    assert_int_equal(comparison.placements.count, placement_count);
    assert_int_equal(result.allocated_bytes, counters->allocated_bytes);
    assert_int_equal(result.reserved_bytes, counters->reserved_bytes);
    assert_int_equal(result.segment_count, counters->live_segment_count);
    trace_comparison_release(&comparison);
    trace_release(&trace);
}

static void what_our_allocator_does_replays_as_equal(void **state)
{
    (void)state;
    int64_t retry_count = 0;
    for (uint64_t round = 1; round <= ROUND_COUNT; round++) {
        /* half of the rounds run out of memory now and then */
        struct recorder recorder = {.random = round * UINT64_C(0x9e3779b97f4a7c15),
                                    .capacity_bytes = round % 2 == 0 ? 96 * MIB : INT64_MAX / 2};
        struct allocator_counters counters = record_random(&recorder, &retry_count);
        struct text text = {0};
        text_format(&text, "{\"events\": [%s]}", text_string(&recorder.events));
        expect_equal(text_string(&text), counters.alloc_count, &counters);
        text_release(&text);
        text_format(&text,
                    "{\"segments\": [{\"device\": 1, \"total_size\": %lld, \"allocated_size\": %lld, "
                    "\"requested_size\": %lld}], \"device_traces\": [[], [%s]]}",
                    (long long)counters.reserved_bytes, (long long)counters.allocated_bytes,
                    (long long)counters.requested_bytes, text_string(&recorder.history));
        expect_equal(text_string(&text), counters.alloc_count, &counters);
        text_release(&text);
        text_release(&recorder.events);
        text_release(&recorder.history);
    }
    assert_true(retry_count > 20);
}

/* The start of a random number in text, and its length. */
static size_t number_find(const char *text, size_t length, uint64_t *random, size_t *count)
{
    size_t start = random_next(random) % length;
    while (strchr("0123456789", text[start]) == NULL) {
        start = (start + 1) % length;
    }
    while (start > 0 && strchr("-0123456789", text[start - 1]) != NULL) {
        start--;
    }
    *count = strspn(text + start, "-0123456789");
    return start;
}

/* One piece of text changed: a number for another of the text or an edge, a byte for another, a line taken out or
 * doubled. */
static void damage_write(struct text *damaged, const char *text, uint64_t *random)
{
    static const char *const edges[] = {"0", "-1", "1", "512", "2097152", "9223372036854775807", "4611686018427387904"};
    size_t length = strlen(text);
    size_t count = 1, other_count = 0;
    size_t start = random_next(random) % length;
    uint64_t kind = random_next(random) % 8;
    if (kind < 5) {
        start = number_find(text, length, random, &count);
    } else if (kind < 7) {
        while (start > 0 && text[start - 1] != '\n') {
            start--;
        }
        count = strcspn(text + start, "\n") + 1;
        count = start + count > length ? length - start : count;
    }
    text_append_bytes(damaged, text, start);
    if (kind < 3) {
        size_t other = number_find(text, length, random, &other_count);
        text_append_bytes(damaged, text + other, other_count);
    } else if (kind < 5) {
        text_append(damaged, edges[random_next(random) % (sizeof edges / sizeof edges[0])]);
    } else if (kind == 5) {
        text_append_bytes(damaged, text + start, count);
        text_append_bytes(damaged, text + start, count);
    } else if (kind == 7) {
        text_append_bytes(damaged, &"0123456789,-[]{}\": n"[random_next(random) % 20], 1);
    }
    text_append(damaged, text + start + count);
}

/* 0: refused, 1: played and unequal, 2: equal. */
static int damage_outcome(const char *text)
{
    struct trace trace = {0};
    struct trace_result result;
    struct trace_comparison comparison;
    struct status error = {0};
    enum status_code code = record_text_parse(text, TRACE_DEVICE_ONLY, &trace, &error);
    if (code == STATUS_OK) {
        code = trace_compare(&trace, &result, &comparison, &error);
    }
    int outcome = 0;
    if (code == STATUS_OK) {
        outcome = trace_comparison_is_equal(&comparison) ? 2 : 1;
        assert_true((comparison.first_event == 0) == (outcome == 2));
        trace_comparison_release(&comparison);
    } else {
        assert_true(code == STATUS_INVALID || code == STATUS_OVERFLOW);
        assert_int_equal(strncmp(STATUS_SAID(&error), "t.json:", 7), 0);
    }
    trace_release(&trace);
    return outcome;
}

static void damaged_documents_are_refused_or_played(void **state)
{
    (void)state;
    static const char *const paths[] = {"tests/memory/vectors/record-events.json",
                                        "tests/memory/vectors/record-snapshot.json"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char *text = whole_file_read(paths[i]);
        uint64_t random = 88172645463325252 + i;
        int counts[3] = {0};
        for (int k = 0; k < DAMAGE_COUNT; k++) {
            struct text once = {0}, twice = {0};
            damage_write(&once, text, &random);
            counts[damage_outcome(text_string(&once))] += 1;
            damage_write(&twice, text_string(&once), &random);
            damage_outcome(text_string(&twice));
            text_release(&once);
            text_release(&twice);
        }
        assert_true(counts[0] > DAMAGE_COUNT / 10);
        assert_true(counts[1] > DAMAGE_COUNT / 50);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_our_allocator_does_replays_as_equal),
        cmocka_unit_test(damaged_documents_are_refused_or_played),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

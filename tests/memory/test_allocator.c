/* The allocator's rules one by one, the published loads, and what must hold under any sequence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/base/size.h"
#include "harness/memory/allocator.h"
#include "harness/memory/block.h"
#include "tests/memory/bounded_source.h"

#define MIB ((int64_t)1 << 20)

static struct allocator *opened(enum allocator_policy policy, struct segment_source source)
{
    struct allocator *allocator = NULL;
    assert_int_equal(allocator_open(policy, source, &allocator, NULL), STATUS_OK);
    return allocator;
}

static struct block *taken(struct allocator *allocator, int64_t bytes)
{
    struct block *block = NULL;
    struct status error = {0};
    if (allocator_alloc(allocator, bytes, &block, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return block;
}

static void checked(const struct allocator *allocator)
{
    struct status error = {0};
    if (allocator_check(allocator, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static void closed(struct allocator *allocator)
{
    checked(allocator);
    assert_int_equal(allocator_close(allocator, NULL), STATUS_OK);
}

/* Takes the sizes of a load, run-length groups [count, [sizes]], in order. */
static void load_play(struct allocator *allocator, const struct json *groups)
{
    for (size_t i = 0; i < json_count(groups); i++) {
        const struct json *group = json_at(groups, i);
        const struct json *sizes = json_at(group, 1);
        for (int64_t repeat = 0; repeat < json_integer_or(json_at(group, 0), 0); repeat++) {
            for (size_t k = 0; k < json_count(sizes); k++) {
                taken(allocator, json_integer_or(json_at(sizes, k), -1));
            }
        }
    }
}

static void loads_match_the_vectors(void **state)
{
    (void)state;
    struct json *document = NULL;
    assert_int_equal(json_parse_file("tests/memory/vectors/loads.json", 1 << 20, &document, NULL), STATUS_OK);
    const struct json *loads = json_get(document, "loads");
    assert_int_equal(json_count(loads), 4);
    for (size_t i = 0; i < json_count(loads); i++) {
        const struct json *load = json_at(loads, i);
        const struct json *expect = json_get(load, "expect");
        struct allocator *allocator = opened(ALLOCATOR_CACHING, segment_source_virtual);
        load_play(allocator, json_get(load, "sizes"));
        const struct allocator_counters *counters = allocator_counters(allocator);
        assert_int_equal(counters->requested_bytes, json_integer_or(json_get(expect, "requested_bytes"), -1));
        assert_int_equal(counters->allocated_bytes, json_integer_or(json_get(expect, "allocated_bytes"), -1));
        assert_int_equal(counters->reserved_bytes, json_integer_or(json_get(expect, "reserved_bytes"), -1));
        closed(allocator);
    }
    json_release(document);
}

static void bert_shows_the_published_pair_and_its_cause(void **state)
{
    (void)state;
    struct json *document = NULL;
    char text[SIZE_TEXT_BYTES];
    assert_int_equal(json_parse_file("tests/memory/vectors/loads.json", 1 << 20, &document, NULL), STATUS_OK);
    struct allocator *allocator = opened(ALLOCATOR_CACHING, segment_source_virtual);
    load_play(allocator, json_get(json_at(json_get(document, "loads"), 0), "sizes"));
    const struct allocator_counters *counters = allocator_counters(allocator);
    assert_string_equal(size_format(counters->requested_bytes, text), "413.18 MiB");
    assert_string_equal(size_format(counters->allocated_bytes, text), "413.68 MiB");
    assert_int_equal(counters->rounding_bytes, 0);
    assert_int_equal(counters->unsplit_remainder_count, 1);
    assert_int_equal(counters->unsplit_remainder_bytes, 512 * 1024);
    closed(allocator);
    json_release(document);
}

/* What one request on an empty allocator reserves. */
static void one_request_shows(int64_t bytes, int64_t allocated_bytes, int64_t reserved_bytes)
{
    struct allocator *allocator = opened(ALLOCATOR_CACHING, segment_source_virtual);
    struct block *block = taken(allocator, bytes);
    assert_int_equal(block_bytes(block), allocated_bytes);
    assert_int_equal(allocator_counters(allocator)->requested_bytes, bytes);
    assert_int_equal(allocator_counters(allocator)->allocated_bytes, allocated_bytes);
    assert_int_equal(allocator_counters(allocator)->reserved_bytes, reserved_bytes);
    closed(allocator);
}

static void segments_follow_the_size_of_the_request(void **state)
{
    (void)state;
    one_request_shows(1, 512, 2 * MIB);
    one_request_shows(512, 512, 2 * MIB);
    one_request_shows(513, 1024, 2 * MIB);
    one_request_shows(MIB, MIB, 2 * MIB);
    one_request_shows(MIB + 1, MIB + 512, 20 * MIB);
    one_request_shows(10 * MIB - 512, 10 * MIB - 512, 20 * MIB);
    one_request_shows(10 * MIB - 511, 10 * MIB, 10 * MIB);
    /* 1 MiB over a 2 MiB step is too little to keep: the whole segment counts. */
    one_request_shows(11 * MIB, 12 * MIB, 12 * MIB);
    one_request_shows(10 * MIB + 512, 10 * MIB + 512, 12 * MIB);
}

static void a_large_rest_of_one_mebibyte_is_not_kept(void **state)
{
    (void)state;
    struct allocator *allocator = opened(ALLOCATOR_CACHING, segment_source_virtual);
    struct block *hole = taken(allocator, 9 * MIB);
    taken(allocator, 9 * MIB + 512 * 1024); /* the rest of the segment, 11 MiB, is split */
    allocator_free(allocator, hole, NULL);
    struct block *tight = taken(allocator, 8 * MIB);
    assert_ptr_equal(tight, hole);
    assert_int_equal(block_bytes(tight), 9 * MIB);
    assert_int_equal(allocator_counters(allocator)->unsplit_remainder_bytes, MIB);
    allocator_free(allocator, tight, NULL);
    assert_int_equal(allocator_counters(allocator)->unsplit_remainder_count, 0);
    struct block *loose = taken(allocator, 8 * MIB - 512);
    assert_int_equal(block_bytes(loose), 8 * MIB - 512);
    closed(allocator);
}

static void best_fit_prefers_the_smallest_then_the_lowest(void **state)
{
    (void)state;
    struct allocator *allocator = opened(ALLOCATOR_CACHING, segment_source_virtual);
    int64_t sizes[] = {4096, 512, 2048, 512, 2048, 512, 8192, 512};
    struct block *blocks[8];
    for (int i = 0; i < 8; i++) {
        blocks[i] = taken(allocator, sizes[i]);
    }
    for (int i = 0; i < 8; i += 2) {
        allocator_free(allocator, blocks[(i + 4) % 8], NULL); /* not in the order of addresses */
    }
    assert_int_equal(block_position(taken(allocator, 1500)), 4096 + 512);
    assert_int_equal(block_position(taken(allocator, 2048)), 4096 + 512 + 2048 + 512);
    assert_int_equal(block_position(taken(allocator, 2048)), 0); /* of 4096: the smallest that is left */
    assert_int_equal(block_position(taken(allocator, 2048)), 2048);
    closed(allocator);
}

static void freed_neighbours_merge_in_every_order(void **state)
{
    (void)state;
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int i = 0; i < 6; i++) {
        struct allocator *allocator = opened(ALLOCATOR_CACHING, segment_source_virtual);
        struct block *blocks[3];
        for (int k = 0; k < 3; k++) {
            blocks[k] = taken(allocator, 700 * 1024);
        }
        /* 2100 KiB do not fit 2 MiB: the third lies in a segment of its own. */
        assert_int_equal(allocator_counters(allocator)->live_segment_count, 2);
        for (int k = 0; k < 3; k++) {
            allocator_free(allocator, blocks[orders[i][k]], NULL);
            checked(allocator);
        }
        assert_int_equal(allocator_counters(allocator)->allocated_bytes, 0);
        assert_int_equal(block_position(taken(allocator, MIB)), 0); /* fits only what has merged */
        closed(allocator);
    }
}

static void zero_bytes_are_nothing(void **state)
{
    (void)state;
    for (int policy = 0; policy < ALLOCATOR_POLICY_COUNT; policy++) {
        struct allocator *allocator = opened((enum allocator_policy)policy, segment_source_virtual);
        struct block *block = taken(allocator, 0);
        assert_null(block);
        assert_null(block_address(block));
        assert_int_equal(block_bytes(block), 0);
        assert_int_equal(block_position(block), -1);
        assert_int_equal(allocator_counters(allocator)->reserved_bytes, 0);
        assert_int_equal(allocator_counters(allocator)->live_block_count, 0);
        assert_int_equal(allocator_counters(allocator)->alloc_count, 1);
        assert_int_equal(allocator_free(allocator, block, NULL), STATUS_OK);
        closed(allocator);
    }
}

static void sizes_beyond_63_bits_are_refused(void **state)
{
    (void)state;
    for (int policy = 0; policy < ALLOCATOR_POLICY_COUNT; policy++) {
        struct allocator *allocator = opened((enum allocator_policy)policy, segment_source_virtual);
        struct block *block = NULL;
        taken(allocator, INT64_C(1) << 62);
        assert_int_equal(allocator_alloc(allocator, INT64_C(1) << 62, &block, NULL), STATUS_OVERFLOW);
        assert_int_equal(allocator_alloc(allocator, INT64_MAX, &block, NULL), STATUS_OVERFLOW);
        assert_int_equal(allocator_alloc(allocator, -1, &block, NULL), STATUS_INTERNAL);
        assert_null(block);
        assert_int_equal(allocator_counters(allocator)->live_block_count, 1);
        closed(allocator);
    }
}

static void peaks_start_anew(void **state)
{
    (void)state;
    struct allocator *allocator = opened(ALLOCATOR_CACHING, segment_source_virtual);
    struct block *large = taken(allocator, 30 * MIB);
    struct block *small = taken(allocator, 1000);
    allocator_free(allocator, large, NULL);
    const struct allocator_counters *counters = allocator_counters(allocator);
    assert_int_equal(counters->requested_bytes_peak, 30 * MIB + 1000);
    assert_int_equal(counters->allocated_bytes_peak, 30 * MIB + 1024);
    allocator_reset_peaks(allocator);
    assert_int_equal(counters->requested_bytes_peak, 1000);
    assert_int_equal(counters->allocated_bytes_peak, 1024);
    assert_int_equal(counters->reserved_bytes_peak, 32 * MIB);
    assert_int_equal(counters->rounding_bytes, 24);
    allocator_free(allocator, small, NULL);
    assert_int_equal(allocator_trim(allocator, NULL), STATUS_OK);
    assert_int_equal(counters->reserved_bytes, 0);
    assert_int_equal(counters->reserved_bytes_peak, 32 * MIB);
    closed(allocator);
}

static void a_block_freed_twice_is_a_fault(void **state)
{
    (void)state;
    for (int policy = 0; policy < ALLOCATOR_POLICY_COUNT; policy++) {
        struct allocator *allocator = opened((enum allocator_policy)policy, segment_source_virtual);
        struct block *first = taken(allocator, 512);
        struct block *second = taken(allocator, 512); /* merges into the first */
        taken(allocator, 512);
        assert_int_equal(allocator_free(allocator, first, NULL), STATUS_OK);
        assert_int_equal(allocator_free(allocator, second, NULL), STATUS_OK);
        assert_int_equal(allocator_free(allocator, first, NULL), STATUS_INTERNAL);
        assert_int_equal(allocator_free(allocator, second, NULL), STATUS_INTERNAL);
        assert_int_equal(allocator_counters(allocator)->live_block_count, 1);
        closed(allocator);
    }
}

static void out_of_memory_gives_back_the_cache_and_retries_once(void **state)
{
    (void)state;
    struct bounded_source source = {.capacity_bytes = 64 * MIB};
    struct allocator *allocator = opened(ALLOCATOR_CACHING, bounded_source(&source));
    struct block *kept = taken(allocator, 2 * MIB); /* its segment is partly used and must stay */
    struct block *cached = taken(allocator, 30 * MIB);
    struct block *small = taken(allocator, 4096);
    allocator_free(allocator, cached, NULL);
    allocator_free(allocator, small, NULL);
    assert_int_equal(source.held_bytes, 52 * MIB);
    struct block *wide = taken(allocator, 44 * MIB);
    const struct allocator_counters *counters = allocator_counters(allocator);
    assert_int_equal(counters->retry_count, 1);
    assert_int_equal(counters->out_of_memory_count, 0);
    assert_int_equal(counters->reserved_bytes, 64 * MIB);
    assert_int_equal(source.held_count, 2);
    memset(block_address(kept), 1, 2 * MIB);
    memset(block_address(wide), 2, 44 * MIB);

    struct block *none = NULL;
    struct status error = {0};
    int64_t calls = source.call_count;
    assert_int_equal(allocator_alloc(allocator, 20 * MIB, &none, &error), STATUS_OUT_OF_MEMORY);
    assert_string_equal(error.text, "bound reached");
    assert_null(none);
    assert_int_equal(source.call_count, calls + 2); /* asked twice; nothing was cached */
    assert_int_equal(counters->out_of_memory_count, 1);
    assert_int_equal(counters->live_block_count, 2);
    closed(allocator);
    assert_int_equal(source.held_count, 0);
}

static void a_device_error_is_passed_on_and_nothing_leaks(void **state)
{
    (void)state;
    struct bounded_source source = {.capacity_bytes = 64 * MIB, .failing_call = 2};
    struct allocator *allocator = opened(ALLOCATOR_CACHING, bounded_source(&source));
    struct block *block = NULL;
    taken(allocator, 30 * MIB);
    assert_int_equal(allocator_alloc(allocator, 20 * MIB, &block, NULL), STATUS_DEVICE);
    assert_int_equal(allocator_counters(allocator)->retry_count, 0);
    source.failing_call = 3; /* the first give-back of the close */
    assert_int_equal(allocator_close(allocator, NULL), STATUS_DEVICE);
    assert_int_equal(source.held_count, 0);
}

static void a_trim_that_fails_keeps_the_segment_usable(void **state)
{
    (void)state;
    struct bounded_source source = {.capacity_bytes = 64 * MIB, .failing_call = 3};
    struct allocator *allocator = opened(ALLOCATOR_CACHING, bounded_source(&source));
    struct block *a = taken(allocator, 30 * MIB);
    struct block *b = taken(allocator, 20 * MIB);
    allocator_free(allocator, a, NULL);
    allocator_free(allocator, b, NULL);
    assert_int_equal(allocator_trim(allocator, NULL), STATUS_DEVICE);
    checked(allocator);
    assert_int_equal(source.held_count, 1); /* the other one went */
    taken(allocator, 20 * MIB);
    assert_int_equal(source.held_count, 1);
    closed(allocator);
    assert_int_equal(source.held_count, 0);
}

static void plain_blocks_are_segments(void **state)
{
    (void)state;
    struct bounded_source source = {.capacity_bytes = 10000, .failing_call = 0};
    struct allocator *allocator = opened(ALLOCATOR_PLAIN, bounded_source(&source));
    struct block *a = taken(allocator, 700);
    struct block *b = taken(allocator, 9000);
    const struct allocator_counters *counters = allocator_counters(allocator);
    assert_int_equal(counters->requested_bytes, 9700);
    assert_int_equal(counters->allocated_bytes, 9700);
    assert_int_equal(counters->reserved_bytes, 9700);
    assert_int_equal(counters->rounding_bytes + counters->unsplit_remainder_bytes, 0);
    assert_int_equal(counters->live_segment_count, 2);
    checked(allocator);
    struct block *none = NULL;
    assert_int_equal(allocator_alloc(allocator, 301, &none, NULL), STATUS_OUT_OF_MEMORY);
    assert_int_equal(allocator_free(allocator, b, NULL), STATUS_OK);
    assert_int_equal(source.held_bytes, 700);
    source.failing_call = source.call_count + 1;
    assert_int_equal(allocator_free(allocator, a, NULL), STATUS_DEVICE);
    assert_int_equal(counters->allocated_bytes, 0);
    assert_int_equal(counters->reserved_bytes, 700); /* the source still has not taken it back */
    closed(allocator);
    assert_int_equal(source.held_count, 0);
    assert_string_equal(allocator_policy_name(ALLOCATOR_PLAIN), "plain");
    assert_string_equal(allocator_policy_name(ALLOCATOR_CACHING), "caching");
}

enum { LIVE_MAXIMUM = 200, STEP_COUNT = 4000 };

static uint32_t random_below(uint32_t *random, uint32_t limit)
{
    *random = *random * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)*random * limit) >> 32);
}

static int64_t random_size(uint32_t *random)
{
    static const uint32_t limits[] = {1024, 100000, 1200000, 3000000};
    return 1 + random_below(random, limits[random_below(random, 4)]);
}

/* Each live block is filled with its own byte; a block that overlapped another would change it. */
static void random_sequences_keep_the_invariants(void **state)
{
    (void)state;
    uint32_t random = 7;
    for (int policy = 0; policy < ALLOCATOR_POLICY_COUNT; policy++) {
        struct bounded_source source = {.capacity_bytes = INT64_C(1) << 40};
        struct allocator *allocator = opened((enum allocator_policy)policy, bounded_source(&source));
        const struct allocator_counters *counters = allocator_counters(allocator);
        struct block *blocks[LIVE_MAXIMUM] = {0};
        int64_t sizes[LIVE_MAXIMUM] = {0}, requested_bytes = 0, reserved_bytes = 0;
        for (int step = 0; step < STEP_COUNT; step++) {
            uint32_t slot = random_below(&random, LIVE_MAXIMUM);
            if (blocks[slot] != NULL) {
                unsigned char *bytes = block_address(blocks[slot]);
                assert_int_equal(bytes[0], slot);
                assert_int_equal(memcmp(bytes, bytes + 1, (size_t)sizes[slot] - 1), 0);
                assert_int_equal(allocator_free(allocator, blocks[slot], NULL), STATUS_OK);
                requested_bytes -= sizes[slot];
                blocks[slot] = NULL;
            } else {
                sizes[slot] = random_size(&random);
                blocks[slot] = taken(allocator, sizes[slot]);
                memset(block_address(blocks[slot]), (int)slot, (size_t)sizes[slot]);
                requested_bytes += sizes[slot];
            }
            checked(allocator);
            assert_int_equal(counters->requested_bytes, requested_bytes);
            assert_true(policy == ALLOCATOR_PLAIN || counters->reserved_bytes >= reserved_bytes);
            assert_int_equal(counters->reserved_bytes, source.held_bytes);
            reserved_bytes = counters->reserved_bytes;
        }
        for (int slot = 0; slot < LIVE_MAXIMUM; slot++) {
            assert_int_equal(allocator_free(allocator, blocks[slot], NULL), STATUS_OK);
        }
        checked(allocator);
        assert_int_equal(allocator_trim(allocator, NULL), STATUS_OK); /* takes only what has merged completely */
        assert_int_equal(source.held_bytes, 0);
        closed(allocator);
    }
}

/* Under a tight bound requests fail and segments come and go; nothing may be lost or damaged. */
static void random_sequences_survive_out_of_memory(void **state)
{
    (void)state;
    uint32_t random = 11;
    struct bounded_source source = {.capacity_bytes = 70 * MIB};
    struct allocator *allocator = opened(ALLOCATOR_CACHING, bounded_source(&source));
    struct block *blocks[LIVE_MAXIMUM] = {0};
    int64_t failed_count = 0;
    for (int step = 0; step < STEP_COUNT; step++) {
        uint32_t slot = random_below(&random, 16);
        if (blocks[slot] != NULL) {
            assert_int_equal(allocator_free(allocator, blocks[slot], NULL), STATUS_OK);
            blocks[slot] = NULL;
        } else {
            int64_t bytes = random_size(&random) * (1 + random_below(&random, 8));
            failed_count += allocator_alloc(allocator, bytes, &blocks[slot], NULL) == STATUS_OUT_OF_MEMORY;
        }
        checked(allocator);
    }
    const struct allocator_counters *counters = allocator_counters(allocator);
    assert_true(failed_count > 0);
    assert_int_equal(counters->out_of_memory_count, failed_count);
    assert_true(counters->retry_count > failed_count); /* some retries help */
    closed(allocator);
    assert_int_equal(source.held_count, 0);
}

static void the_check_finds_what_is_broken(void **state)
{
    (void)state;
    struct allocator *allocator = opened(ALLOCATOR_CACHING, segment_source_virtual);
    struct block *block = taken(allocator, 512);
    int64_t *figures[] = {&allocator->counters.requested_bytes,
                          &allocator->counters.reserved_bytes,
                          &block->bytes,
                          &block->offset,
                          &block->rounded_bytes,
                          &block->next->bytes};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        *figures[i] += 512;
        assert_int_equal(allocator_check(allocator, NULL), STATUS_INTERNAL);
        *figures[i] -= 512;
        checked(allocator);
    }
    block->live = false;
    assert_int_equal(allocator_check(allocator, NULL), STATUS_INTERNAL);
    block->live = true;
    const struct free_bins bins = allocator->free_small;
    allocator->free_small = (struct free_bins){0};
    assert_int_equal(allocator_check(allocator, NULL), STATUS_INTERNAL);
    allocator->free_small = bins;
    closed(allocator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_match_the_vectors),
        cmocka_unit_test(bert_shows_the_published_pair_and_its_cause),
        cmocka_unit_test(segments_follow_the_size_of_the_request),
        cmocka_unit_test(a_large_rest_of_one_mebibyte_is_not_kept),
        cmocka_unit_test(best_fit_prefers_the_smallest_then_the_lowest),
        cmocka_unit_test(freed_neighbours_merge_in_every_order),
        cmocka_unit_test(zero_bytes_are_nothing),
        cmocka_unit_test(sizes_beyond_63_bits_are_refused),
        cmocka_unit_test(peaks_start_anew),
        cmocka_unit_test(a_block_freed_twice_is_a_fault),
        cmocka_unit_test(out_of_memory_gives_back_the_cache_and_retries_once),
        cmocka_unit_test(a_device_error_is_passed_on_and_nothing_leaks),
        cmocka_unit_test(a_trim_that_fails_keeps_the_segment_usable),
        cmocka_unit_test(plain_blocks_are_segments),
        cmocka_unit_test(random_sequences_keep_the_invariants),
        cmocka_unit_test(random_sequences_survive_out_of_memory),
        cmocka_unit_test(the_check_finds_what_is_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

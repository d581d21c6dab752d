/* Moments: worked by hand on a tape of four storages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/replay/moment.h"

#define MIB      ((int64_t)1 << 20)
#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

enum { WEIGHT, SCRATCH, SMALL, LATER };

static const struct storage storages[] = {
    [WEIGHT] = {.bytes = 9 * MIB, .category = CATEGORY_WEIGHTS, .label = "weight"},
    [SCRATCH] = {.bytes = 30 * MIB, .category = CATEGORY_TEMPORARIES, .label = "scratch"},
    [SMALL] = {.bytes = 700, .category = CATEGORY_INPUTS, .label = "small"},
    [LATER] = {.bytes = 29 * MIB + 1, .category = CATEGORY_TEMPORARIES, .label = "later"},
};

/* Two forward passes: the second counts. */
static const struct event events[] = {
    {EVENT_STAGE, STAGE_LOAD}, {EVENT_ALLOC, WEIGHT}, {EVENT_STAGE, STAGE_FORWARD},
    {EVENT_ALLOC, SCRATCH},    {EVENT_FREE, SCRATCH}, {EVENT_STAGE, STAGE_FORWARD},
    {EVENT_ALLOC, SMALL},      {EVENT_ALLOC, LATER},  {EVENT_FREE, LATER},
};

static const struct tape_view tape = {
    .storages = storages, .storage_count = COUNT(storages), .events = events, .event_count = COUNT(events)};

/* 9 MiB in a segment of 20; the rest of 11 MiB is free in it. */
static void loading_takes_a_segment(void **state)
{
    (void)state;
    struct moment moment;
    assert_int_equal(moment_find(&tape, STAGE_LOAD, &moment, NULL), STATUS_OK);
    assert_int_equal(moment.stage, STAGE_LOAD);
    assert_int_equal(moment.step_count, 2);
    assert_int_equal(moment.reserved_bytes, 20 * MIB);
    assert_int_equal(moment.allocated_bytes, 9 * MIB);
    assert_int_equal(moment.fragment_bytes, 11 * MIB);
    assert_int_equal(moment.free_segment_bytes, 0);
    assert_int_equal(moment.held_count, 1);
    assert_int_equal(moment.held[0].storage, WEIGHT);
    moment_release(&moment);
}

/* The segment of 30 MiB is kept, and LATER takes it whole: the rest of 1 MiB less one byte is too little to keep. SMALL takes 1024
 * bytes of a segment of 2 MiB. */
static void the_last_occurrence_counts(void **state)
{
    (void)state;
    struct moment moment;
    assert_int_equal(moment_find(&tape, STAGE_COUNT, &moment, NULL), STATUS_OK);
    assert_int_equal(moment.stage, STAGE_FORWARD);
    assert_int_equal(moment.step_count, 8);
    assert_int_equal(moment.reserved_bytes, 52 * MIB);
    assert_int_equal(moment.requested_bytes, 9 * MIB + 700 + 29 * MIB + 1);
    assert_int_equal(moment.rounding_bytes, 324 + 511);
    assert_int_equal(moment.unsplit_remainder_bytes, MIB - 512);
    assert_int_equal(moment.fragment_bytes, 11 * MIB + 2 * MIB - 1024);
    assert_int_equal(moment.free_segment_bytes, 0);
    assert_int_equal(moment.held_count, 3);
    assert_int_equal(moment.held[2].storage, LATER);
    assert_int_equal(moment.held[2].block_bytes, 30 * MIB);
    assert_int_equal(moment.held[2].taken_in, STAGE_FORWARD);
    assert_int_equal(moment.held[0].taken_in, STAGE_LOAD);
    moment_release(&moment);
}

static void a_free_segment_is_told_apart(void **state)
{
    (void)state;
    struct tape_view shorter = tape;
    struct moment moment;
    shorter.event_count = 7; /* to SMALL */
    assert_int_equal(moment_find(&shorter, STAGE_FORWARD, &moment, NULL), STATUS_OK);
    assert_int_equal(moment.reserved_bytes, 52 * MIB);
    assert_int_equal(moment.free_segment_bytes, 30 * MIB);
    assert_int_equal(moment.fragment_bytes, 11 * MIB + 2 * MIB - 1024);
    moment_release(&moment);
}

static void a_stage_that_is_not_there_is_refused(void **state)
{
    (void)state;
    struct moment moment;
    struct status error = {0};
    assert_int_equal(moment_find(&tape, STAGE_STEP, &moment, &error), STATUS_INVALID);
    assert_string_equal(error.text, "the case has no stage step; it has load, forward");
}

/* 49 MiB: the 30 MiB of the first forward pass do not go beside the segment of 20. */
static void what_does_not_fit_ends_the_walk(void **state)
{
    (void)state;
    struct moment moment;
    assert_int_equal(moment_find_bounded(&tape, STAGE_LOAD, 49 * MIB, &moment, NULL), STATUS_OK);
    assert_true(moment.is_refused);
    assert_int_equal(moment.wanted, SCRATCH);
    assert_int_equal(moment.wanted_bytes, 30 * MIB);
    assert_int_equal(moment.stage, STAGE_FORWARD);
    assert_int_equal(moment.reserved_bytes, 20 * MIB);
    assert_int_equal(moment.allocated_bytes, 9 * MIB);
    assert_int_equal(moment.held_count, 1);
    moment_release(&moment);
}

/* 51 MiB: for the 2 MiB of SMALL the cached 30 are given back, and then LATER, which would have taken them, wants 30 more. */
static void what_is_cached_is_given_back_first(void **state)
{
    (void)state;
    struct moment moment;
    assert_int_equal(moment_find_bounded(&tape, STAGE_COUNT, 51 * MIB, &moment, NULL), STATUS_OK);
    assert_true(moment.is_refused);
    assert_int_equal(moment.wanted, LATER);
    assert_int_equal(moment.reserved_bytes, 22 * MIB);
    assert_int_equal(moment.allocated_bytes, 9 * MIB + 1024);
    assert_int_equal(moment.free_segment_bytes, 0);
    assert_int_equal(moment.held_count, 2);
    moment_release(&moment);
    assert_int_equal(moment_find_bounded(&tape, STAGE_COUNT, 52 * MIB, &moment, NULL), STATUS_OK);
    assert_false(moment.is_refused);
    assert_int_equal(moment.reserved_bytes, 52 * MIB);
    moment_release(&moment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loading_takes_a_segment),         cmocka_unit_test(the_last_occurrence_counts),
        cmocka_unit_test(what_does_not_fit_ends_the_walk), cmocka_unit_test(what_is_cached_is_given_back_first),
        cmocka_unit_test(a_free_segment_is_told_apart),    cmocka_unit_test(a_stage_that_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

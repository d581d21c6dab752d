/* Moments: worked by hand on a tape of four storages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/memory/allocator.h"
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
    assert_int_equal(moment_find(&tape, HIGH_WATER_RESERVED, STAGE_LOAD, &moment, NULL), STATUS_OK);
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

/* The segment of 30 MiB is kept, and LATER takes it whole: the rest of 1 MiB less one byte is too little to keep. SMALL
 * takes 1024 bytes of a segment of 2 MiB. */
static void the_last_occurrence_counts(void **state)
{
    (void)state;
    struct moment moment;
    assert_int_equal(moment_find(&tape, HIGH_WATER_RESERVED, STAGE_COUNT, &moment, NULL), STATUS_OK);
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
    assert_int_equal(moment_find(&shorter, HIGH_WATER_RESERVED, STAGE_FORWARD, &moment, NULL), STATUS_OK);
    assert_int_equal(moment.reserved_bytes, 52 * MIB);
    assert_int_equal(moment.free_segment_bytes, 30 * MIB);
    assert_int_equal(moment.fragment_bytes, 11 * MIB + 2 * MIB - 1024);
    moment_release(&moment);
}

/* The 30 MiB that were let go of are the most that was requested; with the segment of SMALL beside theirs, more is
 * reserved. */
static void a_metric_decides_which_moment_it_is(void **state)
{
    (void)state;
    static const struct event few[] = {
        {EVENT_STAGE, STAGE_LOAD}, {EVENT_ALLOC, SCRATCH}, {EVENT_FREE, SCRATCH}, {EVENT_ALLOC, SMALL}};
    struct tape_view view = {
        .storages = storages, .storage_count = COUNT(storages), .events = few, .event_count = COUNT(few)};
    struct moment moment;
    assert_int_equal(moment_find(&view, HIGH_WATER_RESERVED, STAGE_COUNT, &moment, NULL), STATUS_OK);
    assert_int_equal(moment.step_count, 4);
    assert_int_equal(moment.reserved_bytes, 32 * MIB);
    assert_int_equal(moment.requested_bytes, 700);
    assert_int_equal(moment.held[0].storage, SMALL);
    moment_release(&moment);
    assert_int_equal(moment_find(&view, HIGH_WATER_REQUESTED, STAGE_COUNT, &moment, NULL), STATUS_OK);
    assert_int_equal(moment.step_count, 2);
    assert_int_equal(moment.requested_bytes, 30 * MIB);
    assert_int_equal(moment.reserved_bytes, 0);
    assert_int_equal(moment.held_count, 1);
    assert_int_equal(moment.held[0].storage, SCRATCH);
    moment_release(&moment);
}

static void a_stage_that_is_not_there_is_refused(void **state)
{
    (void)state;
    struct moment moment;
    struct status error = {0};
    assert_int_equal(moment_find(&tape, HIGH_WATER_RESERVED, STAGE_STEP, &moment, &error), STATUS_INVALID);
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

/* 51 MiB: for the 2 MiB of SMALL the cached 30 are given back, and then LATER, which would have taken them, wants 30
 * more. */
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

/* -- any tape */

enum { RANDOM_STORAGES = 24, RANDOM_EVENTS = 90 };

struct random_tape {
    struct storage storages[RANDOM_STORAGES];
    struct event events[RANDOM_EVENTS];
    struct tape_view view;
};

static uint64_t random_next(uint64_t *state, uint64_t bound)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % bound;
}

/* Tensors of both pools that come and go, through stages some of which recur. */
static void tape_draw(struct random_tape *made, uint64_t *seed)
{
    static const int64_t units[] = {0, 1, 300, 4096, 500000, 3 * MIB, 11 * MIB};
    int taken = 0, count = 0;
    bool live[RANDOM_STORAGES] = {false};
    for (int i = 0; i < RANDOM_STORAGES; i++) {
        made->storages[i] = (struct storage){.bytes = units[random_next(seed, 7)] * (1 + (int64_t)random_next(seed, 3)),
                                             .label = "tensor"};
    }
    while (count < RANDOM_EVENTS) {
        uint64_t choice = random_next(seed, 10);
        int index = (int)random_next(seed, RANDOM_STORAGES);
        if (choice == 0) {
            made->events[count++] = (struct event){EVENT_STAGE, STAGE_LOAD + (int)random_next(seed, 3)};
        } else if (choice < 5 && taken < RANDOM_STORAGES) {
            live[taken] = true;
            made->events[count++] = (struct event){EVENT_ALLOC, taken++};
        } else if (live[index]) {
            live[index] = false;
            made->events[count++] = (struct event){EVENT_FREE, index};
        } else if (taken == RANDOM_STORAGES) {
            break;
        }
    }
    made->view = (struct tape_view){
        .storages = made->storages, .storage_count = RANDOM_STORAGES, .events = made->events, .event_count = count};
}

/* What the first events of a tape leave, found by carrying them out anew. */
struct state {
    enum stage stage;
    bool counts; /* no later event begins the stage again */
    struct allocator_counters counters;
    int64_t free_segment_bytes, bytes[RANDOM_STORAGES], block_bytes[RANDOM_STORAGES];
    enum stage taken_in[RANDOM_STORAGES];
    bool live[RANDOM_STORAGES];
};

static struct state state_after(const struct tape_view *view, int event_count)
{
    struct state state = {.stage = STAGE_CONTEXT, .counts = true};
    struct block *blocks[RANDOM_STORAGES] = {NULL};
    struct allocator *allocator = NULL;
    struct segment_source source = segment_source_virtual;
    source.descends = true; /* as those of devices */
    assert_int_equal(allocator_open(ALLOCATOR_CACHING, source, &allocator, NULL), STATUS_OK);
    for (int i = 0; i < event_count; i++) {
        int index = view->events[i].index;
        if (view->events[i].kind == EVENT_STAGE) {
            state.stage = (enum stage)index;
        } else if (view->events[i].kind == EVENT_ALLOC) {
            assert_int_equal(allocator_alloc(allocator, view->storages[index].bytes, &blocks[index], NULL), STATUS_OK);
            state.taken_in[index] = state.stage;
            state.bytes[index] = view->storages[index].bytes;
            state.block_bytes[index] = block_bytes(blocks[index]);
            state.live[index] = blocks[index] != NULL;
        } else {
            assert_int_equal(allocator_free(allocator, blocks[index], NULL), STATUS_OK);
            state.live[index] = false;
        }
    }
    for (int i = event_count; i < view->event_count; i++) {
        state.counts =
            state.counts && !(view->events[i].kind == EVENT_STAGE && view->events[i].index == (int)state.stage);
    }
    state.counters = *allocator_counters(allocator);
    state.free_segment_bytes = allocator_free_segment_bytes(allocator);
    assert_int_equal(allocator_close(allocator, NULL), STATUS_OK);
    return state;
}

static void moment_is(const struct moment *moment, const struct state *state, int event_count)
{
    int held = 0;
    assert_int_equal(moment->step_count, event_count);
    assert_int_equal(moment->stage, state->stage);
    assert_int_equal(moment->requested_bytes, state->counters.requested_bytes);
    assert_int_equal(moment->allocated_bytes, state->counters.allocated_bytes);
    assert_int_equal(moment->reserved_bytes, state->counters.reserved_bytes);
    assert_int_equal(moment->rounding_bytes, state->counters.rounding_bytes);
    assert_int_equal(moment->unsplit_remainder_bytes, state->counters.unsplit_remainder_bytes);
    assert_int_equal(moment->free_segment_bytes, state->free_segment_bytes);
    for (int i = 0; i < RANDOM_STORAGES; i++) {
        if (state->live[i]) {
            assert_true(held < moment->held_count);
            assert_int_equal(moment->held[held].storage, i);
            assert_int_equal(moment->held[held].taken_in, state->taken_in[i]);
            assert_int_equal(moment->held[held].bytes, state->bytes[i]);
            assert_int_equal(moment->held[held++].block_bytes, state->block_bytes[i]);
        }
    }
    assert_int_equal(moment->held_count, held);
}

/* The first of the highest reserved, then of the highest allocated bytes, of all beginnings of the tape; and what is
 * held then. */
static void the_moment_is_the_highest_of_all(void **state)
{
    (void)state;
    uint64_t seed = 7;
    int before_the_end = 0;
    for (int round = 0; round < 400; round++) {
        struct random_tape drawn;
        struct state highest = {0};
        struct moment moment;
        int at = -1;
        tape_draw(&drawn, &seed);
        enum stage stage = round % 2 == 0 ? STAGE_COUNT : STAGE_LOAD;
        for (int i = 1; i <= drawn.view.event_count; i++) {
            struct state now = state_after(&drawn.view, i);
            bool is_higher = at < 0 || now.counters.reserved_bytes > highest.counters.reserved_bytes ||
                             (now.counters.reserved_bytes == highest.counters.reserved_bytes &&
                              now.counters.allocated_bytes > highest.counters.allocated_bytes);
            if (now.counts && is_higher && (stage == STAGE_COUNT || now.stage == stage)) {
                highest = now;
                at = i;
            }
        }
        assert_int_equal(moment_find(&drawn.view, HIGH_WATER_RESERVED, stage, &moment, NULL),
                         at < 0 ? STATUS_INVALID : STATUS_OK);
        if (at >= 0) {
            moment_is(&moment, &highest, at);
            before_the_end += at < drawn.view.event_count;
            moment_release(&moment);
        }
    }
    assert_in_range(before_the_end, 100, 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loading_takes_a_segment),
        cmocka_unit_test(the_last_occurrence_counts),
        cmocka_unit_test(what_does_not_fit_ends_the_walk),
        cmocka_unit_test(what_is_cached_is_given_back_first),
        cmocka_unit_test(a_free_segment_is_told_apart),
        cmocka_unit_test(a_stage_that_is_not_there_is_refused),
        cmocka_unit_test(a_metric_decides_which_moment_it_is),
        cmocka_unit_test(the_moment_is_the_highest_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

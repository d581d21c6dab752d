/* What is held at the highest moment of a walk: worked by hand, and against copies taken at every moment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/memory/high_water.h"

#define MIB ((int64_t)1 << 20)

static struct high_water *opened(enum high_water_metric metric, size_t slot_count, int64_t bound_bytes)
{
    struct high_water *water = NULL;
    assert_int_equal(high_water_open(metric, slot_count, bound_bytes, &water, NULL), STATUS_OK);
    return water;
}

static void taken(struct high_water *water, size_t slot, int64_t bytes)
{
    assert_int_equal(high_water_take(water, slot, bytes, 7, NULL), STATUS_OK);
}

static void freed(struct high_water *water, size_t slot)
{
    assert_int_equal(high_water_free(water, slot, NULL), STATUS_OK);
}

static void the_worked_example_holds(void **state)
{
    (void)state;
    struct high_water *water = opened(HIGH_WATER_REQUESTED, 2, 0);
    assert_int_equal(high_water_bytes_then(water)->requested, 0);
    taken(water, 0, 700);
    assert_int_equal(high_water_slot_then(water, 0)->bytes, 0); /* the opening is still the highest moment */
    assert_true(high_water_raise(water));
    taken(water, 1, 700);
    assert_true(high_water_raise(water));
    freed(water, 0);
    assert_false(high_water_raise(water));
    assert_int_equal(high_water_bytes_then(water)->requested, 1400);
    assert_int_equal(high_water_slot_then(water, 0)->bytes, 700);
    assert_int_equal(high_water_slot_then(water, 0)->taken_in, 7);
    assert_int_equal(high_water_slot_then(water, 1)->bytes, 700);
    high_water_mark(water); /* lower, but wanted */
    assert_int_equal(high_water_bytes_then(water)->requested, 700);
    assert_int_equal(high_water_slot_then(water, 0)->bytes, 0);
    high_water_close(water);
}

static void what_is_carried_or_grows_is_known_of_the_moment(void **state)
{
    (void)state;
    struct high_water *water = opened(HIGH_WATER_REQUESTED, 3, 0);
    taken(water, 0, 100);
    high_water_mark(water);
    high_water_carry(water, 0, 2);
    high_water_grow(water, 2, 11);
    assert_int_equal(high_water_slot_then(water, 0)->bytes, 100);
    assert_int_equal(high_water_slot_then(water, 2)->bytes, 0);
    assert_true(high_water_raise(water));
    assert_int_equal(high_water_bytes_then(water)->requested, 111);
    assert_int_equal(high_water_slot_then(water, 0)->bytes, 0);
    assert_int_equal(high_water_slot_then(water, 2)->bytes, 111);
    freed(water, 2);
    taken(water, 1, 110);
    assert_false(high_water_raise(water));
    high_water_close(water);
}

/* A segment of 20 MiB for 9 MiB; beside it a bound of 40 MiB has no room for 30. */
static void what_the_bound_refuses_changes_nothing(void **state)
{
    (void)state;
    struct high_water *water = opened(HIGH_WATER_RESERVED, 2, 40 * MIB);
    taken(water, 0, 9 * MIB);
    assert_int_equal(high_water_take(water, 1, 30 * MIB, 0, NULL), STATUS_OUT_OF_MEMORY);
    high_water_mark(water);
    assert_int_equal(high_water_bytes_then(water)->reserved, 20 * MIB);
    assert_int_equal(high_water_bytes_then(water)->allocated, 9 * MIB);
    assert_int_equal(high_water_slot_then(water, 0)->block_bytes, 9 * MIB);
    assert_int_equal(high_water_slot_then(water, 1)->bytes, 0);
    high_water_carry(water, 0, 1);
    freed(water, 1);
    taken(water, 0, 30 * MIB); /* the segment that was cached has been given back */
    assert_true(high_water_raise(water));
    assert_int_equal(high_water_bytes_then(water)->reserved, 30 * MIB);
    high_water_close(water);
}

/* Two segments of 20 MiB that are cached make way for one of 30: more is allocated, and less reserved. */
static void reserved_bytes_come_before_allocated_ones(void **state)
{
    (void)state;
    struct high_water *water = opened(HIGH_WATER_RESERVED, 3, 50 * MIB);
    taken(water, 0, 20 * MIB);
    taken(water, 1, 20 * MIB);
    freed(water, 0);
    freed(water, 1);
    high_water_mark(water);
    assert_int_equal(high_water_bytes_then(water)->free_segments, 40 * MIB);
    taken(water, 2, 30 * MIB);
    assert_false(high_water_raise(water));
    assert_int_equal(high_water_bytes_then(water)->reserved, 40 * MIB);
    assert_int_equal(high_water_slot_then(water, 2)->bytes, 0);
    high_water_close(water);
}

static void a_sum_beyond_63_bits_is_refused(void **state)
{
    (void)state;
    struct status error = {0};
    struct high_water *water = opened(HIGH_WATER_REQUESTED, 2, 0);
    taken(water, 0, INT64_MAX);
    assert_int_equal(high_water_take(water, 1, 1, 0, &error), STATUS_OVERFLOW);
    assert_string_equal(error.text, "the live bytes do not fit 63 bits");
    high_water_raise(water);
    assert_int_equal(high_water_bytes_then(water)->requested, INT64_MAX);
    assert_int_equal(high_water_slot_then(water, 1)->bytes, 0);
    high_water_close(water);
}

/* -- any walk */

enum { SLOTS = 12, CHANGES = 200 };

static uint64_t random_next(uint64_t *state, uint64_t bound)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % bound;
}

/* After every change the slots of the highest moment are those that were copied then. */
static void the_moment_is_what_a_copy_says(void **state)
{
    (void)state;
    uint64_t seed = 11;
    int behind_count = 0;
    for (int round = 0; round < 100; round++) {
        int64_t now[SLOTS] = {0}, copy[SLOTS] = {0}, sum = 0, highest = 0;
        struct high_water *water = opened(HIGH_WATER_REQUESTED, SLOTS, 0);
        for (int change = 0; change < CHANGES; change++) {
            size_t slot = random_next(&seed, SLOTS), other = random_next(&seed, SLOTS);
            if (now[slot] == 0) {
                now[slot] = 1 + (int64_t)random_next(&seed, 1000);
                sum += now[slot];
                taken(water, slot, now[slot]);
            } else if (now[other] == 0) {
                now[other] = now[slot];
                now[slot] = 0;
                high_water_carry(water, slot, other);
            } else {
                sum -= now[slot];
                now[slot] = 0;
                freed(water, slot);
            }
            assert_int_equal(high_water_raise(water), sum > highest);
            if (sum > highest) {
                highest = sum;
                memcpy(copy, now, sizeof copy);
            }
            behind_count += sum < highest;
            assert_int_equal(high_water_bytes_then(water)->requested, highest);
            for (size_t i = 0; i < SLOTS; i++) {
                assert_int_equal(high_water_slot_then(water, i)->bytes, copy[i]);
            }
        }
        high_water_close(water);
    }
    assert_true(behind_count > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worked_example_holds),
        cmocka_unit_test(what_is_carried_or_grows_is_known_of_the_moment),
        cmocka_unit_test(what_the_bound_refuses_changes_nothing),
        cmocka_unit_test(reserved_bytes_come_before_allocated_ones),
        cmocka_unit_test(a_sum_beyond_63_bits_is_refused),
        cmocka_unit_test(the_moment_is_what_a_copy_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

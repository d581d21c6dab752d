/* Cycles: loops of turns that are told once, or not where they must not be. Each is walked, and held against the same
 * loop with every turn recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "harness/tape/build.h"
#include "harness/tape/tape_cursor.h"
#include "tests/tape/tape_changes.h"

enum { TURNS = 1000, CHANGES_MAXIMUM = 16 * TURNS };

/* What a turn takes in bytes: a tensor that replaces the one before, and one that passes. */
struct loop {
    int64_t (*kept_bytes)(int64_t turn);
    int64_t (*passing_bytes)(int64_t turn);
    int64_t period;
    int64_t window; /* turns like each other end before it; 0: it is not told */
};

static int64_t constant(int64_t turn)
{
    (void)turn;
    return 700;
}

static int64_t growing(int64_t turn)
{
    return 100 + 24 * turn;
}

static int64_t saturating(int64_t turn)
{
    return turn < 613 ? 100 + 24 * turn : 100 + 24 * 613;
}

static int64_t in_eights(int64_t turn)
{
    return (turn + 7) / 8 * 8 * 3 + 1;
}

static int64_t odd(int64_t turn)
{
    return 1000 + turn * turn;
}

static struct value *tensor(struct tape *tape, int64_t bytes)
{
    return tape_leaf(tape, CATEGORY_KV_CACHE, DTYPE_UINT8, 1, &bytes, false, "tensor");
}

/* The loop as a model would write it: the new one is there before the old one goes; its size comes from the old
 * one's. */
static void loop_build(struct tape *tape, const struct loop *loop)
{
    struct tape_cycle cycle = tape_cycle_open(tape, loop->period);
    struct value *kept = NULL;
    for (int64_t turn = 0; turn < TURNS; turn++) {
        int frame = tape_frame_open(tape);
        struct value *next = tape_hold(tape, tensor(tape, loop->kept_bytes(turn)));
        tensor(tape, loop->passing_bytes(turn));
        tape_let_go(tape, kept);
        kept = next;
        tape_frame_close(tape, frame, NULL);
        int64_t rest = TURNS - turn - 1, window = loop->window - turn - 1;
        turn += tape_cycle_turn(&cycle, loop->window > 0 && window >= 0 && window < rest ? window : rest);
    }
    if (!tape_failed(tape)) {
        assert_int_equal(value_size(kept, 0), loop->kept_bytes(TURNS - 1)); /* values were brought up to date */
    }
}

/* How often it was built until it was right. */
static struct tape *loop_tape(const struct loop *loop, bool repeats, int *attempts)
{
    struct cycle_bounds bounds = {0};
    const struct target *target = NULL;
    struct tape *tape = NULL;
    assert_int_equal(target_find("sm_90", &target, NULL), STATUS_OK);
    *attempts = 0;
    do {
        bounds.broken = false;
        (*attempts)++;
        tape_release(tape);
        assert_int_equal(tape_new(target, &tape, NULL), STATUS_OK);
        tape_shape(tape, (struct tape_form){.repeats = repeats}, &bounds);
        loop_build(tape, loop);
    } while (bounds.broken);
    assert_int_equal(tape_finish(tape, NULL), STATUS_OK);
    return tape;
}

/* The highest sum, and the sum at the end. */
static void sums_of(const struct tape *tape, bool ends_only, int64_t sums[2])
{
    struct tape_view view = tape_view(tape);
    struct tape_cursor cursor;
    struct tape_step step;
    assert_int_equal(tape_cursor_open(&view, &cursor, NULL), STATUS_OK);
    cursor.ends_only = ends_only;
    sums[0] = sums[1] = 0;
    while (tape_cursor_next(&cursor, &step)) {
        sums[1] += step.change_bytes;
        sums[0] = step.kind == TAPE_STEP_EVENT && sums[1] > sums[0] ? sums[1] : sums[0];
    }
    assert_true(!ends_only || view.repeat_count == 0 || cursor.step_count < 4 * TURNS - 1);
    tape_cursor_close(&cursor);
}

/* Returns how many storages the brief tape has. */
static int loop_check(const struct loop *loop, int *attempts)
{
    static int64_t recorded[CHANGES_MAXIMUM], brief[CHANGES_MAXIMUM];
    int once = 0;
    struct tape *whole = loop_tape(loop, false, &once), *tape = loop_tape(loop, true, attempts);
    int count = tape_changes(whole, recorded, CHANGES_MAXIMUM);
    assert_int_equal(count, 4 * TURNS - 1); /* the last one is kept */
    assert_int_equal(tape_changes(tape, brief, CHANGES_MAXIMUM), count);
    assert_memory_equal(recorded, brief, (size_t)count * sizeof recorded[0]);
    int64_t sums[2], sums_at_ends[2];
    sums_of(whole, false, sums);
    sums_of(tape, true, sums_at_ends);
    assert_memory_equal(sums, sums_at_ends, sizeof sums);
    int storages = tape_view(tape).storage_count;
    tape_release(whole);
    tape_release(tape);
    return storages;
}

static void equal_turns_are_told_once(void **state)
{
    (void)state;
    int attempts = 0;
    assert_in_range(loop_check(&(struct loop){constant, constant, 1, 0}, &attempts), 2, 20);
    assert_int_equal(attempts, 1);
}

static void even_growth_is_told_once(void **state)
{
    (void)state;
    int attempts = 0;
    assert_in_range(loop_check(&(struct loop){growing, constant, 1, 0}, &attempts), 2, 20);
    assert_in_range(loop_check(&(struct loop){growing, growing, 1, 0}, &attempts), 2, 20);
    assert_int_equal(attempts, 1);
}

/* The caller says where sizes stop growing: two repetitions, and nothing is built twice. */
static void a_window_that_is_told_costs_nothing(void **state)
{
    (void)state;
    int attempts = 0;
    assert_in_range(loop_check(&(struct loop){saturating, constant, 1, 613}, &attempts), 2, 40);
    assert_int_equal(attempts, 1);
}

/* It is found where nobody told it: the tape is right all the same. */
static void a_window_that_is_not_told_is_found(void **state)
{
    (void)state;
    int attempts = 0;
    assert_in_range(loop_check(&(struct loop){saturating, constant, 1, 0}, &attempts), 2, 400);
    assert_in_range(attempts, 2, 100);
}

static void sizes_in_steps_are_found_in_laps(void **state)
{
    (void)state;
    int attempts = 0;
    assert_in_range(loop_check(&(struct loop){growing, in_eights, 8, 0}, &attempts), 2, 100);
    assert_int_equal(attempts, 1);
}

/* A period that is not told: laps of one turn are alike for a while, and then not. */
static void sizes_in_steps_are_right_though_not_told(void **state)
{
    (void)state;
    int attempts = 0;
    loop_check(&(struct loop){growing, in_eights, 1, 0}, &attempts);
}

static void turns_that_grow_unevenly_are_recorded(void **state)
{
    (void)state;
    int attempts = 0;
    assert_int_equal(loop_check(&(struct loop){odd, constant, 1, 0}, &attempts), 2 * TURNS);
    assert_int_equal(attempts, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_turns_are_told_once),
        cmocka_unit_test(even_growth_is_told_once),
        cmocka_unit_test(a_window_that_is_told_costs_nothing),
        cmocka_unit_test(a_window_that_is_not_told_is_found),
        cmocka_unit_test(sizes_in_steps_are_found_in_laps),
        cmocka_unit_test(sizes_in_steps_are_right_though_not_told),
        cmocka_unit_test(turns_that_grow_unevenly_are_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Cycles: when the turns of a loop are so alike that the rest of them need not be built. Whether laps are alike is
 * lap_compare.c's; here are the leap over the rest and what becomes of the values. It proves nothing about a model's
 * code: a leap is held against the lap that is built behind it, and tests hold whole tapes against recorded ones. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/tape/lap.h"

enum { LAPS = 3 };

void snapshot_release(struct snapshot *snapshot)
{
    free(snapshot->values);
    free(snapshot->alive);
    free(snapshot->limits);
    *snapshot = (struct snapshot){0};
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;
    while (y != 0) {
        int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

void size_step_note(struct tape *tape, int64_t step)
{
    tape->size_step = tape->size_step > 0 ? common_multiple(tape->size_step, step) : step;
}

void size_limit_note(struct tape *tape, int64_t size, int64_t most)
{
    if (tape->form.repeats && most < INT64_MAX &&
        array_grow(tape, (void **)&tape->limits, &tape->limit_capacity, tape->limit_count, sizeof *tape->limits)) {
        tape->limits[tape->limit_count++] = (struct size_limit){size, most};
    }
}

static struct tape_marks marks_now(const struct tape *tape)
{
    return (struct tape_marks){tape->event_count, tape->storage_count, tape->op_count, tape->operand_count};
}

static int64_t lap_turns(const struct tape *tape, int64_t period)
{
    return tape->size_step > 0 ? common_multiple(tape->size_step, period) : period;
}

static void laps_begin(struct tape_cycle *cycle)
{
    cycle->lap = lap_turns(cycle->tape, cycle->period);
    cycle->lap_turn = 0;
    cycle->lap_count = 0;
    cycle->foreseen_laps = 0;
    cycle->marks[0] = marks_now(cycle->tape);
    cycle->tape->limit_count = 0;
}

struct tape_cycle tape_cycle_open(struct tape *tape, int64_t period)
{
    struct tape_cycle cycle = {.tape = tape, .number = tape->cycle_count++, .period = period};
    laps_begin(&cycle);
    return cycle;
}

/* -- bounds */

static struct cycle_bound *bound_find(const struct tape_cycle *cycle, int64_t turn)
{
    struct cycle_bounds *bounds = cycle->tape->bounds;
    for (int i = 0; i < bounds->count; i++) {
        struct cycle_bound *bound = &bounds->bounds[i];
        if (bound->cycle == cycle->number && bound->turn == turn) {
            return bound;
        }
    }
    return NULL;
}

/* The laps passed over ended elsewhere than was foreseen: half of them, the next time. */
static void bound_note(struct tape_cycle *cycle)
{
    struct cycle_bounds *bounds = cycle->tape->bounds;
    struct cycle_bound *bound = bound_find(cycle, cycle->foreseen_turn);
    if (bound == NULL && bounds->count < CYCLE_BOUNDS_MAXIMUM) {
        bound = &bounds->bounds[bounds->count++];
        *bound = (struct cycle_bound){.cycle = cycle->number, .turn = cycle->foreseen_turn};
    }
    if (bound != NULL) {
        bound->laps = cycle->foreseen_laps / 2;
        bounds->broken = true;
    }
    tape_fail(cycle->tape, STATUS_INTERNAL, "the turns after turn %lld are not what they were foreseen to be",
              (long long)cycle->foreseen_turn);
}

/* -- the leap */

static int64_t extrapolated(int64_t before, int64_t now, int64_t laps)
{
    return now + (now - before) * laps; /* its storage was checked, and is not smaller than any of its parts */
}

/* What the last lap has left becomes what so many laps on will have left. */
static void values_advance(struct tape *tape, int64_t laps)
{
    for (int i = 0; i < tape->now.value_count; i++) {
        const struct value *before = &tape->before.values[i].form;
        struct value *value = tape->now.values[i].value;
        for (int k = 0; k < value->shape.rank; k++) {
            value->shape.size[k] = extrapolated(before->shape.size[k], value->shape.size[k], laps);
            value->stride[k] = extrapolated(before->stride[k], value->stride[k], laps);
        }
        value->offset = extrapolated(before->offset, value->offset, laps);
    }
}

static bool growth_note(struct tape *tape, const struct tape_marks *from, const struct tape_marks *to, int64_t laps)
{
    for (int i = to->storage; i < tape->storage_count; i++) {
        struct storage *storage = &tape->storages[i];
        int64_t growth = storage->bytes - tape->storages[i - to->storage + from->storage].bytes, most = 0;
        if (growth > 0 && (!size_multiply(growth, laps, &most) || !size_add(most, storage->bytes, &most))) {
            tape_fail(tape, STATUS_OVERFLOW, "the size of %s does not fit 63 bits", storage->label);
            return false;
        }
        storage->growth_bytes = growth;
    }
    return true;
}

static bool carries_append(struct tape *tape, const struct tape_marks *from, const struct tape_marks *to)
{
    for (int i = to->storage; i < tape->storage_count; i++) {
        if (tape->states[i].references == 0) {
            continue;
        }
        if (!array_grow(tape, (void **)&tape->carries, &tape->carry_capacity, tape->carry_count,
                        sizeof *tape->carries)) {
            return false;
        }
        tape->carries[tape->carry_count++] = (struct carry){i, i - to->storage + from->storage};
    }
    return true;
}

static void repeat_append(struct tape *tape, const struct tape_marks *from, const struct tape_marks *to, int64_t laps)
{
    struct repeat repeat = {.first_event = to->event,
                            .event_count = tape->event_count - to->event,
                            .count = laps,
                            .first_storage = to->storage,
                            .storage_count = tape->storage_count - to->storage,
                            .first_carry = tape->carry_count,
                            .operand_count = tape->operand_count - to->operand};
    if (!growth_note(tape, from, to, laps) || !carries_append(tape, from, to) ||
        !array_grow(tape, (void **)&tape->repeats, &tape->repeat_capacity, tape->repeat_count, sizeof repeat)) {
        return;
    }
    repeat.carry_count = tape->carry_count - repeat.first_carry;
    tape->repeats[tape->repeat_count] = repeat;
    event_append(tape, EVENT_REPEAT, tape->repeat_count++);
    values_advance(tape, laps);
}

/* Whether the last three laps are alike and grow evenly: marks[0] to marks[3]. */
static bool laps_repeat(const struct tape_cycle *cycle)
{
    const struct tape_marks *marks = cycle->marks;
    const struct tape *tape = cycle->tape;
    return lap_is_alike(tape, &marks[0], &marks[1], &marks[2]) && lap_is_alike(tape, &marks[1], &marks[2], &marks[3]) &&
           lap_grows_evenly(tape, marks, 1) && snapshots_pair(tape, &marks[1], &marks[2]);
}

/* A lap has ended. left: turns to come. Returns how many laps are passed over. */
static int64_t lap_end(struct tape_cycle *cycle, int64_t left)
{
    struct tape *tape = cycle->tape;
    if (cycle->lap_count == LAPS) {
        memmove(cycle->marks, cycle->marks + 1, LAPS * sizeof cycle->marks[0]);
    } else {
        cycle->lap_count++;
    }
    cycle->marks[cycle->lap_count] = marks_now(tape);
    struct snapshot spare = tape->before;
    tape->before = tape->now;
    tape->now = spare;
    snapshot_take(tape, &cycle->marks[cycle->lap_count - 1]);
    if (cycle->lap_count < LAPS || tape_failed(tape)) {
        return 0;
    }
    if (cycle->foreseen_laps > 0) {
        bool alike = lap_is_alike(tape, &cycle->marks[1], &cycle->marks[2], &cycle->marks[3]) &&
                     lap_grows_evenly(tape, cycle->marks, cycle->foreseen_laps + 1);
        if (!alike) {
            bound_note(cycle);
        }
        cycle->foreseen_laps = 0;
        cycle->marks[0] = cycle->marks[2]; /* sizes before the leap are no neighbours of those behind it */
        cycle->marks[1] = cycle->marks[3];
        cycle->lap_count = 1;
        return 0;
    }
    int64_t laps = left / cycle->lap - 1; /* one is built behind them */
    const struct cycle_bound *bound = bound_find(cycle, cycle->turn);
    laps = bound != NULL && bound->laps < laps ? bound->laps : laps;
    laps = laps_within_limits(tape, laps + 1) - 1;
    if (laps < 1 || !laps_repeat(cycle)) {
        return 0;
    }
    cycle->foreseen_turn = cycle->turn;
    cycle->foreseen_laps = laps;
    repeat_append(tape, &cycle->marks[1], &cycle->marks[2], laps);
    cycle->marks[3] = marks_now(tape); /* behind the event that repeats */
    return laps;
}

int64_t tape_cycle_turn(struct tape_cycle *cycle, int64_t left)
{
    struct tape *tape = cycle->tape;
    cycle->turn++;
    if (!tape->form.repeats) {
        return 0;
    }
    if (tape_failed(tape)) { /* what was foreseen may be why */
        if (cycle->foreseen_laps > 0 && tape->error.code == STATUS_INTERNAL) {
            bound_note(cycle);
        }
        return 0;
    }
    if (lap_turns(tape, cycle->period) != cycle->lap) {
        laps_begin(cycle);
        return 0;
    }
    if (++cycle->lap_turn < cycle->lap) {
        return 0;
    }
    cycle->lap_turn = 0;
    int64_t turns = lap_end(cycle, left) * cycle->lap;
    cycle->turn += turns;
    return turns;
}

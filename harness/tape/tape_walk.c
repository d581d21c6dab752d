/* Tape walk: an index into the events, and while a body is repeated, in which repetition. It knows no allocator. */
#include "harness/tape/tape_walk.h"

#include <stdlib.h>

int64_t storage_bytes_in(const struct storage *storage, int64_t repetition)
{
    return storage->bytes + storage->growth_bytes * repetition; /* checked for the last repetition when it was built */
}

enum status_code tape_walk_open(const struct tape_view *tape, struct tape_walk *walk, struct status *error)
{
    size_t count = (size_t)tape->storage_count + 1;
    *walk = (struct tape_walk){.tape = tape, .bytes = calloc(count, sizeof *walk->bytes)};
    return walk->bytes != NULL
               ? STATUS_OK
               : status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for %zu tensors", count);
}

void tape_walk_close(struct tape_walk *walk)
{
    free(walk->bytes);
    *walk = (struct tape_walk){0};
}

/* At an event that repeats: on to the next repetition of its body, or past it. */
static void repeat_turn(struct tape_walk *walk, int number)
{
    const struct repeat *repeat = &walk->tape->repeats[number];
    if (walk->repetition == repeat->count) {
        walk->repetition = 0;
        walk->event++;
        return;
    }
    walk->repeat = number;
    walk->repetition++;
    walk->left_out = walk->ends_only && walk->repetition == 2 ? repeat->count - 2 : 0;
    walk->repetition += walk->left_out;
    walk->event = repeat->first_event;
    walk->carry = repeat->first_carry;
    walk->carries = true;
}

/* What the repetitions that were left out have left, storage by storage; then nothing is told of them any more. */
static bool left_out_take(struct tape_walk *walk, struct walk_step *step)
{
    const struct repeat *repeat = &walk->tape->repeats[walk->repeat];
    if (walk->left_out == 0 || walk->carry == repeat->first_carry + repeat->carry_count) {
        walk->carry = walk->left_out > 0 ? repeat->first_carry : walk->carry;
        walk->left_out = 0;
        return false;
    }
    int storage = walk->tape->carries[walk->carry++].from;
    int64_t change = walk->tape->storages[storage].growth_bytes * walk->left_out;
    *step = (struct walk_step){
        .kind = WALK_LEFT_OUT, .event = {.kind = EVENT_ALLOC, .index = storage}, .change_bytes = change};
    walk->bytes[storage] += change;
    return true;
}

/* Whether a carry is left of those with which a repetition begins. */
static bool carry_take(struct tape_walk *walk, struct walk_step *step)
{
    const struct repeat *repeat = &walk->tape->repeats[walk->repeat];
    if (!walk->carries || walk->carry == repeat->first_carry + repeat->carry_count) {
        walk->carries = false;
        return false;
    }
    *step = (struct walk_step){.kind = WALK_CARRY, .carry = walk->tape->carries[walk->carry++]};
    walk->bytes[step->carry.to] = walk->bytes[step->carry.from];
    return true;
}

static int64_t change_of(struct tape_walk *walk, struct event event)
{
    if (event.kind == EVENT_ALLOC) {
        walk->bytes[event.index] = storage_bytes_in(&walk->tape->storages[event.index], walk->repetition);
        return walk->bytes[event.index];
    }
    return event.kind == EVENT_FREE ? -walk->bytes[event.index] : 0;
}

bool tape_walk_next(struct tape_walk *walk, struct walk_step *step)
{
    const struct tape_view *tape = walk->tape;
    while (walk->event < tape->event_count && tape->events[walk->event].kind == EVENT_REPEAT) {
        repeat_turn(walk, tape->events[walk->event].index);
    }
    if (left_out_take(walk, step) || carry_take(walk, step)) {
        walk->step_count++;
        return true;
    }
    if (walk->event >= tape->event_count) {
        return false;
    }
    struct event event = tape->events[walk->event++];
    *step = (struct walk_step){.kind = WALK_EVENT, .event = event, .change_bytes = change_of(walk, event)};
    walk->step_count++;
    return true;
}

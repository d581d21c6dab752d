/* Tape cursor: an index into the events, and while a body is repeated, in which repetition. It knows no allocator. */
#include "harness/tape/tape_cursor.h"

#include <stdlib.h>

int64_t storage_bytes_in(const struct storage *storage, int64_t repetition)
{
    return storage->bytes + storage->growth_bytes * repetition; /* checked for the last repetition when it was built */
}

enum status_code tape_cursor_open(const struct tape_view *tape, struct tape_cursor *cursor, struct status *error)
{
    size_t count = (size_t)tape->storage_count + 1;
    *cursor = (struct tape_cursor){.tape = tape, .bytes = calloc(count, sizeof *cursor->bytes)};
    return cursor->bytes != NULL
               ? STATUS_OK
               : status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for %zu tensors", count);
}

void tape_cursor_close(struct tape_cursor *cursor)
{
    free(cursor->bytes);
    *cursor = (struct tape_cursor){0};
}

/* At an event that repeats: on to the next repetition of its body, or past it. */
static void repeat_turn(struct tape_cursor *cursor, int number)
{
    const struct repeat *repeat = &cursor->tape->repeats[number];
    if (cursor->repetition == repeat->count) {
        cursor->repetition = 0;
        cursor->event++;
        return;
    }
    cursor->repeat = number;
    cursor->repetition++;
    cursor->left_out = cursor->ends_only && cursor->repetition == 2 ? repeat->count - 2 : 0;
    cursor->repetition += cursor->left_out;
    cursor->event = repeat->first_event;
    cursor->carry = repeat->first_carry;
    cursor->carries = true;
}

/* What the repetitions that were left out have left, storage by storage; then nothing is told of them any more. */
static bool left_out_take(struct tape_cursor *cursor, struct tape_step *step)
{
    const struct repeat *repeat = &cursor->tape->repeats[cursor->repeat];
    if (cursor->left_out == 0 || cursor->carry == repeat->first_carry + repeat->carry_count) {
        cursor->carry = cursor->left_out > 0 ? repeat->first_carry : cursor->carry;
        cursor->left_out = 0;
        return false;
    }
    int storage = cursor->tape->carries[cursor->carry++].from;
    int64_t change = cursor->tape->storages[storage].growth_bytes * cursor->left_out;
    *step = (struct tape_step){
        .kind = TAPE_STEP_LEFT_OUT, .event = {.kind = EVENT_ALLOC, .index = storage}, .change_bytes = change};
    cursor->bytes[storage] += change;
    return true;
}

/* Whether a carry is left of those with which a repetition begins. */
static bool carry_take(struct tape_cursor *cursor, struct tape_step *step)
{
    const struct repeat *repeat = &cursor->tape->repeats[cursor->repeat];
    if (!cursor->carries || cursor->carry == repeat->first_carry + repeat->carry_count) {
        cursor->carries = false;
        return false;
    }
    *step = (struct tape_step){.kind = TAPE_STEP_CARRY, .carry = cursor->tape->carries[cursor->carry++]};
    cursor->bytes[step->carry.to] = cursor->bytes[step->carry.from];
    return true;
}

static int64_t change_of(struct tape_cursor *cursor, struct event event)
{
    if (event.kind == EVENT_ALLOC) {
        cursor->bytes[event.index] = storage_bytes_in(&cursor->tape->storages[event.index], cursor->repetition);
        return cursor->bytes[event.index];
    }
    return event.kind == EVENT_FREE ? -cursor->bytes[event.index] : 0;
}

bool tape_cursor_next(struct tape_cursor *cursor, struct tape_step *step)
{
    const struct tape_view *tape = cursor->tape;
    while (cursor->event < tape->event_count && tape->events[cursor->event].kind == EVENT_REPEAT) {
        repeat_turn(cursor, tape->events[cursor->event].index);
    }
    if (left_out_take(cursor, step) || carry_take(cursor, step)) {
        cursor->step_count++;
        return true;
    }
    if (cursor->event >= tape->event_count) {
        return false;
    }
    struct event event = tape->events[cursor->event++];
    *step = (struct tape_step){.kind = TAPE_STEP_EVENT, .event = event, .change_bytes = change_of(cursor, event)};
    cursor->step_count++;
    return true;
}

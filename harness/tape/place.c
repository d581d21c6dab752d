/* Places: in which memory a storage lies, and copies from one to another. Which module runs where is not decided here:
 * see models/skeleton/placement.h. */
#include "harness/tape/graph.h"

int tape_place(struct tape *tape, int place)
{
    int before = tape->place;
    if (place < 0 || place >= PLACE_MAXIMUM) {
        tape_fail(tape, STATUS_INTERNAL, "place %d is beyond the %d that a tape has", place, PLACE_MAXIMUM);
    } else if (!tape->has_places && tape->op_count > 0) {
        tape_fail(tape, STATUS_INTERNAL, "places are spoken of after the first operation");
    } else {
        tape->place = place;
        tape->has_places = true;
    }
    return before;
}

int tape_place_now(const struct tape *tape)
{
    return tape->place;
}

int value_place(const struct tape *tape, const struct value *value)
{
    return value != NULL ? tape->storages[value->storage].place : -1;
}

/* The first value that an operation before this one has used says where this one is; NULL: there is none. */
static const struct value *settled_find(const struct tape *tape, int count, struct value *const *values)
{
    for (int i = 0; i < count; i++) {
        if (values[i] != NULL && tape->states[values[i]->storage].is_settled) {
            return values[i];
        }
    }
    return NULL;
}

bool places_settle(struct tape *tape, enum opcode opcode, int count, struct value *const *values)
{
    const struct value *known = settled_find(tape, count, values);
    int place = known != NULL ? value_place(tape, known) : tape->place;
    for (int i = 0; i < count; i++) {
        const struct value *value = values[i];
        if (value == NULL) {
            continue;
        }
        struct storage *storage = &tape->storages[value->storage];
        struct storage_state *state = &tape->states[value->storage];
        if (state->is_settled && storage->place != place) {
            tape_fail(
                tape, STATUS_INVALID,
                "%s reads '%s' and '%s', which lie on two devices: PyTorch runs no operation over two devices; keep "
                "this part of the model whole",
                opcode_name(opcode), tape->storages[known->storage].label, storage->label);
            return false;
        }
        storage->place = place;
        state->is_settled = true;
    }
    return true;
}

struct value *tape_move(struct tape *tape, struct value *value, int place)
{
    if (value == NULL || tape_failed(tape) || tape->stopped || value_place(tape, value) == place) {
        return value;
    }
    int frame = tape_frame_open(tape);
    struct value *from = make_dense(tape, value);
    int before = tape_place(tape, place);
    struct value *to = from != NULL ? value_new_in(tape, tape->storages[value->storage].category, from->dtype,
                                                   &from->shape, tape->storages[value->storage].label)
                                    : NULL;
    tape_place(tape, before);
    if (to != NULL) {
        struct value *both[] = {from, to};
        tape->states[to->storage].is_settled = true;
        operation_append(tape, OPCODE_COPY, NULL, 1, 2, both);
    }
    return tape_frame_close(tape, frame, to);
}

void tape_trim(struct tape *tape, int place)
{
    if (!tape_failed(tape) && !tape->stopped) {
        event_append(tape, EVENT_TRIM, place);
    }
}

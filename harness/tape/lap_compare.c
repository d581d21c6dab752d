/* Laps: the comparison, event by event, and what they leave alive. No decision about what follows from it. */
#include <stdlib.h>
#include <string.h>

#include "harness/tape/lap.h"

/* Where a lap lies in the arrays: [first, end). A storage of the lap before, or of this one, has in the next lap a
 * number that is higher by `shift`; every other one is the same. */
struct pair {
    const struct tape *tape;
    int first_storage, shift;
};

static bool storages_match(const struct pair *pair, int a, int b)
{
    bool moves = a >= pair->first_storage - pair->shift;
    return b == (moves ? a + pair->shift : a);
}

static bool texts_match(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool storage_is_alike(const struct storage *a, const struct storage *b)
{
    return a->category == b->category && a->place == b->place && texts_match(a->label, b->label) &&
           texts_match(a->module, b->module) && texts_match(a->of, b->of) && texts_match(a->kept_by, b->kept_by) &&
           a->kept_as == b->kept_as;
}

static bool op_is_alike(const struct pair *pair, const struct op *a, const struct op *b)
{
    bool alike = a->opcode == b->opcode && a->input_count == b->input_count && a->operand_count == b->operand_count;
    for (int i = 0; i < a->operand_count && alike; i++) {
        const struct operand *x = &pair->tape->operands[a->first_operand + i];
        const struct operand *y = &pair->tape->operands[b->first_operand + i];
        alike = x->dtype == y->dtype && x->rank == y->rank && storages_match(pair, x->storage, y->storage);
    }
    return alike;
}

static bool event_is_alike(const struct pair *pair, struct event a, struct event b)
{
    const struct tape *tape = pair->tape;
    if (a.kind != b.kind) {
        return false;
    }
    switch (a.kind) {
    case EVENT_ALLOC:
        return b.index == a.index + pair->shift && storage_is_alike(&tape->storages[a.index], &tape->storages[b.index]);
    case EVENT_FREE: /* of the lap itself or the one before: what is older can be given back once */
        return b.index == a.index + pair->shift && a.index >= pair->first_storage - pair->shift;
    case EVENT_RUN:
        return op_is_alike(pair, &tape->ops[a.index], &tape->ops[b.index]);
    case EVENT_STAGE:
    case EVENT_TRIM:
    case EVENT_TOKEN:
        return a.index == b.index;
    case EVENT_REPEAT:
        return false;
    }
    return false;
}

bool lap_is_alike(const struct tape *tape, const struct tape_marks *first, const struct tape_marks *second,
                  const struct tape_marks *end)
{
    const struct pair pair = {tape, first->storage, second->storage - first->storage};
    int event_count = end->event - second->event;
    /* An event that repeats may stand before the second mark; it belongs to neither. */
    int skipped = second->event - first->event - event_count;
    bool repeats = skipped == 1 && tape->events[second->event - 1].kind == EVENT_REPEAT;
    bool alike = (skipped == 0 || repeats) && pair.shift == end->storage - second->storage &&
                 second->op - first->op == end->op - second->op &&
                 second->operand - first->operand == end->operand - second->operand;
    for (int i = 0; i < event_count && alike; i++) {
        alike = event_is_alike(&pair, tape->events[first->event + i], tape->events[second->event + i]);
    }
    return alike;
}

bool lap_grows_evenly(const struct tape *tape, const struct tape_marks *marks, int64_t laps)
{
    int count = marks[1].storage - marks[0].storage;
    for (int i = 0; i < count; i++) {
        int64_t first = tape->storages[marks[0].storage + i].bytes, second = tape->storages[marks[1].storage + i].bytes;
        int64_t growth = 0;
        if (__builtin_mul_overflow(second - first, laps, &growth) ||
            tape->storages[marks[2].storage + i].bytes - second != growth) {
            return false;
        }
    }
    return true;
}

/* -- what is left alive */

static int number_order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int snapshot_order(const void *left, const void *right)
{
    const struct value *a = &((const struct snapshot_value *)left)->form;
    const struct value *b = &((const struct snapshot_value *)right)->form;
    int order = number_order(a->storage, b->storage);
    order = order != 0 ? order : number_order(a->offset, b->offset);
    order = order != 0 ? order : number_order(a->shape.rank, b->shape.rank);
    for (int i = 0; i < a->shape.rank && order == 0; i++) {
        order = number_order(a->shape.size[i], b->shape.size[i]);
        order = order != 0 ? order : number_order(a->stride[i], b->stride[i]);
    }
    return order;
}

/* The list of the lap goes into the snapshot, whose old one is filled next. */
static void limits_take(struct tape *tape, struct snapshot *now)
{
    struct size_limit *spare = now->limits;
    int capacity = now->limit_capacity;
    now->limits = tape->limits;
    now->limit_count = tape->limit_count;
    now->limit_capacity = tape->limit_capacity;
    tape->limits = spare;
    tape->limit_count = 0;
    tape->limit_capacity = capacity;
}

int64_t laps_within_limits(const struct tape *tape, int64_t laps)
{
    const struct snapshot *before = &tape->before, *now = &tape->now;
    int64_t most = before->limit_count == now->limit_count ? laps : 0;
    for (int i = 0; i < now->limit_count && most > 0; i++) {
        int64_t growth = now->limits[i].size - before->limits[i].size, room = now->limits[i].most - now->limits[i].size;
        if (growth != 0) {
            int64_t turns = growth > 0 ? room / growth : 0;
            most = turns < most ? turns : most;
        }
    }
    return most;
}

void snapshot_take(struct tape *tape, const struct tape_marks *mark)
{
    struct snapshot *now = &tape->now;
    limits_take(tape, now);
    int count = tape->storage_count - mark->storage;
    now->value_count = 0;
    while (now->alive_capacity < count) {
        if (!array_grow(tape, (void **)&now->alive, &now->alive_capacity, now->alive_capacity, sizeof *now->alive)) {
            return;
        }
    }
    for (int i = 0; i < count; i++) {
        now->alive[i] = tape->states[mark->storage + i].references > 0;
    }
    for (int i = 0; i < tape->value_count; i++) {
        struct value *value = tape->values[i];
        if (value->references <= 0 || value->storage < mark->storage) {
            continue;
        }
        if (!array_grow(tape, (void **)&now->values, &now->value_capacity, now->value_count, sizeof *now->values)) {
            return;
        }
        now->values[now->value_count++] = (struct snapshot_value){value, *value};
    }
    if (now->value_count > 0) {
        qsort(now->values, (size_t)now->value_count, sizeof *now->values, snapshot_order);
    }
}

static bool value_is_alike(const struct value *before, const struct value *now, int shift)
{
    return before->storage + shift == now->storage && before->dtype == now->dtype &&
           before->shape.rank == now->shape.rank && before->references == now->references &&
           before->framed == now->framed && before->is_view == now->is_view;
}

bool snapshots_pair(const struct tape *tape, const struct tape_marks *first, const struct tape_marks *second)
{
    const struct snapshot *before = &tape->before, *now = &tape->now;
    int shift = second->storage - first->storage;
    bool alike = before->value_count == now->value_count;
    for (int i = 0; i < shift && alike; i++) {
        alike = before->alive[i] == now->alive[i] && tape->states[first->storage + i].references == 0;
    }
    for (int i = 0; i < now->value_count && alike; i++) {
        alike = value_is_alike(&before->values[i].form, &now->values[i].form, shift);
    }
    return alike;
}

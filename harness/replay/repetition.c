/* Repetition: see repetition.h for why it is exact. Here: the body, event by event, and the rounds that are left out.
 * Which repetitions end alike is rounds.c's, which parts of a body do is section.c's. */
#include "harness/replay/repetition_inside.h"

#include <string.h>

#include "harness/replay/leap.h"
#include "harness/tape/tape_cursor.h"

/* -- opening */

static void events_copy(struct repetition *repetition)
{
    const struct repeat *repeat = repetition->repeat;
    bool computes = repetition->replay->properties.computes;
    for (int i = 0; i < repeat->event_count; i++) {
        struct event event = repetition->replay->tape->events[repeat->first_event + i];
        bool is_own = event.index >= repeat->first_storage;
        int own = event.index - repeat->first_storage + (is_own ? 0 : repeat->storage_count);
        if (event.kind == EVENT_RUN && !computes) {
            continue;
        }
        if (event.kind == EVENT_ALLOC) {
            repetition->taken_at[own] = repetition->event_count;
            repetition->freed_at[own] = repeat->event_count;
            repetition->alloc_count++;
        } else if (event.kind == EVENT_FREE && is_own) {
            repetition->freed_at[own] = repetition->event_count;
        }
        repetition->token_count += event.kind == EVENT_TOKEN;
        repetition->events[repetition->event_count++] = (struct body_event){event.kind, event.index, own};
    }
    for (int i = 0; i < repeat->storage_count; i++) {
        repetition->bytes[i] = repetition->storages[i].bytes;
        if (repetition->storages[i].growth_bytes != 0) {
            repetition->growing[repetition->growing_count++] = i;
        }
    }
}

static enum status_code repetition_open(struct replay *replay, const struct repeat *repeat,
                                        struct repetition *repetition, struct status *error)
{
    size_t storages = (size_t)repeat->storage_count + 1;
    *repetition = (struct repetition){.replay = replay,
                                      .repeat = repeat,
                                      .storages = replay->tape->storages + repeat->first_storage,
                                      .carries = replay->tape->carries + repeat->first_carry};
    struct arena *arena = &repetition->arena;
    repetition->events = arena_alloc(arena, ((size_t)repeat->event_count + 1) * sizeof *repetition->events);
    repetition->bytes = arena_alloc(arena, storages * sizeof *repetition->bytes);
    repetition->is_small = arena_alloc(arena, storages * sizeof *repetition->is_small);
    repetition->taken_at = arena_alloc(arena, storages * sizeof *repetition->taken_at);
    repetition->freed_at = arena_alloc(arena, storages * sizeof *repetition->freed_at);
    repetition->growing = arena_alloc(arena, storages * sizeof *repetition->growing);
    if (repetition->events == NULL || repetition->bytes == NULL || repetition->is_small == NULL ||
        repetition->taken_at == NULL || repetition->freed_at == NULL || repetition->growing == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory to repeat %d events",
                          repeat->event_count);
    }
    events_copy(repetition);
    if (replay->properties.computes && repetition->growing_count > 0) {
        return status_set(error, STATUS_INTERNAL, "a tape whose repetitions grow is none for a device that computes");
    }
    return repetition->growing_count > 0 ? sections_find(repetition, error) : STATUS_OK;
}

/* -- one event */

static void workspace_count(struct repetition *repetition, int own, int64_t block_bytes)
{
    if (repetition->storages[own].category == CATEGORY_WORKSPACE) {
        repetition->replay->workspace_allocated_bytes += block_bytes;
    }
}

static enum status_code body_alloc(struct repetition *repetition, const struct body_event *event, struct status *error)
{
    struct replay *replay = repetition->replay;
    const struct storage *storage = &repetition->storages[event->own];
    struct storage_block *slot = body_block(repetition, event);
    int64_t bytes = repetition->bytes[event->own];
    enum status_code code = allocator_alloc(replay->allocator, bytes, &slot->block, error);
    if (code == STATUS_OUT_OF_MEMORY) {
        replay_refusal_note(replay, bytes, storage->label, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    slot->state = STORAGE_LIVE;
    slot->bytes = bytes;
    slot->block_bytes = block_bytes(slot->block);
    workspace_count(repetition, event->own, slot->block_bytes);
    return ledger_change(&replay->ledger, storage->category, bytes, error);
}

static enum status_code body_free(struct repetition *repetition, const struct body_event *event, struct status *error)
{
    struct replay *replay = repetition->replay;
    struct storage_block *slot = body_block(repetition, event);
    if (slot->state != STORAGE_LIVE) {
        return status_set(error, STATUS_INTERNAL, "repetition %lld: storage %d (%s) is not alive",
                          (long long)repetition->at, event->index, repetition->storages[event->own].label);
    }
    slot->state = STORAGE_DEAD;
    workspace_count(repetition, event->own, -slot->block_bytes);
    enum status_code code = allocator_free(replay->allocator, slot->block, error);
    return code == STATUS_OK
               ? ledger_change(&replay->ledger, repetition->storages[event->own].category, -slot->bytes, error)
               : code;
}

enum status_code small_event_make(struct repetition *repetition, const struct body_event *event, struct status *error)
{
    struct storage_block *slot = body_block(repetition, event);
    enum status_code code = STATUS_OK;
    if ((event->kind != EVENT_ALLOC && event->kind != EVENT_FREE) || !repetition->is_small[event->own]) {
        return STATUS_OK;
    }
    if (event->kind == EVENT_FREE) {
        code = allocator_free(repetition->replay->allocator, slot->block, error);
        slot->state = STORAGE_DEAD;
    } else {
        int64_t bytes = repetition->bytes[event->own];
        code = allocator_alloc(repetition->replay->allocator, bytes, &slot->block, error);
        slot->state = STORAGE_LIVE;
        slot->bytes = bytes;
        slot->block_bytes = block_bytes(slot->block);
    }
    return code;
}

enum status_code body_event_make(struct repetition *repetition, const struct body_event *event, struct status *error)
{
    if (repetition->is_bare) {
        return small_event_make(repetition, event, error);
    }
    switch (event->kind) {
    case EVENT_ALLOC:
        return body_alloc(repetition, event, error);
    case EVENT_FREE:
        return body_free(repetition, event, error);
    case EVENT_STAGE:
        return replay_stage_change(repetition->replay, event->index, error);
    case EVENT_TOKEN:
        repetition->replay->result.token_count++;
        return STATUS_OK;
    case EVENT_RUN:
        return replay_op_run(repetition->replay, event->index, error);
    case EVENT_TRIM:
    case EVENT_REPEAT:
        break;
    }
    return status_set(error, STATUS_INTERNAL, "a repetition has another repetition in it, or gives cached memory back");
}

/* -- one repetition */

/* The last repetition in which a small storage is rounded to what it is rounded to now. */
static int64_t rounding_lasts(const struct storage *storage, int64_t bytes)
{
    int64_t rounded = (bytes + ALLOCATOR_UNIT_BYTES - 1) / ALLOCATOR_UNIT_BYTES * ALLOCATOR_UNIT_BYTES;
    return (rounded - storage->bytes) / storage->growth_bytes;
}

static void sizes_renew(struct repetition *repetition)
{
    bool changes = repetition->at > repetition->stable_to;
    for (int i = 0; i < repetition->growing_count; i++) {
        int own = repetition->growing[i];
        repetition->bytes[own] = storage_bytes_in(&repetition->storages[own], repetition->at);
    }
    if (!changes || repetition->growing_count == 0) {
        return;
    }
    repetition->stable_to = repetition->pools_to = INT64_MAX;
    bool *is_small = repetition->is_small;
    for (int i = 0; i < repetition->repeat->storage_count; i++) {
        const struct storage *storage = &repetition->storages[i];
        is_small[i] = repetition->bytes[i] <= ALLOCATOR_SMALL_BYTES;
        int64_t last = storage->growth_bytes < 0                  ? repetition->at
                       : storage->growth_bytes > 0 && is_small[i] ? rounding_lasts(storage, repetition->bytes[i])
                                                                  : INT64_MAX;
        repetition->stable_to = last < repetition->stable_to ? last : repetition->stable_to;
        if (storage->growth_bytes > 0 && is_small[i]) {
            int64_t small_to = (ALLOCATOR_SMALL_BYTES - storage->bytes) / storage->growth_bytes;
            repetition->pools_to = small_to < repetition->pools_to ? small_to : repetition->pools_to;
        }
    }
    sections_look(repetition);
}

static void storages_carry(struct repetition *repetition)
{
    struct storage_block *blocks = repetition->replay->blocks;
    for (int i = 0; i < repetition->repeat->carry_count; i++) {
        struct carry carry = repetition->carries[i];
        if (repetition->is_bare && !repetition->is_small[carry.from - repetition->repeat->first_storage]) {
            continue; /* stays where it was until the leap ends */
        }
        blocks[carry.to] = blocks[carry.from];
        blocks[carry.from].state = STORAGE_UNTOUCHED;
    }
}

enum status_code body_run(struct repetition *repetition, struct status *error)
{
    enum status_code code = STATUS_OK;
    int run = 0, event = 0;
    sizes_renew(repetition);
    storages_carry(repetition);
    while (event < repetition->event_count && code == STATUS_OK) {
        while (run < repetition->run_count && !repetition->runs[run].is_usable) {
            run++;
        }
        int next = run < repetition->run_count ? repetition->runs[run].first : repetition->event_count;
        for (; event < next && code == STATUS_OK; event++) {
            code = body_event_make(repetition, &repetition->events[event], error);
        }
        if (code == STATUS_OK && run < repetition->run_count) {
            struct section_run *sections = &repetition->runs[run++];
            code = sections_run(repetition, sections, error);
            event = sections->first + sections->count * sections->length;
        }
    }
    return code;
}

/* -- rounds that are left out when nothing grows */

/* Their peaks were those of the round that was made. False if none was found to be left out; it is done once, and
 * what is left is less than a round. */
static bool rounds_leave_out(struct repetition *repetition)
{
    int64_t circle = rounds_note(repetition);
    if (circle > 0) {
        int64_t left_out = (repetition->repeat->count - repetition->at) / circle * circle;
        repetition->replay->result.token_count += left_out * repetition->token_count;
        repetition->replay->result.left_out_count += left_out;
        repetition->at += left_out;
    }
    return circle > 0;
}

enum status_code repetition_run(struct replay *replay, const struct repeat *repeat, struct status *error)
{
    struct repetition repetition;
    enum status_code code = repetition_open(replay, repeat, &repetition, error);
    bool leaves_out = repetition.growing_count == 0 && !replay->properties.computes && !replay->unfolds;
    code = code == STATUS_OK ? rounds_open(&repetition, error) : code;
    struct leap *leap =
        code == STATUS_OK && !replay->unfolds && replay->observer == NULL ? leap_open(&repetition) : NULL;
    replay->repetition = &repetition;
    for (repetition.at = 1; repetition.at <= repeat->count && code == STATUS_OK; repetition.at++) {
        code = body_run(&repetition, error);
        if (code == STATUS_OK && leaves_out) {
            leaves_out = !rounds_leave_out(&repetition);
        }
        if (code == STATUS_OK && leap != NULL) {
            code = leap_make(leap, &repetition, error);
        }
    }
    if (code == STATUS_OK) {
        ledger_add_repeated(&replay->ledger, repeat->count, repetition.alloc_count);
    } else if (code != STATUS_OUT_OF_MEMORY) {
        status_prefix(error, "repetition %lld", (long long)repetition.at);
    }
    replay->repetition = NULL;
    leap_close(leap);
    arena_release(&repetition.arena);
    return code;
}

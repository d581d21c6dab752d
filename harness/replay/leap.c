/* Leap: when repetitions can be left out, and what is then brought up to date: blocks, tensors, tokens. What the large
 * pool will do is pool_forecast.c's. */
#include "harness/replay/leap.h"

#include <stdlib.h>
#include <string.h>

#include "harness/memory/pool_forecast.h"

enum {
    LEAST = 4, /* repetitions to come, with less nothing is looked for */
    WAIT_MAXIMUM = 31
};

struct leap {
    struct pool_forecast *forecast;
    struct owned_block *owned; /* by carry */
    struct forecast_event *events;
    int event_count;
    int64_t noted_at;             /* the last end that the forecast knows of */
    int64_t changes_seen;         /* segments that had come or gone when it was last looked at */
    int64_t segment_changes;      /* at that end */
    int64_t pools_to, pools_from; /* storages have had the pools of now since the end of pools_from */
    int64_t wait, wait_next;      /* repetitions in which nothing is looked for, after one that led to nothing */
};

static bool leap_is_of_use(const struct repetition *repetition)
{
    bool of_use = repetition->growing_count > 0;
    for (int i = 0; i < repetition->repeat->storage_count && of_use; i++) {
        of_use = repetition->storages[i].growth_bytes >= 0;
    }
    for (int i = 0; i < repetition->event_count && of_use; i++) {
        of_use = repetition->events[i].kind != EVENT_STAGE;
    }
    return of_use;
}

struct leap *leap_open(const struct repetition *repetition)
{
    struct leap *leap = leap_is_of_use(repetition) ? calloc(1, sizeof *leap) : NULL;
    size_t carries = (size_t)repetition->repeat->carry_count + 1;
    if (leap == NULL) {
        return NULL;
    }
    leap->forecast = pool_forecast_open(repetition->replay->allocator, repetition->repeat->storage_count);
    leap->owned = calloc(carries, sizeof *leap->owned);
    leap->events = calloc((size_t)repetition->event_count + 1, sizeof *leap->events);
    bool made = leap->forecast != NULL && leap->owned != NULL && leap->events != NULL;
    if (!made) {
        leap_close(leap);
        leap = NULL;
    }
    return leap;
}

void leap_close(struct leap *leap)
{
    if (leap == NULL) {
        return;
    }
    pool_forecast_close(leap->forecast);
    free(leap->owned);
    free(leap->events);
    free(leap);
}

static int carried_storage(const struct repetition *repetition, int carry)
{
    return repetition->carries[carry].from - repetition->repeat->first_storage;
}

static struct storage_block *carried_block(const struct repetition *repetition, int carry)
{
    return &repetition->replay->blocks[repetition->carries[carry].from];
}

/* -- the large pool */

static void events_fill(struct leap *leap, const struct repetition *repetition)
{
    leap->event_count = 0;
    for (int i = 0; i < repetition->event_count; i++) {
        const struct body_event *event = &repetition->events[i];
        bool is_request = event->kind == EVENT_ALLOC;
        if ((!is_request && event->kind != EVENT_FREE) || repetition->is_small[event->own]) {
            continue;
        }
        bool is_own = event->index >= repetition->repeat->first_storage;
        leap->events[leap->event_count++] =
            (struct forecast_event){.takes = is_request,
                                    .owner = event->own + (is_own ? 0 : repetition->repeat->storage_count),
                                    .bytes = repetition->bytes[event->own],
                                    .growth_bytes = repetition->storages[event->own].growth_bytes};
    }
}

static bool pool_note(struct leap *leap, const struct repetition *repetition)
{
    int count = 0;
    for (int i = 0; i < repetition->repeat->carry_count; i++) {
        int own = carried_storage(repetition, i);
        if (!repetition->is_small[own]) {
            leap->owned[count++] = (struct owned_block){own, carried_block(repetition, i)->block};
        }
    }
    leap->noted_at = repetition->at;
    leap->segment_changes = repetition->replay->segment_changes;
    return pool_forecast_note(leap->forecast, leap->owned, count);
}

/* -- leaving out */

/* As many repetitions behind the one that was made as do what was done before: whole rounds, as long as sizes are
 * rounded alike. The last one is not among them, so that blocks have the bytes of that one. */
static int64_t small_rounds_known(struct repetition *repetition, int64_t last)
{
    int64_t circle = rounds_note(repetition);
    int64_t end = repetition->stable_to < last - 1 ? repetition->stable_to : last - 1;
    return circle > 0 && end > repetition->at ? (end - repetition->at) / circle * circle : 0;
}

/* The small pool alone, so many repetitions on. */
static enum status_code small_pool_run(struct repetition *repetition, int64_t count, struct status *error)
{
    struct allocator *allocator = repetition->replay->allocator;
    const struct allocator_counters before = *allocator_counters(allocator);
    int64_t last = repetition->at + count;
    enum status_code code = STATUS_OK;
    repetition->is_bare = true;
    while (repetition->at < last && code == STATUS_OK) {
        repetition->at++;
        code = body_run(repetition, error);
        repetition->at += code == STATUS_OK ? small_rounds_known(repetition, last) : 0;
    }
    repetition->is_bare = false;
    allocator_suppose_peaks(allocator, &before);
    return code;
}

static enum status_code leave_out(struct leap *leap, struct repetition *repetition, int64_t count, struct status *error)
{
    struct replay *replay = repetition->replay;
    enum status_code code = small_pool_run(repetition, count, error);
    if (code != STATUS_OK) {
        return code;
    }
    pool_forecast_leave_out(leap->forecast, count);
    for (int i = 0; i < repetition->repeat->carry_count && code == STATUS_OK; i++) {
        int own = carried_storage(repetition, i);
        const struct storage *storage = &repetition->storages[own];
        struct storage_block *slot = carried_block(repetition, i);
        int64_t growth = count * storage->growth_bytes;
        if (!repetition->is_small[own]) {
            int64_t block_bytes_before = slot->block_bytes;
            slot->bytes += growth;
            slot->block_bytes = block_bytes(slot->block);
            allocator_block_grow(replay->allocator, slot->block, slot->bytes);
            replay->workspace_allocated_bytes +=
                storage->category == CATEGORY_WORKSPACE ? slot->block_bytes - block_bytes_before : 0;
        }
        code = ledger_change(&replay->ledger, storage->category, growth, error);
    }
    replay->result.token_count += count * repetition->token_count;
    replay->result.left_out_count += count;
    return code;
}

/* How far it may go: no storage changes its pool, and no repetition is passed in which memory was refused. */
static int64_t limit_find(const struct repetition *repetition)
{
    const struct replay *replay = repetition->replay;
    int64_t last = repetition->repeat->count < repetition->pools_to ? repetition->repeat->count : repetition->pools_to;
    for (int i = 0; i < replay->stop_count; i++) {
        const struct replay_stop *stop = &replay->stops[i];
        last = stop->repeat == repetition->repeat && stop->at > repetition->at && stop->at < last ? stop->at : last;
    }
    return last - repetition->at;
}

/* Of the repetition that was carried out last: how many behind it are known to do the same, but for the last of
 * them. */
static int64_t known_find(struct leap *leap, const struct repetition *repetition, int64_t limit)
{
    events_fill(leap, repetition);
    int64_t last = pool_forecast_look(leap->forecast, leap->events, leap->event_count, limit);
    return last > 1 ? last - 1 : 0;
}

enum status_code leap_make(struct leap *leap, struct repetition *repetition, struct status *error)
{
    int64_t limit = limit_find(repetition);
    if (repetition->pools_to != leap->pools_to) {
        leap->pools_to = repetition->pools_to;
        leap->pools_from = repetition->at;
    }
    if (leap->changes_seen != repetition->replay->segment_changes) { /* other sizes, other chances */
        leap->changes_seen = repetition->replay->segment_changes;
        leap->wait_next = 0;
        leap->wait = 1;
    }
    if (leap->wait > 0 || limit < LEAST || ledger_bytes(&repetition->replay->ledger) > REPETITION_SUPPOSED_BYTES) {
        leap->wait -= leap->wait > 0;
        return STATUS_OK;
    }
    bool follows = leap->noted_at == repetition->at - 1 &&
                   leap->segment_changes == repetition->replay->segment_changes && repetition->at > leap->pools_from;
    if (!pool_note(leap, repetition) || !follows) {
        return STATUS_OK;
    }
    int64_t count = known_find(leap, repetition, limit);
    leap->noted_at = count > 0 ? 0 : leap->noted_at;
    leap->wait_next = count > 0 ? 0 : 2 * leap->wait_next + 1;
    leap->wait_next = leap->wait_next < WAIT_MAXIMUM ? leap->wait_next : WAIT_MAXIMUM;
    leap->wait = leap->wait_next;
    return count > 0 ? leave_out(leap, repetition, count, error) : STATUS_OK;
}

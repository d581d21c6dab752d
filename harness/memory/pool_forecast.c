/* Pool forecast: two pictures of the pool held against each other, what follows from it, and the pool as it is some
 * repetitions on. */
#include "harness/memory/pool_forecast.h"

#include <stdlib.h>

#include "harness/memory/pool_forecast_inside.h"

enum { TIES = 4096 };

struct pool_forecast *pool_forecast_open(struct allocator *allocator, int owner_count)
{
    struct pool_forecast *forecast = calloc(1, sizeof *forecast);
    size_t owners = (size_t)owner_count + 1;
    if (forecast == NULL) {
        return NULL;
    }
    forecast->allocator = allocator;
    forecast->owner_count = owner_count;
    forecast->owner_segment = calloc(owners, sizeof *forecast->owner_segment);
    forecast->owner_block = calloc(2 * owners, sizeof *forecast->owner_block);
    forecast->ties = calloc(TIES, sizeof *forecast->ties);
    forecast->tie_room = TIES;
    if (forecast->owner_segment == NULL || forecast->owner_block == NULL || forecast->ties == NULL) {
        pool_forecast_close(forecast);
        forecast = NULL;
    }
    return forecast;
}

static void segment_arrays_release(struct pool_forecast *forecast)
{
    int **const arrays[] = {&forecast->now_number, &forecast->moves_to,   &forecast->first,
                            &forecast->place,      &forecast->place_next, &forecast->moving};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        free(*arrays[i]);
        *arrays[i] = NULL;
    }
    free(forecast->is_tied);
    free(forecast->is_pinned);
    forecast->is_tied = forecast->is_pinned = NULL;
    forecast->segment_room = 0;
}

void pool_forecast_close(struct pool_forecast *forecast)
{
    if (forecast == NULL) {
        return;
    }
    pool_picture_release(&forecast->before);
    pool_picture_release(&forecast->now);
    segment_arrays_release(forecast);
    free(forecast->owner_segment);
    free(forecast->owner_block);
    free(forecast->blocks);
    free(forecast->free_blocks);
    free(forecast->ties);
    free(forecast);
}

bool pool_forecast_note(struct pool_forecast *forecast, const struct owned_block *owned, int owned_count)
{
    struct pool_picture spare = forecast->before;
    forecast->before = forecast->now;
    forecast->now = spare;
    forecast->note_count += forecast->note_count < 2;
    bool noted = pool_picture_take(&forecast->now, forecast->allocator, owned, owned_count);
    forecast->note_count = noted ? forecast->note_count : 0;
    return noted;
}

static bool segments_make_room(struct pool_forecast *forecast)
{
    size_t room = 2 * (size_t)forecast->before.segment_count + 1;
    if (room / 2 <= forecast->segment_room / 2 && forecast->segment_room > 0) {
        return true;
    }
    segment_arrays_release(forecast);
    int **const arrays[] = {&forecast->now_number, &forecast->moves_to,   &forecast->first,
                            &forecast->place,      &forecast->place_next, &forecast->moving};
    bool made = true;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        *arrays[i] = calloc(room, sizeof **arrays[i]);
        made = made && *arrays[i] != NULL;
    }
    forecast->is_tied = calloc(room, sizeof *forecast->is_tied);
    forecast->is_pinned = calloc(room, sizeof *forecast->is_pinned);
    made = made && forecast->is_tied != NULL && forecast->is_pinned != NULL;
    forecast->segment_room = made ? room : 0;
    return made;
}

/* Each event adds one block at most. */
static bool blocks_make_room(struct pool_forecast *forecast, int event_count)
{
    int room = forecast->before.block_count + event_count + 1;
    if (room <= forecast->block_room) {
        return true;
    }
    free(forecast->blocks);
    free(forecast->free_blocks);
    forecast->blocks = calloc((size_t)room, sizeof *forecast->blocks);
    forecast->free_blocks = calloc((size_t)room, sizeof *forecast->free_blocks);
    bool made = forecast->blocks != NULL && forecast->free_blocks != NULL;
    forecast->block_room = made ? room : 0;
    return made;
}

/* -- which segment has the role of which */

static bool pictures_number(struct pool_forecast *forecast)
{
    const struct pool_picture *before = &forecast->before, *now = &forecast->now;
    if (before->segment_count != now->segment_count) {
        return false;
    }
    for (int i = 0; i < now->segment_count; i++) {
        const struct picture_segment *segment = &now->segments[i];
        for (int k = segment->first_block; k < segment->first_block + segment->block_count; k++) {
            if (now->blocks[k].owner >= 0) {
                forecast->owner_segment[now->blocks[k].owner] = i;
            }
        }
    }
    for (int i = 0; i < before->segment_count; i++) {
        forecast->now_number[i] = before->segments[i].segment->number;
        forecast->moves_to[i] = -1;
    }
    for (int i = 0; i < before->segment_count; i++) {
        before->segments[i].segment->number = i; /* from here on the number in the picture before */
    }
    return true;
}

/* The segment that has now what segment i had: its owners say so; without any it is the same. -1: not told. */
static int role_find(const struct pool_forecast *forecast, int i)
{
    const struct picture_segment *was = &forecast->before.segments[i];
    for (int k = was->first_block; k < was->first_block + was->block_count; k++) {
        int owner = forecast->before.blocks[k].owner;
        if (owner >= 0) {
            int now = forecast->owner_segment[owner];
            return now >= 0 ? forecast->now.segments[now].segment->number : -1;
        }
    }
    bool stays = !was->is_free || forecast->now.segments[forecast->now_number[i]].is_free;
    return stays ? i : -1;
}

/* Of segments that were wholly free and are not: those that are, and were not, of the same size. */
static bool free_roles_find(struct pool_forecast *forecast, bool *is_role)
{
    int count = forecast->before.segment_count;
    for (int i = 0; i < count; i++) {
        if (forecast->moves_to[i] >= 0) {
            continue;
        }
        int64_t bytes = forecast->before.segments[i].segment->bytes;
        for (int k = 0; k < count && forecast->moves_to[i] < 0; k++) {
            const struct picture_segment *now = &forecast->now.segments[forecast->now_number[k]];
            if (!is_role[k] && now->is_free && now->segment->bytes == bytes) {
                forecast->moves_to[i] = k;
                is_role[k] = true;
            }
        }
        if (forecast->moves_to[i] < 0) {
            return false;
        }
    }
    return true;
}

/* Whether segment k holds now what segment i held: the same blocks beside each other, of other sizes. */
static bool role_is_alike(const struct pool_forecast *forecast, int i, int k)
{
    const struct picture_segment *was = &forecast->before.segments[i];
    const struct picture_segment *is = &forecast->now.segments[forecast->now_number[k]];
    bool alike = was->segment->bytes == is->segment->bytes && was->block_count == is->block_count;
    for (int b = 0; b < was->block_count && alike; b++) {
        const struct picture_block *x = &forecast->before.blocks[was->first_block + b];
        const struct picture_block *y = &forecast->now.blocks[is->first_block + b];
        bool is_lasting = x->live && x->owner < 0;
        alike = x->live == y->live && x->owner == y->owner &&
                (!is_lasting || (i == k && x->block == y->block && x->bytes == y->bytes));
    }
    return alike;
}

static bool roles_find(struct pool_forecast *forecast)
{
    int count = forecast->before.segment_count;
    bool *is_role = forecast->is_tied; /* by segment; borrowed until ties are looked at */
    bool alike = true;
    for (int i = 0; i < count; i++) {
        is_role[i] = false;
    }
    for (int i = 0; i < count && alike; i++) {
        int k = role_find(forecast, i);
        alike = k >= 0 ? !is_role[k] : forecast->before.segments[i].is_free;
        forecast->moves_to[i] = k;
        if (k >= 0) {
            is_role[k] = true;
        }
    }
    alike = alike && free_roles_find(forecast, is_role);
    for (int i = 0; i < count && alike; i++) {
        alike = role_is_alike(forecast, i, forecast->moves_to[i]);
    }
    return alike;
}

/* -- whether it ends as it began, one on */

static bool role_ends(const struct pool_forecast *forecast, int i)
{
    const struct picture_segment *was = &forecast->before.segments[i];
    int to = forecast->moves_to[i];
    const struct picture_segment *is = &forecast->now.segments[forecast->now_number[to]];
    int block = forecast->first[to];
    for (int b = 0; b < was->block_count; b++, block = forecast->blocks[block].next) {
        if (block < 0) {
            return false;
        }
        const struct picture_block *x = &forecast->before.blocks[was->first_block + b];
        const struct picture_block *y = &forecast->now.blocks[is->first_block + b];
        const struct forecast_block *end = &forecast->blocks[block];
        bool ends = end->live == x->live && end->owner == x->owner && end->size.bytes == y->bytes &&
                    end->size.growth_bytes == y->bytes - x->bytes && !linear_is_rounded(&end->size);
        if (!ends) {
            return false;
        }
    }
    return block < 0;
}

/* False if a role that must stay may not. */
static bool moving_find(struct pool_forecast *forecast)
{
    bool stays = true;
    int count = forecast->before.segment_count;
    for (int i = 0; i < count; i++) {
        forecast->is_tied[i] = false;
    }
    for (int i = 0; i < forecast->tie_count; i += forecast->ties[i] + 1) {
        for (int k = 1; k <= forecast->ties[i]; k++) {
            forecast->is_tied[forecast->ties[i + k]] = true;
        }
    }
    forecast->moving_count = 0;
    for (int i = 0; i < count; i++) {
        if (forecast->moves_to[i] != i || forecast->is_tied[i]) {
            forecast->moving[forecast->moving_count++] = i;
            stays = stays && !forecast->is_pinned[i];
        }
    }
    return stays;
}

int64_t pool_forecast_look(struct pool_forecast *forecast, const struct forecast_event *events, int event_count,
                           int64_t limit)
{
    forecast->span = (struct linear_span){.last = limit};
    for (int i = 0; i < forecast->owner_count; i++) {
        forecast->owner_segment[i] = -1;
    }
    if (forecast->note_count < 2 || !segments_make_room(forecast) || !blocks_make_room(forecast, event_count) ||
        !pictures_number(forecast) || !roles_find(forecast) || !forecast_events_run(forecast, events, event_count)) {
        return 0;
    }
    for (int i = 0; i < forecast->before.segment_count; i++) {
        if (forecast->first[i] >= 0 && !role_ends(forecast, i)) {
            return 0;
        }
    }
    return moving_find(forecast) ? forecast->span.last : 0;
}

/* -- leaving out */

/* Wholly free segments among which the lowest is taken: the roles change places. */
static void ties_follow(struct pool_forecast *forecast)
{
    for (int i = 0; i < forecast->tie_count; i += forecast->ties[i] + 1) {
        int taken = forecast->ties[i + 1], lowest = taken;
        for (int k = 2; k <= forecast->ties[i]; k++) {
            const struct picture_segment *segments = forecast->before.segments;
            int other = forecast->ties[i + k];
            bool lower = segments[forecast->place[other]].segment->position <
                         segments[forecast->place[lowest]].segment->position;
            lowest = lower ? other : lowest;
        }
        int place = forecast->place[taken];
        forecast->place[taken] = forecast->place[lowest];
        forecast->place[lowest] = place;
    }
}

/* Where each role is after so many repetitions more. */
static void places_find(struct pool_forecast *forecast, int64_t count)
{
    for (int i = 0; i < forecast->before.segment_count; i++) {
        forecast->place[i] = forecast->moves_to[i];
    }
    for (int64_t u = 0; u < count && forecast->moving_count > 0; u++) {
        ties_follow(forecast);
        for (int i = 0; i < forecast->moving_count; i++) {
            int role = forecast->moving[i];
            forecast->place_next[role] = forecast->place[forecast->moves_to[role]];
        }
        for (int i = 0; i < forecast->moving_count; i++) {
            int role = forecast->moving[i];
            forecast->place[role] = forecast->place_next[role];
        }
    }
}

/* A role takes its place, so many repetitions on. head: of its blocks. */
static void role_place(struct pool_forecast *forecast, int role, struct block *head, int64_t count)
{
    struct allocator *allocator = forecast->allocator;
    const struct picture_segment *was = &forecast->before.segments[role];
    const struct picture_segment *is = &forecast->now.segments[forecast->now_number[forecast->moves_to[role]]];
    struct segment *segment = forecast->before.segments[forecast->place[role]].segment;
    int64_t offset = 0;
    segment->first = head;
    for (int b = 0; b < was->block_count; b++) {
        struct block *block = head;
        int64_t now_bytes = forecast->now.blocks[is->first_block + b].bytes;
        int64_t growth = now_bytes - forecast->before.blocks[was->first_block + b].bytes;
        if (block->live) {
            counters_change(&allocator->counters, block, -1);
        }
        block->segment = segment;
        block->offset = offset;
        block->bytes = now_bytes + count * growth;
        offset += block->bytes;
        head = block->next;
        if (block->live) {
            counters_change(&allocator->counters, block, 1);
        } else {
            pool_insert(allocator, block);
        }
    }
}

void pool_forecast_leave_out(struct pool_forecast *forecast, int64_t count)
{
    struct allocator *allocator = forecast->allocator;
    const struct picture_segment *segments = forecast->before.segments;
    int segment_count = forecast->before.segment_count;
    places_find(forecast, count);
    for (int i = 0; i < segment_count; i++) { /* in the pool now: out of the tree before any key changes */
        struct block *block = forecast->first[i] >= 0 ? segments[i].segment->first : NULL;
        for (; block != NULL; block = block->next) {
            if (!block->live) {
                pool_remove(allocator, block);
            }
        }
    }
    for (int i = 0; i < segment_count; i++) {
        if (forecast->first[i] >= 0) {
            const struct picture_segment *is = &forecast->now.segments[forecast->now_number[forecast->moves_to[i]]];
            role_place(forecast, i, forecast->now.blocks[is->first_block].block, count);
        }
    }
    for (int i = 0; i < segment_count; i++) {
        bool was_free = forecast->now.segments[forecast->now_number[i]].is_free;
        bool is_free = segment_is_free(segments[i].segment);
        if (is_free && !was_free) {
            segment_note_free(allocator, segments[i].segment);
        } else if (was_free && !is_free) {
            segment_note_used(allocator, segments[i].segment);
        }
    }
    forecast->note_count = 0;
}

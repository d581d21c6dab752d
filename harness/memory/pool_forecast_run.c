/* Pool forecast, the repetition: the rules of caching_policy.c for the large pool, with linear sizes. Where it begins
 * and what follows from where it ends is pool_forecast.c's. */
#include "harness/memory/pool_forecast_inside.h"

static void free_list_add(struct pool_forecast *forecast, int block)
{
    forecast->blocks[block].free_at = forecast->free_count;
    forecast->free_blocks[forecast->free_count++] = block;
}

static void free_list_remove(struct pool_forecast *forecast, int block)
{
    int at = forecast->blocks[block].free_at, last = forecast->free_blocks[--forecast->free_count];
    forecast->free_blocks[at] = last;
    forecast->blocks[last].free_at = at;
    forecast->blocks[block].free_at = -1;
}

/* -- which free block */

static bool block_is_segment(const struct pool_forecast *forecast, int block)
{
    return forecast->blocks[block].previous < 0 && forecast->blocks[block].next < 0;
}

static int64_t segment_position(const struct pool_forecast *forecast, int block)
{
    return forecast->before.segments[forecast->blocks[block].segment].segment->position;
}

/* Whether block a, equal to b, has the lower position. */
static bool block_is_lower(const struct pool_forecast *forecast, int a, int b)
{
    if (forecast->blocks[a].segment != forecast->blocks[b].segment) {
        return segment_position(forecast, a) < segment_position(forecast, b);
    }
    int before = forecast->blocks[b].previous;
    while (before >= 0 && before != a) {
        before = forecast->blocks[before].previous;
    }
    return before == a;
}

/* A choice between equal blocks: the lowest is taken. Between wholly free segments it is noted, and followed
 * (ties_follow). Others are equal to nothing but themselves: their segments must hold what they hold in every
 * repetition, so that the same one is taken. False if they do not. */
static bool tie_break(struct pool_forecast *forecast, const struct linear_bytes *size, int *best)
{
    int *tie = forecast->ties + forecast->tie_count + 1;
    int room = forecast->tie_room - forecast->tie_count - 1, count = 0;
    bool all_free = true, all_fixed = true;
    for (int i = 0; i < forecast->free_count; i++) {
        int block = forecast->free_blocks[i], segment = forecast->blocks[block].segment;
        struct linear_bytes difference = linear_difference(&forecast->blocks[block].size, size);
        if (!linear_is_zero(&difference)) {
            continue;
        }
        if (count >= room) {
            return false;
        }
        *best = block_is_lower(forecast, block, *best) ? block : *best;
        all_free = all_free && block_is_segment(forecast, block);
        all_fixed = all_fixed && forecast->moves_to[segment] == segment;
        tie[count++] = segment;
    }
    for (int i = 0; i < count && !all_free; i++) {
        forecast->is_pinned[tie[i]] = true;
    }
    for (int i = 0; i < count && all_free; i++) { /* the one that is taken first */
        if (tie[i] == forecast->blocks[*best].segment) {
            tie[i] = tie[0];
            tie[0] = forecast->blocks[*best].segment;
        }
    }
    if (all_free) {
        tie[-1] = count;
        forecast->tie_count += count + 1;
    }
    return all_free || all_fixed;
}

/* The smallest free block that is large enough, in the whole span; -1: none is, or it cannot be told. */
static int best_fit(struct pool_forecast *forecast, const struct linear_bytes *wanted)
{
    struct linear_span *span = &forecast->span;
    int best = -1;
    bool tied = false;
    for (int i = 0; i < forecast->free_count; i++) {
        int block = forecast->free_blocks[i];
        const struct linear_bytes *size = &forecast->blocks[block].size;
        struct linear_bytes rest = linear_difference(size, wanted);
        enum linear_answer fits = linear_decide(span, &rest, 0);
        if (fits == LINEAR_UNKNOWN) {
            return -1;
        }
        if (fits == LINEAR_BELOW) {
            continue;
        }
        struct linear_bytes more = linear_difference(size, best < 0 ? size : &forecast->blocks[best].size);
        if (best >= 0 && linear_is_zero(&more)) {
            tied = true;
        } else if (best < 0 || linear_decide(span, &more, 0) == LINEAR_BELOW) {
            best = block;
            tied = false;
        } else if (linear_decide(span, &more, 1) != LINEAR_REACHES) {
            return -1;
        }
    }
    struct linear_bytes size = best >= 0 ? forecast->blocks[best].size : (struct linear_bytes){0};
    return !tied || tie_break(forecast, &size, &best) ? best : -1;
}

/* -- taking and giving back */

static int block_add(struct pool_forecast *forecast, const struct forecast_block *block)
{
    if (forecast->block_count == forecast->block_room) {
        return -1;
    }
    forecast->blocks[forecast->block_count] = *block;
    return forecast->block_count++;
}

/* Cuts a block; the rest is free. */
static bool rest_split(struct pool_forecast *forecast, int block, const struct linear_bytes *wanted,
                       const struct linear_bytes *rest_size)
{
    struct forecast_block *cut = &forecast->blocks[block];
    struct forecast_block made = {
        .size = *rest_size, .previous = block, .next = cut->next, .segment = cut->segment, .owner = -1, .free_at = -1};
    int rest = block_add(forecast, &made);
    if (rest < 0) {
        return false;
    }
    if (made.next >= 0) {
        forecast->blocks[made.next].previous = rest;
    }
    cut->next = rest;
    cut->size = *wanted;
    free_list_add(forecast, rest);
    return true;
}

static bool request_make(struct pool_forecast *forecast, const struct forecast_event *event)
{
    struct linear_bytes wanted;
    if (event->growth_bytes < 0 || !linear_request(&forecast->span, event->bytes, event->growth_bytes, &wanted)) {
        return false;
    }
    int block = best_fit(forecast, &wanted);
    if (block < 0) {
        return false;
    }
    free_list_remove(forecast, block);
    struct linear_bytes rest = linear_difference(&forecast->blocks[block].size, &wanted);
    if (!linear_is_zero(&rest)) {
        const struct linear_bytes *whole = &forecast->blocks[block].size;
        enum linear_answer splits = linear_decide(&forecast->span, &rest, ALLOCATOR_SMALL_BYTES + 1);
        /* What is handed out does not become less from one repetition to the next, so what is allocated is highest in
         * the last. */
        bool grows = whole->growth_bytes >= 0 && !linear_is_rounded(whole);
        if (splits == LINEAR_UNKNOWN || (splits == LINEAR_BELOW && !grows) ||
            (splits == LINEAR_REACHES && !rest_split(forecast, block, &wanted, &rest))) {
            return false;
        }
    }
    forecast->blocks[block].live = true;
    forecast->blocks[block].owner = event->owner;
    forecast->owner_block[event->owner] = block;
    return true;
}

/* b, which is free and behind a, becomes part of it. */
static void blocks_join(struct pool_forecast *forecast, int a, int b)
{
    struct forecast_block *kept = &forecast->blocks[a], *gone = &forecast->blocks[b];
    kept->size = linear_sum(&kept->size, &gone->size);
    kept->next = gone->next;
    if (kept->next >= 0) {
        forecast->blocks[kept->next].previous = a;
    }
}

static bool block_give_back(struct pool_forecast *forecast, int owner)
{
    int block = forecast->owner_block[owner];
    if (block < 0) {
        return false;
    }
    forecast->owner_block[owner] = -1;
    struct forecast_block *given = &forecast->blocks[block];
    given->live = false;
    given->owner = -1;
    int previous = given->previous, next = given->next;
    if (next >= 0 && !forecast->blocks[next].live) {
        free_list_remove(forecast, next);
        blocks_join(forecast, block, next);
    }
    if (previous >= 0 && !forecast->blocks[previous].live) {
        free_list_remove(forecast, previous);
        blocks_join(forecast, previous, block);
        block = previous;
    }
    free_list_add(forecast, block);
    return true;
}

/* -- the beginning */

static int64_t least_request(const struct forecast_event *events, int event_count)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < event_count; i++) {
        least = events[i].takes && events[i].bytes < least ? events[i].bytes : least;
    }
    return least;
}

/* Whether something may happen in a segment: it has blocks of owners, or one that may be large enough. */
static bool segment_matters(const struct pool_forecast *forecast, int segment, int64_t least_bytes)
{
    const struct picture_segment *before = &forecast->before.segments[segment];
    bool matters = forecast->moves_to[segment] != segment;
    for (int i = 0; i < before->block_count && !matters; i++) {
        const struct picture_block *block = &forecast->before.blocks[before->first_block + i];
        matters = block->owner >= 0 || (!block->live && block->bytes >= least_bytes);
    }
    return matters;
}

static bool segment_begin(struct pool_forecast *forecast, int segment)
{
    const struct picture_segment *before = &forecast->before.segments[segment];
    const struct picture_segment *now = &forecast->now.segments[forecast->now_number[forecast->moves_to[segment]]];
    int previous = -1;
    for (int i = 0; i < before->block_count; i++) {
        const struct picture_block *was = &forecast->before.blocks[before->first_block + i];
        int64_t growth = forecast->now.blocks[now->first_block + i].bytes - was->bytes;
        struct forecast_block made = {.size = {.bytes = was->bytes, .growth_bytes = growth},
                                      .previous = previous,
                                      .next = -1,
                                      .segment = segment,
                                      .owner = -1,
                                      .free_at = -1,
                                      .live = was->live};
        int block = block_add(forecast, &made);
        if (block < 0) {
            return false;
        }
        *(previous >= 0 ? &forecast->blocks[previous].next : &forecast->first[segment]) = block;
        previous = block;
        if (!was->live) {
            free_list_add(forecast, block);
        } else if (was->owner >= 0) {
            forecast->owner_block[was->owner + forecast->owner_count] = block;
        }
    }
    return true;
}

bool forecast_events_run(struct pool_forecast *forecast, const struct forecast_event *events, int event_count)
{
    int64_t least_bytes = least_request(events, event_count);
    bool runs = true;
    for (int i = 0; i < 2 * forecast->owner_count; i++) {
        forecast->owner_block[i] = -1;
    }
    forecast->block_count = forecast->free_count = forecast->tie_count = 0;
    forecast->span.rounding_count = 0;
    for (int i = 0; i < forecast->before.segment_count && runs; i++) {
        forecast->first[i] = -1;
        forecast->is_pinned[i] = false;
        runs = !segment_matters(forecast, i, least_bytes) || segment_begin(forecast, i);
    }
    for (int i = 0; i < event_count && runs && forecast->span.last > 0; i++) {
        runs = events[i].takes ? request_make(forecast, &events[i]) : block_give_back(forecast, events[i].owner);
    }
    return runs && forecast->span.last > 0;
}

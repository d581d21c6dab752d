/* Sections: which parts of a body are equal, one behind the other, and what each of them does. */
#include "harness/replay/repetition_inside.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"

enum { WINDOW = 12, CANDIDATES = 8, SECTIONS_LEAST = 4, DEPTH_MAXIMUM = 4 };

/* Two events of the same number do the same, the one to its surroundings what the other does to those that far on. */
struct search {
    struct repetition *repetition;
    uint64_t *marks;  /* by event */
    bool *is_claimed; /* by event: part of a run */
    int *distances;   /* by distance: how often a window of events came again after as many */
    int count;
    size_t capacity;
};

static uint64_t mixed(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static uint64_t event_mark(const struct repetition *repetition, int at)
{
    const struct body_event *event = &repetition->events[at];
    if (event->kind == EVENT_ALLOC) {
        const struct storage *storage = &repetition->storages[event->own];
        return mixed(mixed(mixed(1, (uint64_t)storage->bytes), (uint64_t)storage->growth_bytes), storage->category);
    }
    if (event->kind == EVENT_FREE) {
        bool is_own = event->index >= repetition->repeat->first_storage;
        return mixed(is_own ? 2 : 3, (uint64_t)(int64_t)(at - repetition->taken_at[event->own]));
    }
    return mixed(4, (uint64_t)at); /* of no section */
}

/* What marks stand for, event by event: they are numbers that may be equal by chance. */
static bool events_match(const struct repetition *repetition, int a, int b)
{
    const struct body_event *x = &repetition->events[a], *y = &repetition->events[b];
    int first = repetition->repeat->first_storage;
    if (x->kind != y->kind || (x->kind != EVENT_ALLOC && x->kind != EVENT_FREE)) {
        return false;
    }
    const struct storage *s = &repetition->storages[x->own], *t = &repetition->storages[y->own];
    bool alike = s->bytes == t->bytes && s->growth_bytes == t->growth_bytes && s->category == t->category;
    return alike && (x->kind == EVENT_ALLOC || ((x->index >= first) == (y->index >= first) &&
                                                a - repetition->taken_at[x->own] == b - repetition->taken_at[y->own]));
}

/* -- distances at which windows of events come again */

static bool distances_count(struct search *search)
{
    int slots = 64;
    while (slots < 2 * search->count) {
        slots *= 2;
    }
    uint64_t *keys = calloc((size_t)slots, sizeof *keys);
    int *places = calloc((size_t)slots, sizeof *places);
    bool made = keys != NULL && places != NULL;
    for (int i = 0; made && i + WINDOW <= search->count; i++) {
        uint64_t key = 5;
        for (int k = 0; k < WINDOW; k++) {
            key = mixed(key, search->marks[i + k]);
        }
        key |= 1; /* 0: a free slot */
        int slot = (int)(key >> 20 & (uint64_t)(slots - 1));
        while (keys[slot] != 0 && keys[slot] != key) {
            slot = (slot + 1) & (slots - 1);
        }
        if (keys[slot] == key) {
            search->distances[i - places[slot]]++;
        }
        keys[slot] = key;
        places[slot] = i;
    }
    free(keys);
    free(places);
    return made;
}

/* The distance that is seen most often, and no longer counts; 0: none is left. */
static int distance_take(struct search *search)
{
    int best = 0;
    for (int i = 1; i < search->count; i++) {
        best = search->distances[i] > (best > 0 ? search->distances[best] : 0) ? i : best;
    }
    if (best > 0) {
        search->distances[best] = 0;
    }
    return best;
}

/* -- runs */

static bool run_append(struct search *search, int first, int length, int count)
{
    struct repetition *repetition = search->repetition;
    struct section_run *grown = arena_array_extend(&repetition->arena, repetition->runs, (size_t)repetition->run_count,
                                                   &search->capacity, sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    repetition->runs = grown;
    repetition->runs[repetition->run_count++] = (struct section_run){.first = first, .length = length, .count = count};
    memset(search->is_claimed + first, true, (size_t)(length * count));
    return true;
}

/* The runs of sections of a length, among events that are in none. */
static bool runs_append(struct search *search, int length)
{
    bool made = true;
    for (int first = 0; first + length < search->count && made;) {
        int end = first;
        while (end + length < search->count && !search->is_claimed[end] && !search->is_claimed[end + length] &&
               events_match(search->repetition, end, end + length)) {
            end++;
        }
        int count = (end - first) / length + 1;
        if (count >= SECTIONS_LEAST) {
            made = run_append(search, first, length, count);
            end = first + count * length;
        }
        first = end > first ? end : first + 1;
    }
    return made;
}

static int run_order(const void *left, const void *right)
{
    const struct section_run *a = left, *b = right;
    return (a->first > b->first) - (a->first < b->first);
}

/* Room for what a run is with the sizes of now. */
static bool runs_furnish(struct repetition *repetition)
{
    struct arena *arena = &repetition->arena;
    int longest = 0;
    for (int i = 0; i < repetition->run_count; i++) {
        struct section_run *run = &repetition->runs[i];
        size_t length = (size_t)run->length, tail = DEPTH_MAXIMUM * length;
        run->gaps = arena_alloc(arena, (length + 1) * sizeof *run->gaps);
        run->tail = arena_alloc(arena, tail * sizeof *run->tail);
        run->renamed = arena_alloc(arena, tail * sizeof *run->renamed);
        if (run->gaps == NULL || run->tail == NULL || run->renamed == NULL) {
            return false;
        }
        longest = run->length > longest ? run->length : longest;
    }
    repetition->places = arena_alloc(arena, SECTION_PLACES * sizeof *repetition->places);
    for (int i = 0; i < SECTION_PLACES && repetition->places != NULL; i++) {
        struct section_place *place = &repetition->places[i];
        place->positions = arena_alloc(arena, DEPTH_MAXIMUM * (size_t)(longest + 1) * sizeof *place->positions);
        if (place->positions == NULL) {
            return false;
        }
    }
    return repetition->places != NULL;
}

enum status_code sections_find(struct repetition *repetition, struct status *error)
{
    size_t room = (size_t)repetition->event_count + 1;
    struct search search = {.repetition = repetition,
                            .marks = calloc(room, sizeof *search.marks),
                            .is_claimed = calloc(room, sizeof *search.is_claimed),
                            .distances = calloc(room, sizeof *search.distances),
                            .count = repetition->event_count};
    bool made = search.marks != NULL && search.is_claimed != NULL && search.distances != NULL;
    for (int i = 0; made && i < search.count; i++) {
        search.marks[i] = event_mark(repetition, i);
    }
    made = made && distances_count(&search);
    for (int i = 0; made && i < CANDIDATES; i++) {
        int length = distance_take(&search);
        made = length == 0 || runs_append(&search, length);
    }
    if (made && repetition->run_count > 0) {
        qsort(repetition->runs, (size_t)repetition->run_count, sizeof *repetition->runs, run_order);
    }
    made = made && runs_furnish(repetition);
    free(search.marks);
    free(search.is_claimed);
    free(search.distances);
    return made ? STATUS_OK
                : status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory to compare %d events",
                             repetition->event_count);
}

/* -- what a run is with the sizes of now */

static bool event_is_small(const struct repetition *repetition, const struct body_event *event)
{
    return repetition->is_small[event->own];
}

/* How many sections back what is given back was taken; 0: something is not of the run at all. */
static int depth_find(const struct repetition *repetition, const struct section_run *run)
{
    int depth = 1, end = run->first + run->count * run->length;
    for (int i = run->first; i < end; i++) {
        const struct body_event *event = &repetition->events[i];
        if (event->kind != EVENT_FREE || !event_is_small(repetition, event)) {
            continue;
        }
        if (event->index < repetition->repeat->first_storage) {
            return 0; /* of the repetition before: each in a place of its own */
        }
        int back = i - repetition->taken_at[event->own];
        int sections = (back + run->length - 1) / run->length;
        depth = sections > depth ? sections : depth;
    }
    return depth;
}

static void tail_find(const struct repetition *repetition, struct section_run *run)
{
    int end = run->first + run->depth * run->length;
    run->tail_count = 0;
    for (int i = run->first; i < end; i++) {
        const struct body_event *event = &repetition->events[i];
        if (event->kind == EVENT_ALLOC && event_is_small(repetition, event) &&
            repetition->freed_at[event->own] >= end) {
            run->tail[run->tail_count++] = i;
        }
    }
}

static void gap_add(const struct repetition *repetition, struct section_gap *gap, const struct body_event *event)
{
    const struct storage *storage = &repetition->storages[event->own];
    int64_t sign = event->kind == EVENT_ALLOC ? 1 : -1, bytes = repetition->bytes[event->own];
    int64_t block_bytes = (bytes + ALLOCATOR_UNIT_BYTES - 1) / ALLOCATOR_UNIT_BYTES * ALLOCATOR_UNIT_BYTES;
    gap->is_some = true;
    gap->bytes += sign * bytes;
    gap->categories[storage->category] += sign * bytes;
    gap->allocated_bytes += sign * block_bytes;
    gap->workspace_bytes += storage->category == CATEGORY_WORKSPACE ? sign * block_bytes : 0;
    if (gap->bytes > gap->bytes_highest) {
        gap->bytes_highest = gap->bytes;
        memcpy(gap->categories_highest, gap->categories, sizeof gap->categories);
    }
    gap->allocated_bytes_highest =
        gap->allocated_bytes > gap->allocated_bytes_highest ? gap->allocated_bytes : gap->allocated_bytes_highest;
}

void section_gaps_fill(const struct repetition *repetition, struct section_run *run)
{
    struct section_gap *gap = &run->gaps[0];
    *gap = (struct section_gap){0};
    for (int i = 0; i < run->length; i++) {
        const struct body_event *event = &repetition->events[run->first + i];
        if (event_is_small(repetition, event)) {
            gap_add(repetition, gap, event);
            run->grows = run->grows || repetition->storages[event->own].growth_bytes != 0;
        } else {
            gap->end = i;
            *++gap = (struct section_gap){0};
        }
    }
    gap->end = run->length;
    run->gap_count = (int)(gap - run->gaps) + 1;
}

void sections_look(struct repetition *repetition)
{
    for (int i = 0; i < repetition->run_count; i++) {
        struct section_run *run = &repetition->runs[i];
        run->depth = depth_find(repetition, run);
        run->is_usable = run->depth > 0 && run->depth <= DEPTH_MAXIMUM && run->depth + 2 <= run->count;
        run->grows = false;
        if (run->is_usable) {
            tail_find(repetition, run);
            section_gaps_fill(repetition, run);
        }
    }
}

/* Moment: the tape's events through the caching allocator, without a device and without operations: once to find the moment,
 * once more up to it. What the moment is told as, is for others. */
#include "harness/replay/moment.h"

#include <stdlib.h>

#include "harness/memory/allocator.h"

struct walk {
    const struct tape_view *tape;
    struct allocator *allocator;
    struct block **blocks; /* by storage; NULL: not live */
    enum stage *taken_in;  /* by storage */
    int last_begin
        [STAGE_COUNT]; /* the event with which the last occurrence of a stage begins; -1: before the first; -2: none */
    enum stage stage;
    bool last; /* the occurrence that lasts is the stage's last */
};

static enum status_code walk_open(const struct tape_view *tape, struct walk *walk, struct status *error)
{
    size_t count = (size_t)tape->storage_count + 1;
    *walk = (struct walk){.tape = tape, .stage = STAGE_CONTEXT};
    for (int i = 0; i < STAGE_COUNT; i++) {
        walk->last_begin[i] = i == STAGE_CONTEXT ? -1 : -2;
    }
    for (int i = 0; i < tape->event_count; i++) {
        if (tape->events[i].kind == EVENT_STAGE) {
            walk->last_begin[tape->events[i].index] = i;
        }
    }
    walk->last = walk->last_begin[STAGE_CONTEXT] == -1;
    walk->blocks = calloc(count, sizeof *walk->blocks);
    walk->taken_in = calloc(count, sizeof *walk->taken_in);
    if (walk->blocks == NULL || walk->taken_in == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for %zu tensors", count);
    }
    return allocator_open(ALLOCATOR_CACHING, segment_source_virtual, &walk->allocator, error);
}

static void walk_close(struct walk *walk)
{
    (void)allocator_close(walk->allocator, NULL); /* a source without memory takes everything back */
    free(walk->blocks);
    free(walk->taken_in);
}

static enum status_code event_walk(struct walk *walk, int at, struct status *error)
{
    struct event event = walk->tape->events[at];
    enum status_code code = STATUS_OK;
    if (event.kind == EVENT_STAGE) {
        walk->stage = (enum stage)event.index;
        walk->last = walk->last_begin[event.index] == at;
    } else if (event.kind == EVENT_ALLOC) {
        code = allocator_alloc(walk->allocator, walk->tape->storages[event.index].bytes, &walk->blocks[event.index],
                               error);
        walk->taken_in[event.index] = walk->stage;
    } else if (event.kind == EVENT_FREE) {
        code = allocator_free(walk->allocator, walk->blocks[event.index], error);
        walk->blocks[event.index] = NULL;
    }
    return code;
}

/* The number of events up to the moment. */
static enum status_code place_find(const struct tape_view *tape, enum stage stage, int *event_count,
                                   struct status *error)
{
    struct walk walk;
    int64_t reserved_bytes = -1, allocated_bytes = -1;
    enum status_code code = walk_open(tape, &walk, error);
    for (int i = 0; i < tape->event_count && code == STATUS_OK; i++) {
        code = event_walk(&walk, i, error);
        const struct allocator_counters *now = allocator_counters(walk.allocator);
        if (!walk.last || (stage != STAGE_COUNT && walk.stage != stage)) {
            continue;
        }
        if (now->reserved_bytes > reserved_bytes ||
            (now->reserved_bytes == reserved_bytes && now->allocated_bytes > allocated_bytes)) {
            reserved_bytes = now->reserved_bytes;
            allocated_bytes = now->allocated_bytes;
            *event_count = i + 1;
        }
    }
    walk_close(&walk);
    if (code == STATUS_OK && reserved_bytes < 0) {
        code = status_set(error, STATUS_INVALID, "the case has no stage %s",
                          stage == STAGE_COUNT ? "" : stage_name(stage));
    }
    return code;
}

static void figures_note(const struct walk *walk, struct moment *moment)
{
    const struct allocator_counters *counters = allocator_counters(walk->allocator);
    moment->stage = walk->stage;
    moment->requested_bytes = counters->requested_bytes;
    moment->allocated_bytes = counters->allocated_bytes;
    moment->reserved_bytes = counters->reserved_bytes;
    moment->rounding_bytes = counters->rounding_bytes;
    moment->unsplit_remainder_bytes = counters->unsplit_remainder_bytes;
    moment->free_segment_bytes = allocator_free_segment_bytes(walk->allocator);
    moment->fragment_bytes = moment->reserved_bytes - moment->allocated_bytes - moment->free_segment_bytes;
}

static enum status_code held_note(const struct walk *walk, struct moment *moment, struct status *error)
{
    int count = 0;
    for (int i = 0; i < walk->tape->storage_count; i++) {
        count += walk->blocks[i] != NULL;
    }
    moment->held = calloc((size_t)count + 1, sizeof *moment->held);
    if (moment->held == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for %d tensors", count);
    }
    for (int i = 0; i < walk->tape->storage_count; i++) {
        if (walk->blocks[i] != NULL) {
            moment->held[moment->held_count++] = (struct held_storage){
                .storage = i, .taken_in = walk->taken_in[i], .block_bytes = block_bytes(walk->blocks[i])};
        }
    }
    return STATUS_OK;
}

enum status_code moment_find(const struct tape_view *tape, enum stage stage, struct moment *moment,
                             struct status *error)
{
    struct moment found = {0};
    struct walk walk;
    enum status_code code = place_find(tape, stage, &found.event_count, error);
    if (code != STATUS_OK) {
        return code;
    }
    code = walk_open(tape, &walk, error);
    for (int i = 0; i < found.event_count && code == STATUS_OK; i++) {
        code = event_walk(&walk, i, error);
    }
    if (code == STATUS_OK) {
        figures_note(&walk, &found);
        code = held_note(&walk, &found, error);
    }
    walk_close(&walk);
    if (code == STATUS_OK) {
        *moment = found;
    }
    return code;
}

void moment_release(struct moment *moment)
{
    free(moment->held);
    *moment = (struct moment){0};
}

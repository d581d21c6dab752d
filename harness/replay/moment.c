/* Moment: the tape's events through the caching allocator, once, without a device and without operations. What was held
 * at the highest moment so far is not copied there, which would cost a copy for almost every tensor of a forward pass:
 * of each storage that changes behind it, what it was is noted. What the moment is told as, is for others. */
#include "harness/replay/moment.h"

#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/size.h"
#include "harness/base/text.h"
#include "harness/memory/allocator.h"
#include "harness/tape/tape_walk.h"

/* What a storage holds. */
struct holding {
    struct block *block; /* NULL: it is not live, or has no bytes; not to be looked at behind the moment */
    int64_t bytes, block_bytes;
    enum stage taken_in;
};

/* Where a stage begins for the last time. */
struct stage_begin {
    int event;          /* -1: before the first event; -2: nowhere */
    int64_t repetition; /* 0: not in a body that is repeated */
};

struct walk {
    struct tape_walk tape;
    struct allocator *allocator;
    struct holding *now;   /* by storage */
    struct holding *then;  /* at the highest moment, of those that have changed since */
    int64_t *changed;      /* by storage: the number of the highest moment behind which it has changed */
    int64_t highest;       /* number of the highest moment; 0: none yet */
    struct moment figures; /* of it */
    struct stage_begin last_begin[STAGE_COUNT];
    enum stage stage;
    bool last;                          /* the occurrence that lasts is the stage's last */
    int64_t bound_bytes, segment_bytes; /* of all segments together; bound 0: none */
    bool is_refused;
    int64_t wanted_bytes; /* where is_refused, by storage wanted */
    int wanted;
};

static enum status_code bounded_alloc(void *context, int64_t bytes, void **address, struct status *error)
{
    struct walk *walk = context;
    int64_t together = 0;
    if (!size_add(walk->segment_bytes, bytes, &together) || (walk->bound_bytes > 0 && together > walk->bound_bytes)) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "a segment of %" PRId64 " bytes is beyond the bound", bytes);
    }
    walk->segment_bytes = together;
    *address = NULL;
    return STATUS_OK;
}

static enum status_code bounded_free(void *context, void *address, int64_t bytes, struct status *error)
{
    struct walk *walk = context;
    (void)address;
    (void)error;
    walk->segment_bytes -= bytes;
    return STATUS_OK;
}

static const struct segment_source_table bounded_table = {.alloc = bounded_alloc, .free = bounded_free};

static void begins_find(const struct tape_view *tape, struct stage_begin last_begin[STAGE_COUNT])
{
    for (int i = 0; i < STAGE_COUNT; i++) {
        last_begin[i] = (struct stage_begin){.event = i == STAGE_CONTEXT ? -1 : -2};
    }
    for (int i = 0; i < tape->event_count; i++) {
        if (tape->events[i].kind == EVENT_STAGE) {
            last_begin[tape->events[i].index] = (struct stage_begin){.event = i};
        }
    }
    for (int i = 0; i < STAGE_COUNT; i++) {
        for (int k = 0; k < tape->repeat_count; k++) {
            int into = last_begin[i].event - tape->repeats[k].first_event;
            if (into >= 0 && into < tape->repeats[k].event_count) {
                last_begin[i].repetition = tape->repeats[k].count;
            }
        }
    }
}

static enum status_code walk_open(const struct tape_view *tape, int64_t bound_bytes, struct walk *walk,
                                  struct status *error)
{
    size_t count = (size_t)tape->storage_count + 1;
    const struct segment_source source = {.table = &bounded_table, .context = walk, .descends = true};
    *walk = (struct walk){.stage = STAGE_CONTEXT, .bound_bytes = bound_bytes};
    begins_find(tape, walk->last_begin);
    walk->last = walk->last_begin[STAGE_CONTEXT].event == -1;
    enum status_code code = tape_walk_open(tape, &walk->tape, error);
    if (code != STATUS_OK) {
        return code;
    }
    walk->now = calloc(count, sizeof *walk->now);
    walk->then = calloc(count, sizeof *walk->then);
    walk->changed = calloc(count, sizeof *walk->changed);
    if (walk->now == NULL || walk->then == NULL || walk->changed == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for %zu tensors", count);
    }
    return allocator_open(ALLOCATOR_CACHING, source, &walk->allocator, error);
}

static void walk_close(struct walk *walk)
{
    (void)allocator_close(walk->allocator, NULL); /* a source without memory takes everything back */
    tape_walk_close(&walk->tape);
    free(walk->now);
    free(walk->then);
    free(walk->changed);
}

/* Before every change. */
static void holding_keep(struct walk *walk, int index)
{
    if (walk->changed[index] != walk->highest) {
        walk->changed[index] = walk->highest;
        walk->then[index] = walk->now[index];
    }
}

/* A tensor that does not fit the bound ends the walk: everything else is as before it. */
static enum status_code tensor_take(struct walk *walk, int index, int64_t bytes, struct status *error)
{
    struct block *block = NULL;
    enum status_code code = allocator_alloc(walk->allocator, bytes, &block, error);
    if (code == STATUS_OUT_OF_MEMORY && walk->bound_bytes > 0) {
        walk->is_refused = true;
        walk->wanted = index;
        walk->wanted_bytes = bytes;
        return STATUS_OK;
    }
    if (code == STATUS_OK) {
        holding_keep(walk, index);
        walk->now[index] = (struct holding){block, bytes, block_bytes(block), walk->stage};
    }
    return code;
}

static enum status_code tensor_free(struct walk *walk, int index, struct status *error)
{
    holding_keep(walk, index);
    enum status_code code = allocator_free(walk->allocator, walk->now[index].block, error);
    walk->now[index].block = NULL;
    return code;
}

static void tensor_carry(struct walk *walk, struct carry carry)
{
    holding_keep(walk, carry.from);
    holding_keep(walk, carry.to);
    walk->now[carry.to] = walk->now[carry.from];
    walk->now[carry.from].block = NULL;
}

static void stage_enter(struct walk *walk, enum stage stage)
{
    const struct stage_begin *last = &walk->last_begin[stage];
    walk->stage = stage;
    walk->last = last->event == walk->tape.event - 1 && last->repetition == walk->tape.repetition;
}

/* One step; *more false at the end of the tape, and where something was refused. */
static enum status_code walk_on(struct walk *walk, bool *more, struct status *error)
{
    struct walk_step step;
    enum status_code code = STATUS_OK;
    *more = tape_walk_next(&walk->tape, &step);
    int index = step.event.index;
    if (!*more) {
        return STATUS_OK;
    }
    if (step.kind == WALK_CARRY) {
        tensor_carry(walk, step.carry);
    } else if (step.event.kind == EVENT_STAGE) {
        stage_enter(walk, (enum stage)index);
    } else if (step.event.kind == EVENT_ALLOC) {
        code = tensor_take(walk, index, step.change_bytes, error);
        *more = !walk->is_refused;
    } else if (step.event.kind == EVENT_FREE) {
        code = tensor_free(walk, index, error);
    }
    return code;
}

static enum status_code stage_refuse(const struct walk *walk, enum stage stage, struct status *error)
{
    struct text known = {0};
    for (int i = STAGE_LOAD; i < STAGE_COUNT; i++) {
        if (walk->last_begin[i].event >= 0) {
            text_format(&known, "%s%s", known.length > 0 ? ", " : "", stage_name((enum stage)i));
        }
    }
    enum status_code code = status_set(error, STATUS_INVALID, "the case has no stage %s; it has %s",
                                       stage == STAGE_COUNT ? "" : stage_name(stage), text_string(&known));
    text_release(&known);
    return code;
}

static void moment_note(struct walk *walk)
{
    const struct allocator_counters *counters = allocator_counters(walk->allocator);
    struct moment *moment = &walk->figures;
    walk->highest++;
    moment->stage = walk->stage;
    moment->step_count = walk->tape.step_count;
    moment->requested_bytes = counters->requested_bytes;
    moment->allocated_bytes = counters->allocated_bytes;
    moment->reserved_bytes = counters->reserved_bytes;
    moment->rounding_bytes = counters->rounding_bytes;
    moment->unsplit_remainder_bytes = counters->unsplit_remainder_bytes;
    moment->free_segment_bytes = allocator_free_segment_bytes(walk->allocator);
    moment->fragment_bytes = moment->reserved_bytes - moment->allocated_bytes - moment->free_segment_bytes;
}

/* Whether this one is higher than those before it that count. */
static bool moment_is_highest(const struct walk *walk, enum stage stage)
{
    const struct allocator_counters *now = allocator_counters(walk->allocator);
    const struct moment *highest = &walk->figures;
    if (!walk->last || (stage != STAGE_COUNT && walk->stage != stage)) {
        return false;
    }
    return walk->highest == 0 || now->reserved_bytes > highest->reserved_bytes ||
           (now->reserved_bytes == highest->reserved_bytes && now->allocated_bytes > highest->allocated_bytes);
}

/* To the end of the tape, or to what is refused. */
static enum status_code walk_through(struct walk *walk, enum stage stage, struct status *error)
{
    bool more = true;
    enum status_code code = STATUS_OK;
    while (code == STATUS_OK && more) {
        code = walk_on(walk, &more, error);
        if (code == STATUS_OK && (walk->is_refused || moment_is_highest(walk, stage))) {
            moment_note(walk);
        }
    }
    if (code == STATUS_OK && walk->highest == 0) {
        code = stage_refuse(walk, stage, error);
    }
    walk->figures.is_refused = walk->is_refused;
    walk->figures.wanted_bytes = walk->wanted_bytes;
    walk->figures.wanted = walk->wanted;
    return code;
}

static const struct holding *holding_then(const struct walk *walk, int index)
{
    return walk->changed[index] == walk->highest ? &walk->then[index] : &walk->now[index];
}

static enum status_code held_note(const struct walk *walk, struct moment *moment, struct status *error)
{
    int count = 0, storage_count = walk->tape.tape->storage_count;
    for (int i = 0; i < storage_count; i++) {
        count += holding_then(walk, i)->block != NULL;
    }
    moment->held = calloc((size_t)count + 1, sizeof *moment->held);
    if (moment->held == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for %d tensors", count);
    }
    for (int i = 0; i < storage_count; i++) {
        const struct holding *holding = holding_then(walk, i);
        if (holding->block != NULL) {
            moment->held[moment->held_count++] = (struct held_storage){.storage = i,
                                                                       .taken_in = holding->taken_in,
                                                                       .bytes = holding->bytes,
                                                                       .block_bytes = holding->block_bytes};
        }
    }
    return STATUS_OK;
}

enum status_code moment_find_bounded(const struct tape_view *tape, enum stage stage, int64_t bound_bytes,
                                     struct moment *moment, struct status *error)
{
    struct walk walk;
    enum status_code code = walk_open(tape, bound_bytes, &walk, error);
    code = code == STATUS_OK ? walk_through(&walk, stage, error) : code;
    struct moment found = walk.figures;
    code = code == STATUS_OK ? held_note(&walk, &found, error) : code;
    walk_close(&walk);
    if (code == STATUS_OK) {
        *moment = found;
    }
    return code;
}

enum status_code moment_find(const struct tape_view *tape, enum stage stage, struct moment *moment,
                             struct status *error)
{
    return moment_find_bounded(tape, stage, 0, moment, error);
}

void moment_release(struct moment *moment)
{
    free(moment->held);
    *moment = (struct moment){0};
}

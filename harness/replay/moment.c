/* Moment: the tape's events, once, told to what keeps the highest moment of a walk, without a device and without
 * operations. Here is which moments count: those of the last occurrence of a stage. What the moment is told as, is for
 * others. */
#include "harness/replay/moment.h"

#include <stdlib.h>

#include "harness/base/text.h"
#include "harness/tape/tape_walk.h"

/* Where a stage begins for the last time. */
struct stage_begin {
    int event;          /* -1: before the first event; -2: nowhere */
    int64_t repetition; /* 0: not in a body that is repeated */
};

struct walk {
    struct tape_walk tape;
    struct high_water *water; /* a slot for each storage */
    struct moment figures;    /* of the last mark */
    struct stage_begin last_begin[STAGE_COUNT];
    enum stage stage;
    bool last;  /* the occurrence that lasts is the stage's last */
    bool found; /* a moment that counts */
    bool is_bounded;
};

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

static enum status_code walk_open(const struct tape_view *tape, enum high_water_metric metric, int64_t bound_bytes,
                                  struct walk *walk, struct status *error)
{
    *walk = (struct walk){.stage = STAGE_CONTEXT, .is_bounded = bound_bytes > 0};
    begins_find(tape, walk->last_begin);
    walk->last = walk->last_begin[STAGE_CONTEXT].event == -1;
    enum status_code code = tape_walk_open(tape, &walk->tape, error);
    walk->tape.ends_only = metric == HIGH_WATER_REQUESTED; /* blocks depend on every repetition before them */
    return code == STATUS_OK ? high_water_open(metric, (size_t)tape->storage_count, bound_bytes, &walk->water, error)
                             : code;
}

static void walk_close(struct walk *walk)
{
    high_water_close(walk->water);
    tape_walk_close(&walk->tape);
}

/* A tensor that does not fit the bound ends the walk: everything else is as before it. */
static enum status_code tensor_take(struct walk *walk, int index, int64_t bytes, struct status *error)
{
    enum status_code code = high_water_take(walk->water, (size_t)index, bytes, (int)walk->stage, error);
    if (code == STATUS_OUT_OF_MEMORY && walk->is_bounded) {
        walk->figures.is_refused = true;
        walk->figures.wanted = index;
        walk->figures.wanted_bytes = bytes;
        return STATUS_OK;
    }
    return code;
}

static void stage_enter(struct walk *walk, enum stage stage)
{
    const struct stage_begin *last = &walk->last_begin[stage];
    walk->stage = stage;
    walk->last = last->event == walk->tape.event - 1 && last->repetition == walk->tape.repetition;
}

/* Tells one step on. */
static enum status_code step_follow(struct walk *walk, const struct walk_step *step, struct status *error)
{
    int index = step->event.index;
    if (step->kind == WALK_CARRY) {
        high_water_carry(walk->water, (size_t)step->carry.from, (size_t)step->carry.to);
    } else if (step->kind == WALK_LEFT_OUT) {
        high_water_grow(walk->water, (size_t)index, step->change_bytes);
    } else if (step->event.kind == EVENT_STAGE) {
        stage_enter(walk, (enum stage)index);
    } else if (step->event.kind == EVENT_ALLOC) {
        return tensor_take(walk, index, step->change_bytes, error);
    } else if (step->event.kind == EVENT_FREE) {
        return high_water_free(walk->water, (size_t)index, error);
    }
    return STATUS_OK;
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

/* Marks the present where it counts and is higher than what counted before it; what was refused always counts. */
static void moment_note(struct walk *walk, enum stage stage)
{
    bool counts = walk->last && (stage == STAGE_COUNT || walk->stage == stage);
    if (walk->figures.is_refused || (counts && !walk->found)) {
        high_water_mark(walk->water);
    } else if (!counts || !high_water_raise(walk->water)) {
        return;
    }
    walk->found = true;
    walk->figures.stage = walk->stage;
    walk->figures.step_count = walk->tape.step_count;
}

/* To the end of the tape, or to what is refused. */
static enum status_code walk_through(struct walk *walk, enum stage stage, struct status *error)
{
    struct walk_step step;
    enum status_code code = STATUS_OK;
    while (code == STATUS_OK && !walk->figures.is_refused && tape_walk_next(&walk->tape, &step)) {
        code = step_follow(walk, &step, error);
        if (code == STATUS_OK && step.kind == WALK_EVENT) {
            moment_note(walk, stage);
        }
    }
    if (code == STATUS_OK && !walk->found) {
        code = stage_refuse(walk, stage, error);
    }
    return code;
}

static void bytes_note(const struct walk *walk, struct moment *moment)
{
    const struct high_water_bytes *bytes = high_water_bytes_then(walk->water);
    moment->requested_bytes = bytes->requested;
    moment->allocated_bytes = bytes->allocated;
    moment->reserved_bytes = bytes->reserved;
    moment->rounding_bytes = bytes->rounding;
    moment->unsplit_remainder_bytes = bytes->unsplit_remainder;
    moment->free_segment_bytes = bytes->free_segments;
    moment->fragment_bytes = bytes->reserved - bytes->allocated - bytes->free_segments;
}

static enum status_code held_note(const struct walk *walk, struct moment *moment, struct status *error)
{
    int count = 0, storage_count = walk->tape.tape->storage_count;
    for (int i = 0; i < storage_count; i++) {
        count += high_water_slot_then(walk->water, (size_t)i)->bytes > 0;
    }
    moment->held = calloc((size_t)count + 1, sizeof *moment->held);
    if (moment->held == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for %d tensors", count);
    }
    for (int i = 0; i < storage_count; i++) {
        const struct held_slot *slot = high_water_slot_then(walk->water, (size_t)i);
        if (slot->bytes > 0) {
            moment->held[moment->held_count++] = (struct held_storage){.storage = i,
                                                                       .taken_in = (enum stage)slot->taken_in,
                                                                       .bytes = slot->bytes,
                                                                       .block_bytes = slot->block_bytes};
        }
    }
    return STATUS_OK;
}

static enum status_code moment_take(struct walk *walk, enum stage stage, struct moment *moment, struct status *error)
{
    enum status_code code = walk_through(walk, stage, error);
    struct moment found = walk->figures;
    code = code == STATUS_OK ? held_note(walk, &found, error) : code;
    if (code == STATUS_OK) {
        bytes_note(walk, &found);
        *moment = found;
    }
    return code;
}

enum status_code moment_find_bounded(const struct tape_view *tape, enum stage stage, int64_t bound_bytes,
                                     struct moment *moment, struct status *error)
{
    struct walk walk;
    enum status_code code = walk_open(tape, HIGH_WATER_RESERVED, bound_bytes, &walk, error);
    code = code == STATUS_OK ? moment_take(&walk, stage, moment, error) : code;
    walk_close(&walk);
    return code;
}

enum status_code moment_find(const struct tape_view *tape, enum high_water_metric metric, enum stage stage,
                             struct moment *moment, struct status *error)
{
    struct walk walk;
    enum status_code code = walk_open(tape, metric, 0, &walk, error);
    code = code == STATUS_OK ? moment_take(&walk, stage, moment, error) : code;
    walk_close(&walk);
    return code;
}

void moment_release(struct moment *moment)
{
    free(moment->held);
    *moment = (struct moment){0};
}

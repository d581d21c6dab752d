/* Moment: passes the tape's events once to the high water, which keeps the highest moment; no device and no operation
 * is needed. This file says which moments count: those of the last occurrence of a stage. How a moment is told is left
 * to others. */
#include "harness/replay/moment.h"

#include <stdlib.h>

#include "harness/base/text.h"
#include "harness/tape/tape_cursor.h"

/* Where a stage begins for the last time. */
struct stage_begin {
    int event;          /* -1: before the first event; -2: nowhere */
    int64_t repetition; /* 0: not in a body that is repeated */
};

struct moment_search {
    struct tape_cursor cursor;
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

static enum status_code search_open(const struct tape_view *tape, enum high_water_metric metric, int64_t bound_bytes,
                                    struct moment_search *search, struct status *error)
{
    *search = (struct moment_search){.stage = STAGE_CONTEXT, .is_bounded = bound_bytes > 0};
    begins_find(tape, search->last_begin);
    search->last = search->last_begin[STAGE_CONTEXT].event == -1;
    enum status_code code = tape_cursor_open(tape, &search->cursor, error);
    search->cursor.ends_only = metric == HIGH_WATER_REQUESTED; /* blocks depend on every repetition before them */
    return code == STATUS_OK ? high_water_open(metric, (size_t)tape->storage_count, bound_bytes, &search->water, error)
                             : code;
}

static void search_close(struct moment_search *search)
{
    high_water_close(search->water);
    tape_cursor_close(&search->cursor);
}

/* A tensor that does not fit the bound ends the search: everything else is as before it. What gives way is smaller. */
static enum status_code tensor_take(struct moment_search *search, int index, int64_t bytes, struct status *error)
{
    enum status_code code = high_water_take(search->water, (size_t)index, bytes, (int)search->stage, error);
    bool gives_way = search->cursor.tape->storages[index].gives_way && search->is_bounded;
    while (gives_way && code == STATUS_OUT_OF_MEMORY && bytes > 1) {
        bytes /= 2;
        code = high_water_take(search->water, (size_t)index, bytes, (int)search->stage, error);
    }
    if (code == STATUS_OUT_OF_MEMORY && search->is_bounded) {
        search->figures.is_refused = true;
        search->figures.wanted = index;
        search->figures.wanted_bytes = bytes;
        return STATUS_OK;
    }
    return code;
}

static void stage_enter(struct moment_search *search, enum stage stage)
{
    const struct stage_begin *last = &search->last_begin[stage];
    search->stage = stage;
    search->last = last->event == search->cursor.event - 1 && last->repetition == search->cursor.repetition;
}

/* Tells one step on. */
static enum status_code step_follow(struct moment_search *search, const struct tape_step *step, struct status *error)
{
    int index = step->event.index;
    if (step->kind == TAPE_STEP_CARRY) {
        high_water_carry(search->water, (size_t)step->carry.from, (size_t)step->carry.to);
    } else if (step->kind == TAPE_STEP_LEFT_OUT) {
        high_water_grow(search->water, (size_t)index, step->change_bytes);
    } else if (step->event.kind == EVENT_STAGE) {
        stage_enter(search, (enum stage)index);
    } else if (step->event.kind == EVENT_ALLOC) {
        return tensor_take(search, index, step->change_bytes, error);
    } else if (step->event.kind == EVENT_FREE) {
        return high_water_free(search->water, (size_t)index, error);
    } else if (step->event.kind == EVENT_TRIM) {
        return high_water_trim(search->water, error);
    }
    return STATUS_OK;
}

static enum status_code stage_refuse(const struct moment_search *search, enum stage stage, struct status *error)
{
    struct text known = {0};
    for (int i = STAGE_LOAD; i < STAGE_COUNT; i++) {
        if (search->last_begin[i].event >= 0) {
            text_format(&known, "%s%s", known.length > 0 ? ", " : "", stage_name((enum stage)i));
        }
    }
    enum status_code code = status_set(error, STATUS_INVALID, "the case has no stage %s; it has %s",
                                       stage == STAGE_COUNT ? "" : stage_name(stage), text_string(&known));
    text_release(&known);
    return code;
}

/* Marks the present where it counts and is higher than what counted before it; what was refused always counts. */
static void moment_note(struct moment_search *search, enum stage stage)
{
    bool counts = search->last && (stage == STAGE_COUNT || search->stage == stage);
    if (search->figures.is_refused || (counts && !search->found)) {
        high_water_mark(search->water);
    } else if (!counts || !high_water_raise(search->water)) {
        return;
    }
    search->found = true;
    search->figures.stage = search->stage;
    search->figures.step_count = search->cursor.step_count;
}

/* To the end of the tape, or to what is refused. */
static enum status_code search_through(struct moment_search *search, enum stage stage, struct status *error)
{
    struct tape_step step;
    enum status_code code = STATUS_OK;
    while (code == STATUS_OK && !search->figures.is_refused && tape_cursor_next(&search->cursor, &step)) {
        code = step_follow(search, &step, error);
        if (code == STATUS_OK && step.kind == TAPE_STEP_EVENT) {
            moment_note(search, stage);
        }
    }
    if (code == STATUS_OK && !search->found) {
        code = stage_refuse(search, stage, error);
    }
    return code;
}

static void bytes_note(const struct moment_search *search, struct moment *moment)
{
    const struct high_water_bytes *bytes = high_water_bytes_then(search->water);
    moment->requested_bytes = bytes->requested;
    moment->allocated_bytes = bytes->allocated;
    moment->reserved_bytes = bytes->reserved;
    moment->rounding_bytes = bytes->rounding;
    moment->unsplit_remainder_bytes = bytes->unsplit_remainder;
    moment->free_segment_bytes = bytes->free_segments;
    moment->fragment_bytes = bytes->reserved - bytes->allocated - bytes->free_segments;
}

static enum status_code held_note(const struct moment_search *search, struct moment *moment, struct status *error)
{
    int count = 0, storage_count = search->cursor.tape->storage_count;
    for (int i = 0; i < storage_count; i++) {
        count += high_water_slot_then(search->water, (size_t)i)->bytes > 0;
    }
    moment->held = calloc((size_t)count + 1, sizeof *moment->held);
    if (moment->held == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for %d tensors", count);
    }
    for (int i = 0; i < storage_count; i++) {
        const struct held_slot *slot = high_water_slot_then(search->water, (size_t)i);
        if (slot->bytes > 0) {
            moment->held[moment->held_count++] = (struct held_storage){.storage = i,
                                                                       .taken_in = (enum stage)slot->taken_in,
                                                                       .bytes = slot->bytes,
                                                                       .block_bytes = slot->block_bytes};
        }
    }
    return STATUS_OK;
}

static enum status_code moment_take(struct moment_search *search, enum stage stage, struct moment *moment,
                                    struct status *error)
{
    enum status_code code = search_through(search, stage, error);
    struct moment found = search->figures;
    code = code == STATUS_OK ? held_note(search, &found, error) : code;
    if (code == STATUS_OK) {
        bytes_note(search, &found);
        *moment = found;
    }
    return code;
}

enum status_code moment_find_bounded(const struct tape_view *tape, enum stage stage, int64_t bound_bytes,
                                     struct moment *moment, struct status *error)
{
    struct moment_search search;
    enum status_code code = search_open(tape, HIGH_WATER_RESERVED, bound_bytes, &search, error);
    code = code == STATUS_OK ? moment_take(&search, stage, moment, error) : code;
    search_close(&search);
    return code;
}

enum status_code moment_find(const struct tape_view *tape, enum high_water_metric metric, enum stage stage,
                             struct moment *moment, struct status *error)
{
    struct moment_search search;
    enum status_code code = search_open(tape, metric, 0, &search, error);
    code = code == STATUS_OK ? moment_take(&search, stage, moment, error) : code;
    search_close(&search);
    return code;
}

void moment_release(struct moment *moment)
{
    free(moment->held);
    *moment = (struct moment){0};
}

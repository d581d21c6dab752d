/* Moment: the tape's events through the caching allocator, without a device and without operations: once to find the moment,
 * once more up to it. What the moment is told as, is for others. */
#include "harness/replay/moment.h"

#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/size.h"
#include "harness/base/text.h"
#include "harness/memory/allocator.h"
#include "harness/tape/tape_walk.h"

struct walk {
    struct tape_walk tape;
    struct allocator *allocator;
    struct block **blocks; /* by storage; NULL: not live */
    enum stage *taken_in;  /* by storage */
    int64_t last_begin
        [STAGE_COUNT]; /* the step with which the last occurrence of a stage begins; -1: before the first; -2: none */
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

/* Where the stages begin last. */
static enum status_code begins_find(const struct tape_view *tape, int64_t last_begin[STAGE_COUNT], struct status *error)
{
    struct tape_walk walk;
    struct walk_step step;
    enum status_code code = tape_walk_open(tape, &walk, error);
    for (int i = 0; i < STAGE_COUNT; i++) {
        last_begin[i] = i == STAGE_CONTEXT ? -1 : -2;
    }
    while (code == STATUS_OK && tape_walk_next(&walk, &step)) {
        if (step.kind == WALK_EVENT && step.event.kind == EVENT_STAGE) {
            last_begin[step.event.index] = walk.step_count;
        }
    }
    tape_walk_close(&walk);
    return code;
}

static enum status_code walk_open(const struct tape_view *tape, int64_t bound_bytes, struct walk *walk,
                                  struct status *error)
{
    size_t count = (size_t)tape->storage_count + 1;
    const struct segment_source source = {.table = &bounded_table, .context = walk};
    *walk = (struct walk){.stage = STAGE_CONTEXT, .bound_bytes = bound_bytes};
    enum status_code code = begins_find(tape, walk->last_begin, error);
    code = code == STATUS_OK ? tape_walk_open(tape, &walk->tape, error) : code;
    if (code != STATUS_OK) {
        return code;
    }
    walk->last = walk->last_begin[STAGE_CONTEXT] == -1;
    walk->blocks = calloc(count, sizeof *walk->blocks);
    walk->taken_in = calloc(count, sizeof *walk->taken_in);
    if (walk->blocks == NULL || walk->taken_in == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for %zu tensors", count);
    }
    return allocator_open(ALLOCATOR_CACHING, source, &walk->allocator, error);
}

static void walk_close(struct walk *walk)
{
    (void)allocator_close(walk->allocator, NULL); /* a source without memory takes everything back */
    tape_walk_close(&walk->tape);
    free(walk->blocks);
    free(walk->taken_in);
}

/* A tensor that does not fit the bound ends the walk: everything else is as before it. */
static enum status_code tensor_take(struct walk *walk, int index, int64_t bytes, struct status *error)
{
    enum status_code code = allocator_alloc(walk->allocator, bytes, &walk->blocks[index], error);
    if (code == STATUS_OUT_OF_MEMORY && walk->bound_bytes > 0) {
        walk->is_refused = true;
        walk->wanted = index;
        walk->wanted_bytes = bytes;
        return STATUS_OK;
    }
    walk->taken_in[index] = walk->stage;
    return code;
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
        walk->blocks[step.carry.to] = walk->blocks[step.carry.from];
        walk->taken_in[step.carry.to] = walk->taken_in[step.carry.from];
        walk->blocks[step.carry.from] = NULL;
    } else if (step.event.kind == EVENT_STAGE) {
        walk->stage = (enum stage)index;
        walk->last = walk->last_begin[index] == walk->tape.step_count;
    } else if (step.event.kind == EVENT_ALLOC) {
        code = tensor_take(walk, index, step.change_bytes, error);
        *more = !walk->is_refused;
    } else if (step.event.kind == EVENT_FREE) {
        code = allocator_free(walk->allocator, walk->blocks[index], error);
        walk->blocks[index] = NULL;
    }
    return code;
}

static enum status_code stage_refuse(const struct walk *walk, enum stage stage, struct status *error)
{
    struct text known = {0};
    for (int i = STAGE_LOAD; i < STAGE_COUNT; i++) {
        if (walk->last_begin[i] >= 0) {
            text_format(&known, "%s%s", known.length > 0 ? ", " : "", stage_name((enum stage)i));
        }
    }
    enum status_code code = status_set(error, STATUS_INVALID, "the case has no stage %s; it has %s",
                                       stage == STAGE_COUNT ? "" : stage_name(stage), text_string(&known));
    text_release(&known);
    return code;
}

/* The number of steps up to the moment. */
static enum status_code place_find(const struct tape_view *tape, enum stage stage, int64_t bound_bytes,
                                   int64_t *step_count, struct status *error)
{
    struct walk walk;
    int64_t reserved_bytes = -1, allocated_bytes = -1;
    bool more = true;
    enum status_code code = walk_open(tape, bound_bytes, &walk, error);
    while (code == STATUS_OK && more) {
        code = walk_on(&walk, &more, error);
        if (walk.is_refused) {
            *step_count = walk.tape.step_count;
            reserved_bytes = 0;
            break;
        }
        const struct allocator_counters *now = allocator_counters(walk.allocator);
        if (!walk.last || (stage != STAGE_COUNT && walk.stage != stage)) {
            continue;
        }
        if (now->reserved_bytes > reserved_bytes ||
            (now->reserved_bytes == reserved_bytes && now->allocated_bytes > allocated_bytes)) {
            reserved_bytes = now->reserved_bytes;
            allocated_bytes = now->allocated_bytes;
            *step_count = walk.tape.step_count;
        }
    }
    walk_close(&walk);
    if (code == STATUS_OK && reserved_bytes < 0) {
        code = stage_refuse(&walk, stage, error);
    }
    return code;
}

static void figures_note(const struct walk *walk, struct moment *moment)
{
    const struct allocator_counters *counters = allocator_counters(walk->allocator);
    moment->stage = walk->stage;
    moment->is_refused = walk->is_refused;
    moment->wanted_bytes = walk->wanted_bytes;
    moment->wanted = walk->wanted;
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
    for (int i = 0; i < walk->tape.tape->storage_count; i++) {
        count += walk->blocks[i] != NULL;
    }
    moment->held = calloc((size_t)count + 1, sizeof *moment->held);
    if (moment->held == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for %d tensors", count);
    }
    for (int i = 0; i < walk->tape.tape->storage_count; i++) {
        if (walk->blocks[i] != NULL) {
            moment->held[moment->held_count++] = (struct held_storage){.storage = i,
                                                                       .taken_in = walk->taken_in[i],
                                                                       .bytes = walk->tape.bytes[i],
                                                                       .block_bytes = block_bytes(walk->blocks[i])};
        }
    }
    return STATUS_OK;
}

enum status_code moment_find_bounded(const struct tape_view *tape, enum stage stage, int64_t bound_bytes,
                                     struct moment *moment, struct status *error)
{
    struct moment found = {0};
    struct walk walk;
    bool more = true;
    enum status_code code = place_find(tape, stage, bound_bytes, &found.step_count, error);
    if (code != STATUS_OK) {
        return code;
    }
    code = walk_open(tape, bound_bytes, &walk, error);
    while (code == STATUS_OK && more && walk.tape.step_count < found.step_count) {
        code = walk_on(&walk, &more, error);
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

/* High water: slots, and where blocks are asked for, an allocator without memory beneath them. What is held is not
 * copied at a mark, which would cost a copy for almost every tensor of a forward pass: of each slot that changes
 * behind it, what it was is noted. What is walked, and what the moment is told as, is for others. */
#include "harness/memory/high_water.h"

#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/size.h"
#include "harness/memory/allocator.h"

struct high_water {
    struct allocator *allocator; /* NULL: of HIGH_WATER_REQUESTED */
    struct block **blocks;       /* by slot */
    struct held_slot *now;       /* by slot */
    struct held_slot *then;      /* by slot: at the last mark, of those that have changed since */
    int64_t *changed;            /* by slot: the number of the mark behind which it has changed */
    int64_t mark_number;         /* of the last one; 0: the opening */
    int64_t requested_bytes;     /* of the present, where there is no allocator */
    int64_t bound_bytes, segment_bytes;
    struct high_water_bytes marked;
};

static enum status_code bounded_alloc(void *context, int64_t bytes, void **address, struct status *error)
{
    struct high_water *water = context;
    int64_t together = 0;
    if (!size_add(water->segment_bytes, bytes, &together) ||
        (water->bound_bytes > 0 && together > water->bound_bytes)) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "a segment of %" PRId64 " bytes is beyond the bound", bytes);
    }
    water->segment_bytes = together;
    *address = NULL;
    return STATUS_OK;
}

static enum status_code bounded_free(void *context, void *address, int64_t bytes, struct status *error)
{
    struct high_water *water = context;
    (void)address;
    (void)error;
    water->segment_bytes -= bytes;
    return STATUS_OK;
}

static const struct segment_source_table bounded_table = {.alloc = bounded_alloc, .free = bounded_free};

enum status_code high_water_open(enum high_water_metric metric, size_t slot_count, int64_t bound_bytes,
                                 struct high_water **water, struct status *error)
{
    size_t room = slot_count + 1;
    enum status_code code = STATUS_OK;
    struct high_water *made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->bound_bytes = bound_bytes;
        made->blocks = metric == HIGH_WATER_RESERVED ? calloc(room, sizeof(struct block *)) : NULL;
        made->now = calloc(room, sizeof *made->now);
        made->then = calloc(room, sizeof *made->then);
        made->changed = calloc(room, sizeof *made->changed);
    }
    if (made == NULL || made->now == NULL || made->then == NULL || made->changed == NULL ||
        (metric == HIGH_WATER_RESERVED && made->blocks == NULL)) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for %zu tensors", room);
    } else if (metric == HIGH_WATER_RESERVED) {
        const struct segment_source source = {.table = &bounded_table, .context = made, .descends = true};
        code = allocator_open(ALLOCATOR_CACHING, source, &made->allocator, error);
    }
    if (code != STATUS_OK) {
        high_water_close(made);
        return code;
    }
    *water = made;
    return STATUS_OK;
}

void high_water_close(struct high_water *water)
{
    if (water == NULL) {
        return;
    }
    (void)allocator_close(water->allocator, NULL); /* a source without memory takes everything back */
    free(water->blocks);
    free(water->now);
    free(water->then);
    free(water->changed);
    free(water);
}

/* Before every change. */
static void slot_keep(struct high_water *water, size_t slot)
{
    if (water->changed[slot] != water->mark_number) {
        water->changed[slot] = water->mark_number;
        water->then[slot] = water->now[slot];
    }
}

enum status_code high_water_take(struct high_water *water, size_t slot, int64_t bytes, int taken_in,
                                 struct status *error)
{
    struct block *block = NULL;
    if (water->allocator != NULL) {
        enum status_code code = allocator_alloc(water->allocator, bytes, &block, error);
        if (code != STATUS_OK) {
            return code;
        }
        water->blocks[slot] = block;
    } else if (!size_add(water->requested_bytes, bytes, &water->requested_bytes)) {
        return status_set(error, STATUS_OVERFLOW, "the live bytes do not fit 63 bits");
    }
    slot_keep(water, slot);
    water->now[slot] = (struct held_slot){bytes, block_bytes(block), taken_in};
    return STATUS_OK;
}

enum status_code high_water_free(struct high_water *water, size_t slot, struct status *error)
{
    enum status_code code = STATUS_OK;
    slot_keep(water, slot);
    if (water->allocator != NULL) {
        code = allocator_free(water->allocator, water->blocks[slot], error);
        water->blocks[slot] = NULL;
    } else {
        water->requested_bytes -= water->now[slot].bytes;
    }
    water->now[slot] = (struct held_slot){0};
    return code;
}

enum status_code high_water_trim(struct high_water *water, struct status *error)
{
    return water->allocator != NULL ? allocator_trim(water->allocator, error) : STATUS_OK;
}

void high_water_carry(struct high_water *water, size_t from, size_t to)
{
    slot_keep(water, from);
    slot_keep(water, to);
    water->now[to] = water->now[from];
    water->now[from] = (struct held_slot){0};
    if (water->allocator != NULL) {
        water->blocks[to] = water->blocks[from];
        water->blocks[from] = NULL;
    }
}

void high_water_grow(struct high_water *water, size_t slot, int64_t bytes)
{
    slot_keep(water, slot);
    water->now[slot].bytes += bytes;
    water->requested_bytes += bytes;
}

void high_water_mark(struct high_water *water)
{
    water->mark_number++;
    water->marked = (struct high_water_bytes){.requested = water->requested_bytes};
    if (water->allocator != NULL) {
        const struct allocator_counters *counters = allocator_counters(water->allocator);
        water->marked = (struct high_water_bytes){.requested = counters->requested_bytes,
                                                  .allocated = counters->allocated_bytes,
                                                  .reserved = counters->reserved_bytes,
                                                  .rounding = counters->rounding_bytes,
                                                  .unsplit_remainder = counters->unsplit_remainder_bytes,
                                                  .free_segments = allocator_free_segment_bytes(water->allocator)};
    }
}

bool high_water_raise(struct high_water *water)
{
    const struct high_water_bytes *marked = &water->marked;
    bool is_higher = water->allocator == NULL && water->requested_bytes > marked->requested;
    if (water->allocator != NULL) {
        const struct allocator_counters *now = allocator_counters(water->allocator);
        is_higher = now->reserved_bytes > marked->reserved ||
                    (now->reserved_bytes == marked->reserved && now->allocated_bytes > marked->allocated);
    }
    if (is_higher) {
        high_water_mark(water);
    }
    return is_higher;
}

const struct high_water_bytes *high_water_bytes_then(const struct high_water *water)
{
    return &water->marked;
}

const struct held_slot *high_water_slot_then(const struct high_water *water, size_t slot)
{
    return water->changed[slot] == water->mark_number ? &water->then[slot] : &water->now[slot];
}

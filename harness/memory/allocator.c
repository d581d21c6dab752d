/* Allocator: the interface, the counters, and the life of segments. Which block is handed out is the policies' matter
 * (caching_policy.c, plain_policy.c). */
#include "harness/memory/allocator.h"

#include <stddef.h>
#include <stdlib.h>

#include "harness/base/size.h"
#include "harness/memory/block.h"

static const struct policy *const policies[ALLOCATOR_POLICY_COUNT] = {
    [ALLOCATOR_CACHING] = &caching_policy,
    [ALLOCATOR_PLAIN] = &plain_policy,
};

static enum status_code virtual_alloc(void *context, int64_t bytes, void **address, struct status *error)
{
    (void)context, (void)bytes, (void)error;
    *address = NULL;
    return STATUS_OK;
}

static enum status_code virtual_free(void *context, void *address, int64_t bytes, struct status *error)
{
    (void)context, (void)address, (void)bytes, (void)error;
    return STATUS_OK;
}

static const struct segment_source_table virtual_table = {.alloc = virtual_alloc, .free = virtual_free};

const struct segment_source segment_source_virtual = {.table = &virtual_table, .context = NULL};

const char *allocator_policy_name(enum allocator_policy policy)
{
    return policies[policy]->name;
}

static void peak_raise(int64_t *peak, int64_t value)
{
    *peak = value > *peak ? value : *peak;
}

/* splitmix64: any well mixed sequence will do for the priorities of the tree. */
static uint64_t random_next(struct allocator *allocator)
{
    uint64_t value = allocator->random_state += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

/* Blocks come and go with every split and merge; their structs are kept, which is faster than malloc. */
struct block *block_new(struct allocator *allocator, struct segment *segment, int64_t offset, int64_t bytes)
{
    struct block *block = allocator->unused;
    if (block != NULL) {
        allocator->unused = block->next;
    } else {
        block = arena_alloc(&allocator->arena, sizeof *block);
    }
    if (block != NULL) {
        *block = (struct block){.segment = segment, .offset = offset, .bytes = bytes};
        block->priority = random_next(allocator);
    }
    return block;
}

void block_recycle(struct allocator *allocator, struct block *block)
{
    block->live = false;
    block->next = allocator->unused;
    allocator->unused = block;
}

static void segment_link_first(struct allocator *allocator, struct segment *segment)
{
    segment->previous = NULL;
    segment->next = allocator->segments;
    *(segment->next != NULL ? &segment->next->previous : &allocator->last_segment) = segment;
    allocator->segments = segment;
}

static void segment_link_last(struct allocator *allocator, struct segment *segment)
{
    segment->previous = allocator->last_segment;
    segment->next = NULL;
    *(segment->previous != NULL ? &segment->previous->next : &allocator->segments) = segment;
    allocator->last_segment = segment;
}

static void segment_unlink(struct allocator *allocator, struct segment *segment)
{
    *(segment->previous != NULL ? &segment->previous->next : &allocator->segments) = segment->next;
    *(segment->next != NULL ? &segment->next->previous : &allocator->last_segment) = segment->previous;
}

void segment_note_free(struct allocator *allocator, struct segment *segment)
{
    segment_unlink(allocator, segment);
    segment_link_first(allocator, segment);
}

void segment_note_used(struct allocator *allocator, struct segment *segment)
{
    segment_unlink(allocator, segment);
    segment_link_last(allocator, segment);
}

enum status_code segment_take(struct allocator *allocator, int64_t bytes, enum pool pool, struct block **block,
                              struct status *error)
{
    int64_t end = 0;
    bool placed = allocator->source.places_segments;
    if (!placed && !size_add(allocator->next_position, bytes, &end)) {
        return status_set(error, STATUS_OVERFLOW, "all segments together exceed 63 bits");
    }
    struct segment *segment = calloc(1, sizeof *segment);
    struct block *whole = segment != NULL ? block_new(allocator, segment, 0, bytes) : NULL;
    enum status_code code = STATUS_OK;
    if (whole == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory to note a segment");
    }
    void *address = NULL;
    if (code == STATUS_OK) {
        code = allocator->source.table->alloc(allocator->source.context, bytes, &address, error);
    }
    if (code != STATUS_OK) {
        if (whole != NULL) {
            block_recycle(allocator, whole);
        }
        free(segment);
        return code;
    }
    *segment = (struct segment){.first = whole, .address = address, .bytes = bytes, .pool = pool};
    int64_t next = allocator->source.descends ? INT64_MAX - end : allocator->next_position;
    segment->position = placed ? (int64_t)(uintptr_t)address : next;
    allocator->next_position = end;
    segment_link_first(allocator, segment);
    allocator->counters.live_segment_count += 1;
    allocator->counters.reserved_bytes += bytes;
    peak_raise(&allocator->counters.reserved_bytes_peak, allocator->counters.reserved_bytes);
    *block = whole;
    return STATUS_OK;
}

/* Forgets a segment that the source has again, or will never have again. */
static void segment_release(struct allocator *allocator, struct segment *segment)
{
    segment_unlink(allocator, segment);
    allocator->counters.live_segment_count -= 1;
    allocator->counters.reserved_bytes -= segment->bytes;
    for (struct block *block = segment->first; block != NULL;) {
        struct block *next = block->next;
        block_recycle(allocator, block);
        block = next;
    }
    free(segment);
}

enum status_code segment_give_back(struct allocator *allocator, struct segment *segment, struct status *error)
{
    enum status_code code =
        allocator->source.table->free(allocator->source.context, segment->address, segment->bytes, error);
    if (code == STATUS_OK) {
        segment_release(allocator, segment);
    }
    return code;
}

enum status_code allocator_open(enum allocator_policy policy, struct segment_source source,
                                struct allocator **allocator, struct status *error)
{
    struct allocator *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for an allocator");
    }
    made->policy = policies[policy];
    made->source = source;
    *allocator = made;
    return STATUS_OK;
}

void allocator_source_set(struct allocator *allocator, struct segment_source source)
{
    allocator->source = source;
}

enum status_code allocator_close(struct allocator *allocator, struct status *error)
{
    if (allocator == NULL) {
        return STATUS_OK;
    }
    enum status_code first = STATUS_OK;
    while (allocator->segments != NULL) {
        struct segment *segment = allocator->segments;
        enum status_code code = segment_give_back(allocator, segment, first == STATUS_OK ? error : NULL);
        if (code == STATUS_OK) {
            continue;
        }
        first = first == STATUS_OK ? code : first;
        /* Once more, because a leak would outlive the error. */
        if (segment_give_back(allocator, segment, NULL) != STATUS_OK) {
            segment_release(allocator, segment);
        }
    }
    arena_release(&allocator->arena);
    free(allocator);
    return first;
}

/* Adds (sign 1) or removes (sign -1) a block's part of the counters. */
void counters_change(struct allocator_counters *counters, const struct block *block, int sign)
{
    int64_t remainder_bytes = block->bytes - block->rounded_bytes;
    counters->requested_bytes += sign * block->requested_bytes;
    counters->rounding_bytes += sign * (block->rounded_bytes - block->requested_bytes);
    counters->unsplit_remainder_bytes += sign * remainder_bytes;
    counters->unsplit_remainder_count += remainder_bytes > 0 ? sign : 0;
    counters->allocated_bytes += sign * block->bytes;
    counters->live_block_count += sign;
}

enum status_code allocator_alloc(struct allocator *allocator, int64_t bytes, struct block **block, struct status *error)
{
    struct allocator_counters *counters = &allocator->counters;
    struct block *taken = NULL;
    if (bytes < 0) {
        return status_set(error, STATUS_INTERNAL, "a block of %lld bytes was asked for", (long long)bytes);
    }
    if (bytes > 0) {
        enum status_code code = allocator->policy->alloc(allocator, bytes, &taken, error);
        if (code != STATUS_OK) {
            counters->out_of_memory_count += code == STATUS_OUT_OF_MEMORY;
            return code;
        }
        counters_change(counters, taken, 1);
        peak_raise(&counters->requested_bytes_peak, counters->requested_bytes);
        peak_raise(&counters->allocated_bytes_peak, counters->allocated_bytes);
    }
    counters->alloc_count += 1;
    *block = taken;
    return STATUS_OK;
}

enum status_code allocator_free(struct allocator *allocator, struct block *block, struct status *error)
{
    if (block == NULL) {
        return STATUS_OK;
    }
    if (!block->live) {
        return status_set(error, STATUS_INTERNAL, "a block of %lld bytes was freed twice", (long long)block->bytes);
    }
    counters_change(&allocator->counters, block, -1);
    block->live = false;
    return allocator->policy->free(allocator, block, error);
}

enum status_code allocator_trim(struct allocator *allocator, struct status *error)
{
    enum status_code first = STATUS_OK;
    for (struct segment *segment = allocator->segments; segment != NULL && segment_is_free(segment);) {
        struct segment *next = segment->next;
        struct block *block = segment->first;
        bool in_pool = pool_contains(allocator, block);
        if (in_pool) {
            pool_remove(allocator, block);
        }
        enum status_code code = segment_give_back(allocator, segment, first == STATUS_OK ? error : NULL);
        if (code != STATUS_OK && in_pool) {
            pool_insert(allocator, block);
        }
        first = first == STATUS_OK ? code : first;
        segment = next;
    }
    return first;
}

const struct allocator_counters *allocator_counters(const struct allocator *allocator)
{
    return &allocator->counters;
}

void allocator_reset_peaks(struct allocator *allocator)
{
    struct allocator_counters *counters = &allocator->counters;
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        counters->levels[level].bytes_peak = counters->levels[level].bytes;
    }
}

void allocator_suppose(struct allocator *allocator, int64_t requested_bytes, int64_t block_bytes)
{
    struct allocator_counters *counters = &allocator->counters;
    counters->requested_bytes += requested_bytes;
    counters->allocated_bytes += block_bytes;
    peak_raise(&counters->requested_bytes_peak, counters->requested_bytes);
    peak_raise(&counters->allocated_bytes_peak, counters->allocated_bytes);
}

void allocator_suppose_end(struct allocator *allocator, const struct allocator_counters *before)
{
    struct allocator_counters *counters = &allocator->counters;
    counters->requested_bytes = before->requested_bytes;
    counters->requested_bytes_peak = before->requested_bytes_peak;
    counters->allocated_bytes = before->allocated_bytes;
    counters->allocated_bytes_peak = before->allocated_bytes_peak;
    counters->alloc_count = before->alloc_count;
}

void allocator_suppose_peaks(struct allocator *allocator, const struct allocator_counters *before)
{
    struct allocator_counters *counters = &allocator->counters;
    counters->requested_bytes_peak = before->requested_bytes_peak;
    counters->allocated_bytes_peak = before->allocated_bytes_peak;
    peak_raise(&counters->requested_bytes_peak, counters->requested_bytes);
    peak_raise(&counters->allocated_bytes_peak, counters->allocated_bytes);
}

void allocator_block_grow(struct allocator *allocator, struct block *block, int64_t bytes)
{
    struct allocator_counters *counters = &allocator->counters;
    counters_change(counters, block, -1);
    block->requested_bytes = bytes;
    block->rounded_bytes = (bytes + ALLOCATOR_UNIT_BYTES - 1) / ALLOCATOR_UNIT_BYTES * ALLOCATOR_UNIT_BYTES;
    counters_change(counters, block, 1);
    peak_raise(&counters->requested_bytes_peak, counters->requested_bytes);
    peak_raise(&counters->allocated_bytes_peak, counters->allocated_bytes);
}

int64_t allocator_free_segment_bytes(const struct allocator *allocator)
{
    int64_t bytes = 0;
    const struct segment *segment = allocator->segments;
    for (; segment != NULL && segment_is_free(segment); segment = segment->next) {
        bytes += segment->bytes;
    }
    return bytes;
}

void *block_address(const struct block *block)
{
    if (block == NULL || block->segment->address == NULL) {
        return NULL;
    }
    /* By integers: the address may be one that only a device understands. */
    return (void *)((uintptr_t)block->segment->address + (uintptr_t)block->offset);
}

int64_t block_position(const struct block *block)
{
    return block != NULL ? block->segment->position + block->offset : -1;
}

int64_t block_bytes(const struct block *block)
{
    return block != NULL ? block->bytes : 0;
}

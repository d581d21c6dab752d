/* Caching policy: PyTorch's rules as allocator.h lists them, default settings, one stream. Not here: expandable
 * segments, max_split_size, garbage collection by threshold, events of other streams; none of them acts by default. */
#include <stddef.h>

#include "harness/base/size.h"
#include "harness/memory/block.h"

/* The size of the segment that a rounded request needs; false if it leaves 63 bits. */
static bool segment_size(int64_t rounded_bytes, int64_t *bytes)
{
    if (rounded_bytes <= ALLOCATOR_SMALL_BYTES) {
        *bytes = ALLOCATOR_SMALL_SEGMENT_BYTES;
        return true;
    }
    if (rounded_bytes < ALLOCATOR_LARGE_BYTES) {
        *bytes = ALLOCATOR_LARGE_SEGMENT_BYTES;
        return true;
    }
    return size_round_up(rounded_bytes, ALLOCATOR_SMALL_SEGMENT_BYTES, bytes);
}

/* A new segment; if the source has no memory, what is cached is given back and the source is asked once more. */
static enum status_code segment_obtain(struct allocator *allocator, int64_t rounded_bytes, enum pool pool,
                                       struct block **block, struct status *error)
{
    int64_t bytes;
    if (!segment_size(rounded_bytes, &bytes)) {
        return status_set(error, STATUS_OVERFLOW, "a segment for %lld bytes exceeds 63 bits", (long long)rounded_bytes);
    }
    enum status_code code = segment_take(allocator, bytes, pool, block, error);
    if (code != STATUS_OUT_OF_MEMORY) {
        return code;
    }
    allocator->counters.retry_count += 1;
    code = allocator_trim(allocator, error);
    return code == STATUS_OK ? segment_take(allocator, bytes, pool, block, error) : code;
}

static bool block_is_split(enum pool pool, int64_t remainder_bytes)
{
    return pool == POOL_SMALL ? remainder_bytes >= ALLOCATOR_UNIT_BYTES : remainder_bytes > ALLOCATOR_SMALL_BYTES;
}

/* Cuts block after its first bytes; the rest becomes a free block behind it. */
static enum status_code block_split(struct allocator *allocator, struct block *block, int64_t bytes,
                                    struct status *error)
{
    struct block *rest = block_new(allocator, block->segment, block->offset + bytes, block->bytes - bytes);
    if (rest == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory to note a block");
    }
    block->bytes = bytes;
    rest->previous = block;
    rest->next = block->next;
    if (rest->next != NULL) {
        rest->next->previous = rest;
    }
    block->next = rest;
    pool_insert(allocator, rest);
    return STATUS_OK;
}

static enum status_code caching_alloc(struct allocator *allocator, int64_t bytes, struct block **block,
                                      struct status *error)
{
    int64_t rounded_bytes;
    if (!size_add(bytes, ALLOCATOR_UNIT_BYTES - 1, &rounded_bytes)) {
        return status_set(error, STATUS_OVERFLOW, "a block of %lld bytes exceeds 63 bits", (long long)bytes);
    }
    rounded_bytes = rounded_bytes / ALLOCATOR_UNIT_BYTES * ALLOCATOR_UNIT_BYTES;
    enum pool pool = rounded_bytes <= ALLOCATOR_SMALL_BYTES ? POOL_SMALL : POOL_LARGE;
    enum status_code code = STATUS_OK;
    struct block *taken = pool == POOL_SMALL ? free_bins_best_fit(&allocator->free_small, rounded_bytes)
                                             : free_tree_best_fit(allocator->free_large, rounded_bytes);
    if (taken != NULL) {
        pool_remove(allocator, taken);
    } else {
        code = segment_obtain(allocator, rounded_bytes, pool, &taken, error);
        if (code != STATUS_OK) {
            return code;
        }
    }
    bool was_free = taken->bytes == taken->segment->bytes;
    if (block_is_split(pool, taken->bytes - rounded_bytes)) {
        code = block_split(allocator, taken, rounded_bytes, error);
        if (code != STATUS_OK) {
            pool_insert(allocator, taken);
            return code;
        }
    }
    if (was_free) {
        segment_note_used(allocator, taken->segment);
    }
    taken->requested_bytes = bytes;
    taken->rounded_bytes = rounded_bytes;
    taken->live = true;
    *block = taken;
    return STATUS_OK;
}

/* Joins block with the free block behind it, which is in the tree and ceases to be. */
static void block_absorb_next(struct allocator *allocator, struct block *block)
{
    struct block *next = block->next;
    pool_remove(allocator, next);
    block->bytes += next->bytes;
    block->next = next->next;
    if (block->next != NULL) {
        block->next->previous = block;
    }
    block_recycle(allocator, next);
}

static enum status_code caching_free(struct allocator *allocator, struct block *block, struct status *error)
{
    (void)error;
    struct block *merged = block;
    if (block->next != NULL && !block->next->live) {
        block_absorb_next(allocator, block);
    }
    if (block->previous != NULL && !block->previous->live) {
        merged = block->previous;
        pool_remove(allocator, merged); /* its key changes */
        merged->bytes += block->bytes;
        merged->next = block->next;
        if (merged->next != NULL) {
            merged->next->previous = merged;
        }
        block_recycle(allocator, block);
    }
    pool_insert(allocator, merged);
    if (segment_is_free(merged->segment)) {
        segment_note_free(allocator, merged->segment);
    }
    return STATUS_OK;
}

const struct policy caching_policy = {.name = "caching", .alloc = caching_alloc, .free = caching_free};

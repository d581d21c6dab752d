/* Allocator check: every invariant of the allocator, looked at from scratch. Not part of its work; tests call it after
 * each step. */
#include <stddef.h>

#include "harness/memory/block.h"

static enum status_code check_failed(struct status *error, const struct segment *segment, int64_t offset,
                                     const char *what)
{
    return status_set(error, STATUS_INTERNAL, "segment at %lld, offset %lld: %s", (long long)segment->position,
                      (long long)offset, what);
}

/* Adds a live block to what the counters should be. */
static void expected_add(struct allocator_counters *expected, const struct block *block)
{
    expected->requested_bytes += block->requested_bytes;
    expected->rounding_bytes += block->rounded_bytes - block->requested_bytes;
    expected->unsplit_remainder_bytes += block->bytes - block->rounded_bytes;
    expected->unsplit_remainder_count += block->bytes > block->rounded_bytes;
    expected->allocated_bytes += block->bytes;
    expected->live_block_count += 1;
}

static enum status_code block_check(const struct allocator *allocator, const struct block *block, struct status *error)
{
    const struct segment *segment = block->segment;
    bool caching = allocator->policy == &caching_policy;
    if (block->bytes <= 0 || (caching && block->bytes % ALLOCATOR_UNIT_BYTES != 0)) {
        return check_failed(error, segment, block->offset, "a block has a wrong size");
    }
    if (block->live && (block->requested_bytes <= 0 || block->requested_bytes > block->rounded_bytes ||
                        block->rounded_bytes > block->bytes)) {
        return check_failed(error, segment, block->offset, "the sizes of a live block are out of order");
    }
    if (caching && pool_contains(allocator, block) == block->live) {
        return check_failed(error, segment, block->offset,
                            block->live ? "a live block is in the tree" : "a free block is missing from the tree");
    }
    if (!block->live && block->next != NULL && !block->next->live) {
        return check_failed(error, segment, block->offset, "two free neighbours are not merged");
    }
    if (block->next != NULL && block->next->previous != block) {
        return check_failed(error, segment, block->offset, "the list of blocks is broken");
    }
    return STATUS_OK;
}

static enum status_code segment_check(const struct allocator *allocator, const struct segment *segment,
                                      struct allocator_counters *expected, int64_t *free_count, struct status *error)
{
    int64_t offset = 0;
    for (const struct block *block = segment->first; block != NULL; block = block->next) {
        if (block->segment != segment || block->offset != offset) {
            return check_failed(error, segment, offset, "blocks leave a gap or overlap");
        }
        enum status_code code = block_check(allocator, block, error);
        if (code != STATUS_OK) {
            return code;
        }
        offset += block->bytes;
        if (block->live) {
            expected_add(expected, block);
        } else {
            *free_count += 1;
        }
    }
    if (offset != segment->bytes) {
        return check_failed(error, segment, offset, "blocks do not fill the segment");
    }
    expected->reserved_bytes += segment->bytes;
    expected->live_segment_count += 1;
    return STATUS_OK;
}

static bool counters_agree(const struct allocator_counters *a, const struct allocator_counters *expected)
{
    return a->requested_bytes == expected->requested_bytes && a->rounding_bytes == expected->rounding_bytes &&
           a->unsplit_remainder_bytes == expected->unsplit_remainder_bytes &&
           a->unsplit_remainder_count == expected->unsplit_remainder_count &&
           a->allocated_bytes == expected->allocated_bytes && a->reserved_bytes == expected->reserved_bytes &&
           a->live_block_count == expected->live_block_count && a->live_segment_count == expected->live_segment_count;
}

static bool counters_ordered(const struct allocator_counters *a)
{
    return a->requested_bytes + a->rounding_bytes + a->unsplit_remainder_bytes == a->allocated_bytes &&
           a->allocated_bytes <= a->reserved_bytes && a->requested_bytes <= a->requested_bytes_peak &&
           a->allocated_bytes <= a->allocated_bytes_peak && a->reserved_bytes <= a->reserved_bytes_peak;
}

enum status_code allocator_check(const struct allocator *allocator, struct status *error)
{
    struct allocator_counters expected = {0};
    int64_t free_count = 0;
    for (const struct segment *segment = allocator->segments; segment != NULL; segment = segment->next) {
        enum status_code code = segment_check(allocator, segment, &expected, &free_count, error);
        if (code != STATUS_OK) {
            return code;
        }
        if (segment->next != NULL && segment_is_free(segment->next) && !segment_is_free(segment)) {
            return check_failed(error, segment->next, 0, "a wholly free segment stands behind one that is used");
        }
    }
    int64_t small_count = free_bins_check(&allocator->free_small);
    int64_t large_count = free_tree_check(allocator->free_large);
    if (small_count < 0 || large_count < 0) {
        return status_set(error, STATUS_INTERNAL, "a tree of free blocks is out of order");
    }
    if (allocator->policy == &caching_policy && small_count + large_count != free_count) {
        return status_set(error, STATUS_INTERNAL, "%lld free blocks, but %lld in the trees", (long long)free_count,
                          (long long)(small_count + large_count));
    }
    if (!counters_agree(&allocator->counters, &expected)) {
        return status_set(error, STATUS_INTERNAL, "the counters are not the sums over the blocks");
    }
    if (!counters_ordered(&allocator->counters)) {
        return status_set(error, STATUS_INTERNAL, "the counters contradict each other");
    }
    return STATUS_OK;
}

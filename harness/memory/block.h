/* Blocks and segments: what the allocator's own files share. Not for others.
 *
 * The blocks of a segment are a list in order of address that tiles it without gaps. Free blocks of the caching policy
 * are also in the tree of their pool. */
#ifndef ASSAY_MEMORY_BLOCK_H
#define ASSAY_MEMORY_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/arena.h"
#include "harness/memory/allocator.h"
#include "harness/memory/free_bins.h"
#include "harness/memory/free_tree.h"

enum pool { POOL_SMALL, POOL_LARGE, POOL_COUNT };

struct segment {
    struct segment *previous, *next; /* all segments of the allocator */
    struct block *first;             /* at offset 0 */
    void *address;
    int64_t position;
    int64_t bytes;
    enum pool pool;
    int number; /* in a picture of the pool */
};

struct block {
    struct block *previous, *next; /* neighbours in the segment */
    struct block *left, *right;    /* in the tree of free blocks */
    uint64_t priority;             /* in the tree: random, so that its depth is logarithmic whatever the sizes are */
    struct segment *segment;
    int64_t offset; /* from the start of the segment */
    int64_t bytes;
    int64_t requested_bytes, rounded_bytes; /* of a live block */
    bool live;
    int mark; /* while a picture of the pool is taken: whose it is; else 0 */
};

static inline bool segment_is_free(const struct segment *segment)
{
    return !segment->first->live && segment->first->next == NULL;
}

/* What a policy does; the counters of live blocks are kept by allocator.c. */
struct policy {
    const char *name;
    /* A block that is live and has its three sizes set. */
    enum status_code (*alloc)(struct allocator *allocator, int64_t bytes, struct block **block, struct status *error);
    /* Takes back a block that is no longer live. */
    enum status_code (*free)(struct allocator *allocator, struct block *block, struct status *error);
};

extern const struct policy caching_policy;
extern const struct policy plain_policy;

struct allocator {
    const struct policy *policy;
    struct segment_source source;
    struct segment *segments, *last_segment; /* the wholly free ones first, so that a trim walks over them alone */
    struct free_bins free_small;             /* free blocks, by pool; empty for the plain policy */
    struct block *free_large;                /* the root of a tree */
    int64_t next_position;                   /* the bytes of all segments so far */
    uint64_t random_state;
    struct arena arena;   /* owns the structs of the blocks */
    struct block *unused; /* structs to use again, linked by next */
    struct allocator_counters counters;
};

/* -- the free blocks of a pool */

static inline void pool_insert(struct allocator *allocator, struct block *block)
{
    if (block->segment->pool == POOL_SMALL) {
        free_bins_insert(&allocator->free_small, block);
    } else {
        free_tree_insert(&allocator->free_large, block);
    }
}

static inline void pool_remove(struct allocator *allocator, struct block *block)
{
    if (block->segment->pool == POOL_SMALL) {
        free_bins_remove(&allocator->free_small, block);
    } else {
        free_tree_remove(&allocator->free_large, block);
    }
}

static inline bool pool_contains(const struct allocator *allocator, const struct block *block)
{
    return block->segment->pool == POOL_SMALL ? free_bins_contains(&allocator->free_small, block)
                                              : free_tree_contains(allocator->free_large, block);
}

/* Takes a segment of bytes from the source. It is noted as free; its one block is not live and in no tree. */
enum status_code segment_take(struct allocator *allocator, int64_t bytes, enum pool pool, struct block **block,
                              struct status *error);

/* Gives a segment back and releases it with its blocks, which must be in no tree. On failure nothing has changed. */
enum status_code segment_give_back(struct allocator *allocator, struct segment *segment, struct status *error);

/* A segment has become wholly free, or is so no longer. */
void segment_note_free(struct allocator *allocator, struct segment *segment);
void segment_note_used(struct allocator *allocator, struct segment *segment);

/* A block that is in no list yet; NULL if the host has no memory. */
struct block *block_new(struct allocator *allocator, struct segment *segment, int64_t offset, int64_t bytes);

/* Adds a live block to the counters (sign 1), or takes it out (-1). */
void counters_change(struct allocator_counters *counters, const struct block *block, int sign);

/* Takes back the struct of a block that has ceased to be. It stays readable as one that is not live. */
void block_recycle(struct allocator *allocator, struct block *block);

#endif

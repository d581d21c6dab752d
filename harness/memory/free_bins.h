/* Free bins: the free blocks of the small pool, one tree for each size. Its segments have 2 MiB, so sizes are 1 to
 * 4,096 units, and a bit says which of them there are: the smallest that is large enough is found in a few steps
 * whatever is free. The answers are those of one tree of all (free_tree.h). */
#ifndef ASSAY_MEMORY_FREE_BINS_H
#define ASSAY_MEMORY_FREE_BINS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/memory/allocator.h"

struct block;

enum { FREE_BIN_COUNT = ALLOCATOR_SMALL_SEGMENT_BYTES / ALLOCATOR_UNIT_BYTES, FREE_BIN_WORDS = FREE_BIN_COUNT / 64 };

/* All zero is empty. */
struct free_bins {
    struct block *trees[FREE_BIN_COUNT]; /* trees[n]: blocks of n + 1 units */
    uint64_t bits[FREE_BIN_WORDS];       /* of the trees that are not empty */
    uint64_t words;                      /* of the words that are not 0 */
};

/* A block of a whole number of units, at least one. */
void free_bins_insert(struct free_bins *bins, struct block *block);
/* The block must be in the bins, with the size it was inserted with. */
void free_bins_remove(struct free_bins *bins, struct block *block);
/* The smallest of at least bytes (at least one), of equals the one with the lowest position; NULL: there is none. */
struct block *free_bins_best_fit(const struct free_bins *bins, int64_t bytes);
bool free_bins_contains(const struct free_bins *bins, const struct block *block);
/* Looks through everything; the number of blocks, or -1 where something is out of order. */
int64_t free_bins_check(const struct free_bins *bins);

#endif

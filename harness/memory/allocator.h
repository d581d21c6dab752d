/* Allocator: takes segments from a source and hands out blocks of them.
 *
 * Two policies behind one interface. ALLOCATOR_CACHING follows PyTorch's CUDACachingAllocator with its default settings
 * on one stream, so that a tape replayed here holds what the same model holds there:
 *   1. A request is rounded up to 512 bytes. Up to 1 MiB (rounded, inclusive) it belongs to the small pool, else to the
 *      large one.
 *   2. The smallest free block of the pool that is large enough is taken; of equals the one with the lowest position.
 *   3. If there is none, a segment is taken: 2 MiB for the small pool, 20 MiB for requests below 10 MiB, else the
 *      request rounded up to 2 MiB. If the source has no memory, every wholly free segment of both pools is given back
 *      and the source is asked once more; then it is STATUS_OUT_OF_MEMORY.
 *   4. The block is split if the rest is at least 512 bytes (small pool) or more than 1 MiB (large pool). Otherwise
 *      the whole block is handed out and counts as allocated: the unsplit remainder.
 *   5. A freed block merges with its free neighbours of the segment. Segments are kept.
 * Worked number: position embeddings (1.5 MiB) and four weights of 2.25 MiB leave 9.5 MiB of a 20 MiB segment; a weight
 * of 9 MiB takes them whole, because 0.5 MiB is too little to keep. That is why bert-base-cased in float32, 413.18 MiB
 * of tensors, shows 413.68 MiB allocated.
 * ALLOCATOR_PLAIN gives each block a segment of its own of exactly the bytes asked for, and returns it when it is
 * freed.
 *
 * A position stands for an address. Segments are laid side by side, in the order in which they were taken, in an
 * address space of the allocator's own; so equal requests lead to equal blocks on every device, wherever its driver
 * puts the segments. Only if the source says so are positions its addresses.
 * Which way they are laid decides which of two equal free blocks is the lower one. A source that stands for a device
 * lays them downwards (descends), as CUDA's driver hands out addresses: of all pairs of segments of a pool the later
 * one lies lower in 99.0 % in 28 histories of an H100, and in 99.1 % in seven that others recorded
 * (docs/pytorch-findings.md). What is left are holes in the address space of the process, which differ from process to
 * process. */
#ifndef ASSAY_MEMORY_ALLOCATOR_H
#define ASSAY_MEMORY_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/record/level.h"

enum {
    ALLOCATOR_UNIT_BYTES = 512,
    ALLOCATOR_SMALL_BYTES = 1 << 20,          /* the largest request of the small pool */
    ALLOCATOR_SMALL_SEGMENT_BYTES = 2 << 20,  /* and the step of the segments of very large requests */
    ALLOCATOR_LARGE_SEGMENT_BYTES = 20 << 20, /* of requests below ALLOCATOR_LARGE_BYTES */
    ALLOCATOR_LARGE_BYTES = 10 << 20
};

/* Where segments come from. A failed alloc leaves *address untouched; STATUS_OUT_OF_MEMORY makes the caching policy
 * give back what it can and ask again, any other code is passed on. */
struct segment_source_table {
    enum status_code (*alloc)(void *context, int64_t bytes, void **address, struct status *error);
    enum status_code (*free)(void *context, void *address, int64_t bytes, struct status *error);
};

struct segment_source {
    const struct segment_source_table *table;
    void *context;
    /* Positions are the source's addresses, so that of equal free blocks the one with the lowest address is taken, as
     * PyTorch does. The live segments of such a source do not overlap and end within 63 bits. Usually false. */
    bool places_segments;
    bool descends; /* a later segment has the lower position; says nothing where places_segments is set */
};

/* A source without memory: every segment has the address NULL. It never fails. Positions ascend. */
extern const struct segment_source segment_source_virtual;

enum allocator_policy { ALLOCATOR_CACHING, ALLOCATOR_PLAIN, ALLOCATOR_POLICY_COUNT };

const char *allocator_policy_name(enum allocator_policy policy); /* "caching", "plain" */

/* requested + rounding + remainder = allocated <= reserved, for the live blocks of this moment.
 * *_peak: the highest since the opening or the last allocator_reset_peaks. *_count without "live": since the opening.
 */
struct allocator_counters {
    LEVEL_FIGURES(levels);           /* requested_bytes, requested_bytes_peak, allocated_bytes, ... */
    int64_t rounding_bytes;          /* up to the 512-byte unit */
    int64_t unsplit_remainder_bytes; /* beyond the rounded request, because the rest was too small to keep */
    int64_t unsplit_remainder_count; /* blocks that have one */
    int64_t live_block_count;
    int64_t live_segment_count;
    int64_t alloc_count; /* successful requests, those of 0 bytes included */
    int64_t retry_count; /* times that cached segments were given back because the source had no memory */
    int64_t out_of_memory_count;
};

struct allocator;
struct block; /* one piece of memory; belongs to its allocator, valid until it is freed */

/* source.context must outlive the allocator. */
enum status_code allocator_open(enum allocator_policy policy, struct segment_source source,
                                struct allocator **allocator, struct status *error);

/* Gives every segment back, those of live blocks too, and releases the allocator, also on failure. A segment that the
 * source does not take is offered once more; the first error is returned. NULL is accepted. */
enum status_code allocator_close(struct allocator *allocator, struct status *error);

/* Segments come from and go to this source from now on, which is the same memory by another way: for a new owner, whose
 * errors and counts are others. */
void allocator_source_set(struct allocator *allocator, struct segment_source source);

/* bytes >= 0; for 0 bytes *block is NULL and only alloc_count changes. STATUS_OUT_OF_MEMORY, STATUS_OVERFLOW if
 * sizes leave 63 bits, or what the source answers; the live blocks are then as before. */
enum status_code allocator_alloc(struct allocator *allocator, int64_t bytes, struct block **block,
                                 struct status *error);

/* NULL is accepted. Fails only if a source does; the block is no longer live even then. */
enum status_code allocator_free(struct allocator *allocator, struct block *block, struct status *error);

/* Gives every wholly free segment back ("empty cache"). One that the source does not take stays. */
enum status_code allocator_trim(struct allocator *allocator, struct status *error);

const struct allocator_counters *allocator_counters(const struct allocator *allocator);

/* The peaks become the present values. */
void allocator_reset_peaks(struct allocator *allocator);

/* -- for a caller that knows what a sequence of requests would do, because it has made it before from the same state,
 * and so leaves it out (harness/replay/repetition.c). */

/* Changes requested and allocated bytes, and raises their peaks, as a block would that is not taken, or (negative)
 * given back. */
void allocator_suppose(struct allocator *allocator, int64_t requested_bytes, int64_t block_bytes);
/* Sets what allocator_suppose changes, and alloc_count, back to what they were: after requests that only made good what
 * had been supposed. */
void allocator_suppose_end(struct allocator *allocator, const struct allocator_counters *before);
/* Sets the peaks of requested and allocated bytes back to what they were: after requests whose sums were not those of
 * the sequence. */
void allocator_suppose_peaks(struct allocator *allocator, const struct allocator_counters *before);
/* A live block of the caching policy is that of a request of other bytes, which it is large enough for: of the
 * repetitions that were left out the last one took it (pool_forecast.h). */
void allocator_block_grow(struct allocator *allocator, struct block *block, int64_t bytes);

/* Bytes of the segments that are wholly free: what a trim would give back. */
int64_t allocator_free_segment_bytes(const struct allocator *allocator);

void *block_address(const struct block *block);    /* NULL for NULL and for segment_source_virtual */
int64_t block_position(const struct block *block); /* -1 for NULL */
int64_t block_bytes(const struct block *block);    /* what counts as allocated; 0 for NULL */

/* Looks whether everything that must hold holds: blocks tile their segments, no two free neighbours, every free block
 * is in its pool and in order, counters are the sums. STATUS_INTERNAL with the first contradiction. Slow: for tests. */
enum status_code allocator_check(const struct allocator *allocator, struct status *error);

#endif

/* Pool forecast: what the large pool does in repetitions to come, told from one that was carried out, and exactly.
 *
 * A repetition asks for blocks and gives blocks back, in the same order every time, with sizes that grow by the same
 * bytes from one to the next. What the allocator does is a chain of comparisons of sizes: which free blocks are large
 * enough, which of them is the smallest, whether the rest is split off. So:
 *   1. Let every free and live block at the beginning of repetition 0 have a size that is linear in the number of the
 *      repetition.
 *   2. The events of the repetition are carried out with those linear sizes. Each comparison says up to which
 *      repetition it comes out as it does now; the first that turns, or that cannot be told, ends the span.
 *   3. If the pool is then what it was at the beginning, one repetition on (the same blocks beside each other for the
 *      same owners, each as much larger as it grows), then by induction every repetition of the span does the same, and
 *      leaves the same, one on.
 * Nothing is sampled: within the span every comparison of every repetition is known.
 * Segments need not be those that they were: the owners move through them, the same way every time. Of equal free
 * blocks the lowest position is taken: between segments that are wholly free and equally large that changes nothing but
 * positions, which are then followed repetition by repetition; other equal blocks must lie in segments that keep what
 * they hold, else there is no forecast. A segment that would be taken does too. */
#ifndef ASSAY_MEMORY_POOL_FORECAST_H
#define ASSAY_MEMORY_POOL_FORECAST_H

#include "harness/base/status.h"
#include "harness/memory/allocator.h"

/* A live block that belongs to the repetition; owner: 0 to owner_count - 1. */
struct owned_block {
    int owner;
    struct block *block; /* NULL is passed over */
};

/* A request of the large pool, or one of its blocks given back. owner + owner_count: what the repetition before has
 * left. */
struct forecast_event {
    bool takes;
    int owner;
    int64_t bytes, growth_bytes; /* of a request: in repetition 0, and more in each; never less than 0 */
};

struct pool_forecast; /* opaque */

/* The allocator must outlive it. NULL if the host has no memory. Released with pool_forecast_close. */
struct pool_forecast *pool_forecast_open(struct allocator *allocator, int owner_count);
void pool_forecast_close(struct pool_forecast *forecast); /* NULL is accepted */

/* A repetition begins, or ends; the last two are remembered. False if the host has no memory. */
bool pool_forecast_note(struct pool_forecast *forecast, const struct owned_block *owned, int owned_count);

/* Of the repetition between the last two notes, which took no segment: the last one, counted from it, that does the
 * same; 0: none is known to. limit: how many are asked about at most. */
int64_t pool_forecast_look(struct pool_forecast *forecast, const struct forecast_event *events, int event_count,
                           int64_t limit);

/* So many repetitions, at most what pool_forecast_look has answered, are left out: the large pool is as they would
 * leave it. What is requested of the owners' blocks is the caller's to say, with allocator_block_grow. */
void pool_forecast_leave_out(struct pool_forecast *forecast, int64_t count);

#endif

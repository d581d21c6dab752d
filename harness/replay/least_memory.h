/* Least memory: with how many bytes does a tape just run?
 *
 * A bound on segments is a limit as a device's memory is one. Two figures of a case matter:
 *   The reserved bytes of a replay without a bound. With so many the case runs: no segment is refused. With less it may
 *   run too, because what is refused makes the allocator give back the segments that it only caches, and ask again.
 *   The least bytes (here): with so many it runs, and with LEAST_MEMORY_STEP_BYTES less it does not.
 * Both are sums of segments, which are whole steps, so that bounds within one step do the same. In between a case may
 * run with some bound and not with a larger one, since segments are then given back at other moments; so bounds are
 * looked at from above, all of them, and none from the least bytes upwards fails. A replay under a bound is that under
 * each bound down to the most that its segments held, which is why few replays look at all. */
#ifndef ASSAY_REPLAY_LEAST_MEMORY_H
#define ASSAY_REPLAY_LEAST_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/memory/allocator.h"
#include "harness/tape/tape.h"

enum {
    LEAST_MEMORY_STEP_BYTES = ALLOCATOR_SMALL_SEGMENT_BYTES, /* that every segment is a multiple of */
    LEAST_MEMORY_REPLAYS = 2048                              /* from above; then the rest is bisected */
};

struct least_memory {
    int64_t bytes;      /* runs; with LEAST_MEMORY_STEP_BYTES less (0: with nothing) it does not */
    bool is_threshold;  /* every larger bound runs too; false: there were too many of them to be looked at */
    int64_t held_bytes; /* the most that segments hold where the case has all that it asks for, or bound_bytes */
    int replay_count;
};

/* bound_bytes: no more is looked at; 0: no bound. STATUS_OUT_OF_MEMORY if it does not run even with that, or if
 * the host has no memory for the replay; the errors of replay_run. */
enum status_code least_memory_find(const struct tape_view *tape, int64_t bound_bytes, struct least_memory *least,
                                   struct status *error);

/* Whether the tape runs with so many bytes (>= 1) for its segments. */
enum status_code least_memory_try(const struct tape_view *tape, int64_t bytes, bool *runs, struct status *error);

#endif

/* Moment: what is held, block by block, when a tape needs the most from a device.
 *
 * What the most is, the metric decides (high_water.h). With HIGH_WATER_RESERVED everything adds up:
 *   requested + rounding + unsplit remainders = allocated
 *   allocated + fragments + free segments     = reserved
 * With HIGH_WATER_REQUESTED nothing is known but what was requested; all else is 0. */
#ifndef ASSAY_REPLAY_MOMENT_H
#define ASSAY_REPLAY_MOMENT_H

#include "harness/base/status.h"
#include "harness/memory/high_water.h"
#include "harness/tape/tape.h"

struct held_storage {
    int storage;         /* of the tape */
    enum stage taken_in; /* the stage in which it was taken */
    int64_t bytes;       /* what was asked for */
    int64_t block_bytes; /* what it counts as allocated */
};

struct moment {
    enum stage stage;
    int64_t step_count; /* steps of the cursor up to it; with HIGH_WATER_REQUESTED those of the ends of repetitions */
    int64_t requested_bytes, allocated_bytes, reserved_bytes;
    int64_t rounding_bytes, unsplit_remainder_bytes;
    int64_t fragment_bytes;     /* free blocks of segments that hold a live one */
    int64_t free_segment_bytes; /* segments that hold none: cached */
    struct held_storage *held;  /* in the order of the tape's storages; those of 0 bytes are left out */
    int held_count;
    /* Within a bound alone: the moment is then the one before this, whatever stage was asked for. */
    bool is_refused;      /* a segment was, after all that was cached had been given back */
    int64_t wanted_bytes; /* by the tensor that it was for */
    int wanted;           /* its storage */
};

/* The first moment that is the highest by the metric. stage: of that stage, in its last occurrence; STAGE_COUNT: of
 * whichever needs the most, each in its last occurrence. tape: one that replays. STATUS_INVALID if the tape has no
 * such stage, STATUS_OUT_OF_MEMORY. Released with moment_release. Worked: a tape that takes 9 MiB and 30 MiB and lets
 * go of the latter reserves 20 MiB and 30 MiB; its moment is that of the second allocation, with 11 MiB of fragments.
 */
enum status_code moment_find(const struct tape_view *tape, enum high_water_metric metric, enum stage stage,
                             struct moment *moment, struct status *error);

/* The same by HIGH_WATER_RESERVED on a device that has bound_bytes for segments (0: without a bound), where cached
 * segments are given back when memory is short. A tape that does not fit ends at what is refused: is_refused. */
enum status_code moment_find_bounded(const struct tape_view *tape, enum stage stage, int64_t bound_bytes,
                                     struct moment *moment, struct status *error);

void moment_release(struct moment *moment); /* an empty one is accepted */

#endif

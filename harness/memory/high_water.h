/* High water: what is held, slot by slot, at the highest moment of a walk over allocations and frees. This is the one
 * answer to "what is alive at the peak", for a tape (harness/replay/moment.h) and for a recorded history
 * (trace_peak.h).
 *
 * The caller walks: it tells every change, and after each one that counts it asks for a mark. The last mark is the
 * highest moment; the opening, when nothing is held, is the first. Slots are the caller's: storages of a tape, ids of
 * a history. Worked: take 700 into slot 0, raise, take 700 into slot 1, raise, free slot 0, raise: the moment has 1400
 * bytes in two slots. */
#ifndef ASSAY_MEMORY_HIGH_WATER_H
#define ASSAY_MEMORY_HIGH_WATER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/status.h"

/* By what one moment is higher than another. */
enum high_water_metric {
    HIGH_WATER_REQUESTED, /* by requested bytes; no allocator is asked, and blocks and segments are 0 bytes */
    /* By the reserved bytes of the caching allocator, and of equals by its allocated bytes. Reserved bytes decide
     * whether a device is large enough; because segments are kept, they are as high for a while. */
    HIGH_WATER_RESERVED
};

struct held_slot {
    int64_t bytes; /* requested; 0: nothing is held */
    int64_t block_bytes;
    int taken_in; /* the caller's number of the part of its walk */
};

/* At the last mark. */
struct high_water_bytes {
    int64_t requested, allocated, reserved;
    int64_t rounding, unsplit_remainder;
    int64_t free_segments; /* segments that hold nothing */
};

struct high_water;

/* bound_bytes: what segments may take together, for HIGH_WATER_RESERVED alone; 0: as much as they want.
 * STATUS_OUT_OF_MEMORY. Released with high_water_close. */
enum status_code high_water_open(enum high_water_metric metric, size_t slot_count, int64_t bound_bytes,
                                 struct high_water **water, struct status *error);
void high_water_close(struct high_water *water); /* NULL is accepted */

/* slot: one that holds nothing. STATUS_OUT_OF_MEMORY if the bound leaves no room even after cached segments were
 * given back, STATUS_OVERFLOW if sizes leave 63 bits; the slots are then as before. */
enum status_code high_water_take(struct high_water *water, size_t slot, int64_t bytes, int taken_in,
                                 struct status *error);
enum status_code high_water_free(struct high_water *water, size_t slot, struct status *error);
/* What is only cached is given back, as by torch.cuda.empty_cache(). */
enum status_code high_water_trim(struct high_water *water, struct status *error);
/* What one slot holds is held by another, which holds nothing. */
void high_water_carry(struct high_water *water, size_t from, size_t to);
/* What a slot holds is larger by so much; for HIGH_WATER_REQUESTED alone. The sum is known to fit. */
void high_water_grow(struct high_water *water, size_t slot, int64_t bytes);

/* The present becomes the highest moment, however high it is. */
void high_water_mark(struct high_water *water);
/* The same if it is higher than the last mark; whether it is. */
bool high_water_raise(struct high_water *water);

/* At the last mark, whatever has changed since. Borrowed until the next change or mark. */
const struct high_water_bytes *high_water_bytes_then(const struct high_water *water);
const struct held_slot *high_water_slot_then(const struct high_water *water, size_t slot);

#endif

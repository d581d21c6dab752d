/* Stamp: who touched a byte, when, how and where in the code; 0 for nobody. Time is counted from the start of the
 * process and moves on whenever lanes are released from a wait, and at each new block. */
#ifndef ASSAY_TESTS_WATCHED_STAMP_H
#define ASSAY_TESTS_WATCHED_STAMP_H

#include <cstdint>

typedef uint64_t stamp;

enum { STAMP_PLACE_BITS = 22, STAMP_LANE_BITS = 10, STAMP_TIME_BITS = 30 };
enum stamp_kind { STAMP_PLAIN, STAMP_ATOMIC, STAMP_PENDING }; /* pending: a copy that has not been waited for */

/* place: counted from the start of the plug-in. */
static inline stamp stamp_of(uint64_t time, int lane, enum stamp_kind kind, uint64_t place)
{
    return time << (STAMP_PLACE_BITS + STAMP_LANE_BITS + 2) | (uint64_t)kind << (STAMP_PLACE_BITS + STAMP_LANE_BITS) |
           (uint64_t)lane << STAMP_PLACE_BITS | (place & ((1u << STAMP_PLACE_BITS) - 1));
}

static inline uint64_t stamp_time(stamp stamp)
{
    return stamp >> (STAMP_PLACE_BITS + STAMP_LANE_BITS + 2);
}

static inline enum stamp_kind stamp_kind_of(stamp stamp)
{
    return (enum stamp_kind)(stamp >> (STAMP_PLACE_BITS + STAMP_LANE_BITS) & 3);
}

static inline int stamp_lane(stamp stamp)
{
    return (int)(stamp >> STAMP_PLACE_BITS & ((1u << STAMP_LANE_BITS) - 1));
}

static inline uint64_t stamp_place(stamp stamp)
{
    return stamp & ((1u << STAMP_PLACE_BITS) - 1);
}

/* Of the same lane, at the same time and of the same kind. */
static inline bool stamp_is_like(stamp one, stamp other)
{
    return (one ^ other) >> STAMP_PLACE_BITS == 0;
}

#endif

/* Leap: repetitions whose sizes grow, left out. For repetition.c alone.
 *
 * The large pool: a forecast says how long every comparison of sizes comes out as it does now
 * (harness/memory/pool_forecast.h). As long as it does, its requests are not made.
 * The small pool: its requests are made, but nothing is summed up; what its blocks have is known from the sizes. As
 * long as those are rounded alike it may go in rounds, which are left out too (repetition.h: nothing grows).
 * One repetition for which the forecast still holds is carried out behind those that are left out. Nothing shrinks, so
 * at every event sums of bytes are highest in the last repetition: peaks are those of that one, to the byte.
 * A segment that the small pool takes on the way counts as ever; if the device refuses it, the allocator would give
 * back what both pools cache, and the large one is not where it would be: the replay begins anew and does not leave
 * that repetition out (struct replay_stop). */
#ifndef ASSAY_REPLAY_LEAP_H
#define ASSAY_REPLAY_LEAP_H

#include "harness/replay/repetition_inside.h"

/* NULL if it is of no use: something shrinks or stages change, or the host has no memory. */
struct leap *leap_open(const struct repetition *repetition);
void leap_close(struct leap *leap); /* NULL is accepted */

/* A repetition has been carried out. Leaves out those behind it that are known, and moves repetition->at on. */
enum status_code leap_make(struct leap *leap, struct repetition *repetition, struct status *error);

#endif

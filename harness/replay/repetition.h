/* Repetition: a body of a tape, carried out again and again; what it is known to do is not done again.
 *
 * Why that is exact. What the caching allocator does with a request depends on the rounded sizes that are asked for and
 * on where the live blocks of the pool lie: its free blocks are the gaps between them. So, for one pool:
 *   where the same storages lie in the same places of the same segments as at an earlier moment, and what is then asked
 *   for and given back has the same rounded sizes, the same happens, and it ends in the same places.
 * Two uses are made of that.
 *   Nothing grows (micro-batches): as soon as a repetition ends as an earlier one did, whole rounds of those between
 *   are left out. Sizes grow (tokens): the layers of a model repeat each other inside the body (section.h). Small
 *   requests (up to 1 MiB) have a pool of their own; in it, layers go in circles after the first few, and their small
 *   requests are supposed instead of made. A block of the small pool has exactly the rounded bytes, since any rest of a
 *   whole unit is split off. Those of the large pool, whose sizes grow with every token, are made, or forecast
 *   (leap.h). When the layers are through, what was supposed is made good: so many of the last sections are made that
 *   everything lies where it would.
 * Where the device refuses memory the allocator gives back what both pools cache: before that, what is supposed is made
 * good too. Requested bytes are counted in the order of the tape, supposed or made. */
#ifndef ASSAY_REPLAY_REPETITION_H
#define ASSAY_REPLAY_REPETITION_H

#include "harness/replay/replay_inside.h"

/* All repetitions of one body. Errors as those of replay_run. STATUS_INTERNAL if the device computes and storages
 * grow: the operands of a tape do not. */
enum status_code repetition_run(struct replay *replay, const struct repeat *repeat, struct status *error);

/* The allocator is about to give back what it caches: what was supposed is made good. */
enum status_code repetition_make_good(struct repetition *repetition, struct status *error);

#endif

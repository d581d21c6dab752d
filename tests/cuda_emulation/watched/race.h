/* Races: two accesses to the same byte, one of which writes, in an order that no barrier, fence or launch decides. Told
 * whatever the schedule was, because order is a matter of what the lanes waited for, not of who came first.
 *
 *   lanes of a warp     ordered by __syncwarp and by every barrier of the block; not by shuffles, ldmatrix and mma
 *   lanes of a block    ordered by __syncthreads and __syncthreads_or
 *   blocks of a launch  ordered where one has done __threadfence and then an atomic that the other's atomic follows
 *   launches            ordered
 *
 * A copy that does not wait (cp.async) writes at any time between its beginning and the wait of the lane that began it.
 * Atomics do not race with each other. */
#ifndef ASSAY_TESTS_WATCHED_RACE_H
#define ASSAY_TESTS_WATCHED_RACE_H

#include <cstddef>

#include "tests/cuda_emulation/emulated/race_watcher.h"

void race_launch_begin(void);
void race_block_begin(void);
void race_block_released(void);
void race_warp_released(int warp);
void race_fence(void);

/* Of the lane that runs, to what is not its own. */
void race_access(const void *address, size_t bytes, enum emulated_access access, const void *at);

/* The races of the launch, each pair of places once; "" without any. */
const char *race_launch_end(void);

#endif

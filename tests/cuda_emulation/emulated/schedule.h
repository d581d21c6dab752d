/* Schedule: what a GPU leaves open of one launch, chosen. */
#ifndef ASSAY_TESTS_CUDA_EMULATED_SCHEDULE_H
#define ASSAY_TESTS_CUDA_EMULATED_SCHEDULE_H

#include <stdint.h>

/* An order of any number of things. */
struct order {
    enum { ORDER_FORWARDS, ORDER_BACKWARDS, ORDER_SHUFFLED } kind;
    uint64_t key; /* of a shuffled one */
};

struct schedule {
    struct order blocks, warps, lanes;
    unsigned grid_maximum; /* blocks along x; 0: all that are asked for */
    enum { COPIES_EARLY, COPIES_LATE, COPIES_EITHER } copies;
    bool warps_alternate; /* wherever a warp waits for its lanes another goes on; otherwise each runs to the barrier */
};

/* launch: its number among those of the same kernel, from 1. With EMULATED_SEED=N each part is drawn for itself, from
 * N and from how many launches this process has had; without it all follow from the number, in turn. */
struct schedule schedule_of(int64_t launch);

/* " (EMULATED_SEED=N)", or nothing without it. */
const char *schedule_words(void);

/* The place of the k-th of `count`. */
int64_t order_place(struct order order, int64_t k, int64_t count);

/* Whether the copy that is begun now is made now. */
bool schedule_copy_is_early(const struct schedule *schedule);

#endif

/* Placed lanes: real devices for the places of a placed tape, each bounded by its budget.
 *
 * A GPU of the map is cuda:N, or the host's memory with the caching allocator where the host stands for the GPUs. The cpu is the host's
 * memory with the plain allocator, the disk a file without a name. */
#ifndef ASSAY_QUESTION_PLACED_LANES_H
#define ASSAY_QUESTION_PLACED_LANES_H

#include "harness/device/device_spec.h"
#include "harness/question/placed_trial.h"
#include "harness/replay/scratch_store.h"

struct placed_lanes {
    struct replay_lane lanes[PLACE_MAXIMUM];
    char specs[PLACE_MAXIMUM][DEVICE_SPEC_BYTES]; /* "cuda:1", "host:mem=300000000B", "disk" */
    struct scratch_store *store;                  /* NULL: nothing is on the disk */
    int count;
};

/* The placed tape outlives the lanes. Errors of device_open, with the place's name. On failure nothing is open. */
enum status_code placed_lanes_open(const struct placed_tape *placed, bool host_stands_in, struct placed_lanes *lanes,
                                   struct status *error);
void placed_lanes_close(struct placed_lanes *lanes);

#endif

/* Placed lanes: devices for the places of a placed tape, each bounded by its budget.
 *
 * A GPU of the map is cuda:N, or the host's memory with the caching allocator if the host stands for the GPUs. The
 * cpu is the host's memory with the plain allocator, the disk an offload folder of accelerate: one that is named, or a
 * temporary one, $TMPDIR/assay-offload-XXXXXX, that goes with the lanes. On meta all of them are meta, and
 * nothing is kept. */
#ifndef ASSAY_QUESTION_PLACED_LANES_H
#define ASSAY_QUESTION_PLACED_LANES_H

#include <limits.h>

#include "harness/device/device_spec.h"
#include "harness/question/placed_trial.h"
#include "harness/replay/offload_store.h"

/* What the GPUs of a map are. */
enum placed_ground { PLACED_ON_GPUS, PLACED_ON_HOST, PLACED_ON_META };

/* Stays where it is while it is open. */
struct placed_lanes {
    struct replay_lane lanes[PLACE_MAXIMUM];
    char specs[PLACE_MAXIMUM][DEVICE_SPEC_BYTES]; /* "cuda:1", "host:mem=300000000B", "disk"; stay after the lanes */
    int count;
    struct offload_store offload; /* its writer NULL: nothing is on the disk, or it is closed */
    struct placed_store disk;
    char folder[PATH_MAX]; /* "": nothing is on the disk */
    bool is_temporary;     /* the folder */
};

/* The placed tape outlives the lanes. folder: for what goes to the disk; it is an error if other weights in it would be
 * overwritten. NULL: a temporary one. Errors of device_open, with the place's name, and of offload_store_open. On
 * failure nothing is open, and lanes->count says which place did not open. */
enum status_code placed_lanes_open_in(const struct placed_tape *placed, enum placed_ground ground, const char *folder,
                                      struct placed_lanes *lanes, struct status *error);
/* With a temporary folder. */
enum status_code placed_lanes_open(const struct placed_tape *placed, enum placed_ground ground,
                                   struct placed_lanes *lanes, struct status *error);

/* Writes the index of a folder that was named, so that it stays, with what it got. Nothing of a temporary one. */
enum status_code placed_lanes_keep(struct placed_lanes *lanes, struct offload_totals *totals, struct status *error);

/* Takes back what was added to a folder that is not kept; a temporary one goes. Closed lanes, and all zero, are
 * accepted. */
void placed_lanes_close(struct placed_lanes *lanes);

#endif

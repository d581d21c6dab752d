/* Given weights in a placed replay: which events of the tape's load they stand for. Internal to harness/replay. */
#ifndef ASSAY_REPLAY_PLACED_GIVEN_H
#define ASSAY_REPLAY_PLACED_GIVEN_H

#include "harness/replay/placed_replay.h"
#include "harness/replay/replay_inside.h"

struct placed_given {
    const struct tape_view *tape;
    const struct placed_weights *weights; /* NULL: none are given, and all of this does nothing */
    struct given_weight *by_storage;
};

enum status_code given_open(const struct tape_view *tape, const struct placed_weights *weights,
                            struct placed_given *given, struct status *error);
void given_release(struct placed_given *given);

/* The event takes a storage on this lane, in the load. *is_done: it is there already, or what was to be made here lies
 * on the disk, and nothing is taken. STATUS_INVALID where it lies elsewhere, or is not what the tape wants. */
enum status_code given_take(struct placed_given *given, const struct event *event, struct replay *replay, int lane,
                            bool *is_done, struct status *error);

/* An operation of the load. *is_done: it would fill, or send to the disk, what is given. */
enum status_code given_run(const struct placed_given *given, const struct op *op, bool *is_done, struct status *error);

/* Whether nothing was taken for the storage, so that there is nothing to free. */
bool given_passes(const struct placed_given *given, int storage);

/* The name that a storage has on the disk. */
const char *given_label(const struct placed_given *given, int storage);

#endif

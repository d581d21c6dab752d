/* Load run: a load plan carried out: every tensor read from its file, cast on the way, and put where it belongs.
 *
 * Order: GPUs are allocated; what goes to the disk is read and written, one tensor of the host's memory at a time; then
 * the host's part is allocated, and everything else is read as it lies in the files. So memory that does not suffice is
 * found before the bytes for it are read, the host's memory is never more than the larger of its part and the largest
 * tensor of the disk, plus LOAD_STAGING_BYTES, and each device holds what is placed on it and nothing besides: the cast
 * is made in the staging buffers, not there. The staging buffers are the devices' own kind of memory where they have
 * one (harness/device/staging.h). */
#ifndef ASSAY_LOAD_LOAD_RUN_H
#define ASSAY_LOAD_LOAD_RUN_H

#include "harness/load/load_files.h"
#include "harness/load/load_plan.h"
#include "harness/load/load_watch.h"
#include "harness/replay/placed_replay.h"

/* LOAD_SLOTS runs are under way at most, by two or four threads, with two buffers each: of what is read and of what it
 * is cast to. */
enum { LOAD_PIECE_BYTES = 512 << 10, LOAD_SLOTS = 8, LOAD_STAGING_BYTES = LOAD_SLOTS * 2 * LOAD_PIECE_BYTES };

/* What a place holds after the load, and held at most. */
struct load_share {
    int64_t requested_bytes;
    LEVEL_PEAKS(peaks);   /* requested_bytes_peak, allocated_bytes_peak, ... */
    int64_t stored_bytes; /* written to the disk */
};

struct load_result {
    struct load_share *shares;    /* by place of the plan; the arena of the load's */
    int64_t read_bytes;           /* from the files */
    int64_t in_flight_bytes_peak; /* of the tensors on their way to the disk */
    int64_t
        host_bytes_predicted; /* what the host's memory grows by at most: its part, GPUs that it stands for, what is in
                                     flight and the staging buffers */
    bool staging_is_pinned;
    double allocate_seconds; /* for memory on the devices, */
    double transfer_seconds; /* from the files to where the bytes belong, casts and copies included, */
    double store_seconds;    /* and to the disk, beside those */
};

struct loaded; /* opaque: the weights where they lie */

/* lanes: by place of the plan; one with a store is the disk. Files must be those of the plan's checkpoint. The errors
 * are those of the devices, with the place and the tensor named, of the files (load_files_check among them), and of the
 * store; everything that was allocated is then given back, and what a store has written is the caller's to
 * remove. *made is released by the caller before the devices are closed. watch may be NULL. */
enum status_code load_run(const struct load_plan *plan, const struct load_files *files, const struct replay_lane *lanes,
                          const struct load_watch *watch, struct loaded **made, struct status *error);

const struct load_result *loaded_result(const struct loaded *loaded);
/* Of a target that a device holds; NULL for the disk's, and on a device without memory. */
const void *loaded_address(const struct loaded *loaded, int target);
enum status_code loaded_release(struct loaded *loaded, struct status *error); /* NULL is accepted */

/* Takes the memory that load_run takes, in the same order, and reads nothing: for a prediction on lanes that compute
 * nothing. What goes to the disk is on no lane; one with any store is the disk. Of watch, which may be NULL, full_place
 * is set. */
enum status_code load_lay(const struct load_plan *plan, const struct replay_lane *lanes, const struct load_watch *watch,
                          struct loaded **made, struct status *error);

/* What is loaded, given to a placed replay on the same devices: lane_of[i] is its lane for place i of the plan. Its
 * memory is the replay's then; loaded stays until the replay has ended. */
void loaded_hand_over(struct loaded *loaded, const int *lane_of, struct placed_weights *weights);

/* What load_run would find on devices that have enough memory: the same requests, in the same order, to allocators
 * without any. read_bytes and the seconds are 0. The shares are the arena's. */
enum status_code load_predict(const struct load_plan *plan, const struct replay_lane *lanes, struct arena *arena,
                              struct load_result *result, struct status *error);

#endif

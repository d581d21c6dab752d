/* What the files of a load that is under way share. Internal to harness/load. */
#ifndef ASSAY_LOAD_LOAD_INSIDE_H
#define ASSAY_LOAD_LOAD_INSIDE_H

#include "harness/device/staging.h"
#include "harness/load/load_run.h"

struct load_lane {
    const struct replay_lane *given;
    bool is_disk, is_host, computes;
    struct allocator *allocator;
};

struct loaded {
    struct arena arena;
    const struct load_plan *plan;
    const struct load_files *files;
    const struct load_watch *watch;
    struct load_lane *lanes;        /* by place */
    struct block **blocks;          /* by target; NULL: none, or on the disk */
    struct staging staging;         /* LOAD_STAGING_BYTES */
    int lane_of[PLACE_MAXIMUM + 1]; /* by place, where it was handed over */
    struct load_result result;
};

/* Lanes with their allocators. virtual: of no memory, whatever the devices have. */
enum status_code lanes_open(struct loaded *loaded, const struct replay_lane *lanes, bool is_virtual,
                            struct status *error);

/* Blocks for the targets of the host's memory (is_host) or of all devices besides. */
enum status_code blocks_take(struct loaded *loaded, bool is_host, struct status *error);

/* Fills result's shares from the allocators. */
void shares_read(struct loaded *loaded);

/* The largest tensor that goes to the disk. */
int64_t in_flight_bytes(const struct loaded *loaded);

/* Fills what result says of the memory of the whole: its shares, what is in flight at most, what the host grows by. */
void result_complete(struct loaded *loaded);

/* One piece into memory at `to`, which is that of the place unless that is the disk; offset 0 is where the target
 * begins. */
enum status_code piece_load(struct loaded *loaded, const struct load_piece *piece, void *to, struct status *error);

/* All targets that go to the disk, one after the other. */
enum status_code disk_load(struct loaded *loaded, struct status *error);

#endif

/* Placed replay: a tape whose storages lie in several memories, walked on as many devices.
 *
 * Each place has a lane: a device, an allocator and a ledger of its own, and figures of its own. An operation runs on
 * the device where its operands lie. A copy between two places goes through the host, in pieces of
 * PLACED_STAGING_BYTES; from or to a device of the host there is no piece between. A place on the disk is a lane whose
 * device is meta, which counts, and whose store keeps the bytes, each storage by its label. */
#ifndef ASSAY_REPLAY_PLACED_REPLAY_H
#define ASSAY_REPLAY_PLACED_REPLAY_H

#include "harness/kernels/dtype.h"
#include "harness/memory/allocator.h"
#include "harness/replay/replay.h"

enum { PLACED_STAGING_BYTES = 4 << 20 };

/* What a copy to or from the disk moves: one whole tensor. */
struct stored_tensor {
    const char *label; /* "encoder.layer.0.output.dense.weight" */
    enum dtype dtype;
    int rank;
    int64_t size[TENSOR_RANK_MAXIMUM];
    int64_t bytes;
};

/* Keeps tensors outside of any memory. */
struct placed_store {
    enum status_code (*write)(void *context, const struct stored_tensor *tensor, const void *bytes,
                              struct status *error);
    enum status_code (*read)(void *context, const struct stored_tensor *tensor, void *bytes, struct status *error);
    void *context;
};

struct replay_lane {
    struct device *device;            /* borrowed; lanes may share none */
    enum allocator_policy policy;     /* caching for what stands for a GPU, plain for the host's memory */
    const struct placed_store *store; /* borrowed; NULL: the device keeps the bytes */
};

struct placed_result {
    struct replay_result lanes[PLACE_MAXIMUM];
    int oom_lane; /* where memory ran out; -1: nowhere. Its oom_* fields say what was wanted */
    /* Between places: from, to. seconds: of the bytes on their way alone, until both devices have finished with them
     * and without what they were still at before; 0 where neither has memory. */
    int64_t copy_counts[PLACE_MAXIMUM][PLACE_MAXIMUM], copied_bytes[PLACE_MAXIMUM][PLACE_MAXIMUM];
    double copy_seconds[PLACE_MAXIMUM][PLACE_MAXIMUM];
    int64_t copy_count; /* of all of them */
};

/* Where a tensor of the tape's load is, before the tape begins. */
enum weight_kind {
    WEIGHT_OWN,   /* nowhere: the tape makes it */
    WEIGHT_BLOCK, /* in memory of the lane */
    WEIGHT_STORED /* in the store of the lane */
};

struct given_weight {
    enum weight_kind kind;
    int lane;
    struct block *block; /* of the lane's allocator; NULL: of no bytes, or stored */
    const char *label;   /* the name that it is stored by */
    const char *type;    /* what it was loaded as: "BF16" */
    bool has_dtype;      /* type is the same elements as dtype */
    enum dtype dtype;
    int64_t bytes;
};

/* Weights that are there before the tape begins, as a checkpoint that was loaded (harness/load). The tape's load takes
 * them over instead of taking memory and filling it, and sends nothing to the disk; what they lie in counts from the
 * load on. */
struct placed_weights {
    /* By lane, with all that lies in them; NULL: the lane opens one. They are the replay's from its begin, also when it
     * fails, and given back with what it has taken itself. */
    struct allocator *allocators[PLACE_MAXIMUM];
    void (*find)(void *context, const char *label, struct given_weight *weight);
    void *context;
};

/* What else a replay may be given; all zero: nothing. */
struct placed_options {
    const struct replay_observer *observers; /* one for each lane, told of its figures; NULL: none */
    bool (*stops)(void *context); /* asked before each operation; true ends the replay with STATUS_UNAVAILABLE */
    void *context;                /* of stops */
    const struct placed_weights *weights;
};

/* Walks the tape as replay_run does; a stage begins and ends on every lane at once, and its seconds are those of all.
 * observers: as in the options. STATUS_INTERNAL where a storage lies in a place without a lane, an operation has
 * operands in two places and is no copy, or the tape tells repetitions once. On STATUS_OUT_OF_MEMORY the result holds
 * the stages that ended; on other errors it is not written. */
enum status_code placed_replay_run(const struct tape_view *tape, const struct replay_lane *lanes, int lane_count,
                                   const struct replay_observer *observers, struct placed_result *result,
                                   struct status *error);

/* The same with options. STATUS_INVALID where a weight that is given lies in another place than the tape has it, or is
 * of another type. */
struct placed_order {
    const struct tape_view *tape;
    const struct replay_lane *lanes;
    int lane_count;
    struct placed_options options;
};
enum status_code placed_replay_carry_out(const struct placed_order *order, struct placed_result *result,
                                         struct status *error);

#endif

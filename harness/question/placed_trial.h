/* Placed trial: does a device map run within its budgets, and what does each device need?
 *
 * The map becomes a tape over as many places (placement.h), and that is replayed: on meta lanes, which predicts,
 * and on whatever devices are given, which measures. Every lane is bounded by its budget in the same way
 * (device/bounded.h), so that both are refused at the same request. GPUs have the caching allocator, the host's memory
 * and the disk the plain one. */
#ifndef ASSAY_QUESTION_PLACED_TRIAL_H
#define ASSAY_QUESTION_PLACED_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/case/workload.h"
#include "harness/placement/device_plan.h"
#include "harness/replay/placed_replay.h"
#include "harness/tape/target.h"
#include "models/skeleton/placement.h"
#include "models/workload/workload_chain.h"

/* Budgets in bytes; a device without one has no bound. */
enum { BUDGET_NONE = -1 };

/* What is asked about; all of it borrowed. */
struct placed_question {
    const struct config *config;
    const struct skeleton *skeleton;
    const struct workload *workload; /* load, infer or generate */
    const struct target *target;
    const struct placement_budget *budgets; /* as they were given, not balanced */
    int budget_count;
    bool offload_buffers;
    /* PLACEMENT_OFFLOAD: cpu_offload or disk_offload, whose map gives "" to the cpu or the disk; the model runs on GPU
     * 0. */
    enum placement_form form;
    int64_t gpu_memory_bytes; /* that segments of each GPU may take, whatever its budget; 0: no such bound */
};

/* The bound of a device: the lesser of its budget and, of a GPU, its memory. */
int64_t placed_budget_bytes(const struct placed_question *question, struct placement_device device);

/* A map as a tape. Its places are the GPUs that the map uses in the order of their numbers (of PLACEMENT_OFFLOAD: GPU
 * 0), the cpu, which is always there, and the disk if it is used. */
struct placed_tape {
    struct placement placement;
    struct placement_device devices[PLACE_MAXIMUM]; /* by place */
    int64_t budget_bytes[PLACE_MAXIMUM];            /* BUDGET_NONE: no bound */
    char budget_words[PLACE_MAXIMUM][48];           /* "the budget of 0", "the memory of 0" */
    int64_t placed_bytes[PLACE_MAXIMUM]; /* of the weights and buffers that are kept there, in the case's types */
    int place_count;
    int pass_count; /* of a chain (chain_trial.h): forward stages of a turn; else 0 */
    struct tape *tape;
};

/* STATUS_INVALID if the map cannot run, with the reason: a tensor without a device, a part of the model that lies
 * over two devices and cannot, a mode or precision that is not placed, mps, more than 16 GPUs. Stays where it is;
 * released by placed_tape_release. */
enum status_code placed_tape_build(const struct placed_question *question, const struct device_map *map,
                                   struct placed_tape *placed, struct status *error);
void placed_tape_release(struct placed_tape *placed);

/* Fills placed_bytes from the tape. */
void placed_bytes_note(struct placed_tape *placed);

/* The place of a device; -1: the map does not use it. */
int placed_tape_place(const struct placed_tape *placed, struct placement_device device);

/* The outcome of a replay. The result borrows labels from the tape. */
struct placed_outcome {
    struct placed_result result; /* oom_lane -1: it ran through */
    bool fits;
    char reason[STATUS_LINE_BYTES];                  /* if it does not fit */
    double seconds;                                  /* of the whole */
    int forward_count;                               /* of a chain: forward stages that ended */
    struct replay_stage passes[CHAIN_LINKS_MAXIMUM]; /* of place 0, by model: the last that ended */
};

/* Replays on meta lanes within the budgets. Out of memory is no error, but an outcome. */
enum status_code placed_tape_predict(const struct placed_tape *placed, struct placed_outcome *outcome,
                                     struct status *error);
/* A meta lane for each place, of so many bytes (BUDGET_NONE: no bound), for replays that predict. On failure nothing is
 * open. */
enum status_code placed_meta_lanes_open(const struct placed_tape *placed, const int64_t *bound_bytes,
                                        struct replay_lane lanes[PLACE_MAXIMUM], struct status *error);
void placed_meta_lanes_close(struct replay_lane lanes[PLACE_MAXIMUM]);
/* The same on devices that were opened for it, one for each place. */
enum status_code placed_tape_run(const struct placed_tape *placed, const struct replay_lane *lanes,
                                 struct placed_outcome *outcome, struct status *error);

/* The same with options: STATUS_UNAVAILABLE if it was stopped. */
enum status_code placed_tape_run_with(const struct placed_tape *placed, const struct replay_lane *lanes,
                                      const struct placed_options *options, struct placed_outcome *outcome,
                                      struct status *error);

/* The least budget with which the place runs through, in whole granules of the allocator's segments (2 MiB) for a GPU,
 * in bytes for the host: less than its reserved bytes if the allocator only cached the rest. Whatever the other
 * places need. */
enum status_code placed_need_find(const struct placed_tape *placed, int place, int64_t *need_bytes,
                                  struct status *error);

/* The highest of a lane over all stages. */
int64_t placed_peak_reserved(const struct replay_result *lane);

#endif

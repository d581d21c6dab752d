/* Placed load: a checkpoint that is loaded by a device map and then run on the same devices:
 * load_checkpoint_and_dispatch.
 *
 * The weights are loaded by harness/load, in its order, into the lanes of a placed tape; that tape's load then takes
 * them over as they lie, makes what no checkpoint has (buffers that are not stored), and runs its passes. So a GPU
 * holds what was placed, what is brought to it for the time of a block, and activations; nothing is held twice. A
 * prediction is the same on meta lanes. */
#ifndef ASSAY_QUESTION_PLACED_LOAD_H
#define ASSAY_QUESTION_PLACED_LOAD_H

#include "harness/load/load_run.h"
#include "harness/question/placed_lanes.h"

/* What is loaded, by which map. All of it borrowed: plan and tape are of the same skeleton and map. */
struct placed_load {
    const struct placed_tape *placed;
    const struct load_plan *plan;
    const struct load_files *files;          /* of a run */
    const struct replay_observer *observers; /* by place; NULL: nobody watches the stages */
};

struct placed_load_outcome {
    struct placed_outcome run;                 /* its load and its passes; not is_loaded: the reason alone */
    bool is_loaded;                            /* the checkpoint fitted */
    struct load_result load;                   /* is_loaded; shares by place of the plan, in the arena */
    bool host_known;                           /* figures of this process, of the load and of the passes: */
    int64_t load_grown_bytes, run_grown_bytes; /* more than before, at most */
};

/* STATUS_INVALID if the checkpoint lacks a tensor that the passes need, or has left one out, with its name: nothing
 * stands in for it. */
enum status_code placed_load_check(const struct placed_load *load, struct status *error);

/* Out of memory is no error, but an outcome. Other errors are those of load_run and placed_replay_carry_out. */
enum status_code placed_load_predict(const struct placed_load *load, struct arena *arena,
                                     struct placed_load_outcome *outcome, struct status *error);
enum status_code placed_load_run(const struct placed_load *load, const struct placed_lanes *lanes,
                                 const struct load_watch *watch, struct arena *arena,
                                 struct placed_load_outcome *outcome, struct status *error);

#endif

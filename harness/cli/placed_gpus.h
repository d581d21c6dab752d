/* The GPUs of a placed run: whether there are any, of which class, and nobody else on them meanwhile. */
#ifndef ASSAY_CLI_PLACED_GPUS_H
#define ASSAY_CLI_PLACED_GPUS_H

#include "harness/cli/command.h"
#include "harness/question/placed_lanes.h"

/* What --run means where the first GPU that is used has this number (-1: none is used). *ground: the host for "--run
 * host", where none is here, or nothing is run. *target: the class of the GPU, where one is here and --for does not say
 * another; else it is left. */
enum status_code placed_gpu_look(const struct arguments *arguments, int gpu, enum placed_ground *ground,
                                 const char **target, struct status *error);

/* Replays on lanes that are open, while nobody else measures on their GPUs; the host is everybody's. who: what others
 * are told. */
enum status_code placed_lanes_run(const struct placed_tape *placed, const struct placed_lanes *lanes, const char *who,
                                  struct placed_outcome *outcome, struct status *error);

/* The devices of one run. */
struct placed_site {
    const char *who; /* as above */
    enum placed_ground ground;
    const char
        *offload_folder; /* stays, where the load comes to its end; NULL: a temporary one, where there is a disk */
    /* What is left of it: */
    struct placed_lanes lanes; /* closed; what they were called */
    struct offload_totals offloaded;
    bool is_interrupted; /* STATUS_UNAVAILABLE: a signal came */
};

/* Opens lanes, replays on them, and closes them. While there are files a signal ends the run in good order, so that
 * they are taken away; else it does what it always does. */
enum status_code placed_site_run(struct placed_site *site, const struct placed_tape *placed,
                                 struct placed_outcome *outcome, struct status *error);

#endif

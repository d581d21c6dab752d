/* The GPUs of a placed run: whether there are any, of which class, and nobody else on them meanwhile. */
#ifndef ASSAY_CLI_PLACED_GPUS_H
#define ASSAY_CLI_PLACED_GPUS_H

#include "harness/cli/command.h"
#include "harness/question/placed_lanes.h"

/* What --run means if the first GPU of the map has this number (-1: the map uses none). *ground: the host for "--run
 * host", if no GPU is here, or if nothing runs. *target: the class of the GPU, if one is here and --for does not say
 * another; else it is left. */
enum status_code placed_gpu_look(const struct arguments *arguments, int gpu, enum placed_ground *ground,
                                 const char **target, struct status *error);

/* Replays on lanes that are open, while nobody else measures on their GPUs; the host needs no lock. who: the name that
 * others see. */
enum status_code placed_lanes_run(const struct placed_tape *placed, const struct placed_lanes *lanes, const char *who,
                                  struct placed_outcome *outcome, struct status *error);

/* The devices of one run. */
struct placed_site {
    const char *who; /* as above */
    enum placed_ground ground;
    const char *offload_folder; /* stays, if the load comes to its end; NULL: a temporary one, if there is a disk */
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

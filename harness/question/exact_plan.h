/* Exact plan: a device map of our own, judged by what a replay needs and not by the room that a largest layer might
 * need.
 *
 * It uses slower places as little as possible without any device being refused memory within its budget, for one
 * batch and one length: as many pieces of the model as can be on the GPUs, in the model's order and each GPU's next to
 * each other, then as many of the rest as can be in the host's memory, and what is left on the disk. Pieces: modules
 * that are never split, with what is tied to them (exact_units.h).
 *
 * How: each GPU takes the longest run of pieces with which its lane of a replay is refused nothing, found by
 * bisection, while the lanes behind it have no bound. Offloaded modules need room on the first GPU, on which they run.
 * So the search begins with nothing offloaded, and begins again with what was left over, until what is left over is
 * what was assumed: of all such plans this one offloads least. The result is replayed as a whole within the budgets. */
#ifndef ASSAY_QUESTION_EXACT_PLAN_H
#define ASSAY_QUESTION_EXACT_PLAN_H

#include "harness/question/placed_trial.h"

struct exact_request {
    struct placed_question question;
    const struct placement_request *planner; /* which classes stay whole; borrowed */
};

struct exact_plan {
    struct arena arena; /* owns the map, whose paths are the skeleton's or its own */
    struct device_map map;
    int unit_count;      /* pieces that could be told apart */
    int gpu_unit_count;  /* of these on GPUs */
    int host_unit_count; /* in the host's memory */
    int trial_count;     /* maps that were built and replayed */
};

/* STATUS_INVALID if no map runs, with what was refused in the last one, or why a model cannot be cut. The caller
 * releases the plan. */
enum status_code exact_plan_make(const struct exact_request *request, struct exact_plan *plan, struct status *error);
void exact_plan_release(struct exact_plan *plan);

#endif

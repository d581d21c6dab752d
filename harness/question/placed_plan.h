/* Placed plan: the map by which a case is placed, and what a replay says of it.
 *
 * A map is accelerate's, planned from budgets; our own for the same budgets, with accelerate's beside it; or the
 * whole model on the cpu or the disk, as cpu_offload and disk_offload have it. */
#ifndef ASSAY_QUESTION_PLACED_PLAN_H
#define ASSAY_QUESTION_PLACED_PLAN_H

#include "harness/question/exact_plan.h"

enum placed_map { PLACED_MAP_ACCELERATE, PLACED_MAP_EXACT, PLACED_MAP_WHOLE };

struct placed_request {
    struct placed_question question;
    enum placed_map map;
    const struct placement_request *planner; /* of a map that is planned; borrowed */
    struct placement_device whole;           /* PLACED_MAP_WHOLE: where everything is kept */
};

/* One map carried out. */
struct placed_trial {
    struct placed_tape placed;
    struct placed_outcome predicted;
    struct placed_outcome measured;    /* the caller's, if it is run */
    int64_t need_bytes[PLACE_MAXIMUM]; /* placed_need_find, of a place with a bound; else -1 */
    bool is_built;                     /* else why says why the map cannot run */
    char why[STATUS_LINE_BYTES];
};

/* Large, and points into itself: it stays where it is. */
struct placed_plan {
    struct device_plan accelerate;
    bool has_accelerate;            /* else, if it was asked for, it raised: */
    char raised[STATUS_LINE_BYTES]; /* in its words; "": it did not */
    struct exact_plan exact;        /* PLACED_MAP_EXACT */
    struct device_map_entry whole;  /* PLACED_MAP_WHOLE */
    struct device_map map;          /* that is asked for; borrowed from one of the above */
    struct placed_trial main;       /* of that */
    struct placed_trial other;      /* PLACED_MAP_EXACT: of accelerate's, if it has one */
};

/* Plans and predicts. STATUS_INVALID if accelerate raises and its map is asked for (plan->raised), if no map
 * runs, or if the map cannot run. On failure nothing is held, and plan->raised stays. */
enum status_code placed_plan_make(const struct placed_request *request, struct placed_plan *plan, struct status *error);
void placed_plan_release(struct placed_plan *plan);

/* How much was needed of what accelerate kept free on a device for its largest layer: what the device needs beyond what
 * is placed. -1: it kept nothing free there, or the need is unknown. */
int64_t placed_kept_needed(const struct placed_trial *trial, const struct placement_share *share);

/* The figures of a stage that ended; NULL: it did not. One in which memory ran out has those of an earlier pass. */
const struct replay_stage *placed_stage(const struct placed_outcome *outcome, int place, enum stage stage);

#endif

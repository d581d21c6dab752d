/* Plan: the state of infer_auto_device_map, between what prepares it and what reports it (device_plan.c). */
#ifndef ASSAY_PLACEMENT_PLAN_H
#define ASSAY_PLACEMENT_PLAN_H

#include "harness/placement/work_list.h"

enum { UNPLACED = -1 };

struct plan {
    const struct placement_request *request;
    const struct module_tree *tree;
    struct device_plan
        *placement; /* its shares are made; placed_bits, reserved_bits and minimum_bits are filled here */
    struct work_list list, search;
    struct largest_layer largest;
    struct tied_cost cost;
    int *share_of; /* by node: the share that it was put on; UNPLACED */
    int *order;    /* nodes in the order in which they were placed */
    int order_count;
    int64_t *used_bits;   /* by share: placed, and reserved where the share was left */
    bool *used_is_float;  /* of these: 0.0 is another zero than 0 for fallback_allocate */
    int64_t *buffer_bits; /* by share: of the placed modules, where buffers are not offloaded */
    int current;          /* the share that is being filled */
    int fallback_count;   /* in a row */
};

/* All but placement, request and tree. Memory is the placement's. */
enum status_code plan_make(struct plan *plan, struct status *error);
/* Places every element. */
enum status_code plan_run(struct plan *plan, struct status *error);

#endif

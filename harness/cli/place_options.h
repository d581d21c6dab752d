/* Options of assay place: the model, and what may go to which device. */
#ifndef ASSAY_CLI_PLACE_OPTIONS_H
#define ASSAY_CLI_PLACE_OPTIONS_H

#include "harness/cli/command.h"
#include "harness/placement/device_plan.h"
#include "models/find/model.h"

/* Stays where it is while it is open: the skeleton points into model, and request into the lists. */
struct place_case {
    const char *command; /* for messages: "place" */
    struct arena arena;
    struct model model;
    struct skeleton skeleton;
    struct placement_budget *budgets;
    struct special_width *specials;
    struct placement_request request;
    struct text notes; /* model_notes.h */
};

/* Reads operand 0 and the options of the command. On failure nothing is open. needs_budgets: STATUS_INVALID if
 * neither --max-memory nor --on is given and no GPU is here. */
enum status_code place_case_open(const struct arguments *arguments, bool needs_budgets, struct place_case *place,
                                 struct status *error);
void place_case_close(struct place_case *place);

/* The budgets that --max-memory, --on or this machine give: place's budgets and request are filled. */
enum status_code place_budgets_read(const struct arguments *arguments, struct place_case *place, struct status *error);

#endif

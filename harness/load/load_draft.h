/* Load draft: the state of a load plan that is being made. Internal to harness/load. */
#ifndef ASSAY_LOAD_LOAD_DRAFT_H
#define ASSAY_LOAD_LOAD_DRAFT_H

#include "harness/load/load_plan.h"

enum { NO_TARGET = -1, NOT_LOADED = -2 };

struct load_draft {
    const struct load_request *request;
    struct load_plan *plan;
    int *target_of;    /* by tensor, of those that own a storage: the target; NO_TARGET, NOT_LOADED */
    bool **parts_seen; /* by target: which parts of a joined tensor are there; NULL: it is no joined one */
    struct status *error;
};

/* The tensor whose storage this one is. */
int storage_owner(const struct skeleton *skeleton, int tensor);

/* The rules for one tensor: load_rule.c. */

/* What it becomes, at place. STATUS_INVALID if its type cannot be that of the model. */
enum status_code target_type_find(const struct load_draft *draft, const struct checkpoint_tensor *stored, int tensor,
                                  struct placement_device device, const struct storage_type **type);
/* STATUS_INVALID if its shape is not that of the model. */
enum status_code stored_shape_check(const struct load_draft *draft, const struct checkpoint_tensor *stored,
                                    struct stored_place place);
/* STATUS_INVALID for files of other frameworks; a warning for one that does not say. */
enum status_code formats_check(const struct load_draft *draft);
/* STATUS_INVALID if strict is asked for and a key is unexpected or missing. */
enum status_code strict_check(const struct load_draft *draft);
/* Warnings for ties over several places, and for what is not loaded. */
void plan_warn(const struct load_draft *draft);

#endif

/* Balance: get_balanced_memory. */
#ifndef ASSAY_PLACEMENT_BALANCE_H
#define ASSAY_PLACEMENT_BALANCE_H

#include "harness/placement/module_tree.h"

/* Lowers the budgets, which are in accelerate's order, so that the GPUs get about as much each. Errors as
 * device_plan_make says. */
enum status_code budgets_balance(const struct module_tree *tree, const struct placement_request *request,
                                 struct placement_budget *budgets, struct arena *arena, struct status *error);

#endif

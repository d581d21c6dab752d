/* Load dispatch: forward passes on the weights that assay load has loaded, on the same devices:
 * load_checkpoint_and_dispatch. */
#ifndef ASSAY_CLI_LOAD_DISPATCH_H
#define ASSAY_CLI_LOAD_DISPATCH_H

#include "harness/cli/load_case.h"

/* Whether --dispatch is there. STATUS_INVALID if an option of its passes is, and it is not. */
enum status_code load_dispatch_wanted(const struct arguments *arguments, bool *wanted, struct status *error);

/* Loads, runs and prints. Exit code 1: a device ran out of memory, or held other bytes than predicted. */
enum status_code load_dispatch_run(const struct arguments *arguments, struct load_case *load,
                                   const struct load_watch *watch, enum exit_code *exit_code, struct status *error);

#endif

/* History actions: what `assay history` does. */
#ifndef ASSAY_CLI_HISTORY_ACTIONS_H
#define ASSAY_CLI_HISTORY_ACTIONS_H

#include "harness/cli/command.h"

typedef enum status_code history_action(const struct arguments *arguments, enum exit_code *exit_code,
                                        struct status *error);

/* The operands behind the action are checked for their number, the options for belonging to it. */
history_action history_import_action, history_show_action, history_trend_action, history_prune_action,
    history_export_action;

#endif

/* Help: what --help prints, made from the tables that the parser reads. */
#ifndef ASSAY_CLI_HELP_H
#define ASSAY_CLI_HELP_H

#include "harness/base/text.h"
#include "harness/cli/command.h"

/* commands is ended by NULL. */
void program_help(const struct command *const *commands, struct text *text);
void command_help(const struct command *command, struct text *text);

#endif

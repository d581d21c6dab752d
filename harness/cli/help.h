/* Help: what --help prints, made from the tables that the parser reads. */
#ifndef ASSAY_CLI_HELP_H
#define ASSAY_CLI_HELP_H

#include "harness/base/text.h"
#include "harness/cli/command.h"

/* commands is ended by NULL. */
void program_help(const struct command *const *commands, struct text *text);
/* width: of the terminal, for paragraphs that are wider (INT_MAX: there is none). Lines are not folded here. */
void command_help(const struct command *command, int width, struct text *text);

#endif

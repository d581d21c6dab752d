/* Manual page: the pages of man(1), made from the tables that the parser and the help read. */
#ifndef ASSAY_CLI_MANUAL_PAGE_H
#define ASSAY_CLI_MANUAL_PAGE_H

#include "harness/base/text.h"
#include "harness/cli/command.h"

/* Appends assay-NAME(1) as man(7), with the option rows, the details, the exit codes and the examples of the command;
 * of NULL assay(1), which has the commands, the environment and the files too. commands: all, ended by NULL. */
void manual_page(const struct command *const *commands, const struct command *command, struct text *text);

#endif

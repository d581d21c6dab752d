/* Help: what --help prints, made from the tables that the parser reads. */
#ifndef ASSAY_CLI_HELP_H
#define ASSAY_CLI_HELP_H

#include "harness/base/text.h"
#include "harness/cli/command.h"

/* What an exit code says: 0 "all pass". Row number index, NULL past the end. */
struct exit_code_row {
    enum exit_code code;
    const char *what;
};
const struct exit_code_row *exit_code_at(int index);

/* What an option is written like: "--device D", "--padding [true|false]". */
void option_spelling_append(const struct option_row *option, struct text *text);

/* commands is ended by NULL. */
void program_help(const struct command *const *commands, struct text *text);
/* width: of the terminal, for paragraphs that are wider (INT_MAX: there is none). Lines are not folded here. */
void command_help(const struct command *command, int width, struct text *text);

#endif

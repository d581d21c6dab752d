/* Suggestion: what the user probably meant by an unknown command or option. */
#ifndef ASSAY_CLI_SUGGESTION_H
#define ASSAY_CLI_SUGGESTION_H

#include <stdbool.h>

#include "harness/base/text.h"
#include "harness/cli/command.h"

/* Appends "models" or "--lora-rank or --lora-targets" out of names (ended by NULL): the words that other tools have for
 * them, then those that resemble typed (harness/base/nearest.h). False, and nothing appended, if nobody can tell.
 * typed: without dashes in front. */
bool command_suggest(const char *typed, const char *const *names, struct text *text);
bool option_suggest(const char *typed, const char *const *names, struct text *text);

/* Appends what was probably meant by a word that is one operand too many: "--mode train", "--on H100", or a list with
 * commas if previous is a value of the same kind. options: of the command. False, and nothing appended, if nobody
 * can tell. */
bool operand_suggest(const char *word, const char *previous, const struct option_row *options, struct text *text);

#endif

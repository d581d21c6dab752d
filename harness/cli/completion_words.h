/* Completion words: what could stand where the cursor is in a command line of this program. The shells ask for it
 * (completions/), so that they offer what the program beside them takes. */
#ifndef ASSAY_CLI_COMPLETION_WORDS_H
#define ASSAY_CLI_COMPLETION_WORDS_H

#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/cli/command.h"

/* words[0..count): the words behind the program's name up to the cursor, without quotes; the last is the one that is
 * being typed, "" where nothing is. commands: of the program, ended by NULL. Appends a line that says what the shell
 * adds of its own, then one line for each word: "WORD<tab>what it is", where the second may be empty. The first line is
 * "words": nothing; "files"; "folders"; or "unknown": nothing, as value_word.c lacks the word that stands for the
 * value. The words begin with what was typed; if none does, those that begin so in another case. What cannot be read (a
 * catalogue that is not there) offers nothing: a shell in the middle of a line has no place for messages.
 * STATUS_OUT_OF_MEMORY alone. */
enum status_code completion_words(const struct command *const *commands, const char *const *words, int count,
                                  struct text *text, struct status *error);

#endif

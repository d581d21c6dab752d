/* Command run: a program started by a test, and what it printed. Linked into every test program. */
#ifndef ASSAY_TESTS_SUPPORT_COMMAND_RUN_H
#define ASSAY_TESTS_SUPPORT_COMMAND_RUN_H

#include "harness/base/json.h"
#include "harness/base/text.h"

struct command_result {
    int exit_code; /* 128 + the signal where one ended it */
    struct text output;
    struct text error;
};

/* Runs words (words[0] is the program, looked for on PATH where it has no slash; ended by NULL), with standard input
 * closed, and waits for it. environment: settings "NAME=value" that are added to ours, ended by NULL; may be NULL.
 * Fails the running test where the program cannot be started. */
struct command_result command_run(const char *const *words, const char *const *environment);

/* The same of the program that is tested: command is its first word, options follow it, ended by NULL. */
struct command_result command_named(const char *command, const char *const *options);

void command_result_release(struct command_result *result);

/* What it printed, as JSON; the caller releases it. Fails the running test, with what stands on stderr, where it is
 * none. */
struct json *command_document(const struct command_result *result);

/* Fails the running test where text does not have these words in it. */
void command_says(const struct text *text, const char *words);

/* It was refused: exit code 2, nothing printed, these words on stderr. Releases the result. */
void command_refused(struct command_result result, const char *words);

/* Skips the running test, with the reason, where PATH has no program of this name. */
void command_needed(const char *name);

/* Writes a program of one's own into a folder: a shell script with this body. Fails the running test where it
 * cannot. */
void script_write(const char *folder, const char *name, const char *body);

/* The program that is tested: $ASSAY_PROGRAM, else build/assay. */
const char *program_path(void);

#endif

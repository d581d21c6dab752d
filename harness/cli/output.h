/* Output: results to stdout, checked; what the terminal can show. */
#ifndef ASSAY_CLI_OUTPUT_H
#define ASSAY_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/cli/command.h"

/* Writes text to stdout and flushes. STATUS_IO if not all of it arrived (a full disk, a closed pipe). */
enum status_code output_text(const struct text *text, struct status *error);

/* As output_text; a reader who has gone away is no fault. For results that are also in a file, and only if SIGPIPE is
 * ignored. */
enum status_code output_offer(const struct text *text, struct status *error);

/* Where long results go piece by piece, before output_text writes the rest: standard output too. */
struct text_drain output_drain(void);

/* The same of lines for people: in a terminal those that are longer than it is wide are folded between words, below the
 * column in which their last part begins, or further left if a word would not fit there. One that is wider than the
 * terminal stays whole. */
enum status_code output_lines(const struct text *text, struct status *error);

/* Writes whole lines to standard error. None of them, and none of output_lines and output_warning, is a command of a
 * runner, whatever names are in it (command_break_append). */
void output_notes(const struct text *notes);

/* Writes a line to standard error and ends it; in a terminal folded as output_lines does. */
void output_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same unfolded. */
void output_whole_line(const char *line);

/* Writes one JSON document and a newline. value may be NULL: memory ran out while it was made. */
enum status_code output_json(const struct json *value, struct status *error);

/* Says on standard error why a command ends with another exit code than 0: "assay: run: exit code 1: FAIL: ...".
 * Nothing for "". reason may be text from outside: what would move the cursor is left out. */
void exit_reason_print(const char *command, enum exit_code exit_code, const char *reason);

/* Columns of the terminal behind stream. If it is no terminal: $COLUMNS, else 100. */
int terminal_width(FILE *stream);

/* Whether stdout is a terminal: somebody looks at it now. */
bool output_is_terminal(void);

/* The columns that a table should keep to: those of the terminal behind stdout, INT_MAX if it is no terminal. */
int table_width(void);

/* Whether colours and moving cursors may be used: a terminal, NO_COLOR not set, TERM not "dumb". */
bool terminal_is_lively(FILE *stream);

/* Columns that UTF-8 text takes, one for each character. */
int text_width(const char *text);

#endif

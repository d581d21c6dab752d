/* Output: results to stdout, checked; what the terminal can show. */
#ifndef ASSAY_CLI_OUTPUT_H
#define ASSAY_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/base/text.h"

/* Writes text to stdout and flushes. STATUS_IO where not all of it arrived (a full disk, a closed pipe). */
enum status_code output_text(const struct text *text, struct status *error);

/* Writes one JSON document and a newline. value may be NULL: memory ran out while it was made. */
enum status_code output_json(const struct json *value, struct status *error);

/* Columns of the terminal that stream is; where it is none: $COLUMNS, else 100. */
int terminal_width(FILE *stream);

/* Whether colours and moving cursors may be used: a terminal, NO_COLOR not set, TERM not "dumb". */
bool terminal_is_lively(FILE *stream);

/* Columns that UTF-8 text takes, one for each character. */
int text_width(const char *text);

#endif

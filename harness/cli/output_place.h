/* Output place: what a command writes must not replace what is dear: what it reads, and what nobody could make anew
 * from it. */
#ifndef ASSAY_CLI_OUTPUT_PLACE_H
#define ASSAY_CLI_OUTPUT_PLACE_H

#include "harness/base/status.h"
#include "harness/cli/command.h"

/* STATUS_INVALID with "OUTPUT: is what is read here; name another file" if output is the file input, or, input being a
 * folder, its records.jsonl: by any name or link. STATUS_OK if output is NULL, not there yet, or another file. */
enum status_code output_place_check(const char *output, const char *input, struct status *error);

/* The files that the options of a command name to be written (--output, --points, --folded, --junit, --summary), before
 * the command does anything. STATUS_INVALID with "--output FILE: cause; name another file" if one of them
 *   - is an operand, or a file that another option names, be it read or written: then also if it is not there yet,
 *   - is there and holds measured records, a database (a history), a suite, a policy, a configuration of a model or
 *     weights, whoever reads them.
 * What is no regular file is no matter: of a pipe nothing is lost. */
enum status_code output_places_check(const struct arguments *arguments, struct status *error);

#endif

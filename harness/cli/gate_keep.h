/* Gate keep: the run of a gate into the history, and the word of a person that it is right. */
#ifndef ASSAY_CLI_GATE_KEEP_H
#define ASSAY_CLI_GATE_KEEP_H

#include "harness/cli/command.h"
#include "harness/report/run_figures.h"

/* The history of --history, else that of `assay history`; borrowed. */
const char *gate_history(const struct arguments *arguments);

/* --import: puts every run of the records into the history, whatever the gate says of it; nothing without the option.
 * Runs that are there already change nothing. */
enum status_code gate_import(const struct arguments *arguments, struct status *error);

/* --accept: imports the records, and notes in the history that the run is right, by whom and why. Prints a line.
 * STATUS_INVALID: the run was cut short, or another option asks for a judgement. */
enum status_code gate_accept(const struct arguments *arguments, const struct run_figures *run, struct status *error);

#endif

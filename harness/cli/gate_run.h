/* Gate run: the run that is judged, read from its records. */
#ifndef ASSAY_CLI_GATE_RUN_H
#define ASSAY_CLI_GATE_RUN_H

#include "harness/cli/command.h"
#include "harness/report/run_figures.h"

/* Reads the run that --run-id and --started-after name, else the last of each suite in the file. *stranger, in the
 * arena of *run: what the records are of if they are of another run, in words; NULL: of this one. STATUS_INVALID: an
 * option says no moment. *run is released by the caller, also after an error. */
enum status_code gate_run_read(const struct arguments *arguments, struct run_figures *run, const char **stranger,
                               struct status *error);

#endif

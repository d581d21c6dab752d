/* Run verbose: what --verbose says of a run, on standard error: what is looked for where, each step of a case with the
 * seconds since its process was started, and every verdict. */
#ifndef ASSAY_CLI_RUN_VERBOSE_H
#define ASSAY_CLI_RUN_VERBOSE_H

#include "harness/run/run.h"

/* The callbacks; they need no context. Plain lines, whatever the terminal can do. */
struct run_progress run_progress_verbose(void);

/* Tells what this run looks for, and where it is or why it is not: models, constants, devices with their libraries and
 * plug-in, gnuplot. Devices are opened for it in processes of their own. */
void run_surroundings_tell(const struct run_options *options);

#endif

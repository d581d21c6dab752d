/* Run progress: a line on standard error for every case that ends, and on a terminal what is running now. */
#ifndef ASSAY_CLI_RUN_PROGRESS_H
#define ASSAY_CLI_RUN_PROGRESS_H

#include "harness/run/run.h"

/* The callbacks; they need no context. Quiet: warnings alone. */
struct run_progress run_progress_terminal(bool is_quiet);

/* Takes away the line that says what is running. */
void run_progress_end(void);

#endif

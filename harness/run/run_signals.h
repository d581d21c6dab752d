/* Run signals: those that end a run, taken as events while it lasts. Internal to harness/run. */
#ifndef ASSAY_RUN_RUN_SIGNALS_H
#define ASSAY_RUN_RUN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "harness/base/status.h"

struct run_signals {
    int file;      /* readable when one has come */
    sigset_t mask; /* of the process before; its children get it back */
};

/* Takes SIGINT, SIGTERM and SIGHUP, each unless the process was started to ignore it (nohup, a job in the background).
 * STATUS_IO. */
enum status_code run_signals_open(struct run_signals *signals, struct status *error);

/* Whether one has come since the last question; waits up to wait_ms for it. */
bool run_signals_came(const struct run_signals *signals, int wait_ms);

/* What comes from now on does what it did before. */
void run_signals_close(struct run_signals *signals);

#endif

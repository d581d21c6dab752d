/* Estimator program: one external program, run for its figures. Internal to harness/run. */
#ifndef ASSAY_RUN_ESTIMATOR_PROGRAM_H
#define ASSAY_RUN_ESTIMATOR_PROGRAM_H

#include <signal.h>
#include <stdbool.h>

#include "harness/base/status.h"
#include "harness/base/text.h"

enum { ESTIMATOR_OUTPUT_BYTES_MAXIMUM = 4 * 1024 * 1024, ESTIMATOR_COMPLAINT_BYTES = 300 };

struct estimator_call {
    const char *const *words; /* ended by NULL; words[0] is looked for on PATH if it has no slash */
    const char *folder;       /* as in struct program_request */
    int timeout_seconds;
    const sigset_t *mask; /* the signal mask it gets; NULL: ours */
    /* Asked again and again while it runs: whether to end it. May be NULL. */
    bool (*is_to_stop)(void *context);
    void *context;
};

/* Runs it in a process group of its own, with nothing on its standard input, and waits. On success output is what it
 * printed; the caller releases it. Whatever happens, its whole group is gone afterwards, also if we are killed.
 * STATUS_UNAVAILABLE: there is no such program. STATUS_IO: it ended otherwise than with 0, printed more than
 * ESTIMATOR_OUTPUT_BYTES_MAXIMUM, did not end in time or was stopped; the text has the end of what it complained of. */
enum status_code estimator_program_run(const struct estimator_call *call, struct text *output, struct status *error);

#endif

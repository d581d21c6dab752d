/* Program: one command line, started, listened to and ended in time. No shell stands between. Internal to
 * harness/run. */
#ifndef ASSAY_RUN_PROGRAM_H
#define ASSAY_RUN_PROGRAM_H

#include <signal.h>
#include <stdbool.h>

#include "harness/base/status.h"
#include "harness/base/text.h"

enum { PROGRAM_OUTPUT_BYTES_MAXIMUM = 4 * 1024 * 1024, PROGRAM_COMPLAINT_BYTES = 300, PROGRAM_WORDS_MAXIMUM = 64 };

struct program_request {
    const char *const
        *words; /* words[0] is looked for on PATH where it has no slash; at most PROGRAM_WORDS_MAXIMUM, ended by NULL */
    int timeout_seconds;
    const sigset_t *mask; /* the signal mask it gets; NULL: ours */
    /* Asked again and again while it runs: whether to end it. May be NULL. */
    bool (*is_to_stop)(void *context);
    void *context;
};

/* Runs it in a process group of its own, with nothing on its standard input, and waits. On success output is what it
 * printed; the caller releases it. Whatever happens, its whole group is gone afterwards, also where we are killed.
 * STATUS_UNAVAILABLE: there is no such program. STATUS_IO: it ended otherwise than with 0, printed more than
 * PROGRAM_OUTPUT_BYTES_MAXIMUM, did not end in time or was stopped; the text has the end of what it complained of. */
enum status_code program_run(const struct program_request *request, struct text *output, struct status *error);

#endif

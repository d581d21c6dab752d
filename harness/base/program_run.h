/* Program run: one command line, started, listened to and ended in time. No shell stands between. How it ended is told
 * as data: what that means, and how it is said, is the caller's. */
#ifndef ASSAY_BASE_PROGRAM_RUN_H
#define ASSAY_BASE_PROGRAM_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/base/text.h"

enum { PROGRAM_COMPLAINT_BYTES = 4096 };

/* All that is left zero is the plain choice, except for timeout_seconds. */
struct program_request {
    const char *const *words;       /* ended by NULL; words[0] is looked for on PATH if it has no slash */
    const char *folder;             /* in which it is started, and a words[0] with a slash looked for; NULL: ours */
    const char *const *environment; /* the whole of it, ended by NULL; NULL: ours */
    const int *kept_files;          /* descriptors that it gets with their numbers, besides 0 to 2 */
    int kept_file_count;
    int timeout_seconds;
    /* The program is in a process group of its own, which is killed whole once the program has ended or is to be, also
     * if we are killed. False: it is in our group, so a signal from the terminal reaches it; if it is to be ended, it
     * is killed alone, and what it has started is left. */
    bool own_group;
    bool errors_joined;     /* what it says on standard error is output, too, in the order in which it is written */
    bool excess_is_dropped; /* output beyond the maximum; false: the program is ended for it */
    size_t output_bytes_maximum;
    const sigset_t *mask;              /* the signal mask that it gets; NULL: ours */
    const sigset_t *usual_handling;    /* signals that we may ignore and it does not; NULL: none */
    bool (*is_to_stop)(void *context); /* asked again and again while it runs: whether to end it. May be NULL */
    void *context;
};

enum program_end {
    PROGRAM_EXITED,     /* number: its exit code */
    PROGRAM_SIGNALLED,  /* number: the signal that ended it, not one of ours */
    PROGRAM_LATE,       /* it was killed after timeout_seconds */
    PROGRAM_TOO_LONG,   /* it was killed for output beyond the maximum */
    PROGRAM_STOPPED,    /* it was killed because is_to_stop said so */
    PROGRAM_NO_PIPE,    /* number: errno */
    PROGRAM_NOT_STARTED /* number: errno, ENOENT if there is no such program */
};

struct program_outcome {
    enum program_end end;
    int number;
    struct text output; /* at most output_bytes_maximum; failed: there was no memory for all of it. The caller's */
    char complaint[PROGRAM_COMPLAINT_BYTES]; /* the end of what it said on standard error; no zero byte ends it */
    size_t complaint_length;
};

/* Runs the program with nothing on its standard input and waits for its own end: what it has started and what holds its
 * output open is not waited for. *outcome is written whatever happens; the caller releases its output. */
void program_run(const struct program_request *request, struct program_outcome *outcome);

#endif

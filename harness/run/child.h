/* Child: one process for one case, its pipe and its end. Internal to harness/run. */
#ifndef ASSAY_RUN_CHILD_H
#define ASSAY_RUN_CHILD_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/base/text.h"
#include "harness/run/run.h"

enum { CHILD_OUTPUT_BYTES_MAXIMUM = 4 * 1024 * 1024 };

struct child {
    pid_t pid;
    int pipe;           /* what the child sends; -1 once it is closed */
    struct text output; /* what it has sent */
    size_t told_bytes;  /* of that, what child_tell has told of */
    bool too_long;      /* it has sent more than CHILD_OUTPUT_BYTES_MAXIMUM, and was ended for it */
    bool timed_out;     /* it was ended because its time was over */
    bool ended;
    bool left;       /* ended for us alone: killed, and still there after grace_ns, as in a driver that hangs */
    int wait_status; /* valid once ended, and not left */
    int64_t started_ns, deadline_ns;
    int64_t grace_ns;  /* from killed_ns on */
    int64_t killed_ns; /* 0: it was not killed by us */
    /* How many processes the kernel had killed for want of memory when it started and when it ended; -1: unknown. */
    int64_t oom_kills_before, oom_kills_after;
};

/* What a child with hundreds of GiB mapped may need to go. */
enum { CHILD_GRACE_SECONDS = 60 };

/* What a run and its children have open at once: pipes, files of the kernel, libraries and drivers. */
enum { CHILD_FILES_OF_A_RUN = 64, CHILD_FILES_EACH = 2 };

/* Whether the process may open what so many children at a time need; raises its own limit if it can. STATUS_IO names
 * both numbers: what happens without is told of other things, and late. */
enum status_code children_afford(int count, struct status *error);

/* Forks. In the child: a process group of its own, the signal mask given, no core files, first in line for the kernel's
 * out-of-memory killer, standard output into standard error, death with the parent; then what the runner has for the
 * step of the job, then _exit. STATUS_IO if there is no process or pipe to be had. */
enum status_code child_start(const struct case_runner *runner, const struct case_job *job, const sigset_t *mask,
                             struct child *child, struct status *error);

/* Reads what is there without waiting, and kills the child if its deadline has passed; notices its end. */
void child_tend(struct child *child);

/* Kills it and its group, without waiting: child_tend notices. Nothing if it has ended. */
void child_kill(struct child *child);

/* After its end: releases what it holds. */
void child_release(struct child *child);

#endif

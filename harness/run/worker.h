/* Worker: one attempt at a case, which is one child, or several one after the other: those of a search for its batch
 * (search.h) and of a proof (proof.h). Internal to harness/run. */
#ifndef ASSAY_RUN_WORKER_H
#define ASSAY_RUN_WORKER_H

#include <limits.h>

#include "harness/run/proof.h"
#include "harness/run/search.h"

/* Stays where it is. */
struct worker {
    bool busy;             /* a child is under way */
    char folder[PATH_MAX]; /* of its files; "": it has none */
    struct child child;
    struct case_job job; /* its */
    struct search search;
    struct proof proof;    /* of the attempt that has been measured */
    struct case_job first; /* of the attempt, as it is begun again */
    struct json *retried;  /* how the children ended that others were started for; NULL: none did */
};

/* What the children are made with. */
struct worker_means {
    const struct case_runner *runner;
    const sigset_t *mask; /* signals of the children */
};

/* Starts the first child of an attempt. STATUS_IO, STATUS_OUT_OF_MEMORY. */
enum status_code worker_start(struct worker *worker, const struct case_job *job, const struct worker_means *means,
                              struct status *error);

/* The child has ended: the next one is started, or the attempt is over, and *line its case line, which the caller
 * releases; NULL: it goes on. STATUS_IO, STATUS_OUT_OF_MEMORY. */
enum status_code worker_go_on(struct worker *worker, const struct worker_means *means, struct json **line,
                              enum case_status *status, struct status *error);

/* Whether an attempt that ended so may be made again: its child crashed, was late or could not measure. What ran out of
 * memory, failed or was skipped would do so again. */
bool worker_may_retry(enum case_status status);
int worker_retry_count(const struct worker *worker);

/* To the line of an attempt that is not begun again. STATUS_OUT_OF_MEMORY. */
enum status_code worker_retries_tell(struct worker *worker, struct json *line, enum case_status status,
                                     struct status *error);

/* In place of an attempt that has ended with this line, which it takes over, begins it again. The line that it comes to
 * has in "retried" what became of those before. STATUS_IO, STATUS_OUT_OF_MEMORY. */
enum status_code worker_retry(struct worker *worker, const struct worker_means *means, struct json *line,
                              struct status *error);

/* The batch that is tried; 0: none is looked for, or no try is under way. */
int64_t worker_batch(const struct worker *worker);

/* Its child has ended, or is left. All zero is accepted. */
void worker_release(struct worker *worker);

#endif

/* Proof: is an estimate safe? A case that was measured is run again with exactly the bytes that it was predicted with,
 * and it must run; with one granule less, if that was predicted to fail, it must fail. Internal to harness/run; the
 * parent's side.
 *
 * One proof belongs to one attempt: a child that plans (case_prove.h), then a child for each number of bytes. Two
 * figures that are the same number of granules are one try, and so are all that are not less than what the case
 * reserves without a refusal. What comes of it is the member "proof" of the case line (docs/FORMAT.md). */
#ifndef ASSAY_RUN_PROOF_H
#define ASSAY_RUN_PROOF_H

#include "harness/run/child.h"

struct proof {
    struct json *line;     /* as it was measured; NULL: no proof is under way */
    struct json *document; /* "proof" of it; NULL: not planned yet */
    size_t at;             /* the limit that is tried, with one granule less if is_less */
    bool is_less;
    int64_t started_ns;
};

/* Takes over line, that of a case whose status is ok or fail. */
void proof_begin(struct proof *proof, struct json *line);

/* The same of a case that no proof is made of: nothing is to be done next, and why is its note. STATUS_OUT_OF_MEMORY,
 * and the line is the caller's still. */
enum status_code proof_leave(struct proof *proof, struct json *line, const char *why, struct status *error);

/* What is to be done next, as a job; false: nothing is. The job is otherwise left as it is. */
bool proof_next(struct proof *proof, struct case_job *job);

/* The child of that job has ended. Whatever it sent, the proof stays one that a record may have.
 * STATUS_OUT_OF_MEMORY. */
enum status_code proof_take(struct proof *proof, const struct case_job *job, const struct child *child,
                            struct status *error);

/* After the last one: the line with the proof in it, and its status and reason if the proof failed. The caller
 * releases *line. STATUS_OUT_OF_MEMORY. */
enum status_code proof_end(struct proof *proof, struct json **line, enum case_status *status, struct status *error);

void proof_release(struct proof *proof); /* all zero is accepted */

#endif

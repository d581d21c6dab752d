/* Resumed selection: which cases the last run of a folder chose, and which part of several it was, for who goes on with
 * it without saying so again. What it has done is resumption.h's matter. */
#ifndef ASSAY_RUN_RESUMED_SELECTION_H
#define ASSAY_RUN_RESUMED_SELECTION_H

#include <stdbool.h>

#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/run/case_choice.h"
#include "harness/run/shard_plan.h"

struct resumed_selection {
    bool is_there;              /* the folder has a run; else all of this is zero */
    bool is_finished;           /* it came to its end, and nobody interrupted it */
    bool is_listed;             /* its `selected` lines were all written, and the suite has their cases */
    struct text started, words; /* "2026-11-20T02:00:00Z"; what left cases out, "": nothing did */
    int *attempts;              /* by case of the suite, if is_listed */
    int shard, shard_count;     /* 0: it was no part */
    char plan_hash[SHARD_HASH_BYTES];
};

/* Reads the folder's records. A folder without, or with the beginning of a first line alone, has none. Errors of a
 * record_stream, STATUS_OUT_OF_MEMORY. The caller releases *selection. */
enum status_code resumed_selection_read(const char *folder, const struct suite *suite,
                                        struct resumed_selection *selection, struct status *error);

/* The choice of that run, which must be listed; of a part of several the choice before it was divided, out of the
 * folder's plan.json. STATUS_IO, STATUS_INVALID: there is none, or it is of another run. The caller releases
 * *choice. */
enum status_code resumed_selection_choice(const struct resumed_selection *selection, const char *folder,
                                          const struct suite *suite, struct case_choice *choice, struct status *error);

void resumed_selection_release(struct resumed_selection *selection); /* all zero is accepted */

#endif

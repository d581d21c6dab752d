/* Shard merge: the results of the shards of one plan as one folder of records, case for case those of one machine.
 *
 * The case lines are copied as they stand, byte for byte, in the order of the suite. Nothing is averaged and nothing
 * judged anew: a case that two runs have is refused, or the later one is taken. What no shard has is named in the
 * selected lines of the merged run, so that every report of it says which cases are missing. */
#ifndef ASSAY_RUN_SHARD_MERGE_H
#define ASSAY_RUN_SHARD_MERGE_H

#include <stdbool.h>

#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/record/outcome.h"

/* One run of those that are merged. */
struct shard_merge_run {
    const char *path; /* of its records */
    int shard, shard_count;
    const char *run_id, *started;
    const char *finished; /* NULL: it has no end line */
    const char *host;     /* NULL: not recorded */
    int taken_count;      /* results that are taken of it */
};

struct shard_merge_options {
    /* Folders of a run, or folders of such folders, which are then taken in the order of their names. */
    const char *const *paths;
    int path_count;
    const char *folder;  /* where the merged records.jsonl goes; made if it is missing, its parents are not */
    bool prefers_latest; /* of several results of a case the one of the run that began last */
    bool allows_mixed;   /* devices, drivers, libraries and versions of assay may differ */
    bool allows_nights;  /* runs may be of several nights */
    void (*told)(void *context, const struct shard_merge_run *run); /* of each run, before anything is written; NULL */
    void *context;
};

enum { SHARD_TIME_BYTES = 32 };

struct shard_merge_result {
    enum run_outcome outcome;
    struct text reason; /* why it is not RUN_PASS; the caller releases it */
    int shard_count, run_count;
    int case_count;    /* attempts that the plan has */
    int missing_count; /* of these, in no shard */
    /* When the runs of which results are taken began, of the first and of the last, with the shards, and when the last
     * of them is known to have ended ("": it has no end). */
    char first_started[SHARD_TIME_BYTES], last_started[SHARD_TIME_BYTES], last_finished[SHARD_TIME_BYTES];
    int first_shard, last_shard;
    char plan_hash[17];
};

/* Records are read in blocks: memory grows with the number of cases (about 200 bytes each), not with their lines.
 *
 * STATUS_INVALID, and nothing is written: a folder has no results of `assay run --shard`, or of another plan; no
 * plan.json; a case that stands there twice, or in the wrong shard; devices that differ; runs of several nights; folder
 * has records that are no merge of this plan. STATUS_IO: something cannot be read or written; what was in folder is
 * then as it was. */
enum status_code shard_merge(const struct shard_merge_options *options, struct shard_merge_result *result,
                             struct status *error);

#endif

/* Slurm scripts: an array job that measures the shards of a suite, and the job that merges them. Text alone: nothing is
 * submitted, and no Slurm is asked. People may read, change and submit them by hand. */
#ifndef ASSAY_RUN_SLURM_SCRIPT_H
#define ASSAY_RUN_SLURM_SCRIPT_H

#include "harness/base/status.h"
#include "harness/base/text.h"

/* All borrowed. Words come from a user, and stand in the scripts so that they mean themselves. */
struct slurm_job {
    const char *name;             /* of the suite */
    const char *program;          /* assay, with its whole path */
    const char *suite;            /* as the run is to be told of it */
    const char *folder;           /* of results; shards go to FOLDER/shards/I */
    const char *working_folder;   /* which both are seen from, with its whole path */
    const char *night;            /* of all its shards, whenever a task of it is started; NULL: that of the array */
    const char *const *run_words; /* further options of the run */
    int run_word_count;
    int shard_count;
    int gpus_per_task;               /* 0: none are asked for */
    int max_running;                 /* tasks at a time; 0: as many as there is room for */
    const char *partition, *account; /* of both jobs; NULL: Slurm's choice */
    const char *time;                /* limit of each shard, as sbatch takes it; NULL: the partition's */
    const char *const *sbatch_words; /* of the array: "constraint=h100" for --constraint=h100 */
    int sbatch_word_count;
};

/* Appends a script. STATUS_INVALID: a word has a control character, or one for sbatch a quote or a backslash, which
 * Slurm reads in its own way. */
enum status_code slurm_array_script(const struct slurm_job *job, struct text *script, struct status *error);
enum status_code slurm_merge_script(const struct slurm_job *job, struct text *script, struct status *error);

#endif

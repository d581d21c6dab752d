/* Run choice: which cases `assay run` takes: by --filter, --not, --repeat, --shard and --last-failed, and with --resume
 * what the run that goes on took. docs/FORMAT.md has the table of all of them. */
#ifndef ASSAY_CLI_RUN_CHOICE_H
#define ASSAY_CLI_RUN_CHOICE_H

#include "harness/cli/command.h"
#include "harness/run/case_choice.h"
#include "harness/run/run.h"
#include "harness/run/shard_plan.h"

/* arguments: those of the command run; run->suite and, with --resume or --last-failed, run->folder are set. Sets
 * run->choice (which borrows choice, and may be empty: nothing failed), run->shards (which borrows shards) and
 * run->shard; run->resume becomes false if another run is to begin, which run->progress.warned is told. STATUS_INVALID
 * of options that contradict each other or the folder. The caller releases *choice and *shards. */
enum status_code run_choice_make(const struct arguments *arguments, struct run_options *run, struct case_choice *choice,
                                 struct shard_plan *shards, struct status *error);

#endif

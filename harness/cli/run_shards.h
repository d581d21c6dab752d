/* Run shards: how `assay run` would divide its cases, without a run. For who starts such runs elsewhere. */
#ifndef ASSAY_CLI_RUN_SHARDS_H
#define ASSAY_CLI_RUN_SHARDS_H

#include "harness/cli/command.h"
#include "harness/run/shard_plan.h"

/* arguments: those of the command run, with --shard. Errors are those that the run would have before it touches a
 * device; nothing is written. The caller releases *shards. */
enum status_code run_shards_plan(const struct arguments *arguments, struct shard_plan *shards, struct status *error);

#endif

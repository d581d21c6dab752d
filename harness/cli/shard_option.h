/* Shard option: which of several machines this one is, by a word or by the variables of what started it. Variables are
 * looked at only where the word is "auto": one that happens to be set must not leave cases out. */
#ifndef ASSAY_CLI_SHARD_OPTION_H
#define ASSAY_CLI_SHARD_OPTION_H

#include "harness/base/arena.h"
#include "harness/cli/command.h"
#include "harness/run/case_choice.h"
#include "harness/run/run.h"
#include "harness/run/shard_plan.h"

#define SHARD_OPTION_ROW                                                                                               \
    {                                                                                                                  \
        "shard", OPTION_VALUE, "I/N", "only part I of N, 1/N to N/N; auto: as Slurm, GitLab or Kubernetes says"        \
    }

#define NIGHT_OPTION_ROW                                                                                               \
    {                                                                                                                  \
        "night", OPTION_VALUE, "NAME", "with --shard: what all shards of one night are called; merge takes no others"  \
    }

/* count 0: it was not asked for. */
struct shard_wish {
    int index; /* from 1 */
    int count;
};

/* The value of --shard. STATUS_INVALID: it is neither "I/N" nor "auto", or the variables do not say it. */
enum status_code shard_option_read(const struct arguments *arguments, struct shard_wish *wish, struct status *error);

/* The name that all shards of one night have: --night, or "slurm-4711" of the variables of what started this one;
 * NULL: neither says it. Lives as long as arena. STATUS_INVALID: it is empty or too long, or there is no --shard. */
enum status_code night_option_read(const struct arguments *arguments, struct arena *arena, const char **night,
                                   struct status *error);

/* Divides what choice has taken, and leaves in it the cases of one shard. Nothing if none is wished for. device and
 * options are as in struct shard_question. The caller releases *plan. */
enum status_code shard_take(const struct shard_wish *wish, const struct shard_question *question,
                            struct case_choice *choice, struct shard_plan *plan, struct status *error);

/* What the parts of a run must have in common, for its plan: "device=auto jobs=1 ...". constants: as they were asked
 * for, or NULL. The caller releases the text. */
struct text shard_options_text(const struct run_options *run, const char *constants);

#endif

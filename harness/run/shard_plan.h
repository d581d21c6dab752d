/* Shard plan: which machine takes which cases of a suite, the same for all of them, and under one hash.
 *
 * Every machine makes the plan by itself, of the suite, the choice of cases, the options of the run and the number of
 * shards; the hash covers all of these and the parts themselves. Equal hashes mean that together the shards are the run
 * of one machine: a model file, a suite or a program that differs somewhere shows. The plan stands as plan.json beside
 * the records of each shard, so that whoever merges them can name what is missing (docs/FORMAT.md). */
#ifndef ASSAY_RUN_SHARD_PLAN_H
#define ASSAY_RUN_SHARD_PLAN_H

#include "harness/base/arena.h"
#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/suite/suite.h"

#define SHARD_PLAN_FILE "plan.json"

enum { SHARD_HASH_BYTES = 17 };

struct shard_case {
    const char *id;
    int attempts;    /* >= 1 */
    int shard;       /* from 1 */
    int64_t cost_ms; /* of all attempts, predicted */
};

struct shard_plan {
    struct arena arena; /* owns the texts and arrays */
    int shard_count;
    const char *suite;      /* its name */
    const char *suite_hash; /* of its ids, as in records */
    const char *settings;   /* its settings_hash */
    const char *options;    /* of the run: "device=auto jobs=1 ..." */
    const char *choice;     /* what left cases out before they were divided: "*b1"; "": nothing */
    struct shard_case *cases;
    int case_count;              /* in the order of the suite */
    int64_t *loads_ms;           /* [shard_count]: predicted, of one shard */
    char hash[SHARD_HASH_BYTES]; /* of all that stands above, but for what was predicted */
};

/* What decides a plan. All borrowed. */
struct shard_question {
    const struct suite *suite;
    const int *attempts;       /* by case of the suite; 0: it is not taken */
    const char *device;        /* that was asked for, over the suite's; NULL: the suite's, else auto */
    const char *options;       /* as in struct shard_plan */
    const char *choice;        /* likewise */
    const char *catalogue_dir; /* for models */
    int shard_count;           /* 1 to SHARDS_MAXIMUM */
};

/* Touches no device; about a millisecond a case, on all processors. A case that cannot be predicted costs what a
 * process does. STATUS_INVALID: more shards than cases; STATUS_OUT_OF_MEMORY. The caller releases *plan. */
enum status_code shard_plan_make(const struct shard_question *question, struct shard_plan *plan, struct status *error);

/* NULL if memory ran out. */
struct json *shard_plan_json(const struct shard_plan *plan);

/* Writes folder/plan.json. One that is there must have this hash: STATUS_INVALID if it is another plan's, or damaged;
 * STATUS_IO. */
enum status_code shard_plan_keep(const struct shard_plan *plan, const char *folder, struct status *error);

/* STATUS_IO; STATUS_INVALID with the path and the cause if it is no plan, or its hash is not that of its content. */
enum status_code shard_plan_read(const char *path, struct shard_plan *plan, struct status *error);

/* The hash of a plan whose other members are there: FNV-1a in hexadecimal. */
void shard_plan_hash(const struct shard_plan *plan, char hash[SHARD_HASH_BYTES]);

void shard_plan_release(struct shard_plan *plan); /* all zero is accepted */

#endif

/* Merge parts: what the files of the merge share. Internal to harness/run/shard_merge*.c. */
#ifndef ASSAY_RUN_SHARD_MERGE_PARTS_H
#define ASSAY_RUN_SHARD_MERGE_PARTS_H

#include "harness/base/json.h"
#include "harness/base/name_table.h"
#include "harness/record/record.h"
#include "harness/run/run.h"
#include "harness/run/shard_merge.h"
#include "harness/run/shard_plan.h"

struct merge_source {
    const char *path; /* of its records.jsonl */
    const char *folder;
};

struct merge_run {
    int source;
    int shard; /* from 1 */
    struct json *line;
    const char *run_id, *started;
    const char *finished; /* NULL: it has no end line */
    bool interrupted;
    struct json *resumptions; /* array of {"number", "started", "host"}: where it went on */
};

struct merge_entry {
    int case_; /* of the plan */
    int attempt;
    int run;
    enum case_status status;
    enum standing standing;
    bool is_retried;
    struct record_place place;
};

struct merge {
    const struct shard_merge_options *options;
    struct shard_plan plan;
    struct name_table ids; /* numbers are those of the plan's cases */
    struct arena arena;
    struct merge_source *sources;
    size_t source_count, source_room;
    struct merge_run *runs;
    size_t run_count, run_room;
    struct merge_entry *entries; /* sorted by case, attempt and age once all are read; then one for each */
    size_t entry_count, entry_room;
    bool has_replaced;      /* a case had two results, of which the later one stays */
    const char *earlier_id; /* run_id of the merge that is completed, because all its runs are here; NULL: none is */
};

enum status_code merge_no_memory(struct status *error);

/* The folders with records that the paths stand for. */
enum status_code merge_sources_find(struct merge *merge, struct status *error);

/* Whether a run was made on what the runs before it were made on. */
enum status_code merge_environment_check(const struct merge *merge, const struct merge_run *run, struct status *error);

/* Whether all runs of which something is taken are of one night; once entries are one for each. STATUS_INVALID names
 * two that are not, with their dates. */
enum status_code merge_night_check(const struct merge *merge, struct status *error);

/* When these runs began and ended. Nothing of a merge that took no result. */
enum status_code merge_dates_tell(const struct merge *merge, struct shard_merge_result *result, struct status *error);

/* line: the run line of an earlier merge of this plan, in whose place this one goes. STATUS_OUT_OF_MEMORY. */
enum status_code merge_earlier_take(struct merge *merge, const struct json *line, struct status *error);

/* Once all runs are read, and what was there before is known. */
void merge_run_id(const struct merge *merge, char run_id[RUN_ID_BYTES]);

/* The run line of the whole; NULL if memory ran out. */
struct json *merge_run_line(const struct merge *merge);

/* Writes records.jsonl, and settles what it comes to. */
enum status_code merge_write(struct merge *merge, struct shard_merge_result *result, struct status *error);

#endif

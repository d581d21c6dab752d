/* Merge night: whether the shards of a merge were measured together. A workspace that stays, or an artifact of
 * yesterday, has shards of the same plan, and nothing else tells them apart. If all runs
 * have a name of their night (--night, or the job that started them all), the names decide; otherwise times do. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/run/shard_merge_parts.h"

/* From the last end of what began before to the next beginning: shards wait for each other's machines, and a night for
 * the next one longer than this. */
enum { GAP_SECONDS_MAXIMUM = 6 * 3600 };

static const char *night_of(const struct merge_run *run)
{
    return json_string_or(json_get(json_get(run->line, "shard"), "night"), NULL);
}

/* Until when it is known to have run: to its end, or to where it went on last. */
static bool end_read(const struct merge_run *run, int64_t *seconds)
{
    const size_t count = json_count(run->resumptions);
    const char *last = count > 0
                           ? json_string_or(json_get(json_at(run->resumptions, count - 1), "started"), run->started)
                           : run->started;
    return record_time_read(run->finished != NULL ? run->finished : last, seconds);
}

static int run_order(const void *left, const void *right)
{
    const struct merge_run *a = *(const struct merge_run *const *)left, *b = *(const struct merge_run *const *)right;
    const int order = strcmp(a->started, b->started);
    return order != 0 ? order : strcmp(a->run_id, b->run_id);
}

static enum status_code names_refuse(const struct merge_run *run, const struct merge_run *other, struct status *error)
{
    return status_set(error, STATUS_INVALID,
                      "shard %d is of night '%.100s', of %s, and shard %d of '%.100s', of %s; merge the shards of one "
                      "night, or write --allow-nights",
                      other->shard, night_of(other), other->started, run->shard, night_of(run), run->started);
}

static enum status_code gap_refuse(const struct merge_run *before, const struct merge_run *run, int64_t gap_seconds,
                                   struct status *error)
{
    return status_set(error, STATUS_INVALID,
                      "shard %d began at %s, %" PRId64
                      " h after the shards before it had ended (shard %d: %s), which is "
                      "another night; merge the shards of one night, or write --allow-nights",
                      run->shard, run->started, gap_seconds / 3600, before->shard,
                      before->finished != NULL ? before->finished : before->started);
}

/* Each begins while those before it run, or soon after. Nobody can say of which night a run without a readable time
 * is. */
static enum status_code times_check(const struct merge_run *const *runs, size_t count, struct status *error)
{
    int64_t latest = 0, begun = 0, ended = 0;
    const struct merge_run *before = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!record_time_read(runs[i]->started, &begun) || !end_read(runs[i], &ended)) {
            return status_set(error, STATUS_INVALID,
                              "shard %d began at '%.40s', which is no time, so that nobody can say of which night it "
                              "is; write --allow-nights",
                              runs[i]->shard, runs[i]->started);
        }
        if (before != NULL && begun - latest > GAP_SECONDS_MAXIMUM) {
            return gap_refuse(before, runs[i], begun - latest, error);
        }
        before = before == NULL || ended > latest ? runs[i] : before;
        latest = i == 0 || ended > latest ? ended : latest;
    }
    return STATUS_OK;
}

/* The runs of which results are taken, sorted by when they began. A run whose results were replaced may be of any
 * night. */
static const struct merge_run **runs_taken(const struct merge *merge, size_t *count)
{
    const struct merge_run **runs = calloc(merge->run_count + 1, sizeof *runs);
    bool *is_taken = calloc(merge->run_count + 1, sizeof *is_taken);
    *count = 0;
    for (size_t i = 0; is_taken != NULL && i < merge->entry_count; i++) {
        is_taken[merge->entries[i].run] = true;
    }
    for (size_t i = 0; runs != NULL && is_taken != NULL && i < merge->run_count; i++) {
        if (is_taken[i]) {
            runs[(*count)++] = &merge->runs[i];
        }
    }
    if (runs != NULL) {
        qsort(runs, *count, sizeof *runs, run_order);
    }
    free(is_taken);
    return runs;
}

enum status_code merge_night_check(const struct merge *merge, struct status *error)
{
    size_t count = 0;
    bool is_named = true;
    const struct merge_run *named = NULL, **runs = runs_taken(merge, &count);
    enum status_code code = runs != NULL ? STATUS_OK : merge_no_memory(error);
    for (size_t i = 0; i < count && code == STATUS_OK; i++) {
        const char *night = night_of(runs[i]);
        is_named = is_named && night != NULL;
        if (night != NULL && named != NULL && strcmp(night_of(named), night) != 0) {
            code = names_refuse(runs[i], named, error);
        }
        named = night != NULL ? runs[i] : named;
    }
    if (code == STATUS_OK && !is_named) {
        code = times_check(runs, count, error);
    }
    free(runs);
    return code;
}

enum status_code merge_dates_tell(const struct merge *merge, struct shard_merge_result *result, struct status *error)
{
    size_t count = 0;
    const struct merge_run **runs = runs_taken(merge, &count);
    const char *finished = "";
    for (size_t i = 0; i < count; i++) {
        const bool ends = finished != NULL && runs[i]->finished != NULL;
        finished = !ends ? NULL : strcmp(runs[i]->finished, finished) > 0 ? runs[i]->finished : finished;
    }
    if (count > 0) {
        snprintf(result->first_started, SHARD_TIME_BYTES, "%s", runs[0]->started);
        snprintf(result->last_started, SHARD_TIME_BYTES, "%s", runs[count - 1]->started);
        snprintf(result->last_finished, SHARD_TIME_BYTES, "%s", finished != NULL ? finished : "");
        result->first_shard = runs[0]->shard;
        result->last_shard = runs[count - 1]->shard;
    }
    const bool made = runs != NULL;
    free(runs);
    return made ? STATUS_OK : merge_no_memory(error);
}

/* Merge identity: the run_id of a merged run, which is what a history knows it by. What is merged now and completed
 * later is one night, and has one id: that of the merge that it replaces, or else one that is made of the plan and of
 * the run that began first. Where a result was replaced by a later one, it is another result of the night, and has an
 * id of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/hash.h"
#include "harness/run/shard_merge_parts.h"

static bool run_is_here(const struct merge *merge, const char *run_id)
{
    for (size_t i = 0; i < merge->run_count; i++) {
        if (strcmp(merge->runs[i].run_id, run_id) == 0) {
            return true;
        }
    }
    return false;
}

enum status_code merge_earlier_take(struct merge *merge, const struct json *line, struct status *error)
{
    const struct json *runs = json_get(json_get(line, "merged"), "runs");
    const char *run_id = json_string_or(json_get(line, "run_id"), "");
    bool is_completed = json_count(runs) > 0 && run_id[0] != '\0';
    for (size_t i = 0; i < json_count(runs) && is_completed; i++) {
        is_completed = run_is_here(merge, json_string_or(json_get(json_at(runs, i), "run_id"), ""));
    }
    merge->earlier_id = is_completed ? arena_copy(&merge->arena, run_id) : NULL;
    return is_completed && merge->earlier_id == NULL ? merge_no_memory(error) : STATUS_OK;
}

/* By when they began; of the same second by their ids. */
static const struct merge_run *run_first(const struct merge *merge)
{
    const struct merge_run *first = &merge->runs[0];
    for (size_t i = 1; i < merge->run_count; i++) {
        const struct merge_run *run = &merge->runs[i];
        int order = strcmp(run->started, first->started);
        order = order != 0 ? order : strcmp(run->run_id, first->run_id);
        first = order < 0 ? run : first;
    }
    return first;
}

/* In whatever order the folders are named. */
static uint64_t runs_hash(const struct merge *merge, const char *seed)
{
    uint64_t sum = hash_text(HASH_START, seed);
    for (size_t i = 0; i < merge->run_count; i++) {
        sum += hash_text(hash_text(HASH_START, seed), merge->runs[i].run_id);
    }
    return sum;
}

void merge_run_id(const struct merge *merge, char run_id[RUN_ID_BYTES])
{
    uint64_t high = hash_text(hash_text(HASH_START, "merged"), merge->plan.hash);
    uint64_t low = hash_text(hash_text(HASH_START, merge->plan.hash), run_first(merge)->run_id);
    if (merge->has_replaced) {
        high = runs_hash(merge, "merged");
        low = runs_hash(merge, "replaced");
    }
    snprintf(run_id, RUN_ID_BYTES, "%016llx%016llx", (unsigned long long)high, (unsigned long long)low);
    if (merge->earlier_id != NULL && !merge->has_replaced) {
        snprintf(run_id, RUN_ID_BYTES, "%s", merge->earlier_id);
    }
}

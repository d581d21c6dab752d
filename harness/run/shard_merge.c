/* Shard merge: reading and checking. What is written, and what it comes to, is shard_merge_write.c's. */
#include "harness/run/shard_merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/array.h"
#include "harness/run/shard_merge_parts.h"

/* ---- the plan ---- */

/* The first that is there; that all runs are of it is checked run by run. */
static enum status_code plan_find(struct merge *merge, struct status *error)
{
    for (size_t i = 0; i < merge->source_count; i++) {
        struct text path = {0};
        text_format(&path, "%s/" SHARD_PLAN_FILE, merge->sources[i].folder);
        enum status_code code = path.failed ? merge_no_memory(error) : STATUS_OK;
        bool is_there = code == STATUS_OK && access(text_string(&path), F_OK) == 0;
        if (is_there) {
            code = shard_plan_read(text_string(&path), &merge->plan, error);
        }
        text_release(&path);
        if (is_there || code != STATUS_OK) {
            return code;
        }
    }
    return status_set(error, STATUS_INVALID,
                      "%s: no " SHARD_PLAN_FILE " is beside its records or any other; merge takes the folders that "
                      "assay run --shard wrote, whole",
                      merge->sources[0].folder);
}

static enum status_code ids_number(struct merge *merge, struct status *error)
{
    for (int i = 0; i < merge->plan.case_count; i++) {
        if (name_table_add(&merge->ids, &merge->arena, merge->plan.cases[i].id) != i) {
            return merge_no_memory(error);
        }
    }
    return STATUS_OK;
}

/* ---- runs ---- */

static enum status_code shard_check(const struct merge *merge, const struct merge_run *run, struct status *error)
{
    const char *path = merge->sources[run->source].path;
    const struct json *shard = json_get(run->line, "shard");
    const char *hash = json_string_or(json_get(shard, "plan_hash"), "");
    int64_t count = json_integer_or(json_get(shard, "count"), 0);
    if (json_kind(shard) != JSON_KIND_OBJECT) {
        return status_set_at(error, STATUS_INVALID, (struct file_place){.path = path},
                             "its run of %s is no shard; merge takes what assay run --shard wrote", run->started);
    }
    if (strcmp(hash, merge->plan.hash) != 0) {
        return status_set_at(error, STATUS_INVALID, (struct file_place){.path = path},
                             "its run of %s is of plan %s, in %" PRId64 " shards, and others are of plan %s, in %d: "
                             "the suite, the cases, the options or a model differ; merge shards of one plan",
                             run->started, hash, count, merge->plan.hash, merge->plan.shard_count);
    }
    if (run->shard < 1 || run->shard > merge->plan.shard_count || count != merge->plan.shard_count) {
        return status_set_at(error, STATUS_INVALID, (struct file_place){.path = path},
                             "its run of %s is shard %d of %" PRId64 ", and the plan has %d", run->started, run->shard,
                             count, merge->plan.shard_count);
    }
    return STATUS_OK;
}

/* *is_copy: a run of this id was read before. */
static enum status_code run_add(struct merge *merge, int source, const struct json *line, bool *is_copy,
                                struct status *error)
{
    struct merge_run *runs = array_extend(merge->runs, merge->run_count, &merge->run_room, sizeof *runs);
    if (runs == NULL) {
        return merge_no_memory(error);
    }
    merge->runs = runs;
    struct merge_run *run = &runs[merge->run_count];
    int64_t shard = json_integer_or(json_get(json_get(line, "shard"), "index"), 0);
    *run = (struct merge_run){.source = source,
                              .shard = shard > 0 && shard <= merge->plan.shard_count ? (int)shard : 0,
                              .line = json_copy_new(line),
                              .resumptions = json_array_new()};
    if (run->line == NULL || run->resumptions == NULL) {
        json_release(run->line);
        json_release(run->resumptions);
        return merge_no_memory(error);
    }
    run->run_id = json_string_or(json_get(run->line, "run_id"), "");
    run->started = json_string_or(json_get(run->line, "started"), "");
    enum status_code code = shard_check(merge, run, error);
    *is_copy = false;
    for (size_t i = 0; i < merge->run_count; i++) {
        *is_copy = *is_copy || strcmp(runs[i].run_id, run->run_id) == 0;
    }
    if (code == STATUS_OK && !*is_copy && !merge->options->allows_mixed) {
        code = merge_environment_check(merge, run, error);
    }
    if (code != STATUS_OK || *is_copy) {
        json_release(run->line);
        json_release(run->resumptions);
    } else {
        merge->run_count++;
    }
    return code;
}

/* It was interrupted, and goes on. */
static enum status_code resumption_add(struct merge *merge, const struct json *line, struct status *error)
{
    struct merge_run *run = &merge->runs[merge->run_count - 1];
    const struct json *host = json_get(json_get(line, "host"), "name"), *number = json_get(line, "resumption");
    struct json *value = json_object_new();
    bool made = json_set(value, "number", number != NULL ? json_copy_new(number) : json_null_new()) &&
                json_set(value, "started", json_string_new(json_string_or(json_get(line, "started"), ""))) &&
                json_set(value, "host", host != NULL ? json_copy_new(host) : json_null_new());
    run->finished = NULL;
    return json_append(run->resumptions, json_made(value, made)) ? STATUS_OK : merge_no_memory(error);
}

static enum status_code end_add(struct merge *merge, const struct json *line, struct status *error)
{
    struct merge_run *run = &merge->runs[merge->run_count - 1];
    run->finished = arena_copy(&merge->arena, json_string_or(json_get(line, "finished"), ""));
    run->interrupted = json_boolean_or(json_get(line, "interrupted"), false);
    return run->finished != NULL ? STATUS_OK : merge_no_memory(error);
}

/* ---- cases ---- */

static enum status_code case_add(struct merge *merge, const struct record_line *line, struct status *error)
{
    int run_index = (int)merge->run_count - 1;
    const struct merge_run *run = &merge->runs[run_index];
    const char *id = json_string_or(json_get(line->value, "id"), "");
    int64_t attempt = json_integer_or(json_get(line->value, "attempt"), 0);
    int number = name_table_add(&merge->ids, &merge->arena, id);
    struct file_place place = {.path = merge->sources[run->source].path};
    if (number < 0) {
        return merge_no_memory(error);
    }
    if (number >= merge->plan.case_count) {
        return status_set_at(error, STATUS_INVALID, place, "the plan has no case %s", id);
    }
    const struct shard_case *case_ = &merge->plan.cases[number];
    if (case_->shard != run->shard) {
        return status_set_at(error, STATUS_INVALID, place, "%s stands in shard %d, and belongs into shard %d", id,
                             run->shard, case_->shard);
    }
    if (attempt < 1 || attempt > case_->attempts) {
        return status_set_at(error, STATUS_INVALID, place, "%s has attempt %" PRId64 ", and the plan has %d", id,
                             attempt, case_->attempts);
    }
    struct merge_entry *entries = array_extend(merge->entries, merge->entry_count, &merge->entry_room, sizeof *entries);
    if (entries == NULL) {
        return merge_no_memory(error);
    }
    merge->entries = entries;
    enum case_status status = CASE_STATUS_ERROR;
    case_status_from_name(json_string_or(json_get(line->value, "status"), ""), &status);
    entries[merge->entry_count++] = (struct merge_entry){.case_ = number,
                                                         .attempt = (int)attempt,
                                                         .run = run_index,
                                                         .status = status,
                                                         .standing = case_standing(line->value),
                                                         .is_retried = case_was_retried(line->value),
                                                         .place = line->place};
    return STATUS_OK;
}

static enum status_code source_read(struct merge *merge, int source, struct status *error)
{
    struct record_stream *stream = NULL;
    struct record_line line = {.type = RECORD_LINE_RUN};
    bool is_copy = false;
    if (record_is_unbegun(merge->sources[source].path)) { /* killed before it began: a shard without results */
        return STATUS_OK;
    }
    enum status_code code = record_stream_open(merge->sources[source].path, &stream, error);
    while (code == STATUS_OK && line.type != RECORD_LINE_NONE) {
        code = record_stream_next(stream, &line, error);
        if (code == STATUS_OK && line.type == RECORD_LINE_RUN) {
            code = run_add(merge, source, line.value, &is_copy, error);
        } else if (code == STATUS_OK && line.type == RECORD_LINE_RESUMED && !is_copy) {
            code = resumption_add(merge, line.value, error);
        } else if (code == STATUS_OK && line.type == RECORD_LINE_CASE && !is_copy) {
            code = case_add(merge, &line, error);
        } else if (code == STATUS_OK && line.type == RECORD_LINE_END && !is_copy) {
            code = end_add(merge, line.value, error);
        }
    }
    record_stream_close(stream);
    return code;
}

/* ---- one result for each attempt ---- */

static int entry_order(const void *left, const void *right, void *context)
{
    const struct merge_entry *a = left, *b = right;
    const struct merge_run *runs = context;
    int order = (a->case_ > b->case_) - (a->case_ < b->case_);
    order = order != 0 ? order : (a->attempt > b->attempt) - (a->attempt < b->attempt);
    order = order != 0 ? order : strcmp(runs[a->run].started, runs[b->run].started);
    order = order != 0 ? order : (a->run > b->run) - (a->run < b->run);
    return order != 0 ? order : (a->place.offset > b->place.offset) - (a->place.offset < b->place.offset);
}

static enum status_code twice_refuse(const struct merge *merge, const struct merge_entry *one,
                                     const struct merge_entry *other, struct status *error)
{
    const struct merge_run *first = &merge->runs[one->run], *second = &merge->runs[other->run];
    return status_set(error, STATUS_INVALID,
                      "shard %d has %s twice: from %s in %s, and from %s in %s; merge without one of them, or with "
                      "--prefer latest",
                      first->shard, merge->plan.cases[one->case_].id, first->started,
                      merge->sources[first->source].folder, second->started, merge->sources[second->source].folder);
}

static enum status_code entries_settle(struct merge *merge, struct status *error)
{
    size_t kept = 0;
    if (merge->entry_count > 0) {
        qsort_r(merge->entries, merge->entry_count, sizeof *merge->entries, entry_order, merge->runs);
    }
    for (size_t i = 0; i < merge->entry_count; i++) {
        const struct merge_entry *entry = &merge->entries[i];
        struct merge_entry *before = kept > 0 ? &merge->entries[kept - 1] : NULL;
        bool is_again = before != NULL && before->case_ == entry->case_ && before->attempt == entry->attempt;
        if (is_again && !merge->options->prefers_latest) {
            return twice_refuse(merge, before, entry, error);
        }
        kept -= is_again ? 1 : 0;
        merge->has_replaced = merge->has_replaced || is_again;
        merge->entries[kept++] = *entry;
    }
    merge->entry_count = kept;
    return STATUS_OK;
}

static void runs_tell(const struct merge *merge)
{
    const struct shard_merge_options *options = merge->options;
    for (size_t i = 0; i < merge->run_count && options->told != NULL; i++) {
        const struct merge_run *run = &merge->runs[i];
        struct shard_merge_run told = {.path = merge->sources[run->source].path,
                                       .shard = run->shard,
                                       .shard_count = merge->plan.shard_count,
                                       .run_id = run->run_id,
                                       .started = run->started,
                                       .finished = run->finished,
                                       .host = json_string_or(json_get(json_get(run->line, "host"), "name"), NULL)};
        for (size_t k = 0; k < merge->entry_count; k++) {
            told.taken_count += merge->entries[k].run == (int)i ? 1 : 0;
        }
        options->told(options->context, &told);
    }
}

static void merge_release(struct merge *merge)
{
    for (size_t i = 0; i < merge->run_count; i++) {
        json_release(merge->runs[i].line);
        json_release(merge->runs[i].resumptions);
    }
    free(merge->runs);
    free(merge->entries);
    free(merge->sources);
    name_table_release(&merge->ids);
    shard_plan_release(&merge->plan);
    arena_release(&merge->arena);
}

enum status_code shard_merge(const struct shard_merge_options *options, struct shard_merge_result *result,
                             struct status *error)
{
    struct merge merge = {.options = options};
    struct shard_merge_result made = {0};
    enum status_code code = merge_sources_find(&merge, error);
    if (code == STATUS_OK) {
        code = plan_find(&merge, error);
    }
    if (code == STATUS_OK) {
        code = ids_number(&merge, error);
    }
    for (size_t i = 0; i < merge.source_count && code == STATUS_OK; i++) {
        code = source_read(&merge, (int)i, error);
    }
    if (code == STATUS_OK && merge.run_count == 0) {
        code =
            status_set(error, STATUS_INVALID,
                       "%s: no shard has a result yet, because each was killed before its first line; run them again",
                       merge.sources[0].folder);
    }
    if (code == STATUS_OK) {
        code = entries_settle(&merge, error);
    }
    if (code == STATUS_OK && !options->allows_nights) {
        code = merge_night_check(&merge, error);
    }
    if (code == STATUS_OK) {
        code = merge_dates_tell(&merge, &made, error);
    }
    if (code == STATUS_OK) {
        runs_tell(&merge);
        code = merge_write(&merge, &made, error);
    }
    merge_release(&merge);
    if (code == STATUS_OK) {
        *result = made;
    } else {
        text_release(&made.reason);
    }
    return code;
}

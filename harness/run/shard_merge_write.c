/* Merge write: the lines of the whole, and what they come to. The file appears complete, or what was there stays. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/file_replace.h"
#include "harness/run/run_line.h"
#include "harness/run/shard_merge_parts.h"

enum { IDS_A_LINE = 1000, FILES_KEPT = 128 };

/* ---- lines as they stand ---- */

/* Files of sources; those beyond FILES_KEPT are opened anew for each line. */
struct copying {
    struct merge *merge;
    int *files; /* by source; -1: not open */
    char *bytes;
    size_t room;
};

static enum status_code line_wrong(const char *path, struct status *error)
{
    return status_set(error, STATUS_IO, "%s: was changed while it was read; run the command again", path);
}

static enum status_code file_of(struct copying *copying, int source, int *file, struct status *error)
{
    *file = source < FILES_KEPT ? copying->files[source] : -1;
    if (*file < 0) {
        const char *path = copying->merge->sources[source].path;
        *file = open(path, O_RDONLY | O_CLOEXEC);
        if (*file < 0) {
            return status_set(error, STATUS_IO, "%s: cannot be read: %s", path, strerror(errno));
        }
        if (source < FILES_KEPT) {
            copying->files[source] = *file;
        }
    }
    return STATUS_OK;
}

static bool bytes_read(int file, char *bytes, size_t count, int64_t offset)
{
    for (size_t at = 0; at < count;) {
        ssize_t got = pread(file, bytes + at, count - at, (off_t)(offset + (int64_t)at));
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            return false;
        }
        at += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* The line of an entry, in copying->bytes. */
static enum status_code line_fetch(struct copying *copying, const struct merge_entry *entry, struct status *error)
{
    int source = copying->merge->runs[entry->run].source, file = -1;
    if (copying->room <= entry->place.length) {
        char *bytes = realloc(copying->bytes, 2 * entry->place.length + 1);
        if (bytes == NULL) {
            return merge_no_memory(error);
        }
        copying->bytes = bytes;
        copying->room = 2 * entry->place.length + 1;
    }
    enum status_code code = file_of(copying, source, &file, error);
    if (code == STATUS_OK && (!bytes_read(file, copying->bytes, entry->place.length, entry->place.offset) ||
                              !record_place_holds(&entry->place, copying->bytes))) {
        code = line_wrong(copying->merge->sources[source].path, error);
    }
    if (file >= 0 && source >= FILES_KEPT) {
        close(file);
    }
    return code;
}

/* The sentence of the first of the gravest is made of its line. */
static enum status_code outcome_take(struct copying *copying, const struct merge_entry *entry, struct outcome *outcome,
                                     struct status *error)
{
    struct outcome one = {0};
    struct json *line = NULL;
    const bool is_first = outcome_count(outcome, entry->status, entry->standing);
    if (entry->standing == STANDING_OPEN && entry->is_retried) {
        outcome_count_retry(outcome);
    }
    if (!is_first) {
        return STATUS_OK;
    }
    enum status_code code = json_parse_text(copying->merge->sources[copying->merge->runs[entry->run].source].path,
                                            copying->bytes, entry->place.length, &line, error);
    if (code == STATUS_OK) {
        outcome_add(&one, line);
        text_release(&outcome->first);
        outcome->first = one.first;
    }
    json_release(line);
    return code;
}

static enum status_code cases_write(struct merge *merge, struct outcome *outcome, struct text *text,
                                    struct status *error)
{
    struct copying copying = {.merge = merge, .files = malloc((FILES_KEPT + 1) * sizeof *copying.files)};
    enum status_code code = copying.files == NULL ? merge_no_memory(error) : STATUS_OK;
    for (int i = 0; i < FILES_KEPT && code == STATUS_OK; i++) {
        copying.files[i] = -1;
    }
    for (size_t i = 0; i < merge->entry_count && code == STATUS_OK; i++) {
        code = line_fetch(&copying, &merge->entries[i], error);
        if (code == STATUS_OK) {
            code = outcome_take(&copying, &merge->entries[i], outcome, error);
        }
        if (code == STATUS_OK) {
            text_append_bytes(text, copying.bytes, merge->entries[i].place.length);
            text_append(text, "\n");
            code = text_status(text, "the merged records", error);
        }
    }
    for (int i = 0; copying.files != NULL && i < FILES_KEPT; i++) {
        if (copying.files[i] >= 0) {
            close(copying.files[i]);
        }
    }
    free(copying.files);
    free(copying.bytes);
    return code;
}

/* ---- lines of its own ---- */

static enum status_code line_write(struct json *line, struct text *text, struct status *error)
{
    enum status_code code = line == NULL ? merge_no_memory(error) : record_line_check(line, error);
    if (code == STATUS_OK) {
        code = json_write(line, 0, text, error);
        text_append(text, "\n");
    }
    json_release(line);
    return code == STATUS_OK ? text_status(text, "the merged records", error) : code;
}

static enum status_code selected_write(const struct shard_plan *plan, struct text *text, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (int at = 0; at < plan->case_count && code == STATUS_OK;) {
        struct json *line = json_object_new(), *ids = json_array_new(), *attempts = json_array_new();
        bool made = true;
        for (int count = 0; count < IDS_A_LINE && at < plan->case_count && made; count++, at++) {
            made = json_append(ids, json_string_new(plan->cases[at].id)) &&
                   json_append(attempts, json_integer_new(plan->cases[at].attempts));
        }
        made = json_set(line, "type", json_string_new("selected")) && made;
        made = json_set(line, "ids", ids) && made;
        made = json_set(line, "attempts", attempts) && made;
        code = line_write(json_made(line, made), text, error);
    }
    return code;
}

/* ---- what it comes to ---- */

/* "shards 3 and 5 of 8 have no results"; "" if each has a run. */
static void shards_missing_append(const struct merge *merge, struct text *text)
{
    enum { SHARDS_NAMED = 10 };
    int missing = 0, named = 0;
    for (int pass = 0; pass < 2; pass++) {
        int last = missing;
        for (int shard = 1; shard <= merge->plan.shard_count; shard++) {
            bool is_there = false;
            for (size_t i = 0; i < merge->run_count && !is_there; i++) {
                is_there = merge->runs[i].shard == shard;
            }
            missing += !is_there && pass == 0 ? 1 : 0;
            if (!is_there && pass == 1 && named++ < SHARDS_NAMED) {
                text_format(text, "%s%d", named == 1 ? "" : named == last ? " and " : ", ", shard);
            }
        }
        if (pass == 0 && missing > 0) {
            text_append(text, missing == 1 ? "shard " : "shards ");
        }
    }
    if (missing > 0) {
        if (missing > SHARDS_NAMED) {
            text_format(text, " and %d more", missing - SHARDS_NAMED);
        }
        text_format(text, " of %d %s no results", merge->plan.shard_count, missing == 1 ? "has" : "have");
    }
}

/* Shards with a run that lack cases. Of one without an end line nobody can tell from here whether it still runs. */
static void shards_short_append(const struct merge *merge, struct text *text)
{
    for (int shard = 1, told = 0; shard <= merge->plan.shard_count && told < 3; shard++) {
        int64_t wanted = 0, made = 0;
        bool has_run = false, has_end = false; /* the last of its runs */
        for (int i = 0; i < merge->plan.case_count; i++) {
            wanted += merge->plan.cases[i].shard == shard ? merge->plan.cases[i].attempts : 0;
        }
        for (size_t i = 0; i < merge->entry_count; i++) {
            made += merge->plan.cases[merge->entries[i].case_].shard == shard ? 1 : 0;
        }
        for (size_t i = 0; i < merge->run_count; i++) {
            has_run = has_run || merge->runs[i].shard == shard;
            has_end = merge->runs[i].shard == shard ? merge->runs[i].finished != NULL : has_end;
        }
        if (has_run && made < wanted) {
            text_format(text, "%sshard %d %s", text->length > 0 ? ", " : "", shard,
                        has_end ? "ended early" : "was killed, or still runs");
            told++;
        }
    }
}

static void result_settle(const struct merge *merge, struct outcome *outcome, struct shard_merge_result *result)
{
    struct text cause = {0};
    result->shard_count = merge->plan.shard_count;
    result->run_count = (int)merge->run_count;
    memcpy(result->plan_hash, merge->plan.hash, sizeof result->plan_hash);
    for (int i = 0; i < merge->plan.case_count; i++) {
        result->case_count += merge->plan.cases[i].attempts;
        outcome->unit = merge->plan.cases[i].attempts > 1 ? "attempt" : outcome->unit;
    }
    result->missing_count = result->case_count - (int)merge->entry_count;
    outcome->missing_count = result->missing_count;
    shards_missing_append(merge, &cause);
    if (result->missing_count > 0) {
        shards_short_append(merge, &cause);
        outcome->missing_cause = text_string(&cause);
    }
    result->outcome = outcome_decide(outcome);
    outcome_words_append(&result->reason, outcome);
    if (result->outcome != RUN_PASS && outcome->first.length > 0) {
        text_format(&result->reason, "; first %s", text_string(&outcome->first));
    }
    outcome->missing_cause = NULL;
    text_release(&cause);
}

static struct json *end_line(const struct merge *merge, const struct outcome *outcome,
                             const struct shard_merge_result *result)
{
    struct run_result run = {.outcome = result->outcome, .total = result->case_count};
    const char *finished = merge->runs[0].started;
    memcpy(run.counts, outcome->counts, sizeof run.counts);
    for (size_t i = 0; i < merge->run_count; i++) {
        const struct merge_run *one = &merge->runs[i];
        const char *last = one->finished != NULL ? one->finished : one->started;
        finished = strcmp(last, finished) > 0 ? last : finished;
        run.interrupted = run.interrupted || (one->interrupted && result->missing_count > 0);
    }
    struct json *line = end_line_make(&run, (int)merge->entry_count);
    bool made = json_set(line, "finished", json_string_new(finished)) &&
                json_set(line, "reason",
                         result->reason.length > 0 ? json_string_new(text_string(&result->reason)) : json_null_new());
    return json_made(line, made);
}

/* ---- the file ---- */

static enum status_code source_refuse(const struct merge *merge, const char *path, const struct stat *state,
                                      struct status *error)
{
    struct stat source;
    for (size_t i = 0; i < merge->source_count; i++) {
        if (stat(merge->sources[i].path, &source) == 0 && source.st_ino == state->st_ino &&
            source.st_dev == state->st_dev) {
            return status_set(error, STATUS_INVALID, "%s: is one of the shards; name a new folder with --out", path);
        }
    }
    return STATUS_OK;
}

/* What is there must be earlier merges of the same plan, and nothing else: other records are not replaced, not even
 * those of a run that was made into the folder, or went on there, after it was merged. */
static enum status_code present_check(struct merge *merge, const char *path, struct status *error)
{
    struct record_stream *stream = NULL;
    struct record_line line = {.type = RECORD_LINE_RUN};
    struct stat state;
    if (lstat(path, &state) != 0) {
        return STATUS_OK;
    }
    enum status_code code = source_refuse(merge, path, &state, error);
    if (code == STATUS_OK) {
        code = record_stream_open(path, &stream, error);
    }
    while (code == STATUS_OK && line.type != RECORD_LINE_NONE) {
        code = record_stream_next(stream, &line, error);
        const char *hash = json_string_or(json_get(json_get(line.value, "merged"), "plan_hash"), "");
        bool begins = line.type == RECORD_LINE_RUN || line.type == RECORD_LINE_RESUMED;
        if (code == STATUS_OK && begins && strcmp(hash, merge->plan.hash) != 0) {
            code = status_set(error, STATUS_INVALID, "%s: holds other records; name a new folder with --out", path);
        } else if (code == STATUS_OK && line.type == RECORD_LINE_RUN) {
            code = merge_earlier_take(merge, line.value, error);
        }
    }
    record_stream_close(stream);
    return code;
}

static enum status_code lines_write(struct merge *merge, struct shard_merge_result *result, struct text *text,
                                    struct status *error)
{
    struct outcome outcome = {0};
    enum status_code code = line_write(merge_run_line(merge), text, error);
    if (code == STATUS_OK) {
        code = selected_write(&merge->plan, text, error);
    }
    if (code == STATUS_OK) {
        code = cases_write(merge, &outcome, text, error);
    }
    if (code == STATUS_OK) {
        result_settle(merge, &outcome, result);
        code = line_write(end_line(merge, &outcome, result), text, error);
    }
    outcome_release(&outcome);
    return code;
}

enum status_code merge_write(struct merge *merge, struct shard_merge_result *result, struct status *error)
{
    struct file_replacement *replacement = NULL;
    struct text text = {0};
    const char *folder = merge->options->folder;
    const char *path = arena_format(&merge->arena, "%s/records.jsonl", folder);
    enum status_code code = path == NULL ? merge_no_memory(error) : present_check(merge, path, error);
    if (code == STATUS_OK && mkdir(folder, 0777) != 0 && errno != EEXIST) {
        code = status_set(error, STATUS_IO, "%s: the folder cannot be made: %s", folder, strerror(errno));
    }
    if (code == STATUS_OK) {
        code = file_replacement_open(path, FILE_CHOSEN, &replacement, error);
    }
    if (code == STATUS_OK) {
        text.drain = file_replacement_drain(replacement);
        code = lines_write(merge, result, &text, error);
        if (code == STATUS_OK) {
            code = file_replacement_finish(replacement, &text, error);
        } else {
            file_replacement_abandon(replacement);
        }
    }
    text_release(&text);
    return code;
}

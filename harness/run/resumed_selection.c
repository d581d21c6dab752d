/* Resumed selection: lines of records and of a plan to a choice of cases. Compares nothing. */
#include "harness/run/resumed_selection.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/name_table.h"
#include "harness/record/record.h"
#include "harness/run/shard_split.h"

struct selection_reading {
    const struct suite *suite;
    struct resumed_selection *selection;
    struct arena arena;
    struct name_table ids;  /* of the cases of the suite, by their number */
    int64_t wanted, listed; /* attempts of the last run: that it selected, that its lines name */
    bool is_of_suite;
};

static enum status_code memory_error(const char *folder, struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory to resume its run", folder);
}

static bool reading_begin(struct selection_reading *reading)
{
    bool made = true;
    for (int i = 0; i < reading->suite->case_count && made; i++) {
        made = name_table_add(&reading->ids, &reading->arena, reading->suite->cases[i].id) == i;
    }
    return made;
}

/* Attempts at a case, by its id. A case that the suite does not have, or has twice here, is of another suite. */
static bool attempts_take(struct selection_reading *reading, const char *id, int64_t attempts)
{
    int number = name_table_add(&reading->ids, &reading->arena, id);
    bool is_taken = number >= 0 && number < reading->suite->case_count && attempts > 0 &&
                    attempts <= CASE_ATTEMPTS_MAXIMUM && reading->selection->attempts[number] == 0;
    if (is_taken) {
        reading->selection->attempts[number] = (int)attempts;
        reading->listed += attempts;
    }
    reading->is_of_suite = reading->is_of_suite && is_taken;
    return number >= 0;
}

static bool run_take(struct selection_reading *reading, const struct json *line)
{
    struct resumed_selection *made = reading->selection;
    const struct json *suite = json_get(line, "suite"), *shard = json_get(line, "shard");
    int64_t index = json_integer_or(json_get(shard, "index"), 0), count = json_integer_or(json_get(shard, "count"), 0);
    bool is_part = count >= 1 && count <= SHARDS_MAXIMUM && index >= 1 && index <= count;
    resumed_selection_release(made);
    made->is_there = true;
    text_append(&made->started, json_string_or(json_get(line, "started"), ""));
    text_append(&made->words, json_string_or(json_get(suite, "filter"), ""));
    made->attempts = calloc((size_t)reading->suite->case_count + 1, sizeof *made->attempts);
    made->shard = is_part ? (int)index : 0;
    made->shard_count = is_part ? (int)count : 0;
    snprintf(made->plan_hash, sizeof made->plan_hash, "%s", json_string_or(json_get(shard, "plan_hash"), ""));
    reading->wanted = json_integer_or(json_get(suite, "selected_count"), -1);
    reading->listed = 0;
    reading->is_of_suite = true;
    return made->attempts != NULL && !made->started.failed && !made->words.failed;
}

static bool selected_take(struct selection_reading *reading, const struct json *line)
{
    const struct json *ids = json_get(line, "ids"), *attempts = json_get(line, "attempts");
    bool made = true;
    for (size_t i = 0; i < json_count(ids) && made; i++) {
        made = attempts_take(reading, json_string_or(json_at(ids, i), ""), json_integer_or(json_at(attempts, i), 0));
    }
    return made;
}

static bool line_take(struct selection_reading *reading, const struct record_line *line)
{
    switch (line->type) {
    case RECORD_LINE_RUN:
        return run_take(reading, line->value);
    case RECORD_LINE_RESUMED:
        reading->selection->is_finished = false;
        if (reading->listed < reading->wanted) { /* they are all written once more */
            memset(reading->selection->attempts, 0,
                   (size_t)reading->suite->case_count * sizeof *reading->selection->attempts);
            reading->listed = 0;
        }
        return true;
    case RECORD_LINE_SELECTED:
        if (reading->listed < reading->wanted) {
            return selected_take(reading, line->value);
        }
        return true;
    case RECORD_LINE_END:
        reading->selection->is_finished = !json_boolean_or(json_get(line->value, "interrupted"), true);
        return true;
    case RECORD_LINE_CASE:
    case RECORD_LINE_NONE:
        break;
    }
    return true;
}

static enum status_code lines_read(struct selection_reading *reading, const char *folder, struct status *error)
{
    struct record_stream *stream = NULL;
    struct record_line line = {.type = RECORD_LINE_RUN};
    enum status_code code = record_stream_open(folder, &stream, error);
    while (code == STATUS_OK && line.type != RECORD_LINE_NONE) {
        code = record_stream_next(stream, &line, error);
        if (code == STATUS_OK && !line_take(reading, &line)) {
            code = memory_error(folder, error);
        }
    }
    record_stream_close(stream);
    return code;
}

enum status_code resumed_selection_read(const char *folder, const struct suite *suite,
                                        struct resumed_selection *selection, struct status *error)
{
    struct selection_reading reading = {.suite = suite, .selection = selection};
    struct text path = {0};
    *selection = (struct resumed_selection){0};
    text_format(&path, "%s/records.jsonl", folder);
    bool is_there = record_is_in(folder) && !record_is_unbegun(text_string(&path));
    enum status_code code = path.failed || !reading_begin(&reading) ? memory_error(folder, error) : STATUS_OK;
    if (code == STATUS_OK && is_there) {
        code = lines_read(&reading, folder, error);
    }
    selection->is_listed = selection->is_there && reading.is_of_suite && reading.listed == reading.wanted;
    if (code != STATUS_OK) {
        resumed_selection_release(selection);
    }
    text_release(&path);
    name_table_release(&reading.ids);
    arena_release(&reading.arena);
    return code;
}

/* Attempts of the plan at the cases of the suite, by case. NULL: they are of another suite, or memory ran out. */
static int *plan_attempts(const struct shard_plan *plan, const struct suite *suite)
{
    int *attempts = calloc((size_t)suite->case_count + 1, sizeof *attempts), at = 0;
    for (int i = 0; i < suite->case_count && attempts != NULL; i++) {
        if (at < plan->case_count && strcmp(plan->cases[at].id, suite->cases[i].id) == 0) {
            attempts[i] = plan->cases[at++].attempts;
        }
    }
    if (at < plan->case_count) {
        free(attempts);
        attempts = NULL;
    }
    return attempts;
}

static enum status_code part_choice(const struct resumed_selection *selection, const char *path,
                                    const struct suite *suite, struct case_choice *choice, struct status *error)
{
    struct shard_plan plan = {0};
    int *attempts = NULL;
    enum status_code code = shard_plan_read(path, &plan, error);
    if (code == STATUS_OK && strcmp(plan.hash, selection->plan_hash) != 0) {
        code = status_set(error, STATUS_INVALID, "%s: is plan %s, and the run beside it is of plan %s", path, plan.hash,
                          selection->plan_hash);
    }
    if (code == STATUS_OK) {
        attempts = plan_attempts(&plan, suite);
        code = attempts == NULL
                   ? status_set(error, STATUS_INVALID, "%s: its cases are not those of %s", path, suite->path)
                   : case_choice_again(suite, attempts, plan.choice, choice, error);
    }
    free(attempts);
    shard_plan_release(&plan);
    return code;
}

enum status_code resumed_selection_choice(const struct resumed_selection *selection, const char *folder,
                                          const struct suite *suite, struct case_choice *choice, struct status *error)
{
    if (selection->shard_count == 0) {
        return case_choice_again(suite, selection->attempts, text_string(&selection->words), choice, error);
    }
    struct text path = {0};
    text_format(&path, "%s/" SHARD_PLAN_FILE, folder);
    enum status_code code = text_status(&path, "a path", error);
    if (code == STATUS_OK) {
        code = part_choice(selection, text_string(&path), suite, choice, error);
    }
    text_release(&path);
    return code;
}

void resumed_selection_release(struct resumed_selection *selection)
{
    text_release(&selection->started);
    text_release(&selection->words);
    free(selection->attempts);
    *selection = (struct resumed_selection){0};
}

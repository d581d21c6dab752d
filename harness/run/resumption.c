/* Resumption: case lines to a list of what is done. Whether the run is the same one is resumption_check.c's. */
#include "harness/run/resumption.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/name_table.h"
#include "harness/run/case_line.h"

struct resumption_reading {
    const struct run_options *options;
    struct resumption *made;
    struct arena arena;
    struct name_table ids;  /* of the cases of the suite, by their number */
    int *first;             /* by case: the number of its first attempt */
    int attempt_count;      /* of all cases */
    struct json *went_down; /* case lines behind whole_bytes, which stay if another line follows */
};

static bool reading_begin(struct resumption_reading *reading)
{
    const struct suite *suite = reading->options->suite;
    reading->first = calloc((size_t)suite->case_count + 1, sizeof *reading->first);
    reading->went_down = json_array_new();
    bool made = reading->first != NULL && reading->went_down != NULL;
    for (int i = 0; i < suite->case_count && made; i++) {
        made = name_table_add(&reading->ids, &reading->arena, suite->cases[i].id) == i;
        reading->first[i] = reading->attempt_count;
        reading->attempt_count += case_choice_attempts(reading->options->choice, suite, i);
    }
    return made;
}

static bool went_down_clear(struct resumption_reading *reading)
{
    json_release(reading->went_down);
    reading->went_down = json_array_new();
    return reading->went_down != NULL;
}

/* A new run: what was read of those before it is forgotten. */
static bool run_begin(struct resumption_reading *reading, const struct json *line)
{
    struct resumption *made = reading->made;
    resumption_release(made);
    made->run = json_copy_new(line);
    made->number = 1;
    made->made = calloc((size_t)reading->attempt_count + 1, sizeof *made->made);
    made->failed = calloc((size_t)reading->options->suite->case_count + 1, sizeof *made->failed);
    made->constants = json_array_new();
    return made->run != NULL && made->made != NULL && made->failed != NULL && made->constants != NULL &&
           went_down_clear(reading);
}

/* The attempt of this line is done, if it is one of those that the run is to make. */
static bool attempt_take(struct resumption_reading *reading, const struct json *line)
{
    const struct suite *suite = reading->options->suite;
    struct resumption *made = reading->made;
    enum case_status status = CASE_STATUS_ERROR;
    int64_t attempt = json_integer_or(json_get(line, "attempt"), 0);
    int index = name_table_add(&reading->ids, &reading->arena, json_string_or(json_get(line, "id"), ""));
    if (index < 0 || index >= suite->case_count || attempt < 1 ||
        attempt > case_choice_attempts(reading->options->choice, suite, index) ||
        made->made[reading->first[index] + attempt - 1]) {
        return index >= 0;
    }
    (void)case_status_from_name(json_string_or(json_get(line, "status"), ""), &status);
    made->made[reading->first[index] + attempt - 1] = true;
    made->made_count++;
    made->counts[status]++;
    made->failed[index] = made->failed[index] || case_status_is_failure(status);
    outcome_add(&made->outcome, line);
    return resumption_constants_note(made->constants, line);
}

/* A line that stays, and with it those that were doubtful before it. */
static bool line_stays(struct resumption_reading *reading, const struct record_line *line)
{
    bool made = true;
    for (size_t i = 0; i < json_count(reading->went_down) && made; i++) {
        made = attempt_take(reading, json_at(reading->went_down, i));
    }
    reading->made->whole_bytes = line->place.offset + (int64_t)line->place.length + 1;
    return made && (json_count(reading->went_down) == 0 || went_down_clear(reading));
}

/* A run that came to its end was ended by nobody: then what is doubtful before it is what happened. */
static bool end_take(struct resumption_reading *reading, const struct record_line *line)
{
    bool is_finished = !json_boolean_or(json_get(line->value, "interrupted"), true);
    bool stays = is_finished || json_count(reading->went_down) == 0;
    reading->made->end = json_copy_new(line->value);
    return reading->made->end != NULL && (!stays || line_stays(reading, line));
}

static bool resumed_take(struct resumption_reading *reading, const struct record_line *line)
{
    json_release(reading->made->end);
    reading->made->end = NULL;
    int64_t number = json_integer_or(json_get(line->value, "resumption"), 1);
    reading->made->number = number < INT64_MAX ? number + 1 : number;
    return line_stays(reading, line);
}

static bool selected_take(struct resumption_reading *reading, const struct record_line *line)
{
    const struct json *attempts = json_get(line->value, "attempts");
    for (size_t i = 0; i < json_count(attempts); i++) {
        int64_t *sum = &reading->made->selected_count; /* of a file that anybody may have written */
        if (__builtin_add_overflow(*sum, json_integer_or(json_at(attempts, i), 0), sum)) {
            *sum = INT64_MAX;
        }
    }
    return line_stays(reading, line);
}

static bool line_take(struct resumption_reading *reading, const struct record_line *line)
{
    switch (line->type) {
    case RECORD_LINE_RUN:
        return run_begin(reading, line->value) && line_stays(reading, line);
    case RECORD_LINE_RESUMED:
        return resumed_take(reading, line);
    case RECORD_LINE_SELECTED:
        return selected_take(reading, line);
    case RECORD_LINE_CASE:
        return case_went_down(line->value) ? json_append(reading->went_down, json_copy_new(line->value))
                                           : line_stays(reading, line) && attempt_take(reading, line->value);
    case RECORD_LINE_END:
        return end_take(reading, line);
    case RECORD_LINE_NONE:
        break;
    }
    return true;
}

static enum status_code lines_read(struct resumption_reading *reading, struct status *error)
{
    const char *folder = reading->options->folder;
    struct record_stream *stream = NULL;
    struct record_line line = {.type = RECORD_LINE_RUN};
    enum status_code code = record_stream_open(folder, &stream, error);
    while (code == STATUS_OK && line.type != RECORD_LINE_NONE) {
        code = record_stream_next(stream, &line, error);
        if (code == STATUS_OK && !line_take(reading, &line)) {
            code = status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory to resume its run", folder);
        }
    }
    record_stream_close(stream);
    /* Nothing, or the beginning of a first line: whoever opens the folder to write has found that it is no more. */
    return code == STATUS_INVALID && reading->made->run == NULL ? STATUS_OK : code;
}

enum status_code resumption_read(const struct run_options *options, struct resumption *resumption, struct status *error)
{
    struct resumption made = {0};
    struct resumption_reading reading = {.options = options, .made = &made};
    enum status_code code = reading_begin(&reading) ? lines_read(&reading, error)
                                                    : status_set(error, STATUS_OUT_OF_MEMORY,
                                                                 "%s: no memory to resume its run", options->folder);
    if (code == STATUS_OK && made.run != NULL) {
        code = resumption_run_check(options, made.run, error);
    }
    json_release(reading.went_down);
    name_table_release(&reading.ids);
    arena_release(&reading.arena);
    free(reading.first);
    if (code != STATUS_OK) {
        resumption_release(&made);
        return code;
    }
    *resumption = made;
    return STATUS_OK;
}

bool resumption_is_finished(const struct resumption *resumption)
{
    return resumption->end != NULL && !json_boolean_or(json_get(resumption->end, "interrupted"), true);
}

void resumption_tell(const struct run_options *options, const struct resumption *resumption,
                     const struct run_result *result)
{
    char text[STATUS_TEXT_BYTES], choice[256] = "";
    const char *started = json_string_or(json_get(resumption->run, "started"), "");
    const char *words = json_string_or(json_get(json_get(resumption->run, "suite"), "filter"), "");
    if (options->progress.warned == NULL) {
        return;
    }
    if (words[0] != '\0') {
        snprintf(choice, sizeof choice, " (of its cases: %.200s)", words);
    }
    if (resumption->run == NULL) {
        snprintf(text, sizeof text, "%.300s has no run to resume; one begins", options->folder);
    } else if (result->finished) {
        snprintf(text, sizeof text, "nothing to resume: the run of %.40s in %.300s%s %s", started, options->folder,
                 choice,
                 result->stopped ? "has as many failed cases as --max-failures allows; give more" : "is finished");
    } else {
        snprintf(text, sizeof text, "the run of %.40s in %.300s%s goes on: %d of %d attempts are there", started,
                 options->folder, choice, resumption->made_count, result->total);
    }
    options->progress.warned(options->progress.context, text);
}

void resumption_release(struct resumption *resumption)
{
    json_release(resumption->run);
    json_release(resumption->end);
    json_release(resumption->constants);
    free(resumption->made);
    free(resumption->failed);
    outcome_release(&resumption->outcome);
    *resumption = (struct resumption){0};
}

/* Resumption: a run line held against what it would be today, and case lines to a list of what is done. */
#include "harness/run/resumption.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/name_table.h"
#include "harness/run/case_line.h"
#include "harness/run/run_line.h"

enum { VALUE_SHOWN = 100 };

/* ---- is it the same run? ---- */

/* What must be equal in the run lines, and what its user knows it as. */
static const struct {
    const char *object; /* in which the member is; NULL: the line */
    const char *key, *words;
} SAME[] = {
    {"suite", "name", "the suite"},
    {"suite", "plan_hash", "the hash of the suite's cases"},
    {"suite", "settings_hash", "the hash of the suite's settings"},
    {"suite", "filter", "what --filter, --not and --shard choose"},
    {"shard", "plan_hash", "the plan of the shards"},
    {"suite", "selected_count", "the number of attempts"},
    {"tool", "version", "the version of assay"},
    {"tool", "revision", "the revision of assay"},
    {NULL, "device", "--device"},
    {NULL, "constants", "--constants"},
    {NULL, "fitting", "--fitting"},
    {NULL, "note_calibrated", "--note-calibrated"},
    {NULL, "shared", "a device that is shared (--jobs, --share-device)"},
    {NULL, "proof", "--prove"},
};

/* Environment variables that say which GPU is taken, and not what it does. */
static const char *const PLACES_ALONE[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", NULL};

/* Of a device: what its figures depend on. Which one of several alike it is, is no matter. */
static const char *const DEVICE_KEYS[] = {"kind", "name", "threads", "driver", "runtime", "libraries", NULL};

/* The value as people read it; absent is null. */
static void value_append(struct text *text, const struct json *value)
{
    if (json_kind(value) == JSON_KIND_STRING) {
        text_append(text, json_string_or(value, ""));
    } else if (value == NULL || json_write(value, 0, text, NULL) != STATUS_OK) {
        text_append(text, "null");
    }
}

static enum status_code refuse(const struct run_options *options, const struct json *run, const char *words,
                               const struct text *then, const struct text *now, struct status *error)
{
    if (then->failed || now->failed) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory to resume its run", options->folder);
    }
    return status_set(error, STATUS_INVALID,
                      "--resume: the run of %.40s in %.300s cannot go on: %s was %.*s, and is %.*s; give what it was "
                      "begun with, or leave --resume out, which begins another run",
                      json_string_or(json_get(run, "started"), ""), options->folder, words, VALUE_SHOWN,
                      text_string(then), VALUE_SHOWN, text_string(now));
}

static enum status_code values_compare(const struct run_options *options, const struct json *run, const char *words,
                                       const struct json *then, const struct json *now, struct status *error)
{
    struct text before = {0}, today = {0};
    value_append(&before, then);
    value_append(&today, now);
    enum status_code code = STATUS_OK;
    if (before.failed || today.failed || strcmp(text_string(&before), text_string(&today)) != 0) {
        code = refuse(options, run, words, &before, &today, error);
    }
    text_release(&before);
    text_release(&today);
    return code;
}

static bool is_of_places_alone(const char *name)
{
    bool found = false;
    for (size_t i = 0; PLACES_ALONE[i] != NULL; i++) {
        found = found || strcmp(PLACES_ALONE[i], name) == 0;
    }
    return found;
}

/* The variables of one line, each compared with that of the other; those that only the other has are left to it. */
static enum status_code variables_compare(const struct run_options *options, const struct json *run,
                                          const struct json *names, const struct json *now, struct status *error)
{
    const struct json *then = json_get(run, "variables");
    enum status_code code = STATUS_OK;
    for (const char *name = json_key_after(names, NULL); name != NULL && code == STATUS_OK;
         name = json_key_after(names, name)) {
        if (!is_of_places_alone(name)) {
            code = values_compare(options, run, name, json_get(then, name), json_get(now, name), error);
        }
    }
    return code;
}

/* What can be compared before a device is asked. */
static enum status_code lines_compare(const struct run_options *options, const struct json *run, const struct json *own,
                                      struct status *error)
{
    enum status_code code = STATUS_OK;
    for (size_t i = 0; i < sizeof SAME / sizeof SAME[0] && code == STATUS_OK; i++) {
        const struct json *then = SAME[i].object != NULL ? json_get(run, SAME[i].object) : run;
        const struct json *now = SAME[i].object != NULL ? json_get(own, SAME[i].object) : own;
        code =
            values_compare(options, run, SAME[i].words, json_get(then, SAME[i].key), json_get(now, SAME[i].key), error);
    }
    const struct json *variables = json_get(own, "variables");
    if (code == STATUS_OK) {
        code = variables_compare(options, run, json_get(run, "variables"), variables, error);
    }
    return code == STATUS_OK ? variables_compare(options, run, variables, variables, error) : code;
}

static enum status_code run_check(const struct run_options *options, const struct json *run, struct status *error)
{
    struct device_claim nothing = {.devices = json_array_new()};
    struct run_options plain = *options;
    int total = options->choice != NULL ? options->choice->attempt_count : 0;
    for (int i = 0; options->choice == NULL && i < options->suite->case_count; i++) {
        total += case_choice_attempts(NULL, options->suite, i);
    }
    plain.hardware = NULL;
    struct json *own = run_line_make(&plain, &nothing, total, NULL);
    enum status_code code = own != NULL ? lines_compare(options, run, own, error)
                                        : status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a record");
    json_release(own);
    json_release(nothing.devices);
    return code;
}

static const struct json *device_of(const struct json *devices, const char *spec)
{
    for (size_t i = 0; i < json_count(devices); i++) {
        const struct json *device = json_at(devices, i);
        if (strcmp(json_string_or(json_get(device, "spec"), ""), spec) == 0) {
            return device;
        }
    }
    return NULL;
}

/* Those of one list, each against the device of the other that the same spec stood for. */
static enum status_code devices_compare(const struct run_options *options, const struct json *run,
                                        const struct json *specs, const struct json *now, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (size_t i = 0; i < json_count(specs) && code == STATUS_OK; i++) {
        const char *spec = json_string_or(json_get(json_at(specs, i), "spec"), "");
        const struct json *then_device = device_of(json_get(run, "devices"), spec), *now_device = device_of(now, spec);
        for (size_t k = 0; DEVICE_KEYS[k] != NULL && code == STATUS_OK; k++) {
            char words[VALUE_SHOWN];
            snprintf(words, sizeof words, "the %s of device %.60s", DEVICE_KEYS[k], spec);
            code = values_compare(options, run, words, json_get(then_device, DEVICE_KEYS[k]),
                                  json_get(now_device, DEVICE_KEYS[k]), error);
        }
    }
    return code;
}

enum status_code resumption_devices_check(const struct run_options *options, const struct resumption *resumption,
                                          const struct json *devices, struct status *error)
{
    const struct json *run = resumption->run;
    enum status_code code = devices_compare(options, run, json_get(run, "devices"), devices, error);
    return code == STATUS_OK ? devices_compare(options, run, devices, devices, error) : code;
}

/* ---- what is done? ---- */

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
    return made->run != NULL && made->made != NULL && made->failed != NULL && went_down_clear(reading);
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
    return true;
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
        code = run_check(options, made.run, error);
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
    char text[STATUS_TEXT_BYTES];
    const char *started = json_string_or(json_get(resumption->run, "started"), "");
    if (options->progress.warned == NULL) {
        return;
    }
    if (resumption->run == NULL) {
        snprintf(text, sizeof text, "%.300s has no run to resume; one begins", options->folder);
    } else if (result->finished) {
        snprintf(text, sizeof text, "nothing to resume: the run of %.40s in %.300s %s", started, options->folder,
                 result->stopped ? "has as many failed cases as --max-failures allows; give more" : "is finished");
    } else {
        snprintf(text, sizeof text, "the run of %.40s in %.300s goes on: %d of %d attempts are there", started,
                 options->folder, resumption->made_count, result->total);
    }
    options->progress.warned(options->progress.context, text);
}

void resumption_release(struct resumption *resumption)
{
    json_release(resumption->run);
    json_release(resumption->end);
    free(resumption->made);
    free(resumption->failed);
    outcome_release(&resumption->outcome);
    *resumption = (struct resumption){0};
}

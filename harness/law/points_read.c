/* Points of records: which cases count. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "harness/law/law_points.h"
#include "harness/record/line_source.h"
#include "harness/record/record.h"
#include "harness/tape/tape.h"

static int64_t bytes_of(const struct json *object, const char *key)
{
    return json_integer_or(json_get(object, key), POINT_BYTES_UNKNOWN);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The highest of the process; if no stage has one, of the device less what was used before (docs/FORMAT.md,
 * footprint_bytes). */
static int64_t footprint_of(const struct json *line)
{
    int64_t process = POINT_BYTES_UNKNOWN, device = POINT_BYTES_UNKNOWN;
    const struct json *stages = json_get(line, "stages");
    for (const char *key = NULL; (key = json_key_after(stages, key)) != NULL;) {
        const struct json *stage = json_get(stages, key);
        process = larger(process, larger(bytes_of(stage, "process_bytes"), bytes_of(stage, "process_bytes_peak")));
        device = larger(device, bytes_of(stage, "device_bytes"));
    }
    int64_t before = bytes_of(json_get(line, "context"), "baseline_bytes");
    if (process != POINT_BYTES_UNKNOWN) {
        return process;
    }
    return device != POINT_BYTES_UNKNOWN && before != POINT_BYTES_UNKNOWN ? device - before : POINT_BYTES_UNKNOWN;
}

bool law_line_matches(const struct json *line, const char *filter)
{
    const struct json *tags = json_get(line, "tags");
    bool matches = filter == NULL || fnmatch(filter, json_string_or(json_get(line, "id"), ""), 0) == 0;
    for (size_t i = 0; !matches && i < json_count(tags); i++) {
        matches = fnmatch(filter, json_string_or(json_at(tags, i), ""), 0) == 0;
    }
    return matches;
}

static const char *word_or(const struct json *identity, const char *key, const char *fallback)
{
    return json_string_or(json_get(identity, key), fallback);
}

static enum point_reason line_judge(const struct json *line, const struct json *identity)
{
    const char *status = json_string_or(json_get(line, "status"), "");
    const char *mode = word_or(identity, "mode", "");
    const char *cache_dtype = word_or(identity, "cache_dtype", "auto");
    if (strcmp(mode, "infer") != 0 && strcmp(mode, "generate") != 0) {
        return POINT_OTHER_MODE;
    }
    if (json_count(json_get(line, "places")) > 0 || json_count(json_get(line, "search")) > 0) {
        return POINT_PLACED;
    }
    if (strcmp(word_or(json_get(line, "device"), "kind", ""), "meta") == 0) {
        return POINT_PREDICTED;
    }
    if ((strcmp(status, "ok") != 0 && strcmp(status, "fail") != 0) || bytes_of(line, "allocated_bytes_peak") <= 0) {
        return POINT_NOT_MEASURED;
    }
    if (!json_boolean_or(json_get(json_get(line, "validity"), "valid"), true)) {
        return POINT_DISTURBED;
    }
    if (law_element_bytes(word_or(identity, "precision", "")) == 0) {
        return POINT_OTHER_NUMBERS;
    }
    if (json_boolean_or(json_get(identity, "padding"), false) || json_integer_or(json_get(identity, "beams"), 1) > 1 ||
        strcmp(cache_dtype, "auto") != 0 || strcmp(word_or(identity, "outputs", "dropped"), "dropped") != 0) {
        return POINT_OTHER_WAYS;
    }
    return POINT_COUNTED;
}

static void line_measured(const struct json *line, struct law_point *point)
{
    const struct json *stages = json_get(line, "stages");
    point->weights_bytes = bytes_of(json_get(stages, stage_name(STAGE_LOAD)), "requested_bytes");
    point->pass_bytes = bytes_of(json_get(stages, stage_name(STAGE_FORWARD)), "requested_bytes_peak");
    point->decode_bytes = bytes_of(json_get(stages, stage_name(STAGE_GENERATE)), "requested_bytes_peak");
    point->allocated_bytes = bytes_of(line, "allocated_bytes_peak");
    point->footprint_bytes = footprint_of(line);
}

static enum status_code line_add(const struct json *line, const char *source, const char *program,
                                 const struct point_places *places, struct law_points *points, struct status *error)
{
    const struct json *identity = json_get(line, "identity");
    enum point_reason reason = line_judge(line, identity);
    struct law_point point = {
        .source = source,
        .model = word_or(identity, "model", ""),
        .target = word_or(json_get(line, "device"), "target", "unknown"),
        .program = program,
        .mode = word_or(identity, "mode", ""),
        .precision = word_or(identity, "precision", ""),
        .logits = strcmp(word_or(identity, "head", "lm"), "lm") != 0 ? "none" : word_or(identity, "logits", "all"),
        .cache =
            json_boolean_or(json_get(identity, "use_cache"), false) ? "dynamic" : word_or(identity, "cache", "none"),
        .batch = json_integer_or(json_get(identity, "batch"), 1),
        .seq = json_integer_or(json_get(identity, "seq"), 0),
        .new_tokens = json_integer_or(json_get(identity, "new_tokens"), 0),
    };
    if (reason == POINT_COUNTED) {
        line_measured(line, &point);
        if (point.weights_bytes <= 0) {
            reason = POINT_NOT_MEASURED;
        } else if (law_points_model(points, places, point.model, word_or(identity, "attention", "eager"), &point,
                                    &reason)) {
            return law_points_add(points, &point, error);
        }
    }
    points->reasons[reason]++;
    return STATUS_OK;
}

static enum status_code records_read(const char *path, const char *filter, const struct point_places *places,
                                     struct law_points *points, struct status *error)
{
    struct record_stream *stream = NULL;
    struct record_line line = {0};
    char program[64] = "assay";
    enum status_code code = record_stream_open(path, &stream, error);
    while (code == STATUS_OK && (code = record_stream_next(stream, &line, error)) == STATUS_OK &&
           line.type != RECORD_LINE_NONE) {
        if (line.type == RECORD_LINE_RUN) {
            snprintf(program, sizeof program, "%s",
                     json_string_or(json_get(json_get(line.value, "tool"), "name"), "unknown"));
        } else if (line.type == RECORD_LINE_CASE && law_line_matches(line.value, filter)) {
            code = line_add(line.value, path, program, places, points, error);
        }
    }
    record_stream_close(stream);
    return code;
}

enum status_code law_points_read(const char *path, const char *filter, const struct point_places *places,
                                 struct law_points *points, struct status *error)
{
    struct line_source *lines = NULL;
    const char *bytes = NULL;
    size_t length = 0;
    /* A folder is one of records, which say what is wrong with it. */
    if (line_source_open(path, false, "", &lines, NULL) != STATUS_OK) {
        return records_read(path, filter, places, points, error);
    }
    enum status_code code = line_source_begin(lines, &bytes, &length, error);
    bool is_table = code == STATUS_OK && points_table_begins(bytes, length);
    if (is_table) {
        code = filter == NULL
                   ? points_table_read(lines, path, places, points, error)
                   : status_set_at(error, STATUS_INVALID, (struct file_place){path, 0, 0},
                                   "--filter chooses records, and this is a table; choose its lines with grep");
    }
    line_source_close(lines);
    return is_table || code != STATUS_OK ? code : records_read(path, filter, places, points, error);
}

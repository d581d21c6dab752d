/* Law points: which cases of records count, and the numbers of their models. */
#include "harness/law/law_points.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/record/line_source.h"
#include "harness/record/record.h"
#include "harness/tape/tape.h"
#include "models/find/model.h"

struct law_model {
    bool is_known, has_terms;
    enum point_reason reason;
    struct law_point numbers; /* of either attention; its texts are words */
    bool is_always_eager;
};

static enum status_code no_memory(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the points of a law");
}

/* ---- models ---- */

static void model_look_up(struct law_points *points, const struct point_places *places, const char *name,
                          struct law_model *found)
{
    struct model model = {0};
    const struct model_places where = {.catalogue_dir = places->catalogue_dir};
    enum status_code code = model_find(&where, name, &model, NULL);
    if (code != STATUS_OK && places->resource != NULL) {
        const char *path = places->resource(&points->arena, name);
        code = path != NULL ? model_find(&where, path, &model, NULL) : code;
    }
    found->is_known = true;
    found->reason = POINT_NOT_FOUND;
    if (code == STATUS_OK) {
        found->has_terms = law_point_model(&model.config, "sdpa", &found->numbers);
        found->reason = POINT_OTHER_KIND;
        found->is_always_eager = found->has_terms && strcmp(found->numbers.attention, "eager") == 0;
        found->numbers.kind = name_table_keep(&points->words, &points->arena, found->numbers.kind);
        found->has_terms = found->has_terms && found->numbers.kind != NULL;
        model_release(&model);
    }
}

static struct law_model *model_of(struct law_points *points, int number)
{
    while (points->model_room <= (size_t)number) {
        size_t before = points->model_room;
        struct law_model *more =
            arena_array_extend(&points->arena, points->models, before, &points->model_room, sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        memset(more + before, 0, (points->model_room - before) * sizeof *more);
        points->models = more;
    }
    return &points->models[number];
}

bool law_points_model(struct law_points *points, const struct point_places *places, const char *model,
                      const char *attention, struct law_point *point, enum point_reason *reason)
{
    int number = name_table_add(&points->words, &points->arena, model);
    struct law_model *found = number < 0 ? NULL : model_of(points, number);
    if (found == NULL) {
        *reason = POINT_NOT_FOUND;
        return false;
    }
    if (!found->is_known) {
        struct law_model looked = {0};
        model_look_up(points, places, model, &looked); /* adds words, which may move the models */
        points->models[number] = looked;
        found = &points->models[number];
    }
    *reason = found->reason;
    if (!found->has_terms) {
        return false;
    }
    const struct law_point *numbers = &found->numbers;
    point->kind = numbers->kind;
    point->attention = found->is_always_eager ? "eager" : attention;
    point->hidden = numbers->hidden;
    point->width = numbers->width;
    point->cached_width = numbers->cached_width;
    point->heads = numbers->heads;
    point->layers = numbers->layers;
    point->ffn = numbers->ffn;
    point->vocab = numbers->vocab;
    point->image_values = numbers->image_values;
    point->seq = numbers->image_values > 0 ? numbers->seq : point->seq;
    return true;
}

/* ---- points ---- */

static enum status_code key_make(const struct law_point *point, struct text *key, struct status *error)
{
    text_format(key, "%s|%s|%s|%s|%s|%s|%s|%s|%" PRId64 "|%" PRId64 "|%" PRId64, point->model, point->target,
                point->program, point->mode, point->precision, point->attention, point->logits, point->cache,
                point->batch, point->seq, point->new_tokens);
    return text_status(key, "a point of a law", error);
}

static struct law_point *place_of(struct law_points *points, int number, bool *is_new)
{
    size_t before = points->key_room;
    if ((size_t)number >= before) {
        int *more = arena_array_extend(&points->arena, points->place_of_key, before, &points->key_room, sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        for (size_t at = before; at < points->key_room; at++) {
            more[at] = -1;
        }
        points->place_of_key = more;
    }
    *is_new = points->place_of_key[number] < 0;
    if (*is_new) {
        struct law_point *all =
            arena_array_extend(&points->arena, points->all, (size_t)points->count, &points->room, sizeof *all);
        if (all == NULL) {
            return NULL;
        }
        points->all = all;
        points->place_of_key[number] = points->count++;
    }
    return &points->all[points->place_of_key[number]];
}

enum status_code law_points_add(struct law_points *points, const struct law_point *point, struct status *error)
{
    struct text key = {0};
    bool is_new = false;
    enum status_code code = key_make(point, &key, error);
    int number = code == STATUS_OK ? name_table_add(&points->keys, &points->arena, text_string(&key)) : -1;
    text_release(&key);
    struct law_point *place = number < 0 ? NULL : place_of(points, number, &is_new);
    if (place == NULL) {
        return code != STATUS_OK ? code : no_memory(error);
    }
    *place = *point;
    bool kept = true;
#define POINT_TEXT_KEEP(member, heading)                                                                               \
    place->member = name_table_keep(&points->words, &points->arena, point->member);                                    \
    kept = kept && place->member != NULL;
    LAW_POINT_TEXTS(POINT_TEXT_KEEP)
#undef POINT_TEXT_KEEP
    points->reasons[is_new ? POINT_COUNTED : POINT_AGAIN]++;
    return kept ? STATUS_OK : no_memory(error);
}

/* ---- records ---- */

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

static bool line_matches(const struct json *line, const char *filter)
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
    if (law_element_bytes(word_or(identity, "precision", "")) == 0 ||
        json_kind(json_get(identity, "quantize")) == JSON_KIND_STRING) {
        return POINT_OTHER_NUMBERS;
    }
    if (json_boolean_or(json_get(identity, "padding"), false) || json_integer_or(json_get(identity, "beams"), 1) > 1 ||
        strcmp(cache_dtype, "auto") != 0) {
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

static enum status_code line_add(const struct json *line, const char *program, const struct point_places *places,
                                 struct law_points *points, struct status *error)
{
    const struct json *identity = json_get(line, "identity");
    enum point_reason reason = line_judge(line, identity);
    struct law_point point = {
        .model = word_or(identity, "model", ""),
        .target = word_or(json_get(line, "device"), "target", "unknown"),
        .program = program,
        .mode = word_or(identity, "mode", ""),
        .precision = word_or(identity, "precision", ""),
        .logits = word_or(identity, "logits", "all"),
        .cache = word_or(identity, "cache", "none"),
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
        } else if (line.type == RECORD_LINE_CASE && line_matches(line.value, filter)) {
            code = line_add(line.value, program, places, points, error);
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
        code = points_table_read(lines, path, filter, places, points, error);
    }
    line_source_close(lines);
    return is_table || code != STATUS_OK ? code : records_read(path, filter, places, points, error);
}

void law_points_release(struct law_points *points)
{
    name_table_release(&points->words);
    name_table_release(&points->keys);
    arena_release(&points->arena);
    *points = (struct law_points){0};
}

void law_points_append(struct text *text, const struct law_points *points)
{
#define POINT_REASON_WORDS(name, words) words,
    static const char *const words[] = {POINT_REASON_TABLE(POINT_REASON_WORDS)};
#undef POINT_REASON_WORDS
    int64_t all = 0;
    const char *lead = "; left out: ";
    for (int reason = 0; reason < POINT_REASON_COUNT; reason++) {
        all += points->reasons[reason];
    }
    text_format(text, "%d of %" PRId64 " cases count", points->count, all);
    for (int reason = POINT_COUNTED + 1; reason < POINT_REASON_COUNT; reason++) {
        if (points->reasons[reason] > 0) {
            text_format(text, "%s%" PRId64 " %s", lead, points->reasons[reason], words[reason]);
            lead = ", ";
        }
    }
}

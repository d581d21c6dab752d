/* Footprint reading: stages, peaks and causes of a record as plain C. Not which footprints a case has. */
#include "harness/report/footprint_reading.h"

#include <string.h>

const char *word_read(struct filling *filling, const struct json *value, const char *fallback)
{
    const char *word = json_string_or(value, NULL);
    if (word == NULL) {
        return fallback;
    }
    const char *kept = report_word(filling->report, word);
    filling->failed = filling->failed || kept == NULL;
    return kept;
}

int64_t bytes_read(const struct json *object, const char *key)
{
    int64_t bytes = json_integer_or(json_get(object, key), BYTES_UNKNOWN);
    return bytes < 0 ? BYTES_UNKNOWN : bytes;
}

const bool *flag_read(const struct json *value)
{
    static const bool yes = true, no = false;
    return json_kind(value) != JSON_KIND_BOOLEAN ? NULL : json_boolean_or(value, false) ? &yes : &no;
}

double seconds_read(const struct json *object, const char *key)
{
    double seconds = json_real_or(json_get(object, key), -1.0);
    return seconds >= 0.0 ? seconds : -1.0;
}

static void categories_read(const struct json *object, struct footprint_view *footprint)
{
    if (json_kind(object) != JSON_KIND_OBJECT) {
        return;
    }
    footprint->categories_known = true;
    for (int category = 0; category < CATEGORY_COUNT; category++) {
        int64_t bytes = bytes_read(object, report_category_name(category));
        footprint->category_bytes[category] = bytes == BYTES_UNKNOWN ? 0 : bytes;
    }
}

#define UNKNOWN(name, ...) BYTES_UNKNOWN,
static const int64_t unknown_bytes[LEVEL_COUNT] = {LEVEL_COUNTED_TABLE(UNKNOWN) LEVEL_READING_TABLE(UNKNOWN)};
#undef UNKNOWN

/* The figures of all levels, in the arena. */
static const int64_t *levels_keep(struct filling *filling, const int64_t *bytes)
{
    if (memcmp(bytes, unknown_bytes, sizeof unknown_bytes) == 0) {
        return unknown_bytes;
    }
    int64_t *kept = arena_alloc(&filling->report->arena, sizeof unknown_bytes);
    if (kept == NULL) {
        filling->failed = true;
        return unknown_bytes;
    }
    memcpy(kept, bytes, sizeof unknown_bytes);
    return kept;
}

static void stage_read(struct filling *filling, const struct json *object, struct stage_view *stage)
{
    int64_t end_bytes[LEVEL_COUNT], peak_bytes[LEVEL_COUNT];
    *stage = (struct stage_view){.end_bytes = unknown_bytes, .peak_bytes = unknown_bytes, .seconds = -1.0};
    if (json_kind(object) != JSON_KIND_OBJECT) {
        return;
    }
    stage->present = true;
    stage->seconds = seconds_read(object, "seconds");
    for (int level = 0; level < LEVEL_COUNT; level++) {
        end_bytes[level] = bytes_read(object, level_key((enum level)level));
        peak_bytes[level] = bytes_read(object, level_peak_key((enum level)level));
        peak_bytes[level] = peak_bytes[level] == BYTES_UNKNOWN ? end_bytes[level] : peak_bytes[level];
    }
    stage->end_bytes = levels_keep(filling, end_bytes);
    bool same = memcmp(end_bytes, peak_bytes, sizeof end_bytes) == 0;
    stage->peak_bytes = same ? stage->end_bytes : levels_keep(filling, peak_bytes);
}

void footprint_read(struct filling *filling, const struct json *object, bool is_whole, struct footprint_view *footprint)
{
    const struct json *stages = json_get(object, "stages");
    footprint->present = json_count(stages) > 0;
    footprint->saved_for_backward_bytes = bytes_read(object, "saved_for_backward_bytes");
    for (int level = 0; level < LEVEL_COUNT; level++) {
        footprint->peak_bytes[level] = bytes_read(object, level_peak_key((enum level)level));
        footprint->present = footprint->present || footprint->peak_bytes[level] != BYTES_UNKNOWN;
    }
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        struct stage_view *view = &footprint->stages[stage];
        stage_read(filling, json_get(stages, report_stage_name(stage)), view);
        for (int level = 0; level < LEVEL_COUNT && stage != STAGE_CONTEXT && is_whole; level++) {
            if (view->peak_bytes[level] > footprint->peak_bytes[level]) {
                footprint->peak_bytes[level] = view->peak_bytes[level];
            }
        }
    }
    categories_read(json_get(object, "categories_at_peak"), footprint);
}

void causes_read(const struct json *object, struct causes_view *causes)
{
    causes->present = json_kind(object) == JSON_KIND_OBJECT;
    causes->rounding_bytes = bytes_read(object, "rounding_bytes");
    causes->remainder_bytes = bytes_read(object, "unsplit_remainder_bytes");
    causes->remainder_count = bytes_read(object, "unsplit_remainder_count");
    causes->cached_bytes = bytes_read(object, "cached_bytes");
}

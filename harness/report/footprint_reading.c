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

#define UNKNOWN(name, ...) BYTES_UNKNOWN,
#define UNKNOWN_BYTES                                                                                                  \
    {                                                                                                                  \
        LEVEL_COUNTED_TABLE(UNKNOWN) LEVEL_READING_TABLE(UNKNOWN)                                                      \
    }
static const struct stage_view stage_absent = {
    .end_bytes = UNKNOWN_BYTES, .peak_bytes = UNKNOWN_BYTES, .seconds = -1.0};
const struct footprint_view footprint_none = {
    .stages = {&stage_absent, &stage_absent, &stage_absent, &stage_absent, &stage_absent, &stage_absent},
    .peak_bytes = UNKNOWN_BYTES,
    .saved_for_backward_bytes = BYTES_UNKNOWN};
_Static_assert(STAGE_COUNT == 6, "a stage that footprint_none says nothing of");
#undef UNKNOWN_BYTES
#undef UNKNOWN

/* What replay predicts is as a rule what was measured, and then the same array. */
static const int64_t *categories_read(struct filling *filling, const struct json *object)
{
    const int64_t *measured_bytes = filling->view->measured.category_bytes;
    int64_t category_bytes[CATEGORY_COUNT];
    if (json_kind(object) != JSON_KIND_OBJECT) {
        return NULL;
    }
    for (int category = 0; category < CATEGORY_COUNT; category++) {
        int64_t bytes = bytes_read(object, report_category_name(category));
        category_bytes[category] = bytes == BYTES_UNKNOWN ? 0 : bytes;
    }
    if (measured_bytes != NULL && memcmp(measured_bytes, category_bytes, sizeof category_bytes) == 0) {
        return measured_bytes;
    }
    int64_t *kept = arena_alloc(&filling->report->arena, sizeof category_bytes);
    if (kept == NULL) {
        filling->failed = true;
        return NULL;
    }
    return memcpy(kept, category_bytes, sizeof category_bytes);
}

static void stage_read(const struct json *object, struct stage_view *stage)
{
    *stage = stage_absent;
    if (json_kind(object) != JSON_KIND_OBJECT) {
        return;
    }
    stage->present = true;
    stage->seconds = seconds_read(object, "seconds");
    for (int level = 0; level < LEVEL_COUNT; level++) {
        const int64_t end_bytes = bytes_read(object, level_key((enum level)level)),
                      peak_bytes = bytes_read(object, level_peak_key((enum level)level));
        stage->end_bytes[level] = end_bytes;
        stage->peak_bytes[level] = peak_bytes == BYTES_UNKNOWN ? end_bytes : peak_bytes;
    }
}

static const struct stage_view *stage_keep(struct filling *filling, const struct stage_view *stage)
{
    struct stage_view *kept = stage->present ? arena_alloc(&filling->report->arena, sizeof *kept) : NULL;
    if (kept == NULL) {
        filling->failed = filling->failed || stage->present;
        return &stage_absent;
    }
    *kept = *stage;
    return kept;
}

void footprint_read(struct filling *filling, const struct json *object, enum walk walk,
                    struct footprint_view *footprint)
{
    const struct json *stages = json_get(object, "stages");
    const bool keeps = walk != WALK_PREDICTED || !filling->report->is_side;
    *footprint = footprint_none;
    footprint->present = json_count(stages) > 0;
    footprint->saved_for_backward_bytes = bytes_read(object, "saved_for_backward_bytes");
    for (int level = 0; level < LEVEL_COUNT; level++) {
        footprint->peak_bytes[level] = bytes_read(object, level_peak_key((enum level)level));
        footprint->present = footprint->present || footprint->peak_bytes[level] != BYTES_UNKNOWN;
    }
    for (int number = 0; number < STAGE_COUNT; number++) {
        struct stage_view stage;
        stage_read(json_get(stages, report_stage_name(number)), &stage);
        footprint->stages[number] = keeps ? stage_keep(filling, &stage) : &stage_absent;
        for (int level = 0; level < LEVEL_COUNT && number != STAGE_CONTEXT && walk != WALK_CUT; level++) {
            if (stage.peak_bytes[level] > footprint->peak_bytes[level]) {
                footprint->peak_bytes[level] = stage.peak_bytes[level];
            }
        }
    }
    footprint->category_bytes = categories_read(filling, json_get(object, "categories_at_peak"));
}

void causes_read(const struct json *object, struct causes_view *causes)
{
    causes->present = json_kind(object) == JSON_KIND_OBJECT;
    causes->rounding_bytes = bytes_read(object, "rounding_bytes");
    causes->remainder_bytes = bytes_read(object, "unsplit_remainder_bytes");
    causes->remainder_count = bytes_read(object, "unsplit_remainder_count");
    causes->cached_bytes = bytes_read(object, "cached_bytes");
}

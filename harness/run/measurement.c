/* Measurement: figures into JSON, unknown ones as null. Not the judging of them. */
#include "harness/run/measurement.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/run/reading_items.h"

static struct json *known_or_null(bool known, int64_t value)
{
    return known ? json_integer_new(value) : json_null_new();
}

static struct json *text_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? json_string_new(text) : json_null_new();
}

struct json *device_json(const struct measurement_place *place)
{
    const struct device_properties *properties = &place->properties;
    struct json *object = json_object_new();
    bool made = json_set(object, "kind", json_string_new(properties->kind)) &&
                json_set(object, "name", text_or_null(properties->name)) &&
                json_set(object, "spec", text_or_null(place->spec)) &&
                json_set(object, "target", text_or_null(properties->target)) &&
                json_set(object, "total_bytes", known_or_null(properties->total_bytes > 0, properties->total_bytes)) &&
                json_set(object, "threads", known_or_null(properties->thread_count > 0, properties->thread_count)) &&
                json_set(object, "driver", text_or_null(properties->driver)) &&
                json_set(object, "runtime", text_or_null(properties->runtime)) &&
                json_set(object, "pci_bus_id", text_or_null(properties->pci_bus_id)) &&
                json_set(object, "uuid", text_or_null(properties->uuid)) &&
                json_set(object, "shared", json_boolean_new(place->shared));
    return json_made(object, made);
}

struct json *constants_json(const struct constants *constants, const char *id, const char *mismatch)
{
    if (constants == NULL) {
        return json_null_new();
    }
    const struct constants_device *device = &constants->device;
    struct json *object = json_object_new();
    bool made = json_set(object, "path", text_or_null(constants->path)) &&
                json_set(object, "hash", text_or_null(constants->hash)) &&
                json_set(object, "kind", text_or_null(device->kind)) &&
                json_set(object, "name", text_or_null(device->name)) &&
                json_set(object, "driver", text_or_null(device->driver)) &&
                json_set(object, "revision", text_or_null(constants->tool_revision)) &&
                json_set(object, "calibrated", json_boolean_new(constants_have_case(constants, id))) &&
                json_set(object, "mismatch", text_or_null(mismatch));
    return json_made(object, made);
}

static struct json *categories_json(const int64_t categories[CATEGORY_COUNT])
{
    struct json *object = json_object_new();
    bool made = object != NULL;
    for (int i = 0; made && i < CATEGORY_COUNT; i++) {
        made = json_set(object, category_name((enum category)i), json_integer_new(categories[i]));
    }
    return json_made(object, made);
}

/* null if the total is not known. */
static struct json *items_json(const struct measurement_place *place, const struct replay_result *result,
                               const struct replay_stage *stage, enum reading_total total)
{
    struct reading_items items;
    /* On a GPU that others use meanwhile, what was loaded is not told from what they took. */
    bool loads_valid = !(place->shared && stage->reading.device_valid);
    bool hidden = place->shared && total == READING_TOTAL_DEVICE;
    if (hidden || place->is_part ||
        !reading_itemise(total, &result->stages[STAGE_CONTEXT], stage, loads_valid, &items)) {
        return json_null_new();
    }
    return reading_items_json(total, &items);
}

/* Of a stage that is not there, and of the whole device if others use it too, nothing is valid. */
static const struct level_reading *reading_of(const struct measurement_place *place, const struct replay_stage *stage,
                                              enum level level)
{
    static const struct level_reading none = {0};
    bool hidden = !stage->present || (place->shared && level == LEVEL_DEVICE);
    return hidden ? &none : &stage->reading.levels[level - LEVEL_COUNTED_COUNT];
}

static bool readings_set(struct json *object, const struct measurement_place *place, const struct replay_result *result,
                         const struct replay_stage *stage)
{
    bool made = true;
    for (int i = LEVEL_COUNTED_COUNT; made && i < LEVEL_RECORDED_COUNT; i++) {
        enum level level = (enum level)i;
        const struct level_reading *reading = reading_of(place, stage, level);
        made = json_set(object, level_key(level), known_or_null(reading->valid, reading->bytes)) &&
               (!level_has_peak(level) ||
                json_set(object, level_peak_key(level), known_or_null(reading->peak_valid, reading->peak_bytes)));
    }
    return made && json_set(object, "device_items", items_json(place, result, stage, READING_TOTAL_DEVICE)) &&
           json_set(object, "process_items", items_json(place, result, stage, READING_TOTAL_PROCESS));
}

static struct json *stage_json(const struct measurement_place *place, const struct replay_result *result,
                               const struct replay_stage *stage)
{
    struct json *object = json_object_new();
    bool made =
        level_figures_set(object, stage->levels) && readings_set(object, place, result, stage) &&
        json_set(object, "seconds", place->properties.computes ? json_real_new(stage->seconds) : json_null_new()) &&
        json_set(object, "categories_at_peak", categories_json(stage->categories_at_peak));
    return json_made(object, made);
}

static struct json *stages_json(const struct measurement_place *place, const struct replay_result *result)
{
    struct json *object = json_object_new();
    bool made = object != NULL;
    for (int i = 0; made && i < STAGE_COUNT; i++) {
        if (i != STAGE_CONTEXT && result->stages[i].present) {
            made = json_set(object, stage_name((enum stage)i), stage_json(place, result, &result->stages[i]));
        }
    }
    return json_made(object, made);
}

/* The readings of the levels from begin to end. */
static bool levels_now_set(struct json *object, const struct measurement_place *place, const struct replay_stage *stage,
                           int begin, int end)
{
    bool made = object != NULL;
    for (int i = begin; made && i < end; i++) {
        const struct level_reading *reading = reading_of(place, stage, (enum level)i);
        made = json_set(object, level_key((enum level)i), known_or_null(reading->valid, reading->bytes));
    }
    return made;
}

static struct json *context_json(const struct measurement_place *place, const struct replay_stage *stage)
{
    bool baseline_known = stage->present && stage->reading.baseline_valid && !place->shared;
    struct json *object = json_object_new();
    bool made = levels_now_set(object, place, stage, LEVEL_COUNTED_COUNT, LEVEL_COUNT) &&
                json_set(object, "baseline_bytes", known_or_null(baseline_known, stage->reading.baseline_bytes)) &&
                levels_now_set(object, place, stage, LEVEL_COUNT, LEVEL_RECORDED_COUNT);
    return json_made(object, made);
}

static struct json *cause_json(bool known, const struct replay_causes *causes)
{
    if (!known) {
        return json_null_new();
    }
    struct json *object = json_object_new();
    bool made = json_set(object, "rounding_bytes", json_integer_new(causes->rounding_bytes)) &&
                json_set(object, "unsplit_remainder_bytes", json_integer_new(causes->unsplit_remainder_bytes)) &&
                json_set(object, "unsplit_remainder_count", json_integer_new(causes->unsplit_remainder_count)) &&
                json_set(object, "cached_bytes", json_integer_new(causes->cached_bytes));
    return json_made(object, made);
}

static struct json *causes_json(const struct replay_result *result, bool out_of_memory)
{
    bool loaded = result->stages[STAGE_LOAD].present;
    struct json *object = json_object_new();
    bool made = json_set(object, "load", cause_json(loaded, &result->causes_at_load)) &&
                json_set(object, "end", cause_json(!out_of_memory, &result->causes_at_end));
    return json_made(object, made);
}

struct json *oom_json(const struct replay_result *result)
{
    struct json *object = json_object_new();
    bool known = result->oom_wanted_bytes > 0;
    bool made = json_set(object, "wanted_bytes", known_or_null(known, result->oom_wanted_bytes)) &&
                json_set(object, "free_bytes", known_or_null(result->oom_free_valid, result->oom_free_bytes)) &&
                json_set(object, "held_bytes", json_integer_new(result->oom_held_bytes)) &&
                json_set(object, "stage", json_string_new(stage_name(result->oom_stage))) &&
                json_set(object, "label", text_or_null(result->oom_label));
    return json_made(object, made);
}

static struct json *declined_row_json(const struct declined_products *row)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "operation", json_string_new(opcode_name(row->opcode))) &&
                json_set(object, "library", json_string_new(row->library)) &&
                json_set(object, "status", json_string_new(row->status)) &&
                json_set(object, "count", json_integer_new(row->count));
    return json_made(object, made);
}

struct json *declined_products_json(const char *kind, const struct device_reading *reading)
{
    if (reading == NULL || strcmp(kind, "cuda") != 0) {
        return json_null_new();
    }
    struct json *list = json_array_new();
    bool made = true;
    for (int i = 0; made && i < DECLINED_ROWS && reading->declined[i].count > 0; i++) {
        made = json_append(list, declined_row_json(&reading->declined[i]));
    }
    return json_made(list, made);
}

/* Of the last stage that ended; NULL: none did. */
static const struct device_reading *reading_last(const struct replay_result *result)
{
    const struct device_reading *last = NULL;
    for (int i = 0; i < STAGE_COUNT; i++) {
        last = result->stages[i].present ? &result->stages[i].reading : last;
    }
    return last;
}

/* What is known only at the end of the whole tape. */
static bool ending_set(struct json *object, const struct replay_result *result, bool out_of_memory)
{
    char hash[24];
    bool done = !out_of_memory;
    bool trained = result->stages[STAGE_BACKWARD].present;
    snprintf(hash, sizeof hash, "%016" PRIx64, result->sequence_hash);
    return level_peaks_set(object, done ? result->peaks : NULL) &&
           json_set(object, "peak_stage", done ? json_string_new(stage_name(result->peak_stage)) : json_null_new()) &&
           json_set(object, "categories_at_peak",
                    done ? categories_json(result->categories_at_peak) : json_null_new()) &&
           json_set(object, "saved_for_backward_bytes",
                    known_or_null(done && trained, result->saved_for_backward_bytes)) &&
           json_set(object, "attention_backend", text_or_null(done ? result->attention_backend : NULL)) &&
           json_set(object, "loss", done && result->loss_valid ? json_real_new(result->loss) : json_null_new()) &&
           json_set(object, "sequence_hash", done ? json_string_new(hash) : json_null_new());
}

struct json *measurement_json(const struct measurement_place *place, const struct replay_result *result,
                              const struct validity *validity, bool out_of_memory)
{
    struct json *object = json_object_new();
    bool made =
        json_set(object, "stages", stages_json(place, result)) &&
        json_set(object, "context", context_json(place, &result->stages[STAGE_CONTEXT])) &&
        json_set(object, "validity", place->properties.computes ? validity_json(validity) : json_null_new()) &&
        ending_set(object, result, out_of_memory) &&
        json_set(object, "declined_products", declined_products_json(place->properties.kind, reading_last(result))) &&
        json_set(object, "causes", causes_json(result, out_of_memory)) &&
        json_set(object, "oom", out_of_memory ? oom_json(result) : json_null_new());
    return json_made(object, made);
}

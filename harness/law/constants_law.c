/* Constants law: its text and its document. The figures are calibration_make's. */
#include "harness/law/constants_law.h"

#include <inttypes.h>
#include <math.h>

#include "harness/law/law_file.h"
#include "harness/report/escape.h"

#define MEBIBYTE 1048576.0

double constants_confidence(int64_t count)
{
    return count > 1 ? 1.0 - pow(2.0, 1.0 - (double)count) : 0.0;
}

static void spread_line(struct text *text, const char *name, const char *level, const struct constants_spread *spread)
{
    if (!spread->known) {
        return;
    }
    text_format(text, "  %-9s %-8s %9.2f %9.2f to %7.2f %5" PRId64, name, level, (double)spread->median / MEBIBYTE,
                (double)spread->minimum / MEBIBYTE, (double)spread->maximum / MEBIBYTE, spread->count);
    if (spread->count > 1) {
        text_format(text, " %8.1f %%\n", 100.0 * constants_confidence(spread->count));
    } else {
        text_append(text, "  one reading: no uncertainty is known\n");
    }
}

static void levels_lines(struct text *text, const char *name, const struct constants_levels *levels)
{
    spread_line(text, name, "process", &levels->process);
    spread_line(text, name, "device", &levels->device);
}

void constants_law_append(struct text *text, const struct constants *constants)
{
    char words[CONSTANTS_WORDS_BYTES];
    const struct constants_device *device = &constants->device;
    text_append(text, "footprint = context + segments + growth of the mode, on ");
    terminal_append(text, constants_device_words(device->kind, device->name, device->thread_count, words));
    text_format(text, "\n%d cases; driver ", constants->case_count);
    terminal_append(text, device->driver[0] != '\0' ? device->driver : "not known");
    text_append(text, ", runtime ");
    terminal_append(text, device->runtime[0] != '\0' ? device->runtime : "not known");
    text_append(text, ", program ");
    terminal_append(text, constants->tool_version);
    text_append(text, "\n\n");
    text_format(text, "  %-9s %-8s %9s %20s %5s %10s\n", "MiB", "level", "median", "least to most", "count", "hold it");
    levels_lines(text, "context", &constants->context);
    for (int at = 0; at < constants->growth_count; at++) {
        levels_lines(text, constants->growth[at].mode, &constants->growth[at].levels);
    }
    text_append(text, "\nhold it: the chance that the least and the most of so many independent readings\n"
                      "hold the median of all that there could be, whatever their distribution\n");
}

static bool confidence_set(struct json *object, const char *key, const struct constants_levels *levels)
{
    struct json *both = json_object_new();
    const struct constants_spread *spreads[] = {&levels->process, &levels->device};
    static const char *const keys[] = {"process_bytes", "device_bytes"};
    bool made = true;
    for (int at = 0; at < 2; at++) {
        made = made && json_set(both, keys[at],
                                spreads[at]->known && spreads[at]->count > 1
                                    ? json_real_new(constants_confidence(spreads[at]->count))
                                    : json_null_new());
    }
    return json_set(object, key, json_made(both, made));
}

struct json *constants_law_json(const struct constants *constants, const char *version)
{
    struct json *document = json_object_new(), *schema = json_object_new(), *confidence = json_object_new();
    bool made = json_set(schema, "name", json_string_new(LAW_SCHEMA_NAME)) &&
                json_set(schema, "major", json_integer_new(LAW_SCHEMA_MAJOR)) &&
                json_set(schema, "minor", json_integer_new(LAW_SCHEMA_MINOR)) &&
                confidence_set(confidence, "context", &constants->context);
    for (int at = 0; at < constants->growth_count && made; at++) {
        made = confidence_set(confidence, constants->growth[at].mode, &constants->growth[at].levels);
    }
    made = made && json_set(document, "type", json_string_new("law")) &&
           json_set(document, "schema", json_share(schema)) &&
           json_set(document, "law", json_string_new("device-constants")) &&
           json_set(document, "version", json_string_new(version)) &&
           json_set(document, "constants", constants_to_json(constants)) &&
           json_set(document, "confidence", json_share(confidence));
    json_release(schema);
    json_release(confidence);
    return json_made(document, made);
}

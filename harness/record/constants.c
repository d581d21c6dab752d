/* Constants: what is asked of them, and the document that is written. The reader stands in constants_reader.c; where
 * the figures come from in harness/report/calibration.c. */
#include "harness/record/constants.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/record/level.h"

const struct constants_levels *constants_growth_of(const struct constants *constants, const char *mode)
{
    for (int i = 0; i < constants->growth_count; i++) {
        if (strcmp(constants->growth[i].mode, mode) == 0) {
            return &constants->growth[i].levels;
        }
    }
    return NULL;
}

bool constants_have_case(const struct constants *constants, const char *id)
{
    for (int i = 0; i < constants->case_count; i++) {
        if (strcmp(constants->cases[i], id) == 0) {
            return true;
        }
    }
    return false;
}

bool constants_are_of(const struct constants *constants, const char *kind, const char *name, int64_t thread_count)
{
    const struct constants_device *device = &constants->device;
    return strcmp(device->kind, kind) == 0 && strcmp(device->name, name) == 0 && device->thread_count == thread_count;
}

const char *driver_word(const char *kind)
{
    return strcmp(kind, "host") == 0 ? "kernel" : "driver";
}

bool constants_revision_append(struct text *text, const struct constants *constants, const char *revision)
{
    bool differs = constants->tool_revision[0] != '\0' && revision != NULL && revision[0] != '\0' &&
                   strcmp(constants->tool_revision, revision) != 0;
    if (differs) {
        text_format(text, "the constants were measured by revision %s of program %s, and this is %s",
                    constants->tool_revision, constants->tool_version, revision);
    }
    return differs;
}

bool constants_mismatch_append(struct text *text, const struct constants *constants,
                               const struct constants_place *place)
{
    const struct {
        const char *what, *there, *here;
    } rows[] = {{driver_word(constants->device.kind), constants->device.driver, place->driver},
                {"runtime", constants->device.runtime, place->runtime},
                {"program", constants->tool_version, place->tool_version}};
    bool found = false;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *here = rows[i].here != NULL ? rows[i].here : "";
        if (strcmp(rows[i].there, here) != 0) {
            text_format(text, "%s%s %s, not %s", found ? ", and " : "the constants were measured under ", rows[i].what,
                        rows[i].there[0] != '\0' ? rows[i].there : "unknown", here[0] != '\0' ? here : "unknown");
            found = true;
        }
    }
    return found;
}

const char *constants_device_words(const char *kind, const char *name, int64_t thread_count,
                                   char words[CONSTANTS_WORDS_BYTES])
{
    char threads[40] = "";
    if (thread_count > 0) {
        snprintf(threads, sizeof threads, " with %" PRId64 " thread%s", thread_count, thread_count == 1 ? "" : "s");
    }
    snprintf(words, CONSTANTS_WORDS_BYTES, "%.127s '%.127s'%s", kind, name, threads);
    return words;
}

/* Letters and digits of ASCII in lower case, one dash for every run of anything else, none at either end. */
static void slug_append(char slug[CONSTANTS_NAME_BYTES], const char *word)
{
    size_t length = strlen(slug);
    bool gap = length > 0;
    for (; *word != '\0' && length + 2 < CONSTANTS_NAME_BYTES; word++) {
        char c = *word >= 'A' && *word <= 'Z' ? (char)(*word - 'A' + 'a') : *word;
        if ((c < 'a' || c > 'z') && (c < '0' || c > '9')) {
            gap = length > 0;
            continue;
        }
        if (gap) {
            slug[length++] = '-';
        }
        gap = false;
        slug[length++] = c;
    }
    slug[length] = '\0';
}

const char *device_slug(const char *kind, const char *name, char slug[CONSTANTS_NAME_BYTES])
{
    slug[0] = '\0';
    if (strcmp(kind, "cuda") != 0) {
        slug_append(slug, kind);
    }
    slug_append(slug, name);
    if (slug[0] == '\0') {
        slug_append(slug, kind);
    }
    return slug;
}

static struct json *text_or_null(const char *text)
{
    return text[0] != '\0' ? json_string_new(text) : json_null_new();
}

static struct json *spread_json(const struct constants_spread *spread)
{
    if (!spread->known) {
        return json_null_new();
    }
    struct json *object = json_object_new();
    bool made = json_set(object, "median", json_integer_new(spread->median)) &&
                json_set(object, "min", json_integer_new(spread->minimum)) &&
                json_set(object, "max", json_integer_new(spread->maximum)) &&
                json_set(object, "count", json_integer_new(spread->count));
    return json_made(object, made);
}

static struct json *levels_json(const struct constants_levels *levels)
{
    struct json *object = json_object_new();
    bool made = json_set(object, level_key(LEVEL_PROCESS), spread_json(&levels->process)) &&
                json_set(object, level_key(LEVEL_DEVICE), spread_json(&levels->device));
    return json_made(object, made);
}

static struct json *schema_json(void)
{
    struct json *schema = json_object_new();
    bool made = json_set(schema, "name", json_string_new(CONSTANTS_SCHEMA_NAME)) &&
                json_set(schema, "major", json_integer_new(CONSTANTS_SCHEMA_MAJOR)) &&
                json_set(schema, "minor", json_integer_new(CONSTANTS_SCHEMA_MINOR));
    return json_made(schema, made);
}

static struct json *tool_json(const struct constants *constants)
{
    struct json *tool = json_object_new();
    bool made =
        json_set(tool, "name", json_string_new("assay")) &&
        json_set(tool, "version", json_string_new(constants->tool_version)) &&
        (constants->tool_revision[0] == '\0' || json_set(tool, "revision", json_string_new(constants->tool_revision)));
    return json_made(tool, made);
}

static struct json *device_json(const struct constants_device *device)
{
    char slug[CONSTANTS_NAME_BYTES];
    struct json *object = json_object_new();
    bool made = json_set(object, "kind", json_string_new(device->kind)) &&
                json_set(object, "name", text_or_null(device->name)) &&
                json_set(object, "slug", json_string_new(device_slug(device->kind, device->name, slug))) &&
                json_set(object, "threads",
                         device->thread_count > 0 ? json_integer_new(device->thread_count) : json_null_new()) &&
                json_set(object, "target", json_string_new(device->target)) &&
                json_set(object, "driver", text_or_null(device->driver)) &&
                json_set(object, "runtime", text_or_null(device->runtime));
    return json_made(object, made);
}

static struct json *cases_json(const struct constants *constants)
{
    struct json *cases = json_array_new();
    bool made = cases != NULL;
    for (int i = 0; made && i < constants->case_count; i++) {
        made = json_append(cases, json_string_new(constants->cases[i]));
    }
    return json_made(cases, made);
}

static struct json *growth_json(const struct constants *constants)
{
    struct json *growth = json_object_new();
    bool made = growth != NULL;
    for (int i = 0; made && i < constants->growth_count; i++) {
        made = json_set(growth, constants->growth[i].mode, levels_json(&constants->growth[i].levels));
    }
    return json_made(growth, made);
}

void constants_origin_append(struct text *text, const struct constants *constants)
{
    const struct constants_device *device = &constants->device;
    char words[CONSTANTS_WORDS_BYTES];
    text_format(text, "%s, measured under %s %s, runtime %s, program %s (%s)",
                constants_device_words(device->kind, device->name, device->thread_count, words),
                driver_word(device->kind), device->driver[0] != '\0' ? device->driver : "unknown",
                device->runtime[0] != '\0' ? device->runtime : "unknown", constants->tool_version, constants->path);
}

struct json *constants_origin_json(const struct constants *constants)
{
    const struct constants_device *device = &constants->device;
    struct json *object = json_object_new();
    bool made = json_set(object, "path", text_or_null(constants->path)) &&
                json_set(object, "hash", text_or_null(constants->hash)) &&
                json_set(object, "kind", text_or_null(device->kind)) &&
                json_set(object, "name", text_or_null(device->name)) &&
                json_set(object, "threads",
                         device->thread_count > 0 ? json_integer_new(device->thread_count) : json_null_new()) &&
                json_set(object, "driver", text_or_null(device->driver)) &&
                json_set(object, "runtime", text_or_null(device->runtime)) &&
                json_set(object, "program", text_or_null(constants->tool_version)) &&
                json_set(object, "revision", text_or_null(constants->tool_revision));
    return json_made(object, made);
}

struct json *constants_to_json(const struct constants *constants)
{
    struct json *document = json_object_new();
    bool made = json_set(document, "schema", schema_json()) && json_set(document, "tool", tool_json(constants)) &&
                json_set(document, "device", device_json(&constants->device)) &&
                json_set(document, "cases", cases_json(constants)) &&
                json_set(document, "context", levels_json(&constants->context)) &&
                json_set(document, "growth", growth_json(constants));
    return json_made(document, made);
}

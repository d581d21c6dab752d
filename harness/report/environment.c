/* Environment: what a result was measured under, property by property, read from its views and run lines. Of several
 * runs in one file, and of cases on several devices, all values are told: a night that was finished on another node
 * shows both. Judges nothing. */
#include "harness/report/environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/case_view.h"
#include "harness/report/wording.h"

enum { VALUES_MAXIMUM = 8, VALUE_BYTES = 256 };

struct values {
    const char *texts[VALUES_MAXIMUM]; /* distinct */
    int count;
    bool more;
};

static const struct json *run_of(const struct report *report, const struct case_view *view)
{
    return view != NULL ? json_at(report->runs, (size_t)view->run) : report_run(report);
}

static void device_format(const struct case_view *view, char text[VALUE_BYTES])
{
    if (view->device_kind != NULL) {
        bool named = view->device_name != NULL && strcmp(view->device_name, view->device_kind) != 0;
        snprintf(text, VALUE_BYTES, named ? "%.60s (%.180s)" : "%.60s", view->device_kind, view->device_name);
    }
}

/* A host's driver is its kernel, which is told as such. */
static bool driver_is_kernel(const struct case_view *view)
{
    return view->device_kind != NULL && strcmp(view->device_kind, "host") == 0;
}

/* Whether one of the first devices, or the last of them before its library number `count`, has this library. */
static bool library_is_told(const struct json *devices, size_t last, size_t count, const char *library)
{
    bool is_told = false;
    for (size_t i = 0; i <= last && !is_told; i++) {
        const struct json *libraries = json_get(json_at(devices, i), "libraries");
        size_t limit = i < last ? json_count(libraries) : count;
        for (size_t n = 0; n < limit && !is_told; n++) {
            is_told = strcmp(json_string_or(json_at(libraries, n), "?"), library) == 0;
        }
    }
    return is_told;
}

/* The libraries that a run found with its devices, each once, however many devices alike there are: "cuBLAS 12.4.5,
 * glibc 2.36". */
static void libraries_format(const struct json *run, char text[VALUE_BYTES])
{
    const struct json *devices = json_get(run, "devices");
    size_t length = 0;
    for (size_t i = 0; i < json_count(devices); i++) {
        const struct json *libraries = json_get(json_at(devices, i), "libraries");
        for (size_t n = 0; n < json_count(libraries) && length < VALUE_BYTES; n++) {
            const char *library = json_string_or(json_at(libraries, n), "?");
            int written =
                library_is_told(devices, i, n, library)
                    ? 0
                    : snprintf(text + length, VALUE_BYTES - length, "%s%.60s", length > 0 ? ", " : "", library);
            length += written > 0 ? (size_t)written : 0;
        }
    }
}

/* The variables of a run's environment: "OMP_NUM_THREADS=4 LD_PRELOAD=...", "none". */
static void variables_format(const struct json *run, char text[VALUE_BYTES])
{
    const struct json *variables = json_get(run, "variables");
    size_t length = 0;
    if (variables != NULL && json_kind(variables) == JSON_KIND_OBJECT && json_count(variables) == 0) {
        snprintf(text, VALUE_BYTES, "none");
    }
    for (const char *key = json_key_after(variables, NULL); key != NULL && length < VALUE_BYTES;
         key = json_key_after(variables, key)) {
        int written = snprintf(text + length, VALUE_BYTES - length, "%s%.60s=%.120s", length > 0 ? " " : "", key,
                               json_string_or(json_get(variables, key), "?"));
        length += written > 0 ? (size_t)written : 0;
    }
}

/* Two members of an object of the run line, with a blank between them. */
static void members_format(const struct json *object, const char *first, const char *second, char text[VALUE_BYTES])
{
    const char *left = json_string_or(json_get(object, first), "");
    const char *right = second != NULL ? json_string_or(json_get(object, second), "") : "";
    snprintf(text, VALUE_BYTES, "%.120s%s%.120s", left, left[0] != '\0' && right[0] != '\0' ? " " : "", right);
}

/* A member of the run line itself, of any kind. Constants that are null are those that are found for each device. */
static void option_format(const struct json *run, const char *name, char text[VALUE_BYTES])
{
    const struct json *value = json_get(run, name);
    if (value == NULL) {
        return;
    }
    switch (json_kind(value)) {
    case JSON_KIND_BOOLEAN:
        snprintf(text, VALUE_BYTES, "%s", json_boolean_or(value, false) ? "yes" : "no");
        break;
    case JSON_KIND_INTEGER:
        snprintf(text, VALUE_BYTES, "%" PRId64, json_integer_or(value, 0));
        break;
    case JSON_KIND_NULL:
        snprintf(text, VALUE_BYTES, "%s", strcmp(name, "constants") == 0 ? "of the device" : "");
        break;
    default:
        snprintf(text, VALUE_BYTES, "%.120s", json_string_or(value, ""));
    }
}

/* What a case says of its device; NULL: nothing, or no case is there. */
static const char *device_value(enum environment property, const struct case_view *view, char text[VALUE_BYTES])
{
    char word[WORDING_BYTES];
    text[0] = '\0';
    if (view == NULL) {
        return NULL;
    }
    switch (property) {
    case ENVIRONMENT_DEVICE:
        device_format(view, text);
        return text;
    case ENVIRONMENT_TARGET:
        return view->device_target;
    case ENVIRONMENT_RUNTIME:
        return view->device_runtime;
    case ENVIRONMENT_DRIVER:
        return driver_is_kernel(view) ? NULL : view->device_driver;
    case ENVIRONMENT_KERNEL:
        return driver_is_kernel(view) ? view->device_driver : NULL;
    case ENVIRONMENT_MEMORY:
        snprintf(text, VALUE_BYTES, "%s", bytes_word(view->device_total_bytes, false, word));
        return view->device_total_bytes > 0 ? text : NULL;
    case ENVIRONMENT_THREADS:
        snprintf(text, VALUE_BYTES, "%" PRId64, view->device_threads);
        return view->device_threads > 0 ? text : NULL;
    default:
        return NULL;
    }
}

/* The property of a case, or of the last run if view is NULL; "" if it is not recorded. */
static void value_format(enum environment property, const struct report *report, const struct case_view *view,
                         char text[VALUE_BYTES])
{
#define ENVIRONMENT_MEMBERS(name, key, words, object, first, second) {object, first, second},
    static const char *const members[][3] = {ENVIRONMENT_TABLE(ENVIRONMENT_MEMBERS)};
#undef ENVIRONMENT_MEMBERS
    const char *const *of_run = members[property];
    const struct json *run = run_of(report, view);
    char device[VALUE_BYTES];
    text[0] = '\0';
    if (property == ENVIRONMENT_LIBRARIES) {
        libraries_format(run, text);
    } else if (property == ENVIRONMENT_VARIABLES) {
        variables_format(run, text);
    } else if (of_run[0] != NULL && of_run[0][0] == '\0') {
        option_format(run, of_run[1], text);
    } else if (of_run[0] != NULL) {
        members_format(json_get(run, of_run[0]), of_run[1], of_run[2], text);
    }
    if (text[0] == '\0') {
        const char *value = device_value(property, view, device);
        snprintf(text, VALUE_BYTES, "%.250s", value != NULL ? value : "");
    }
}

static bool value_add(struct values *values, const char *text, struct arena *arena)
{
    for (int i = 0; i < values->count; i++) {
        if (strcmp(values->texts[i], text) == 0) {
            return true;
        }
    }
    if (values->count == VALUES_MAXIMUM) {
        values->more = true;
        return true;
    }
    const char *copy = arena_copy(arena, text);
    if (copy != NULL) {
        values->texts[values->count++] = copy;
    }
    return copy != NULL;
}

static int text_order(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Two results that mix the same values are equal, in whatever order they did. */
static bool values_join(struct values *values, struct arena *arena, const char **joined)
{
    struct text text = {0};
    qsort(values->texts, (size_t)values->count, sizeof values->texts[0], text_order);
    for (int i = 0; i < values->count; i++) {
        text_format(&text, "%s%s", i > 0 ? ", " : "", values->texts[i]);
    }
    text_append(&text, values->more ? ", ..." : "");
    *joined = values->count > 0 && !text.failed ? arena_copy(arena, text_string(&text)) : NULL;
    bool made = !text.failed && (values->count == 0 || *joined != NULL);
    text_release(&text);
    return made;
}

/* Of every case that stands in the report, because a report takes its cases from several runs. */
static bool property_read(const struct report *report, enum environment property, struct arena *arena,
                          const char **joined)
{
    struct values values = {0};
    char text[VALUE_BYTES];
    bool made = true;
    for (int i = 0; i < report->case_count && made; i++) {
        value_format(property, report, &report->cases[i], text);
        made = text[0] == '\0' || value_add(&values, text, arena);
    }
    if (report->case_count == 0) {
        value_format(property, report, NULL, text);
        made = text[0] == '\0' || value_add(&values, text, arena);
    }
    return made && values_join(&values, arena, joined);
}

bool environment_read(const struct report *report, struct arena *arena, const char *values[ENVIRONMENT_COUNT])
{
    bool made = true;
    for (int i = 0; i < ENVIRONMENT_COUNT && made; i++) {
        made = property_read(report, (enum environment)i, arena, &values[i]);
    }
    return made;
}

const char *environment_key(enum environment property)
{
#define ENVIRONMENT_KEY(name, key, words, object, first, second) key,
    static const char *const keys[] = {ENVIRONMENT_TABLE(ENVIRONMENT_KEY)};
#undef ENVIRONMENT_KEY
    return keys[property];
}

const char *environment_words(enum environment property)
{
#define ENVIRONMENT_WORDS(name, key, words, object, first, second) words,
    static const char *const texts[] = {ENVIRONMENT_TABLE(ENVIRONMENT_WORDS)};
#undef ENVIRONMENT_WORDS
    return texts[property];
}

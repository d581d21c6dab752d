/* Trace events: the reader of our own form, {"events": [...]}, with or without what PyTorch did. It is strict: an
 * unknown key is an error. Not the reader of PyTorch's snapshots. */
#include <string.h>

#include "harness/memory/trace_reader.h"

static const char shape_text[] = "write [\"malloc\", id, bytes] or [\"free\", id]";

/* The verbs of the form, in the order of enum trace_verb, and how many elements such an event has. */
static const struct {
    const char *name;
    size_t element_count;
    const char *shape;
} verbs[] = {
    [TRACE_MALLOC] = {"malloc", 3, shape_text},
    [TRACE_FREE] = {"free", 2, shape_text},
    [TRACE_SEGMENT] = {"segment", 3, "write [\"segment\", address, bytes]"},
    [TRACE_SEGMENT_FREE] = {"segment_free", 2, "write [\"segment_free\", address]"},
    [TRACE_RESET_PEAKS] = {"reset_peaks", 1, "write [\"reset_peaks\"]"},
    [TRACE_COUNTERS] = {"counters", 2, "write [\"counters\", {\"" LEVEL_KEY(requested) "\": n, ...}]"},
};

enum { VERB_COUNT = sizeof verbs / sizeof verbs[0] };

static enum status_code verb_from_json(const struct json *value, enum trace_verb *verb, struct status *error)
{
    if (json_kind(value) != JSON_KIND_ARRAY) {
        return status_set(error, STATUS_INVALID, "it is %s; %s", json_kind_name(json_kind(value)), shape_text);
    }
    const char *name = json_string_or(json_at(value, 0), "");
    size_t found = 0;
    while (found < VERB_COUNT && strcmp(name, verbs[found].name) != 0) {
        found++;
    }
    if (found == VERB_COUNT) {
        return status_set(error, STATUS_INVALID,
                          "it does not begin with \"malloc\", \"free\", \"segment\", \"segment_free\", \"reset_peaks\" "
                          "or \"counters\"; %s",
                          shape_text);
    }
    if (json_count(value) != verbs[found].element_count) {
        return status_set(error, STATUS_INVALID, "a %s of %zu elements; %s", name, json_count(value),
                          verbs[found].shape);
    }
    *verb = (enum trace_verb)found;
    return STATUS_OK;
}

#define COUNTED_KEY(name, stem, ...) LEVEL_KEY(stem) ", "
#define COUNTED_KEYS                 LEVEL_COUNTED_TABLE(COUNTED_KEY)
_Static_assert(LEVEL_COUNTED_COUNT == 3, "the message below says how many there are");

static enum status_code figure_from_json(const struct json *value, const char *key, struct trace_counters *row,
                                         struct status *error)
{
    int figure = 0;
    while (figure < TRACE_FIGURE_COUNT && strcmp(key, trace_figure_name((enum trace_figure)figure)) != 0) {
        figure++;
    }
    if (figure == TRACE_FIGURE_COUNT) {
        return status_set(
            error, STATUS_INVALID,
            "unknown key '%.80s' in the counters; write stage, " COUNTED_KEYS "or one of the three with _peak", key);
    }
    if (json_kind(value) == JSON_KIND_NULL) {
        return STATUS_OK;
    }
    int64_t bytes = 0;
    enum status_code code = trace_integer(value, key, &bytes, error);
    if (code == STATUS_OK && bytes < 0) {
        code = status_set(error, STATUS_INVALID, "%s is %lld; write 0 or more, or null", key, (long long)bytes);
    }
    if (code == STATUS_OK) {
        row->bytes[figure] = bytes;
    }
    return code;
}

static enum status_code counters_from_json(const struct json *object, size_t number, struct trace *trace,
                                           struct status *error)
{
    if (json_kind(object) != JSON_KIND_OBJECT) {
        return status_set(error, STATUS_INVALID, "the counters are %s; %s", json_kind_name(json_kind(object)),
                          verbs[TRACE_COUNTERS].shape);
    }
    const struct json *stage = json_get(object, "stage");
    if (json_kind(stage) != JSON_KIND_NULL && json_kind(stage) != JSON_KIND_STRING) {
        return status_set(error, STATUS_INVALID, "the stage is %s; write a string", json_kind_name(json_kind(stage)));
    }
    struct trace_counters *row = NULL;
    enum status_code code = trace_add_counters(trace, json_string_or(stage, NULL), &row, error);
    for (const char *key = json_key_after(object, NULL); key != NULL && code == STATUS_OK;
         key = json_key_after(object, key)) {
        if (strcmp(key, "stage") != 0) {
            code = figure_from_json(json_get(object, key), key, row, error);
        }
    }
    if (code == STATUS_OK) {
        row->event_number = number;
    }
    return code;
}

/* The id or the address, and the bytes. */
static enum status_code numbers_from_json(const struct json *value, struct trace_event *event, struct status *error)
{
    bool of_segment = event->verb == TRACE_SEGMENT || event->verb == TRACE_SEGMENT_FREE;
    bool has_bytes = event->verb == TRACE_MALLOC || event->verb == TRACE_SEGMENT;
    enum status_code code =
        trace_integer(json_at(value, 1), of_segment ? "the address" : "the id", &event->address, error);
    if (code == STATUS_OK && has_bytes) {
        code = trace_integer(json_at(value, 2), "the size", &event->bytes, error);
    }
    int64_t least_bytes = event->verb == TRACE_SEGMENT ? 1 : 0;
    if (code == STATUS_OK && has_bytes && event->bytes < least_bytes) {
        return status_set(error, STATUS_INVALID, "%s of %lld bytes; write %lld or more", verbs[event->verb].name,
                          (long long)event->bytes, (long long)least_bytes);
    }
    return code == STATUS_OK && of_segment ? trace_range(event->address, has_bytes ? event->bytes : 1, error) : code;
}

static enum status_code event_from_json(const struct json *value, size_t number, struct trace *trace,
                                        struct status *error)
{
    struct trace_event event = {.number = number, .bytes = TRACE_UNKNOWN};
    enum status_code code = verb_from_json(value, &event.verb, error);
    if (code == STATUS_OK && event.verb == TRACE_COUNTERS) {
        event.slot = trace->counters_count;
        code = counters_from_json(json_at(value, 1), number, trace, error);
    } else if (code == STATUS_OK && event.verb != TRACE_RESET_PEAKS) {
        code = numbers_from_json(value, &event, error);
    }
    if (code == STATUS_OK) {
        trace->events[trace->event_count++] = event;
    }
    return code;
}

static enum status_code document_check(const char *name, const struct json *document, struct status *error)
{
    if (json_kind(document) != JSON_KIND_OBJECT) {
        return status_set_at(error, STATUS_INVALID, (struct file_place){.path = name},
                             "it is %s; write {\"events\": [...]}", json_kind_name(json_kind(document)));
    }
    for (const char *key = json_key_after(document, NULL); key != NULL; key = json_key_after(document, key)) {
        if (strcmp(key, "events") != 0 && strcmp(key, "about") != 0) {
            return status_set_at(error, STATUS_INVALID, (struct file_place){.path = name},
                                 "unknown key '%.80s'; a trace has only \"events\", and \"about\" for people", key);
        }
    }
    enum json_kind about = json_kind(json_get(document, "about"));
    if (json_get(document, "about") != NULL && about != JSON_KIND_STRING && about != JSON_KIND_OBJECT) {
        return status_set_at(error, STATUS_INVALID, (struct file_place){.path = name},
                             "\"about\" is %s; write a string or an object", json_kind_name(about));
    }
    const struct json *list = json_get(document, "events");
    if (json_kind(list) != JSON_KIND_ARRAY) {
        return status_set_at(error, STATUS_INVALID, (struct file_place){.path = name},
                             "\"events\" is %s; write a list of events",
                             list == NULL ? "missing" : json_kind_name(json_kind(list)));
    }
    return STATUS_OK;
}

/* How many rows of counters there may be, so that their place is taken once. */
static size_t counters_count(const struct json *list)
{
    size_t count = 0;
    for (size_t i = 0; i < json_count(list); i++) {
        count += strcmp(json_string_or(json_at(json_at(list, i), 0), ""), verbs[TRACE_COUNTERS].name) == 0;
    }
    return count;
}

enum status_code trace_read_events(const struct json *document, struct trace *trace, struct status *error)
{
    enum status_code code = document_check(trace->name, document, error);
    if (code != STATUS_OK) {
        return code;
    }
    const struct json *list = json_get(document, "events");
    code = trace_prepare(trace, "/events", json_count(list), counters_count(list), error);
    for (size_t i = 0; i < json_count(list) && code == STATUS_OK; i++) {
        code = event_from_json(json_at(list, i), i + 1, trace, error);
        if (code != STATUS_OK) {
            trace_event_place(trace, i + 1, error);
        }
    }
    return code == STATUS_OK ? trace_settle(trace, error) : code;
}

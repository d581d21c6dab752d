/* Trace: reading and playing. The whole file is checked before anything is played, so that a played trace has no faults
 * left but sizes. Not a reader of PyTorch's own snapshots. */
#include "harness/memory/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json_place.h"

static const char shape_text[] = "write [\"malloc\", id, bytes] or [\"free\", id]";

static enum status_code trace_no_memory(const char *name, struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "%s: the host has no memory for the trace", name);
}

/* The message begins with the file and the event, counted from 1, and with its line where the file can be read. */
static void event_place(const char *name, size_t index, struct status *error)
{
    char pointer[32];
    snprintf(pointer, sizeof pointer, "/events/%zu", index);
    status_prefix(error, "%s: event %zu", name, index + 1);
    json_place_add(name, pointer, error);
}

/* The number that stands at an index of an event. */
static enum status_code event_integer(const struct json *event, size_t index, const char *what, int64_t *number,
                                      struct status *error)
{
    const struct json *value = json_at(event, index);
    if (json_kind(value) != JSON_KIND_INTEGER) {
        return status_set(error, STATUS_INVALID, "%s is %s; write an integer", what, json_kind_name(json_kind(value)));
    }
    *number = json_integer_or(value, 0);
    return STATUS_OK;
}

/* One event; its id is returned apart, because slots are numbered when all ids are known. */
static enum status_code event_from_json(const struct json *value, struct trace_event *event, int64_t *id,
                                        struct status *error)
{
    if (json_kind(value) != JSON_KIND_ARRAY) {
        return status_set(error, STATUS_INVALID, "it is %s; %s", json_kind_name(json_kind(value)), shape_text);
    }
    const char *verb = json_string_or(json_at(value, 0), "");
    bool is_malloc = strcmp(verb, "malloc") == 0;
    if (!is_malloc && strcmp(verb, "free") != 0) {
        return status_set(error, STATUS_INVALID, "it begins neither with \"malloc\" nor with \"free\"; %s", shape_text);
    }
    size_t wanted_count = is_malloc ? 3 : 2;
    if (json_count(value) != wanted_count) {
        return status_set(error, STATUS_INVALID, "a %s of %zu elements; %s", verb, json_count(value), shape_text);
    }
    int64_t bytes = 0;
    enum status_code code = event_integer(value, 1, "the id", id, error);
    if (code == STATUS_OK && is_malloc) {
        code = event_integer(value, 2, "the size", &bytes, error);
    }
    if (code == STATUS_OK && bytes < 0) {
        code = status_set(error, STATUS_INVALID, "malloc of %lld bytes; write 0 or more", (long long)bytes);
    }
    if (code == STATUS_OK) {
        *event = (struct trace_event){.is_malloc = is_malloc, .bytes = bytes};
    }
    return code;
}

static int id_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Numbers the ids: sorted, so that no choice of ids in a file from outside makes the look-up slow. */
static enum status_code slots_number(struct trace *trace, const int64_t *ids, struct status *error)
{
    size_t count = trace->event_count;
    int64_t *sorted = malloc((count + 1) * sizeof *sorted);
    if (sorted == NULL) {
        return trace_no_memory(trace->name, error);
    }
    memcpy(sorted, ids, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, id_compare);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || sorted[i] != sorted[trace->slot_count - 1]) {
            sorted[trace->slot_count++] = sorted[i];
        }
    }
    for (size_t i = 0; i < count; i++) {
        const int64_t *found = bsearch(&ids[i], sorted, trace->slot_count, sizeof *sorted, id_compare);
        trace->events[i].slot = (size_t)(found - sorted);
    }
    free(sorted);
    return STATUS_OK;
}

static enum status_code lifetimes_check(const struct trace *trace, const int64_t *ids, struct status *error)
{
    bool *live = calloc(trace->slot_count + 1, sizeof *live);
    if (live == NULL) {
        return trace_no_memory(trace->name, error);
    }
    enum status_code code = STATUS_OK;
    for (size_t i = 0; i < trace->event_count && code == STATUS_OK; i++) {
        const struct trace_event *event = &trace->events[i];
        if (event->is_malloc == live[event->slot]) {
            code = status_set(error, STATUS_INVALID, "%s of id %lld, which is %s", event->is_malloc ? "malloc" : "free",
                              (long long)ids[i], event->is_malloc ? "live; free it first" : "not live; remove it");
            event_place(trace->name, i, error);
        }
        live[event->slot] = event->is_malloc;
    }
    free(live);
    return code;
}

static enum status_code events_from_json(const struct json *list, struct trace *trace, struct status *error)
{
    trace->event_count = json_count(list);
    trace->events = calloc(trace->event_count + 1, sizeof *trace->events);
    int64_t *ids = calloc(trace->event_count + 1, sizeof *ids);
    enum status_code code = STATUS_OK;
    if (trace->events == NULL || ids == NULL) {
        code = trace_no_memory(trace->name, error);
    }
    for (size_t i = 0; i < trace->event_count && code == STATUS_OK; i++) {
        code = event_from_json(json_at(list, i), &trace->events[i], &ids[i], error);
        if (code != STATUS_OK) {
            event_place(trace->name, i, error);
        }
    }
    if (code == STATUS_OK) {
        code = slots_number(trace, ids, error);
    }
    if (code == STATUS_OK) {
        code = lifetimes_check(trace, ids, error);
    }
    free(ids);
    return code;
}

static enum status_code document_check(const char *name, const struct json *document, struct status *error)
{
    if (json_kind(document) != JSON_KIND_OBJECT) {
        return status_set(error, STATUS_INVALID, "%s: it is %s; write {\"events\": [...]}", name,
                          json_kind_name(json_kind(document)));
    }
    for (const char *key = json_key_after(document, NULL); key != NULL; key = json_key_after(document, key)) {
        if (strcmp(key, "events") != 0) {
            return status_set(error, STATUS_INVALID, "%s: unknown key '%.80s'; a trace has only \"events\"", name, key);
        }
    }
    const struct json *list = json_get(document, "events");
    if (json_kind(list) != JSON_KIND_ARRAY) {
        return status_set(error, STATUS_INVALID, "%s: \"events\" is %s; write a list of events", name,
                          list == NULL ? "missing" : json_kind_name(json_kind(list)));
    }
    return STATUS_OK;
}

enum status_code trace_from_json(const char *name, const struct json *document, struct trace *trace,
                                 struct status *error)
{
    enum status_code code = document_check(name, document, error);
    if (code != STATUS_OK) {
        return code;
    }
    struct trace made = {.name = strdup(name)};
    if (made.name == NULL) {
        return trace_no_memory(name, error);
    }
    code = events_from_json(json_get(document, "events"), &made, error);
    if (code != STATUS_OK) {
        trace_release(&made);
        return code;
    }
    *trace = made;
    return STATUS_OK;
}

enum status_code trace_read(const char *path, struct trace *trace, struct status *error)
{
    struct json *document = NULL;
    enum status_code code = json_parse_file(path, TRACE_FILE_BYTES_MAXIMUM, &document, error);
    if (code == STATUS_OK) {
        code = trace_from_json(path, document, trace, error);
        if (code == STATUS_INVALID) {
            json_place_add(path, "", error); /* where no event has given it a place */
        }
    }
    json_release(document);
    return code;
}

void trace_release(struct trace *trace)
{
    free(trace->name);
    free(trace->events);
    *trace = (struct trace){0};
}

static enum status_code events_play(const struct trace *trace, struct allocator *allocator, struct block **blocks,
                                    struct status *error)
{
    for (size_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        struct block **block = &blocks[event->slot];
        enum status_code code = event->is_malloc ? allocator_alloc(allocator, event->bytes, block, error)
                                                 : allocator_free(allocator, *block, error);
        if (code != STATUS_OK) {
            event_place(trace->name, i, error);
            return code;
        }
    }
    return STATUS_OK;
}

enum status_code trace_replay(const struct trace *trace, enum allocator_policy policy, struct trace_result *result,
                              struct status *error)
{
    struct allocator *allocator = NULL;
    enum status_code code = allocator_open(policy, segment_source_virtual, &allocator, error);
    if (code != STATUS_OK) {
        return code;
    }
    struct block **blocks = calloc(trace->slot_count + 1, sizeof(struct block *));
    code = blocks != NULL ? events_play(trace, allocator, blocks, error) : trace_no_memory(trace->name, error);
    if (code == STATUS_OK) {
        const struct allocator_counters *counters = allocator_counters(allocator);
        *result = (struct trace_result){
            .requested_bytes = counters->requested_bytes,
            .requested_bytes_peak = counters->requested_bytes_peak,
            .allocated_bytes = counters->allocated_bytes,
            .allocated_bytes_peak = counters->allocated_bytes_peak,
            .reserved_bytes = counters->reserved_bytes,
            .segment_count = counters->live_segment_count,
        };
    }
    free(blocks);
    enum status_code closing = allocator_close(allocator, code == STATUS_OK ? error : NULL);
    return code == STATUS_OK ? closing : code;
}

struct json *trace_result_to_json(const struct trace_result *result)
{
    struct json *object = json_object_new();
    bool complete = object != NULL && json_set(object, "requested_bytes", json_integer_new(result->requested_bytes)) &&
                    json_set(object, "requested_bytes_peak", json_integer_new(result->requested_bytes_peak)) &&
                    json_set(object, "allocated_bytes", json_integer_new(result->allocated_bytes)) &&
                    json_set(object, "allocated_bytes_peak", json_integer_new(result->allocated_bytes_peak)) &&
                    json_set(object, "reserved_bytes", json_integer_new(result->reserved_bytes)) &&
                    json_set(object, "segments", json_integer_new(result->segment_count));
    if (!complete) {
        json_release(object);
        return NULL;
    }
    return object;
}

/* Trace of PyTorch: the reader of torch.cuda.memory._snapshot(), written as JSON. The document is foreign: keys that it
 * has besides those that are used here are left alone, because versions differ; what is used is checked as if it were
 * ours. Not the reader of our own form.
 *
 * Used of an entry of device_traces: action, addr, size (of an alloc: as requested, before rounding), stream, pool_id.
 * A block is free for reuse at free_completed; free_requested, snapshot, oom and user_defined change nothing. */
#include <stdio.h>
#include <string.h>

#include "harness/base/json_place.h"
#include "harness/base/size.h"
#include "harness/base/text.h"
#include "harness/memory/trace_reader.h"

struct history {
    struct trace *trace;
    int64_t device;
    int64_t stream; /* of all events */
    bool has_stream;
};

/* What an action means to a replay. */
enum action_use { ACTION_PLAYED, ACTION_PASSED_OVER, ACTION_EXPANDABLE };

static const struct {
    const char *name;
    enum action_use use;
    enum trace_verb verb;
} actions[] = {
    {"alloc", ACTION_PLAYED, TRACE_MALLOC},
    {"free_completed", ACTION_PLAYED, TRACE_FREE},
    {"segment_alloc", ACTION_PLAYED, TRACE_SEGMENT},
    {"segment_free", ACTION_PLAYED, TRACE_SEGMENT_FREE},
    {"free_requested", ACTION_PASSED_OVER, TRACE_FREE},
    {"snapshot", ACTION_PASSED_OVER, TRACE_COUNTERS},
    {"oom", ACTION_PASSED_OVER, TRACE_COUNTERS},
    {"user_defined", ACTION_PASSED_OVER, TRACE_COUNTERS},
    {"segment_map", ACTION_EXPANDABLE, TRACE_SEGMENT},
    {"segment_unmap", ACTION_EXPANDABLE, TRACE_SEGMENT_FREE},
};

enum { ACTION_COUNT = sizeof actions / sizeof actions[0] };

static const char expandable_text[] = "expandable segments follow other rules than ours; record with "
                                      "PYTORCH_CUDA_ALLOC_CONF unset";

/* A whole number of at least 0 that an object has under a key. */
static enum status_code member_size(const struct json *object, const char *key, int64_t *number, struct status *error)
{
    int64_t value = 0;
    enum status_code code = trace_integer(json_get(object, key), key, &value, error);
    if (code == STATUS_OK && value < 0) {
        return status_set(error, STATUS_INVALID, "%s is %lld; it cannot be negative", key, (long long)value);
    }
    if (code == STATUS_OK) {
        *number = value;
    }
    return code;
}

/* Private pools are ids other than (0, 0): memory of CUDA graphs and of torch.cuda.MemPool. */
static enum status_code pool_check(const struct json *object, const char *key, struct status *error)
{
    const struct json *pool = json_get(object, key);
    for (size_t i = 0; i < json_count(pool); i++) {
        if (json_integer_or(json_at(pool, i), 0) != 0) {
            return status_set(error, STATUS_INVALID,
                              "memory of a private pool (CUDA graphs, MemPool), which our rules do not have; record "
                              "without them");
        }
    }
    return STATUS_OK;
}

static enum status_code stream_check(struct history *history, const struct json *entry, struct status *error)
{
    int64_t stream = 0;
    enum status_code code = trace_integer(json_get(entry, "stream"), "stream", &stream, error);
    if (code == STATUS_OK && history->has_stream && stream != history->stream) {
        return status_set(error, STATUS_INVALID,
                          "stream %lld, but the events before are of stream %lld: our rules are for one stream; record "
                          "a program that uses one",
                          (long long)stream, (long long)history->stream);
    }
    history->stream = stream;
    history->has_stream = true;
    return code;
}

static enum status_code event_from_entry(struct history *history, const struct json *entry, enum trace_verb verb,
                                         struct trace_event *event, struct status *error)
{
    event->verb = verb;
    enum status_code code = member_size(entry, "addr", &event->address, error);
    if (code == STATUS_OK) {
        code = member_size(entry, "size", &event->bytes, error);
    }
    if (code == STATUS_OK && event->bytes == 0) {
        code = status_set(error, STATUS_INVALID, "size is 0; PyTorch notes nothing for 0 bytes");
    }
    if (code == STATUS_OK) {
        code = trace_range(event->address, event->bytes, error);
    }
    if (code == STATUS_OK) {
        code = pool_check(entry, "pool_id", error);
    }
    return code == STATUS_OK ? stream_check(history, entry, error) : code;
}

static enum status_code entry_read(struct history *history, const struct json *entry, size_t number,
                                   struct status *error)
{
    struct trace *trace = history->trace;
    const char *name = json_string_or(json_get(entry, "action"), NULL);
    if (name == NULL) {
        return status_set(error, STATUS_INVALID, "it has no \"action\"; this is no history of PyTorch");
    }
    size_t found = 0;
    while (found < ACTION_COUNT && strcmp(name, actions[found].name) != 0) {
        found++;
    }
    if (found == ACTION_COUNT) {
        return status_set(error, STATUS_INVALID, "action '%.80s' is not known; record with PyTorch 2.11", name);
    }
    if (actions[found].use == ACTION_EXPANDABLE) {
        return status_set_at(error, STATUS_INVALID, (struct file_place){.path = name}, "%s", expandable_text);
    }
    if (actions[found].use == ACTION_PASSED_OVER) {
        return STATUS_OK;
    }
    struct trace_event event = {.number = number};
    enum status_code code = event_from_entry(history, entry, actions[found].verb, &event, error);
    if (code == STATUS_OK) {
        trace->events[trace->event_count++] = event;
    }
    return code;
}

static enum status_code figure_add(const struct json *segment, const char *key, int64_t *sum, struct status *error)
{
    int64_t bytes = 0;
    enum status_code code = member_size(segment, key, &bytes, error);
    if (code == STATUS_OK && !size_add(*sum, bytes, sum)) {
        code = status_set(error, STATUS_OVERFLOW, "the %s of all segments exceed 63 bits", key);
    }
    return code;
}

/* Blocks that were freed but wait for another stream. The replay frees them when the wait is over, so they are live;
 * allocated_size leaves them out. */
static enum status_code waiting_blocks_add(const struct json *segment, int64_t *allocated, struct status *error)
{
    const struct json *blocks = json_get(segment, "blocks");
    enum status_code code = STATUS_OK;
    for (size_t i = 0; i < json_count(blocks) && code == STATUS_OK; i++) {
        const struct json *block = json_at(blocks, i);
        if (strcmp(json_string_or(json_get(block, "state"), ""), "active_awaiting_free") == 0) {
            code = figure_add(block, "size", allocated, error);
        }
    }
    return code;
}

static enum status_code segment_add(const struct json *segment, int64_t device, struct trace_counters *row,
                                    struct status *error)
{
    int64_t its_device = 0;
    enum status_code code = member_size(segment, "device", &its_device, error);
    if (code != STATUS_OK || its_device != device) {
        return code;
    }
    if (json_boolean_or(json_get(segment, "is_expandable"), false)) {
        return status_set(error, STATUS_INVALID, "%s", expandable_text);
    }
    code = pool_check(segment, "segment_pool_id", error);
    if (code == STATUS_OK) {
        code = figure_add(segment, "requested_size", &row->bytes[TRACE_REQUESTED], error);
    }
    if (code == STATUS_OK) {
        code = figure_add(segment, "allocated_size", &row->bytes[TRACE_ALLOCATED], error);
    }
    if (code == STATUS_OK) {
        code = waiting_blocks_add(segment, &row->bytes[TRACE_ALLOCATED], error);
    }
    return code == STATUS_OK ? figure_add(segment, "total_size", &row->bytes[TRACE_RESERVED], error) : code;
}

/* The segments of the snapshot are the counters of its end. */
static enum status_code segments_read(const struct json *list, const struct history *history, size_t last_number,
                                      struct status *error)
{
    struct trace *trace = history->trace;
    if (json_kind(list) == JSON_KIND_NULL) {
        return STATUS_OK;
    }
    if (json_kind(list) != JSON_KIND_ARRAY) {
        return status_set_at(error, STATUS_INVALID, (struct file_place){.path = trace->name},
                             "\"segments\" is %s; write a list", json_kind_name(json_kind(list)));
    }
    struct trace_counters *row = NULL;
    enum status_code code = trace_add_counters(trace, "end", &row, error);
    if (code != STATUS_OK) {
        return code;
    }
    row->event_number = last_number;
    row->bytes[TRACE_REQUESTED] = row->bytes[TRACE_ALLOCATED] = row->bytes[TRACE_RESERVED] = 0;
    for (size_t i = 0; i < json_count(list) && code == STATUS_OK; i++) {
        code = segment_add(json_at(list, i), history->device, row, error);
        if (code != STATUS_OK) {
            char pointer[48];
            snprintf(pointer, sizeof pointer, "/segments/%zu", i);
            status_prefix(error, "segment %zu of the snapshot", i + 1);
            json_place_add(trace->name, pointer, error);
        }
    }
    trace->events[trace->event_count++] = (struct trace_event){
        .verb = TRACE_COUNTERS, .number = last_number, .slot = trace->counters_count - 1, .bytes = TRACE_UNKNOWN};
    return code;
}

/* A snapshot notes itself in the history of every device. */
static bool history_is_used(const struct json *list)
{
    for (size_t i = 0; i < json_count(list); i++) {
        if (strcmp(json_string_or(json_get(json_at(list, i), "action"), ""), "snapshot") != 0) {
            return true;
        }
    }
    return false;
}

static enum status_code histories_check(const char *name, const struct json *histories, struct status *error)
{
    if (json_kind(histories) != JSON_KIND_ARRAY) {
        return status_set_at(error, STATUS_INVALID, (struct file_place){.path = name},
                             "\"device_traces\" is %s; it is a list of lists of events",
                             json_kind_name(json_kind(histories)));
    }
    for (size_t i = 0; i < json_count(histories); i++) {
        if (json_kind(json_at(histories, i)) != JSON_KIND_ARRAY) {
            return status_set_at(error, STATUS_INVALID, (struct file_place){.path = name},
                                 "the trace of device %zu is %s; it is a list of events", i,
                                 json_kind_name(json_kind(json_at(histories, i))));
        }
    }
    return STATUS_OK;
}

/* The only device that has events. */
static enum status_code only_device(const char *name, const struct json *histories, int64_t *device,
                                    struct status *error)
{
    struct text devices = {0};
    size_t count = 0;
    for (size_t i = 0; i < json_count(histories); i++) {
        if (history_is_used(json_at(histories, i))) {
            *device = (int64_t)i;
            text_format(&devices, "%s%zu", count > 0 ? ", " : "", i);
            count += 1;
        }
    }
    enum status_code code = STATUS_OK;
    if (count == 0) {
        code = status_set_at(error, STATUS_INVALID, (struct file_place){.path = name},
                             "no device has events: its history was not recorded; call "
                             "torch.cuda.memory._record_memory_history(context=None) before the first allocation");
    } else if (count > 1) {
        code = status_set_at(error, STATUS_INVALID, (struct file_place){.path = name},
                             "devices %.200s have events; choose one with --device", text_string(&devices));
    }
    text_release(&devices);
    return code;
}

static enum status_code device_choose(const char *name, const struct json *histories, int64_t *device,
                                      struct status *error)
{
    enum status_code code = histories_check(name, histories, error);
    if (code != STATUS_OK || *device == TRACE_DEVICE_ONLY) {
        return code == STATUS_OK ? only_device(name, histories, device, error) : code;
    }
    if (*device < 0 || (uint64_t)*device >= json_count(histories) ||
        !history_is_used(json_at(histories, (size_t)*device))) {
        return status_set_at(error, STATUS_INVALID, (struct file_place){.path = name},
                             "device %lld has no events among the %zu devices of the snapshot", (long long)*device,
                             json_count(histories));
    }
    return STATUS_OK;
}

enum status_code trace_read_snapshot(const struct json *document, int64_t device, struct trace *trace,
                                     struct status *error)
{
    const struct json *histories = json_get(document, "device_traces");
    struct history history = {.trace = trace, .device = device};
    enum status_code code = device_choose(trace->name, histories, &history.device, error);
    if (code != STATUS_OK) {
        return code;
    }
    const struct json *list = json_at(histories, (size_t)history.device);
    char pointer[48];
    snprintf(pointer, sizeof pointer, "/device_traces/%lld", (long long)history.device);
    code = trace_prepare(trace, pointer, json_count(list) + 1, 1, error);
    for (size_t i = 0; i < json_count(list) && code == STATUS_OK; i++) {
        code = entry_read(&history, json_at(list, i), i + 1, error);
        if (code != STATUS_OK) {
            trace_event_place(trace, i + 1, error);
        }
    }
    if (code == STATUS_OK) {
        code = segments_read(json_get(document, "segments"), &history, json_count(list), error);
    }
    trace->has_addresses = true; /* even if no segment is told of: then no block is in its place */
    return code == STATUS_OK ? trace_settle(trace, error) : code;
}

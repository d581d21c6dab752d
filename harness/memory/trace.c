/* Trace: which form a file has, and what holds for all of them: every free is of something live, every block lies in a
 * segment. The whole file is checked before anything is played, so that a played trace has no faults left but sizes.
 * The forms are read in trace_events.c and trace_pytorch.c, the playing is in trace_replay.c. */
#include "harness/memory/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file_content.h"
#include "harness/base/json_place.h"
#include "harness/base/pickle.h"
#include "harness/base/size.h"
#include "harness/memory/span_set.h"
#include "harness/memory/trace_reader.h"

static const char not_whole_text[] = "the history began when memory was already in use, or its ring buffer overflowed; "
                                     "record from the start of the process, with max_entries above the number of "
                                     "events";

static const char damaged_text[] = "the file is damaged; record it anew";

const char *trace_figure_name(enum trace_figure figure)
{
    return figure < (enum trace_figure)LEVEL_COUNTED_COUNT ? level_key((enum level)figure)
                                                           : level_peak_key((enum level)(figure - LEVEL_COUNTED_COUNT));
}

enum status_code trace_no_memory(const struct trace *trace, struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "%s: the host has no memory for the trace", trace->name);
}

enum status_code trace_prepare(struct trace *trace, const char *list, size_t event_count, size_t counters_count,
                               struct status *error)
{
    trace->list = strdup(list);
    trace->events = calloc(event_count + 1, sizeof *trace->events);
    trace->counters = calloc(counters_count + 1, sizeof *trace->counters);
    bool complete = trace->list != NULL && trace->events != NULL && trace->counters != NULL;
    return complete ? STATUS_OK : trace_no_memory(trace, error);
}

enum status_code trace_add_counters(struct trace *trace, const char *stage, struct trace_counters **row,
                                    struct status *error)
{
    struct trace_counters *made = &trace->counters[trace->counters_count];
    if (stage != NULL) {
        made->stage = strdup(stage);
        if (made->stage == NULL) {
            return trace_no_memory(trace, error);
        }
    }
    for (int i = 0; i < TRACE_FIGURE_COUNT; i++) {
        made->bytes[i] = TRACE_UNKNOWN;
    }
    trace->counters_count += 1;
    *row = made;
    return STATUS_OK;
}

void trace_event_place(const struct trace *trace, size_t number, struct status *error)
{
    char pointer[64];
    snprintf(pointer, sizeof pointer, "%s/%zu", trace->list, number - 1);
    status_prefix(error, "event %zu", number);
    json_place_add(trace->name, pointer, error);
}

enum status_code trace_integer(const struct json *value, const char *what, int64_t *number, struct status *error)
{
    if (json_kind(value) != JSON_KIND_INTEGER) {
        return status_set(error, STATUS_INVALID, "%s is %s; write an integer", what,
                          value == NULL ? "missing" : json_kind_name(json_kind(value)));
    }
    *number = json_integer_or(value, 0);
    return STATUS_OK;
}

enum status_code trace_range(int64_t address, int64_t bytes, struct status *error)
{
    int64_t end = 0;
    if (!size_add(address, bytes > 0 ? bytes : 1, &end)) {
        return status_set(error, STATUS_INVALID,
                          "%lld bytes at address %lld; addresses begin at 0 and end within 63 bits", (long long)bytes,
                          (long long)address);
    }
    return STATUS_OK;
}

static bool event_has_id(const struct trace_event *event)
{
    return event->verb == TRACE_MALLOC || event->verb == TRACE_FREE;
}

static int id_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Numbers the ids: sorted, so that no choice of ids in a file from outside makes the look-up slow. */
static enum status_code slots_number(struct trace *trace, struct status *error)
{
    int64_t *sorted = malloc((trace->event_count + 1) * sizeof *sorted);
    size_t count = 0;
    if (sorted == NULL) {
        return trace_no_memory(trace, error);
    }
    for (size_t i = 0; i < trace->event_count; i++) {
        if (event_has_id(&trace->events[i])) {
            sorted[count++] = trace->events[i].address;
        }
    }
    qsort(sorted, count, sizeof *sorted, id_compare);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || sorted[i] != sorted[trace->slot_count - 1]) {
            sorted[trace->slot_count++] = sorted[i];
        }
    }
    for (size_t i = 0; i < trace->event_count; i++) {
        struct trace_event *event = &trace->events[i];
        if (event_has_id(event)) {
            const int64_t *found = bsearch(&event->address, sorted, trace->slot_count, sizeof *sorted, id_compare);
            event->slot = (size_t)(found - sorted);
        }
    }
    free(sorted);
    return STATUS_OK;
}

/* What is live while a trace is looked through. */
struct lifetimes {
    struct trace *trace;
    bool *live;               /* by slot */
    int64_t *bytes;           /* by slot: of the malloc */
    size_t *segment_of;       /* by slot: the segment in which a live block lies */
    size_t *block_counts;     /* by segment: live blocks in it */
    struct span_set segments; /* those that are live, with their numbers */
};

enum { SEGMENT_NONE = -1 };

static enum status_code segment_begin(struct lifetimes *lifetimes, struct trace_event *event, struct status *error)
{
    event->slot = lifetimes->trace->segment_count;
    struct span span = {.address = event->address, .bytes = event->bytes, .number = event->slot};
    enum status_code code = span_set_add(&lifetimes->segments, span, error);
    if (code == STATUS_INVALID) {
        const struct span *other = span_set_find(&lifetimes->segments, span.address, span.bytes);
        return status_set(error, STATUS_INVALID,
                          "a segment of %lld bytes at address %lld overlaps the one of %lld bytes at %lld, which is "
                          "live; %s",
                          (long long)span.bytes, (long long)span.address, (long long)other->bytes,
                          (long long)other->address, damaged_text);
    }
    lifetimes->trace->segment_count += code == STATUS_OK;
    return code;
}

static enum status_code segment_end(struct lifetimes *lifetimes, struct trace_event *event, struct status *error)
{
    const struct span *span = span_set_find(&lifetimes->segments, event->address, 1);
    if (span == NULL || span->address != event->address) {
        return status_set(error, STATUS_INVALID, "segment_free of address %lld, where no live segment begins; %s",
                          (long long)event->address, not_whole_text);
    }
    if (event->bytes != TRACE_UNKNOWN && event->bytes != span->bytes) {
        return status_set(error, STATUS_INVALID,
                          "segment_free of %lld bytes at address %lld, where a segment of %lld bytes is live; %s",
                          (long long)event->bytes, (long long)event->address, (long long)span->bytes, damaged_text);
    }
    if (lifetimes->block_counts[span->number] > 0) {
        return status_set(error, STATUS_INVALID, "segment_free at address %lld, but %zu blocks in it are live; %s",
                          (long long)event->address, lifetimes->block_counts[span->number], damaged_text);
    }
    event->slot = span->number;
    event->bytes = span->bytes;
    span_set_remove(&lifetimes->segments, event->address);
    return STATUS_OK;
}

/* Where ids are addresses, a block lies in one live segment. */
static enum status_code block_begin(struct lifetimes *lifetimes, const struct trace_event *event, struct status *error)
{
    lifetimes->segment_of[event->slot] = (size_t)SEGMENT_NONE;
    if (!lifetimes->trace->has_addresses || event->bytes == 0) {
        return STATUS_OK;
    }
    enum status_code code = trace_range(event->address, event->bytes, error);
    if (code != STATUS_OK) {
        return code;
    }
    const struct span *span = span_set_find(&lifetimes->segments, event->address, 1);
    if (span == NULL || event->bytes > span->address + span->bytes - event->address) {
        return status_set(error, STATUS_INVALID, "%lld bytes at address %lld lie in no segment that was told of; %s",
                          (long long)event->bytes, (long long)event->address, not_whole_text);
    }
    lifetimes->segment_of[event->slot] = span->number;
    lifetimes->block_counts[span->number] += 1;
    return STATUS_OK;
}

static enum status_code block_event_check(struct lifetimes *lifetimes, const struct trace_event *event,
                                          struct status *error)
{
    bool begins = event->verb == TRACE_MALLOC;
    const char *verb = begins ? "malloc" : "free";
    if (begins == lifetimes->live[event->slot]) {
        if (lifetimes->trace->has_addresses) {
            return status_set(error, STATUS_INVALID, "%s of address %lld, which is %s; %s", verb,
                              (long long)event->address, begins ? "live" : "not live",
                              begins ? damaged_text : not_whole_text);
        }
        return status_set(error, STATUS_INVALID, "%s of id %lld, which is %s", verb, (long long)event->address,
                          begins ? "live; free it first" : "not live; remove it");
    }
    lifetimes->live[event->slot] = begins;
    if (begins) {
        lifetimes->bytes[event->slot] = event->bytes;
        return block_begin(lifetimes, event, error);
    }
    if (event->bytes != TRACE_UNKNOWN && event->bytes != lifetimes->bytes[event->slot]) {
        return status_set(error, STATUS_INVALID, "free of %lld bytes at address %lld, where %lld are live; %s",
                          (long long)event->bytes, (long long)event->address, (long long)lifetimes->bytes[event->slot],
                          damaged_text);
    }
    size_t segment = lifetimes->segment_of[event->slot];
    if (segment != (size_t)SEGMENT_NONE) {
        lifetimes->block_counts[segment] -= 1;
    }
    return STATUS_OK;
}

static enum status_code event_check(struct lifetimes *lifetimes, struct trace_event *event, struct status *error)
{
    switch (event->verb) {
    case TRACE_MALLOC:
    case TRACE_FREE:
        return block_event_check(lifetimes, event, error);
    case TRACE_SEGMENT:
        return segment_begin(lifetimes, event, error);
    case TRACE_SEGMENT_FREE:
        return segment_end(lifetimes, event, error);
    case TRACE_RESET_PEAKS:
    case TRACE_COUNTERS:
        break;
    }
    return STATUS_OK;
}

static enum status_code lifetimes_check(struct trace *trace, size_t segment_count, struct status *error)
{
    struct lifetimes lifetimes = {
        .trace = trace,
        .live = calloc(trace->slot_count + 1, sizeof *lifetimes.live),
        .bytes = calloc(trace->slot_count + 1, sizeof *lifetimes.bytes),
        .segment_of = calloc(trace->slot_count + 1, sizeof *lifetimes.segment_of),
        .block_counts = calloc(segment_count + 1, sizeof *lifetimes.block_counts),
    };
    enum status_code code = STATUS_OK;
    if (lifetimes.live == NULL || lifetimes.bytes == NULL || lifetimes.segment_of == NULL ||
        lifetimes.block_counts == NULL) {
        code = trace_no_memory(trace, error);
    }
    for (size_t i = 0; i < trace->event_count && code == STATUS_OK; i++) {
        code = event_check(&lifetimes, &trace->events[i], error);
        if (code != STATUS_OK) {
            trace_event_place(trace, trace->events[i].number, error);
        }
    }
    span_set_release(&lifetimes.segments);
    free(lifetimes.block_counts);
    free(lifetimes.segment_of);
    free(lifetimes.bytes);
    free(lifetimes.live);
    return code;
}

enum status_code trace_settle(struct trace *trace, struct status *error)
{
    size_t segment_count = 0;
    for (size_t i = 0; i < trace->event_count; i++) {
        segment_count += trace->events[i].verb == TRACE_SEGMENT;
    }
    trace->has_addresses = trace->has_addresses || segment_count > 0;
    enum status_code code = slots_number(trace, error);
    return code == STATUS_OK ? lifetimes_check(trace, segment_count, error) : code;
}

enum status_code trace_from_json(const char *name, const struct json *document, int64_t device, struct trace *trace,
                                 struct status *error)
{
    struct trace made = {.name = strdup(name)};
    if (made.name == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: the host has no memory for the trace", name);
    }
    enum status_code code = STATUS_OK;
    if (json_get(document, "device_traces") != NULL) {
        code = trace_read_snapshot(document, device, &made, error);
    } else if (device != TRACE_DEVICE_ONLY) {
        code = status_set_at(error, STATUS_INVALID, (struct file_place){.path = name},
                             "it has no \"device_traces\" to choose a device from; leave --device out");
    } else {
        code = trace_read_events(document, &made, error);
    }
    if (code != STATUS_OK) {
        trace_release(&made);
        return code;
    }
    *trace = made;
    return STATUS_OK;
}

/* A file of either format: JSON, or the pickle that torch.cuda.memory._dump_snapshot writes. */
static enum status_code document_read(const char *path, bool *is_pickle, struct json **document, struct status *error)
{
    struct text content = {0};
    enum status_code code = file_content_read(path, "JSON", TRACE_FILE_BYTES_MAXIMUM, &content, error);
    *is_pickle = code == STATUS_OK && pickle_is(text_string(&content), content.length);
    if (code == STATUS_OK) {
        code =
            (*is_pickle ? pickle_parse : json_parse_text)(path, text_string(&content), content.length, document, error);
    }
    text_release(&content);
    return code;
}

enum status_code trace_read(const char *path, int64_t device, struct trace *trace, struct status *error)
{
    struct json *document = NULL;
    bool is_pickle = false;
    enum status_code code = document_read(path, &is_pickle, &document, error);
    if (code == STATUS_OK) {
        code = trace_from_json(path, document, device, trace, error);
        if (code == STATUS_INVALID && !is_pickle) {
            json_place_add(path, "", error); /* where no event has given it a place */
        }
    }
    json_release(document);
    return code;
}

void trace_release(struct trace *trace)
{
    for (size_t i = 0; i < trace->counters_count; i++) {
        free(trace->counters[i].stage);
    }
    free(trace->counters);
    free(trace->events);
    free(trace->list);
    free(trace->name);
    *trace = (struct trace){0};
}

bool trace_has_record(const struct trace *trace)
{
    bool told = trace->has_addresses;
    for (size_t i = 0; i < trace->counters_count && !told; i++) {
        for (int k = 0; k < TRACE_FIGURE_COUNT; k++) {
            told = told || trace->counters[i].bytes[k] != TRACE_UNKNOWN;
        }
    }
    return told;
}

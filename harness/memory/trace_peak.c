/* Trace peak: two walks over the events of a trace: the first finds the moment, the second what is alive then. No
 * allocator is asked: sizes are those that were requested. */
#include "harness/memory/trace_peak.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"

/* The bytes that are live, and for each slot how many of them. */
struct liveness {
    int64_t *slot_bytes;
    int64_t bytes;
};

static bool event_follow(struct liveness *live, const struct trace_event *event)
{
    if (event->verb == TRACE_MALLOC) {
        live->slot_bytes[event->slot] = event->bytes;
        return size_add(live->bytes, event->bytes, &live->bytes);
    }
    if (event->verb == TRACE_FREE) {
        live->bytes -= live->slot_bytes[event->slot];
        live->slot_bytes[event->slot] = 0;
    }
    return true;
}

static bool is_row_of(const struct trace *trace, const struct trace_event *event, const char *stage)
{
    const char *name = event->verb == TRACE_COUNTERS ? trace->counters[event->slot].stage : NULL;
    return name != NULL && stage != NULL && strcmp(name, stage) == 0;
}

/* The number of events up to the highest moment. */
static enum status_code moment_find(const struct trace *trace, const char *stage, struct liveness *live, size_t *moment,
                                    struct status *error)
{
    int64_t highest_bytes = 0;
    size_t highest = 0;
    bool found = stage == NULL;
    for (size_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        if (!event_follow(live, event)) {
            return status_set(error, STATUS_OVERFLOW, "%s: event %zu: the live bytes do not fit 63 bits", trace->name,
                              event->number);
        }
        if (live->bytes > highest_bytes || (event->verb == TRACE_RESET_PEAKS && stage != NULL)) {
            highest_bytes = live->bytes;
            highest = i + 1;
        }
        if (is_row_of(trace, event, stage)) {
            *moment = highest;
            found = true;
        }
    }
    if (!found) {
        return status_set(error, STATUS_INVALID, "%s: no counters of a stage '%s'; use --peak highest", trace->name,
                          stage);
    }
    *moment = stage == NULL ? highest : *moment;
    return STATUS_OK;
}

static int bytes_order(const void *left, const void *right)
{
    const struct trace_peak_row *a = left, *b = right;
    return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

/* The products fit, because their sum did. */
static int total_order(const void *left, const void *right)
{
    const struct trace_peak_row *a = left, *b = right;
    int64_t a_bytes = a->bytes * a->count, b_bytes = b->bytes * b->count;
    int order = (a_bytes < b_bytes) - (a_bytes > b_bytes);
    return order != 0 ? order : bytes_order(left, right);
}

/* Puts equal sizes together; how many rows are left. */
static size_t rows_group(struct trace_peak_row *rows, size_t count)
{
    size_t kept = 0;
    qsort(rows, count, sizeof *rows, bytes_order);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && rows[kept - 1].bytes == rows[i].bytes) {
            rows[kept - 1].count++;
        } else {
            rows[kept++] = rows[i];
        }
    }
    qsort(rows, kept, sizeof *rows, total_order);
    return kept;
}

static void rows_collect(const struct trace *trace, size_t moment, struct liveness *live, struct trace_peak *peak)
{
    size_t count = 0;
    memset(live->slot_bytes, 0, trace->slot_count * sizeof *live->slot_bytes);
    live->bytes = 0;
    for (size_t i = 0; i < moment; i++) {
        (void)event_follow(live, &trace->events[i]); /* the first walk has been here */
    }
    for (size_t slot = 0; slot < trace->slot_count; slot++) {
        if (live->slot_bytes[slot] > 0) {
            peak->rows[count++] = (struct trace_peak_row){live->slot_bytes[slot], 1};
        }
    }
    peak->requested_bytes = live->bytes;
    peak->row_count = rows_group(peak->rows, count);
}

enum status_code trace_peak_find(const struct trace *trace, const char *stage, struct trace_peak *peak,
                                 struct status *error)
{
    struct trace_peak made = {.rows = calloc(trace->slot_count + 1, sizeof *made.rows)};
    struct liveness live = {.slot_bytes = calloc(trace->slot_count + 1, sizeof *live.slot_bytes)};
    size_t moment = 0;
    enum status_code code = STATUS_OK;
    if (made.rows == NULL || live.slot_bytes == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory for %zu blocks", trace->name, trace->slot_count);
    }
    if (code == STATUS_OK) {
        code = moment_find(trace, stage, &live, &moment, error);
    }
    if (code == STATUS_OK) {
        rows_collect(trace, moment, &live, &made);
        *peak = made;
    } else {
        free(made.rows);
    }
    free(live.slot_bytes);
    return code;
}

void trace_peak_release(struct trace_peak *peak)
{
    free(peak->rows);
    *peak = (struct trace_peak){0};
}

struct json *trace_peak_to_json(const struct trace_peak *peak)
{
    struct json *object = json_object_new();
    struct json *rows = json_array_new();
    bool made = json_set(object, "requested_bytes", json_integer_new(peak->requested_bytes)) &&
                json_set(object, "sizes", json_share(rows));
    for (size_t i = 0; i < peak->row_count && made; i++) {
        struct json *row = json_object_new();
        made = json_set(row, "bytes", json_integer_new(peak->rows[i].bytes)) &&
               json_set(row, "count", json_integer_new(peak->rows[i].count)) && json_append(rows, json_share(row));
        json_release(row);
    }
    json_release(rows);
    return json_made(object, made);
}

/* Trace peak: the events of a trace, told to what keeps the highest moment of a walk. Here is which events are those of
 * a stage. No allocator is asked: sizes are those that were requested. */
#include "harness/memory/trace_peak.h"

#include <stdlib.h>
#include <string.h>

#include "harness/memory/high_water.h"
#include "harness/record/level.h"

/* The events whose moments count: from first to the one before behind. */
struct window {
    size_t first, behind;
};

static bool is_row_of(const struct trace *trace, const struct trace_event *event, const char *stage)
{
    const char *name = event->verb == TRACE_COUNTERS ? trace->counters[event->slot].stage : NULL;
    return name != NULL && strcmp(name, stage) == 0;
}

/* Of a stage that has no row it is empty. */
static struct window window_find(const struct trace *trace, const char *stage)
{
    struct window window = {.behind = trace->event_count};
    if (stage == NULL) {
        return window;
    }
    while (window.behind > 0 && !is_row_of(trace, &trace->events[window.behind - 1], stage)) {
        window.behind--;
    }
    window.first = window.behind;
    while (window.first > 0 && trace->events[window.first - 1].verb != TRACE_RESET_PEAKS) {
        window.first--;
    }
    return window;
}

static enum status_code event_follow(struct high_water *water, const struct trace_event *event, struct status *error)
{
    return event->verb == TRACE_MALLOC ? high_water_take(water, event->slot, event->bytes, 0, error)
           : event->verb == TRACE_FREE ? high_water_free(water, event->slot, error)
                                       : STATUS_OK;
}

static enum status_code moments_walk(const struct trace *trace, const char *stage, struct high_water *water,
                                     struct status *error)
{
    struct window window = window_find(trace, stage);
    for (size_t i = 0; i < trace->event_count; i++) {
        if (i == window.first) {
            high_water_mark(water);
        }
        enum status_code code = event_follow(water, &trace->events[i], error);
        if (code != STATUS_OK) {
            status_prefix(error, "%s: event %zu", trace->name, trace->events[i].number);
            return code;
        }
        if (i >= window.first && i < window.behind) {
            high_water_raise(water);
        }
    }
    return stage == NULL || window.behind > 0
               ? STATUS_OK
               : status_set(error, STATUS_INVALID, "%s: no counters of a stage '%s'; use --peak highest", trace->name,
                            stage);
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

static void rows_collect(const struct trace *trace, const struct high_water *water, struct trace_peak *peak)
{
    size_t count = 0;
    for (size_t slot = 0; slot < trace->slot_count; slot++) {
        int64_t bytes = high_water_slot_then(water, slot)->bytes;
        if (bytes > 0) {
            peak->rows[count++] = (struct trace_peak_row){bytes, 1};
        }
    }
    peak->requested_bytes = high_water_bytes_then(water)->requested;
    peak->row_count = rows_group(peak->rows, count);
}

enum status_code trace_peak_find(const struct trace *trace, const char *stage, struct trace_peak *peak,
                                 struct status *error)
{
    struct trace_peak made = {.rows = calloc(trace->slot_count + 1, sizeof *made.rows)};
    struct high_water *water = NULL;
    enum status_code code = high_water_open(HIGH_WATER_REQUESTED, trace->slot_count, 0, &water, error);
    if (made.rows == NULL || code != STATUS_OK) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory for %zu blocks", trace->name, trace->slot_count);
    }
    if (code == STATUS_OK) {
        code = moments_walk(trace, stage, water, error);
    }
    if (code == STATUS_OK) {
        rows_collect(trace, water, &made);
        *peak = made;
    } else {
        free(made.rows);
    }
    high_water_close(water);
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
    bool made = json_set(object, level_key(LEVEL_REQUESTED), json_integer_new(peak->requested_bytes)) &&
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

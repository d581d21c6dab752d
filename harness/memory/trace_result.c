/* Trace result: what a replay and its comparison come to, as JSON. The table for people is in cli_replay.c. */
#include <stdlib.h>

#include "harness/memory/trace.h"

bool trace_comparison_is_equal(const struct trace_comparison *comparison)
{
    return comparison->figures.unequal_count == 0 && comparison->placements.unequal_count == 0 &&
           comparison->segments.unequal_count == 0;
}

void trace_comparison_release(struct trace_comparison *comparison)
{
    free(comparison->bytes);
    *comparison = (struct trace_comparison){0};
}

bool trace_result_has_peak(enum level level)
{
    return level != LEVEL_RESERVED;
}

struct json *trace_result_to_json(const struct trace_result *result)
{
    struct json *object = json_object_new();
    bool complete = object != NULL;
    for (int i = 0; i < LEVEL_COUNTED_COUNT && complete; i++) {
        enum level level = (enum level)i;
        complete = json_set(object, level_key(level), json_integer_new(result->levels[level].bytes)) &&
                   (!trace_result_has_peak(level) ||
                    json_set(object, level_peak_key(level), json_integer_new(result->levels[level].bytes_peak)));
    }
    return json_made(object, complete && json_set(object, "segments", json_integer_new(result->segment_count)));
}

static struct json *tally_to_json(const struct trace_tally *tally)
{
    struct json *object = json_object_new();
    bool complete = json_set(object, "count", json_integer_new(tally->count)) &&
                    json_set(object, "unequal_count", json_integer_new(tally->unequal_count));
    return json_made(object, complete);
}

static struct json *first_difference_to_json(const struct trace_comparison *comparison)
{
    if (comparison->first_event == 0) {
        return json_null_new();
    }
    struct json *object = json_object_new();
    bool complete = json_set(object, "event", json_integer_new((int64_t)comparison->first_event)) &&
                    json_set(object, "pytorch", json_string_new(comparison->first_pytorch)) &&
                    json_set(object, "assay", json_string_new(comparison->first_assay));
    return json_made(object, complete);
}

static struct json *figure_to_json(int64_t ours, int64_t theirs)
{
    bool known = theirs != TRACE_UNKNOWN;
    struct json *object = json_object_new();
    bool complete = json_set(object, "assay", json_integer_new(ours)) &&
                    json_set(object, "pytorch", known ? json_integer_new(theirs) : json_null_new()) &&
                    json_set(object, "difference", known ? json_integer_new(ours - theirs) : json_null_new());
    return json_made(object, complete);
}

static struct json *row_to_json(const struct trace_counters *theirs, const int64_t *ours)
{
    struct json *object = json_object_new();
    bool complete =
        json_set(object, "stage", theirs->stage != NULL ? json_string_new(theirs->stage) : json_null_new()) &&
        json_set(object, "event", json_integer_new((int64_t)theirs->event_number));
    for (int i = 0; i < TRACE_FIGURE_COUNT && complete; i++) {
        complete = json_set(object, trace_figure_name((enum trace_figure)i), figure_to_json(ours[i], theirs->bytes[i]));
    }
    return json_made(object, complete);
}

static struct json *rows_to_json(const struct trace_comparison *comparison)
{
    struct json *array = json_array_new();
    bool complete = array != NULL;
    for (size_t i = 0; i < comparison->trace->counters_count && complete; i++) {
        complete = json_append(array, row_to_json(&comparison->trace->counters[i], comparison->bytes[i]));
    }
    return json_made(array, complete);
}

struct json *trace_comparison_to_json(const struct trace_comparison *comparison)
{
    struct json *object = json_object_new();
    bool complete = json_set(object, "equal", json_boolean_new(trace_comparison_is_equal(comparison))) &&
                    json_set(object, "figures", tally_to_json(&comparison->figures)) &&
                    json_set(object, "placements", tally_to_json(&comparison->placements)) &&
                    json_set(object, "segments", tally_to_json(&comparison->segments)) &&
                    json_set(object, "first_difference", first_difference_to_json(comparison)) &&
                    json_set(object, "counters", rows_to_json(comparison));
    return json_made(object, complete);
}

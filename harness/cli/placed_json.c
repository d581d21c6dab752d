/* Pieces of JSON documents about placed tapes: figures, refusals, copies. */
#include "harness/cli/placed_json.h"

#include "harness/placement/plan_json.h"

struct json *bytes_or_null_json(int64_t bytes)
{
    return bytes >= 0 ? json_integer_new(bytes) : json_null_new();
}

struct json *placed_stage_json(const struct replay_stage *stage)
{
    struct json *object = json_object_new();
    return json_made(object, level_figures_set(object, stage->levels));
}

struct json *placed_refusal_json(const struct placed_tape *placed, const struct placed_outcome *outcome)
{
    if (outcome->fits) {
        return json_null_new();
    }
    const struct replay_result *lane = &outcome->result.lanes[outcome->result.oom_lane];
    struct json *object = json_object_new();
    bool made = json_set(object, "device", placement_device_json(placed->devices[outcome->result.oom_lane])) &&
                json_set(object, "stage", json_string_new(stage_name(lane->oom_stage))) &&
                json_set(object, "tensor", json_string_new(lane->oom_label)) &&
                json_set(object, "wanted_bytes", json_integer_new(lane->oom_wanted_bytes)) &&
                json_set(object, "segment_bytes", json_integer_new(lane->oom_segment_bytes)) &&
                json_set(object, "held_bytes", json_integer_new(lane->oom_held_bytes)) &&
                json_set(object, "live_bytes", json_integer_new(lane->oom_live_bytes)) &&
                json_set(object, "reason", json_string_new(outcome->reason));
    return json_made(object, made);
}

struct json *placed_copies_json(const struct placed_tape *placed, const struct placed_result *result, bool runs)
{
    struct json *list = json_array_new();
    int count = placed->place_count;
    bool made = true;
    for (int i = 0; i < count * count && made; i++) {
        int from = i / count, to = i % count;
        if (result->copied_bytes[from][to] > 0) {
            struct json *object = json_object_new();
            bool filled =
                json_set(object, "from", placement_device_json(placed->devices[from])) &&
                json_set(object, "to", placement_device_json(placed->devices[to])) &&
                json_set(object, "count", json_integer_new(result->copy_counts[from][to])) &&
                json_set(object, "bytes", json_integer_new(result->copied_bytes[from][to])) &&
                json_set(object, "seconds", runs ? json_real_new(result->copy_seconds[from][to]) : json_null_new());
            made = json_append(list, json_made(object, filled));
        }
    }
    return json_made(list, made);
}

bool placed_stage_agrees(const struct replay_stage *a, const struct replay_stage *b)
{
    return a->present == b->present &&
           (!a->present ||
            (a->requested_bytes_peak == b->requested_bytes_peak && a->allocated_bytes_peak == b->allocated_bytes_peak &&
             a->reserved_bytes_peak == b->reserved_bytes_peak && a->requested_bytes == b->requested_bytes));
}

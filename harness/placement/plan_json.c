/* Plan as JSON: names of members stand here, and nowhere else. */
#include "harness/placement/plan_json.h"

struct json *placement_device_json(struct placement_device device)
{
    char name[DEVICE_TEXT_BYTES];
    return device.kind == PLACEMENT_GPU ? json_integer_new(device.index)
                                        : json_string_new(placement_device_name(device, name));
}

/* Half a byte of int4 is not lost. */
static struct json *bits_json(int64_t bits)
{
    return bits % BITS_PER_BYTE == 0 ? json_integer_new(bits / BITS_PER_BYTE)
                                     : json_real_new((double)bits / BITS_PER_BYTE);
}

static struct json *share_json(const struct placement_share *share)
{
    struct json *object = json_object_new();
    bool made =
        json_set(object, "device", placement_device_json(share->device)) &&
        json_set(object, "budget_bytes", share->budget_bits < 0 ? json_null_new() : bits_json(share->budget_bits)) &&
        json_set(object, "placed_bytes", bits_json(share->placed_bits)) &&
        json_set(object, "weight_bytes", bits_json(share->weight_bits)) &&
        json_set(object, "buffer_bytes", bits_json(share->buffer_bits)) &&
        json_set(object, "reserved_bytes", bits_json(share->reserved_bits)) &&
        json_set(object, "minimum_bytes", share->minimum_bits < 0 ? json_null_new() : bits_json(share->minimum_bits));
    return json_made(object, made);
}

bool device_plan_set(const struct device_plan *plan, struct json *document)
{
    struct json *map = json_object_new(), *memory = json_object_new();
    struct json *devices = json_array_new(), *uncovered = json_array_new();
    char name[DEVICE_TEXT_BYTES];
    bool made = true;
    for (int i = 0; i < plan->map.count; i++) {
        made = json_set(map, plan->map.entries[i].path, placement_device_json(plan->map.entries[i].device)) && made;
    }
    for (int i = 0; i < plan->budget_count; i++) {
        made =
            json_set(memory, placement_device_name(plan->budgets[i].device, name), bits_json(plan->budgets[i].bits)) &&
            made;
    }
    for (int i = 0; i < plan->share_count; i++) {
        made = json_append(devices, share_json(&plan->shares[i])) && made;
    }
    for (int i = 0; i < plan->uncovered_count; i++) {
        made = json_append(uncovered, json_string_new(plan->uncovered[i])) && made;
    }
    made = json_set(document, "device_map", map) && made;
    made = json_set(document, "max_memory", memory) && made;
    made = json_set(document, "devices", devices) && made;
    return json_set(document, "uncovered", uncovered) && made;
}

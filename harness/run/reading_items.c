/* Reading items: the subtraction. The readings are taken in harness/device. */
#include "harness/run/reading_items.h"

static const char *const ITEM_NAMES[] = {
#define READING_ITEM_TEXT(name, stem, ...) LEVEL_KEY(stem),
    READING_ITEM_TABLE(READING_ITEM_TEXT)
#undef READING_ITEM_TEXT
};

static void item_set(struct reading_items *items, enum reading_item item, bool valid, int64_t bytes)
{
    items->valid[item] = valid;
    items->bytes[item] = valid ? bytes : 0;
}

/* What was loaded before the context's reading (on the host: OpenBLAS) is an item of its own and no part of the
 * context. */
static void context_set(struct reading_items *items, bool valid, int64_t bytes, const struct device_reading *reading,
                        bool loads_valid)
{
    int64_t kernel = loads_valid && reading->kernel_valid ? reading->kernel_bytes : 0;
    int64_t library = loads_valid && reading->library_valid ? reading->library_bytes : 0;
    int64_t rest = bytes - items->bytes[READING_ITEM_BASELINE] - kernel - library;
    item_set(items, READING_ITEM_CONTEXT, valid && rest >= 0, rest);
}

bool reading_itemise(enum reading_total total, const struct replay_stage *context, const struct replay_stage *stage,
                     bool loads_valid, struct reading_items *items)
{
    const struct device_reading *reading = &stage->reading, *first = &context->reading;
    bool whole = total == READING_TOTAL_DEVICE;
    if (!(whole ? reading->device_valid : reading->process_valid)) {
        return false;
    }
    struct reading_items made = {0};
    int64_t left = whole ? reading->device_bytes : reading->process_bytes;
    item_set(&made, READING_ITEM_BASELINE, whole && reading->baseline_valid, reading->baseline_bytes);
    item_set(&made, READING_ITEM_KERNEL, loads_valid && reading->kernel_valid, reading->kernel_bytes);
    item_set(&made, READING_ITEM_LIBRARY, loads_valid && reading->library_valid, reading->library_bytes);
    item_set(&made, READING_ITEM_WORKSPACE, true, stage->workspace_allocated_bytes);
    item_set(&made, READING_ITEM_SEGMENT, true, stage->reserved_bytes - stage->workspace_allocated_bytes);
    if (context->present) {
        /* Without a baseline, what others held cannot be told from the context. */
        bool known = whole ? first->device_valid && reading->baseline_valid : first->process_valid;
        context_set(&made, known, whole ? first->device_bytes : first->process_bytes, first, loads_valid);
    }
    for (int item = 0; item < READING_ITEM_REMAINDER; item++) {
        left -= made.bytes[item];
    }
    item_set(&made, READING_ITEM_REMAINDER, true, left);
    *items = made;
    return true;
}

struct json *reading_items_json(enum reading_total total, const struct reading_items *items)
{
    struct json *object = json_object_new();
    bool made = object != NULL;
    for (int item = total == READING_TOTAL_DEVICE ? 0 : READING_ITEM_CONTEXT; made && item < READING_ITEM_COUNT;
         item++) {
        made = json_set(object, ITEM_NAMES[item],
                        items->valid[item] ? json_integer_new(items->bytes[item]) : json_null_new());
    }
    return json_made(object, made);
}

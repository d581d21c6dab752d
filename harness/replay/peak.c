/* Peak: two walks over the events of a tape: the first finds the moment, the second what is alive then. Knows nothing of
 * blocks: rounding and what is cached have no names. */
#include "harness/replay/peak.h"

#include <stdlib.h>
#include <string.h>

/* The number of events up to the highest sum within the last occurrence of the stage; -1: there is none. The sums fit,
 * because the tape replays. */
static int moment_find(const struct tape_view *tape, enum stage stage, int64_t *requested_bytes)
{
    int64_t live_bytes = 0, peak_bytes = 0;
    int moment = -1;
    bool lasts = stage == STAGE_CONTEXT;
    for (int i = 0; i < tape->event_count; i++) {
        struct event event = tape->events[i];
        bool begins = event.kind == EVENT_STAGE && event.index == (int)stage;
        if (event.kind == EVENT_STAGE) {
            lasts = begins;
        } else if (event.kind == EVENT_ALLOC) {
            live_bytes += tape->storages[event.index].bytes;
        } else if (event.kind == EVENT_FREE) {
            live_bytes -= tape->storages[event.index].bytes;
        }
        if (begins || (lasts && live_bytes > peak_bytes)) {
            peak_bytes = live_bytes;
            moment = i + 1;
        }
    }
    *requested_bytes = peak_bytes;
    return moment;
}

static int alike_order(const void *left, const void *right)
{
    const struct peak_tensor *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    order = order != 0 ? order : (a->category > b->category) - (a->category < b->category);
    return order != 0 ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static int size_order(const void *left, const void *right)
{
    const struct peak_tensor *a = left, *b = right;
    int64_t a_bytes = a->bytes * a->count, b_bytes = b->bytes * b->count;
    int order = (a_bytes < b_bytes) - (a_bytes > b_bytes);
    return order != 0 ? order : alike_order(left, right);
}

/* Puts those that are alike together; how many rows are left. */
static int tensors_group(struct peak_tensor *tensors, int count)
{
    int kept = 0;
    qsort(tensors, (size_t)count, sizeof *tensors, alike_order);
    for (int i = 0; i < count; i++) {
        if (kept > 0 && alike_order(&tensors[kept - 1], &tensors[i]) == 0) {
            tensors[kept - 1].count++;
        } else {
            tensors[kept++] = tensors[i];
        }
    }
    qsort(tensors, (size_t)kept, sizeof *tensors, size_order);
    return kept;
}

/* One row for each storage that is alive after so many events. */
static int tensors_collect(const struct tape_view *tape, int moment, bool *alive, struct peak_tensor *tensors)
{
    int count = 0;
    for (int i = 0; i < moment; i++) {
        struct event event = tape->events[i];
        if (event.kind == EVENT_ALLOC || event.kind == EVENT_FREE) {
            alive[event.index] = event.kind == EVENT_ALLOC;
        }
    }
    for (int i = 0; i < tape->storage_count; i++) {
        const struct storage *storage = &tape->storages[i];
        if (alive[i] && storage->bytes > 0) {
            tensors[count++] = (struct peak_tensor){storage->label, storage->category, storage->bytes, 1};
        }
    }
    return count;
}

enum status_code peak_find(const struct tape_view *tape, enum stage stage, struct peak *peak, struct status *error)
{
    struct peak made = {.stage = stage};
    int moment = moment_find(tape, stage, &made.requested_bytes);
    if (moment < 0) {
        return status_set(error, STATUS_INVALID, "the case has no stage %s", stage_name(stage));
    }
    size_t room = (size_t)tape->storage_count + 1;
    bool *alive = calloc(room, sizeof *alive);
    made.tensors = calloc(room, sizeof *made.tensors);
    if (alive == NULL || made.tensors == NULL) {
        free(alive);
        free(made.tensors);
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for %zu tensors", room);
    }
    made.tensor_count = tensors_group(made.tensors, tensors_collect(tape, moment, alive, made.tensors));
    free(alive);
    *peak = made;
    return STATUS_OK;
}

enum status_code peak_find_highest(const struct tape_view *tape, struct peak *peak, struct status *error)
{
    enum stage highest = STAGE_CONTEXT;
    int64_t highest_bytes = -1;
    for (int stage = STAGE_LOAD; stage < STAGE_COUNT; stage++) {
        int64_t bytes = 0;
        if (moment_find(tape, (enum stage)stage, &bytes) >= 0 && bytes > highest_bytes) {
            highest = (enum stage)stage;
            highest_bytes = bytes;
        }
    }
    return peak_find(tape, highest, peak, error);
}

void peak_release(struct peak *peak)
{
    free(peak->tensors);
    *peak = (struct peak){0};
}

static struct json *tensor_json(const struct peak_tensor *tensor)
{
    struct json *row = json_object_new();
    bool made = json_set(row, "name", json_string_new(tensor->name)) &&
                json_set(row, "category", json_string_new(category_name(tensor->category))) &&
                json_set(row, "bytes", json_integer_new(tensor->bytes)) &&
                json_set(row, "count", json_integer_new(tensor->count));
    return json_made(row, made);
}

struct json *peak_to_json(const struct peak *peak)
{
    struct json *object = json_object_new();
    struct json *rows = json_array_new();
    bool made = json_set(object, "stage", json_string_new(stage_name(peak->stage))) &&
                json_set(object, "requested_bytes", json_integer_new(peak->requested_bytes)) &&
                json_set(object, "tensors", json_share(rows));
    for (int i = 0; i < peak->tensor_count && made; i++) {
        made = json_append(rows, tensor_json(&peak->tensors[i]));
    }
    json_release(rows);
    return json_made(object, made);
}

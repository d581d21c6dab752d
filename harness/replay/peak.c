/* Peak: two walks over the events of a tape: the first finds the moment, the second what is alive then. Knows nothing
 * of blocks: rounding and what is cached have no names. */
#include "harness/replay/peak.h"

#include <stdlib.h>
#include <string.h>

#include "harness/tape/tape_walk.h"

/* The number of steps up to the highest sum within the last occurrence of the stage, in *moment; -1: there is none. The
 * sums fit, because the tape replays. */
static enum status_code moment_find(const struct tape_view *tape, enum stage stage, int64_t *moment,
                                    int64_t *requested_bytes, struct status *error)
{
    struct tape_walk walk;
    struct walk_step step;
    int64_t live_bytes = 0, peak_bytes = 0;
    bool lasts = stage == STAGE_CONTEXT;
    enum status_code code = tape_walk_open(tape, &walk, error);
    *moment = -1;
    walk.ends_only = true;
    while (code == STATUS_OK && tape_walk_next(&walk, &step)) {
        bool changes = step.kind == WALK_EVENT && step.event.kind == EVENT_STAGE;
        bool begins = changes && step.event.index == (int)stage;
        lasts = changes ? begins : lasts;
        live_bytes += step.change_bytes;
        if (begins || (lasts && step.kind == WALK_EVENT && live_bytes > peak_bytes)) {
            peak_bytes = live_bytes;
            *moment = walk.step_count;
        }
    }
    tape_walk_close(&walk);
    *requested_bytes = peak_bytes;
    return code;
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

/* One row for each storage that is alive after so many steps. */
static enum status_code tensors_collect(const struct tape_view *tape, int64_t moment, bool *alive,
                                        struct peak_tensor *tensors, int *count, struct status *error)
{
    struct tape_walk walk;
    struct walk_step step;
    enum status_code code = tape_walk_open(tape, &walk, error);
    *count = 0;
    walk.ends_only = true;
    while (code == STATUS_OK && walk.step_count < moment && tape_walk_next(&walk, &step)) {
        if (step.kind == WALK_CARRY) {
            alive[step.carry.to] = alive[step.carry.from];
            alive[step.carry.from] = false;
        } else if (step.kind == WALK_EVENT && (step.event.kind == EVENT_ALLOC || step.event.kind == EVENT_FREE)) {
            alive[step.event.index] = step.event.kind == EVENT_ALLOC;
        }
    }
    for (int i = 0; i < tape->storage_count && code == STATUS_OK; i++) {
        const struct storage *storage = &tape->storages[i];
        if (alive[i] && walk.bytes[i] > 0) {
            tensors[(*count)++] = (struct peak_tensor){storage->label, storage->category, walk.bytes[i], 1};
        }
    }
    tape_walk_close(&walk);
    return code;
}

enum status_code peak_find(const struct tape_view *tape, enum stage stage, struct peak *peak, struct status *error)
{
    struct peak made = {.stage = stage};
    int64_t moment = -1;
    enum status_code code = moment_find(tape, stage, &moment, &made.requested_bytes, error);
    if (code == STATUS_OK && moment < 0) {
        code = status_set(error, STATUS_INVALID, "the case has no stage %s", stage_name(stage));
    }
    if (code != STATUS_OK) {
        return code;
    }
    size_t room = (size_t)tape->storage_count + 1;
    bool *alive = calloc(room, sizeof *alive);
    made.tensors = calloc(room, sizeof *made.tensors);
    if (alive == NULL || made.tensors == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for %zu tensors", room);
    }
    int count = 0;
    code = code == STATUS_OK ? tensors_collect(tape, moment, alive, made.tensors, &count, error) : code;
    free(alive);
    if (code != STATUS_OK) {
        free(made.tensors);
        return code;
    }
    made.tensor_count = tensors_group(made.tensors, count);
    *peak = made;
    return STATUS_OK;
}

enum status_code peak_find_highest(const struct tape_view *tape, struct peak *peak, struct status *error)
{
    enum stage highest = STAGE_CONTEXT;
    int64_t highest_bytes = -1;
    for (int stage = STAGE_LOAD; stage < STAGE_COUNT; stage++) {
        int64_t bytes = 0, moment = -1;
        enum status_code code = moment_find(tape, (enum stage)stage, &moment, &bytes, error);
        if (code != STATUS_OK) {
            return code;
        }
        if (moment >= 0 && bytes > highest_bytes) {
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

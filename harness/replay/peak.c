/* Peak: the moment of the highest requested bytes, told by the names of what is held then. It knows nothing of blocks:
 * rounding and what is cached have no names. */
#include "harness/replay/peak.h"

#include <stdlib.h>
#include <string.h>

#include "harness/record/level.h"
#include "harness/replay/moment.h"

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

/* One row for each storage that is held, those that are alike together. */
static enum status_code tensors_collect(const struct tape_view *tape, const struct moment *moment, struct peak *peak,
                                        struct status *error)
{
    struct peak_tensor *tensors = calloc((size_t)moment->held_count + 1, sizeof *tensors);
    if (tensors == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for %d tensors", moment->held_count);
    }
    for (int i = 0; i < moment->held_count; i++) {
        const struct storage *storage = &tape->storages[moment->held[i].storage];
        tensors[i] = (struct peak_tensor){storage->label, storage->category, moment->held[i].bytes, 1};
    }
    *peak = (struct peak){.stage = moment->stage, .requested_bytes = moment->requested_bytes, .tensors = tensors};
    peak->tensor_count = tensors_group(tensors, moment->held_count);
    return STATUS_OK;
}

enum status_code peak_find(const struct tape_view *tape, enum stage stage, struct peak *peak, struct status *error)
{
    struct moment moment = {0};
    enum status_code code = moment_find(tape, HIGH_WATER_REQUESTED, stage, &moment, error);
    if (code == STATUS_INVALID && stage != STAGE_COUNT) {
        status_set(error, code, "the case has no stage %s", stage_name(stage));
    }
    code = code == STATUS_OK ? tensors_collect(tape, &moment, peak, error) : code;
    moment_release(&moment);
    return code;
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
                json_set(object, level_key(LEVEL_REQUESTED), json_integer_new(peak->requested_bytes)) &&
                json_set(object, "tensors", json_share(rows));
    for (int i = 0; i < peak->tensor_count && made; i++) {
        made = json_append(rows, tensor_json(&peak->tensors[i]));
    }
    json_release(rows);
    return json_made(object, made);
}

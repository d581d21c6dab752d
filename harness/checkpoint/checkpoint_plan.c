/* Checkpoint plan: groups dealt out, tensors sorted, headers and index as text. Not the writer of files. */
#include "harness/checkpoint/checkpoint_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/base/size.h"
#include "harness/checkpoint/checkpoint.h"

enum { LENGTH_BYTES = 8, ALIGNMENT_BYTES = 8 };

static enum status_code memory_refuse(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the list of tensors");
}

static enum status_code sizes_make(struct checkpoint_plan *plan, struct status *error)
{
    for (int i = 0; i < plan->tensor_count; i++) {
        struct planned_tensor *tensor = &plan->tensors[i];
        int64_t count = 1;
        bool fits = tensor->rank <= PLANNED_RANK_MAXIMUM;
        for (int axis = 0; axis < tensor->rank && fits; axis++) {
            fits = size_multiply(count, tensor->size[axis], &count);
        }
        if (!fits || !storage_bytes(tensor->type, count, &tensor->bytes) ||
            !size_add(plan->data_bytes, tensor->bytes, &plan->data_bytes)) {
            return status_set(error, STATUS_OVERFLOW, "%.200s: its bytes do not fit 63 bits", tensor->name);
        }
    }
    return STATUS_OK;
}

/* One past the last tensor of the group that begins at first; *bytes: of the group. */
static int group_end(const struct checkpoint_plan *plan, int first, int64_t *bytes)
{
    int end = first + 1;
    *bytes = plan->tensors[first].bytes;
    while (end < plan->tensor_count && plan->tensors[end].stays_with_previous) {
        *bytes += plan->tensors[end++].bytes; /* the sum of all has been checked */
    }
    return end;
}

/* A file is closed when the next group does not fit, so that one which is larger than the maximum comes before the file
 * that was open then. Numbers files in that order: open is the mark of what is not closed yet. */
static void files_deal(struct checkpoint_plan *plan, int64_t maximum_bytes)
{
    enum { OPEN = -1 };
    int64_t open_bytes = 0;
    int open_first = 0; /* no tensor before it is in the open file */
    for (int first = 0, end; first < plan->tensor_count; first = end) {
        int64_t bytes = 0;
        end = group_end(plan, first, &bytes);
        bool is_alone = bytes > maximum_bytes;
        if (!is_alone && open_bytes > maximum_bytes - bytes) {
            for (int i = open_first; i < first; i++) {
                plan->tensors[i].file = plan->tensors[i].file == OPEN ? plan->file_count : plan->tensors[i].file;
            }
            plan->file_count++;
            open_first = first;
            open_bytes = 0;
        }
        for (int i = first; i < end; i++) {
            plan->tensors[i].file = is_alone ? plan->file_count : OPEN;
        }
        plan->file_count += is_alone ? 1 : 0;
        open_bytes += is_alone ? 0 : bytes;
    }
    bool is_left = false;
    for (int i = open_first; i < plan->tensor_count; i++) {
        is_left = is_left || plan->tensors[i].file == OPEN;
        plan->tensors[i].file = plan->tensors[i].file == OPEN ? plan->file_count : plan->tensors[i].file;
    }
    plan->file_count += is_left || plan->file_count == 0 ? 1 : 0;
}

/* By file, then as safetensors has them inside it: its types have an order of their own, the wide ones first. */
static int tensors_compare(const void *a, const void *b, void *context)
{
    const struct planned_tensor *tensors = context;
    const struct planned_tensor *left = &tensors[*(const int *)a], *right = &tensors[*(const int *)b];
    if (left->file != right->file) {
        return left->file < right->file ? -1 : 1;
    }
    if (left->type != right->type) {
        return safetensors_type_rank(left->type) > safetensors_type_rank(right->type) ? -1 : 1;
    }
    return strcmp(left->name, right->name);
}

static void file_name(struct planned_file *file, int number, int count)
{
    if (count == 1) {
        snprintf(file->name, sizeof file->name, "model.safetensors");
    } else {
        snprintf(file->name, sizeof file->name, "model-%05d-of-%05d.safetensors", number, count);
    }
}

static enum status_code files_make(struct checkpoint_plan *plan, struct status *error)
{
    plan->files = arena_alloc(&plan->arena, (size_t)plan->file_count * sizeof *plan->files);
    int *order = arena_alloc(&plan->arena, (size_t)plan->tensor_count * sizeof *order);
    if (plan->files == NULL || order == NULL) {
        return memory_refuse(error);
    }
    for (int i = 0; i < plan->tensor_count; i++) {
        order[i] = i;
    }
    qsort_r(order, (size_t)plan->tensor_count, sizeof *order, tensors_compare, plan->tensors);
    for (int i = 0; i < plan->tensor_count; i++) {
        struct planned_tensor *tensor = &plan->tensors[order[i]];
        struct planned_file *file = &plan->files[tensor->file];
        file->tensors = file->tensor_count == 0 ? order + i : file->tensors;
        file->tensor_count++;
        tensor->offset = file->data_bytes;
        file->data_bytes += tensor->bytes;
    }
    for (int i = 0; i < plan->file_count; i++) {
        struct text header = {0};
        file_name(&plan->files[i], i + 1, plan->file_count);
        planned_header_append(plan, i, &header);
        enum status_code code = text_status(&header, "the header of a file", error);
        plan->files[i].header_bytes = (int64_t)header.length;
        text_release(&header);
        int64_t bytes = 0;
        if (code == STATUS_OK && (!size_add(plan->files[i].header_bytes, plan->files[i].data_bytes, &bytes) ||
                                  !size_add(plan->total_bytes, bytes, &plan->total_bytes))) {
            code = status_set(error, STATUS_OVERFLOW, "the bytes of all files do not fit 63 bits");
        }
        if (code != STATUS_OK) {
            return code;
        }
    }
    return STATUS_OK;
}

enum status_code checkpoint_plan_make(struct planned_tensor *tensors, int tensor_count, int64_t maximum_bytes,
                                      struct checkpoint_plan *plan, struct status *error)
{
    struct checkpoint_plan result = {.tensors = tensors, .tensor_count = tensor_count};
    enum status_code code = sizes_make(&result, error);
    if (code == STATUS_OK) {
        files_deal(&result, maximum_bytes);
        if (result.file_count > CHECKPOINT_FILES_MAXIMUM) {
            code = status_set(error, STATUS_INVALID,
                              "files of at most %" PRId64 " bytes would be %d, and a checkpoint has at most %d; allow "
                              "larger ones",
                              maximum_bytes, result.file_count, CHECKPOINT_FILES_MAXIMUM);
        }
    }
    if (code == STATUS_OK) {
        code = files_make(&result, error);
    }
    if (code == STATUS_OK) {
        *plan = result;
    } else {
        checkpoint_plan_release(&result);
    }
    return code;
}

void checkpoint_plan_release(struct checkpoint_plan *plan)
{
    arena_release(&plan->arena);
    *plan = (struct checkpoint_plan){0};
}

/* A name as a JSON string. Those of models are letters, digits and points; what else there is the writer of JSON
 * escapes. */
static void name_append(const char *name, struct text *text)
{
    if (strpbrk(name, "\"\\") == NULL) {
        text_append(text, "\"");
        text_append(text, name);
        text_append(text, "\"");
        return;
    }
    struct json *string = json_string_new(name);
    json_write_below(string, 0, 0, text);
    text->failed = text->failed || string == NULL;
    json_release(string);
}

static void entry_append(const struct planned_tensor *tensor, struct text *text)
{
    text_append(text, ",");
    name_append(tensor->name, text);
    text_format(text, ":{\"dtype\":\"%s\",\"shape\":[", tensor->type->name);
    for (int axis = 0; axis < tensor->rank; axis++) {
        text_append(text, axis > 0 ? "," : "");
        text_integer(text, tensor->size[axis]);
    }
    text_append(text, "],\"data_offsets\":[");
    text_integer(text, tensor->offset);
    text_append(text, ",");
    text_integer(text, tensor->offset + tensor->bytes);
    text_append(text, "]}");
}

void planned_header_append(const struct checkpoint_plan *plan, int file, struct text *text)
{
    const struct planned_file *planned = &plan->files[file];
    char length_bytes[LENGTH_BYTES] = {0};
    size_t start = text->length;
    text_append_bytes(text, length_bytes, sizeof length_bytes);
    text_append(text, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (int i = 0; i < planned->tensor_count; i++) {
        entry_append(&plan->tensors[planned->tensors[i]], text);
    }
    text_append(text, "}");
    while ((text->length - start) % ALIGNMENT_BYTES != 0 && !text->failed) {
        text_append(text, " ");
    }
    if (!text->failed) {
        uint64_t length = text->length - start - LENGTH_BYTES;
        for (int i = 0; i < LENGTH_BYTES; i++) {
            text->data[start + (size_t)i] = (char)(unsigned char)(length >> (8 * i));
        }
    }
}

static int names_compare(const void *a, const void *b, void *context)
{
    const struct planned_tensor *tensors = context;
    return strcmp(tensors[*(const int *)a].name, tensors[*(const int *)b].name);
}

enum status_code planned_index_append(const struct checkpoint_plan *plan, int64_t parameter_count, struct text *text,
                                      struct status *error)
{
    int *order = calloc((size_t)plan->tensor_count + 1, sizeof *order);
    if (order == NULL) {
        return memory_refuse(error);
    }
    for (int i = 0; i < plan->tensor_count; i++) {
        order[i] = i;
    }
    qsort_r(order, (size_t)plan->tensor_count, sizeof *order, names_compare, plan->tensors);
    text_format(text,
                "{\n  \"metadata\": {\n    \"total_parameters\": %" PRId64 ",\n    \"total_size\": %" PRId64
                "\n  },\n  \"weight_map\": {",
                parameter_count, plan->data_bytes);
    for (int i = 0; i < plan->tensor_count; i++) {
        const struct planned_tensor *tensor = &plan->tensors[order[i]];
        text_append(text, i > 0 ? ",\n    " : "\n    ");
        name_append(tensor->name, text);
        text_format(text, ": \"%s\"", plan->files[tensor->file].name);
    }
    text_append(text, "\n  }\n}\n");
    free(order);
    return text_status(text, "the index of the files", error);
}

/* Checkpoint files: listed from a skeleton, edited, sorted and written. */
#include "tests/load/checkpoint_files.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/hash.h"
#include "harness/base/text.h"
#include "harness/checkpoint/storage_type.h"
#include "harness/kernels/convert.h"

enum { TENSORS_MAXIMUM = 2000 };

struct stored {
    char name[256];
    const struct storage_type *type;
    int rank;
    int64_t shape[TENSOR_RANK_MAXIMUM], count;
};

struct stored_list {
    struct stored *tensors;
    int count;
};

double stored_value(const char *name, int64_t index)
{
    uint32_t hash = (hash_text_32(name) + (uint32_t)index) * 2654435761u;
    return (double)(hash >> 8) - (double)((hash >> 8) / 201 * 201) - 100;
}

static const char *edited(const struct files_request *request, enum edit_kind kind, const char *tensor)
{
    for (int i = 0; i < request->edit_count; i++) {
        if (request->edits[i].kind == kind && strcmp(request->edits[i].tensor, tensor) == 0) {
            return request->edits[i].value != NULL ? request->edits[i].value : "";
        }
    }
    return NULL;
}

static struct stored *list_add(struct stored_list *list, const char *name, const char *type)
{
    struct stored *stored = &list->tensors[list->count++];
    assert_true(list->count < TENSORS_MAXIMUM);
    *stored = (struct stored){.type = safetensors_type(type), .count = 1};
    snprintf(stored->name, sizeof stored->name, "%s", name);
    assert_non_null(stored->type);
    return stored;
}

/* A joined [E, 2F, H] or [E, H, F] as E or 2 * E matrices. */
static void experts_add(const struct files_request *request, const struct skeleton_tensor *row,
                        struct stored_list *list)
{
    bool is_pair = strstr(row->path, "gate_up_proj") != NULL;
    static const char *const pair[] = {"gate_proj", "up_proj"};
    int64_t rows = row->size[1] / (is_pair ? 2 : 1);
    for (int64_t expert = 0; expert < row->size[0]; expert++) {
        for (int part = 0; part < (is_pair ? 2 : 1); part++) {
            char name[256];
            snprintf(name, sizeof name, "%.*s%" PRId64 ".%s.weight",
                     (int)(strstr(row->path, "experts.") - row->path + 8), row->path, expert,
                     is_pair ? pair[part] : "down_proj");
            struct stored *stored = list_add(list, name, request->stored);
            stored->rank = 2;
            stored->shape[0] = rows;
            stored->shape[1] = row->size[2];
            stored->count = rows * row->size[2];
        }
    }
}

static void tensor_add(const struct files_request *request, const struct skeleton_tensor *row, struct stored_list *list)
{
    const char *name = edited(request, EDIT_NAME, row->path), *type = edited(request, EDIT_DTYPE, row->path);
    const char *first = edited(request, EDIT_FIRST_SIZE, row->path);
    if (!row->persistent || (row->tied_to >= 0 && edited(request, EDIT_TIED, row->path) == NULL) ||
        edited(request, EDIT_DROP, row->path) != NULL) {
        return;
    }
    if (request->splits_experts && row->rank == 3 && strstr(row->path, "experts.") != NULL) {
        experts_add(request, row, list);
        return;
    }
    struct stored *stored = list_add(list, name != NULL ? name : row->path,
                                     type != NULL                    ? type
                                     : dtype_is_floating(row->dtype) ? request->stored
                                                                     : "I64");
    stored->rank = row->rank;
    for (int i = 0; i < row->rank; i++) {
        stored->shape[i] = i == 0 && first != NULL ? strtoll(first, NULL, 10) : row->size[i];
        stored->count *= stored->shape[i];
    }
}

static int name_order(const void *a, const void *b)
{
    return strcmp(((const struct stored *)a)->name, ((const struct stored *)b)->name);
}

static void list_make(const struct files_request *request, struct stored_list *list)
{
    list->tensors = calloc(TENSORS_MAXIMUM, sizeof *list->tensors);
    assert_non_null(list->tensors);
    for (int i = 0; i < request->skeleton->tensor_count; i++) {
        tensor_add(request, &request->skeleton->tensors[i], list);
    }
    for (int i = 0; i < request->edit_count; i++) {
        if (request->edits[i].kind == EDIT_ADD) {
            struct stored *stored = list_add(list, request->edits[i].tensor, "F32");
            stored->rank = 1;
            stored->shape[0] = stored->count = 4;
        }
    }
    qsort(list->tensors, (size_t)list->count, sizeof *list->tensors, name_order);
}

static void element_write(FILE *file, const struct storage_type *type, double value)
{
    unsigned char bytes[8] = {0};
    int64_t whole = (int64_t)value;
    if (strcmp(type->name, "F64") == 0) {
        memcpy(bytes, &value, 8);
    } else if (type->dtype == DTYPE_INT64) {
        memcpy(bytes, &whole, 8);
    } else {
        float_store(bytes, type->dtype, 0, (float)value);
    }
    assert_int_equal(fwrite(bytes, 1, (size_t)type->block_bytes, file), type->block_bytes);
}

static void header_add(const struct stored *stored, int64_t *end, struct text *header)
{
    int64_t bytes = stored->count * stored->type->block_bytes;
    text_format(header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[", header->length > 1 ? "," : "", stored->name,
                stored->type->name);
    for (int i = 0; i < stored->rank; i++) {
        text_format(header, "%s%" PRId64, i > 0 ? "," : "", stored->shape[i]);
    }
    text_format(header, "],\"data_offsets\":[%" PRId64 ",%" PRId64 "]}", *end, *end + bytes);
    *end += bytes;
}

/* Tensors first, first + step, ... */
static void shard_write(const char *folder, const char *name, const struct files_request *request,
                        const struct stored_list *list, int first, int step)
{
    char path[512];
    struct text header = {0};
    int64_t end = 0;
    text_append(&header, "{");
    if (request->format != NULL) {
        text_format(&header, "\"__metadata__\":{\"format\":\"%s\"}", request->format);
    }
    for (int i = first; i < list->count; i += step) {
        header_add(&list->tensors[i], &end, &header);
    }
    text_append(&header, "}");
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 8; i++) {
        putc((int)(header.length >> (8 * i) & 0xFF), file);
    }
    assert_int_equal(fwrite(text_string(&header), 1, header.length, file), header.length);
    for (int i = first; i < list->count; i += step) {
        for (int64_t k = 0; k < list->tensors[i].count; k++) {
            element_write(file, list->tensors[i].type, stored_value(list->tensors[i].name, k));
        }
    }
    assert_int_equal(fclose(file), 0);
    text_release(&header);
}

static void index_write(const char *folder, const char *name, const struct files_request *request,
                        const struct stored_list *list)
{
    char path[512], shard[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "{\"metadata\":{},\"weight_map\":{");
    for (int i = 0; i < list->count; i++) {
        snprintf(shard, sizeof shard, "model-%05d-of-%05d.safetensors", i % request->shard_count + 1,
                 request->shard_count);
        fprintf(file, "%s\"%s\":\"%s\"", i > 0 ? "," : "", list->tensors[i].name, shard);
        if (i < request->shard_count) {
            shard_write(folder, shard, request, list, i, request->shard_count);
        }
    }
    fprintf(file, "}}");
    assert_int_equal(fclose(file), 0);
}

void checkpoint_files_write(const char *folder, const struct files_request *request)
{
    struct stored_list list = {0};
    list_make(request, &list);
    for (int i = 0; request->names[i] != NULL; i++) {
        if (strstr(request->names[i], ".index.json") != NULL) {
            index_write(folder, request->names[i], request, &list);
        } else {
            shard_write(folder, request->names[i], request, &list, 0, 1);
        }
    }
    free(list.tensors);
}

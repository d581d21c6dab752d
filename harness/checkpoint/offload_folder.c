/* Offload folder: the index and its entries. What their bytes are read from is offload_source.c, the writer
 * offload_write.c. */
#include "harness/checkpoint/offload_folder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/array.h"
#include "harness/base/json_place.h"
#include "harness/base/json_pointer.h"
#include "harness/base/size.h"
#include "harness/checkpoint/checkpoint_builder.h"
#include "harness/checkpoint/offload_folder_inside.h"

#define REMEDY_AGAIN "offload the model again, into a new folder"

/* -- opening */

enum status_code offload_folder_new(const char *path, struct offload_folder **folder, struct status *error)
{
    struct text index_path = {0};
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        length--; /* "weights/" is told as "weights/index.json" */
    }
    struct offload_folder *made = calloc(1, sizeof *made);
    text_append_bytes(&index_path, path, length);
    text_append(&index_path, length == 1 && path[0] == '/' ? "index.json" : "/index.json");
    if (made != NULL && !index_path.failed) {
        made->path = strndup(path, length);
        made->index_path = strdup(text_string(&index_path));
        made->index = json_object_new();
    }
    text_release(&index_path);
    if (made == NULL || made->path == NULL || made->index_path == NULL || made->index == NULL) {
        offload_folder_close(made);
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for an offload folder");
    }
    *folder = made;
    return STATUS_OK;
}

/* Not json_parse_file, whose words on a file that is too large know nothing of offloaded weights. */
static enum status_code index_parse(const char *path, struct json **index, struct status *error)
{
    struct byte_source *source = NULL;
    enum status_code code = file_source_open(path, &source, error);
    if (code != STATUS_OK) {
        return code;
    }
    char *content = NULL;
    if (source->size_bytes > OFFLOAD_INDEX_BYTES_MAXIMUM) {
        code = status_set(error, STATUS_INVALID,
                          "%s: it has %" PRId64 " bytes, and an index %d at most; it is none of offloaded weights",
                          path, source->size_bytes, OFFLOAD_INDEX_BYTES_MAXIMUM);
    } else if ((content = malloc((size_t)source->size_bytes + 1)) == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "%s: the host has no memory to read it", path);
    }
    if (code == STATUS_OK) {
        code = byte_source_read(source, 0, content, (size_t)source->size_bytes, error);
    }
    if (code == STATUS_OK) {
        content[source->size_bytes] = '\0';
        code = json_parse_text(path, content, (size_t)source->size_bytes, index, error);
    }
    free(content);
    byte_source_release(source);
    return code;
}

enum status_code offload_index_load(struct offload_folder *folder, struct status *error)
{
    struct json *read = NULL;
    enum status_code code = index_parse(folder->index_path, &read, error);
    if (code == STATUS_OK && json_kind(read) != JSON_KIND_OBJECT) {
        code = status_set_at(error, STATUS_INVALID, (struct file_place){folder->index_path, 1, 1},
                             "it is %s; the index of an offload folder is an object of names: " REMEDY_AGAIN,
                             json_kind_name(json_kind(read)));
        json_release(read);
    } else if (code == STATUS_OK) {
        json_release(folder->index);
        folder->index = read;
    }
    return code;
}

enum status_code offload_folder_open(const char *path, struct offload_folder **folder, struct status *error)
{
    struct offload_folder *opened = NULL;
    struct stat facts;
    enum status_code code = offload_folder_new(path, &opened, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (stat(opened->index_path, &facts) != 0 && errno == ENOENT) {
        bool is_there = stat(path, &facts) == 0;
        code = status_set(error, STATUS_IO,
                          is_there
                              ? "%s: it is missing, and without it nothing in the folder is known; the folder was not "
                                "written to its end, or is none of offloaded weights: offload the model again"
                              : "%s: there is no such folder; assay offload MODEL --to DIR writes one",
                          is_there ? opened->index_path : path);
    } else {
        code = offload_index_load(opened, error);
    }
    if (code != STATUS_OK) {
        offload_folder_close(opened);
        return code;
    }
    *folder = opened;
    return STATUS_OK;
}

void offload_folder_close(struct offload_folder *folder)
{
    if (folder == NULL) {
        return;
    }
    for (int i = 0; i < folder->safetensors_count; i++) {
        checkpoint_release(folder->safetensors[i]);
    }
    free(folder->safetensors);
    json_release(folder->index);
    free(folder->path);
    free(folder->index_path);
    free(folder->expected);
    free(folder);
}

const char *offload_folder_path(const struct offload_folder *folder)
{
    return folder->path;
}

int offload_folder_count(const struct offload_folder *folder)
{
    return (int)json_count(folder->index); /* an index is 64 MiB at most */
}

const char *offload_folder_next(const struct offload_folder *folder, const char *name)
{
    return json_key_after(folder->index, name);
}

bool offload_folder_has(const struct offload_folder *folder, const char *name)
{
    return json_get(folder->index, name) != NULL;
}

/* -- sizes and names */

void offload_shape_append(const struct offload_type *type, int rank, const int64_t *shape, struct text *text)
{
    text_format(text, "%s [", type->name);
    for (int i = 0; i < rank; i++) {
        text_format(text, "%s%" PRId64, i > 0 ? ", " : "", shape[i]);
    }
    text_append(text, "]");
}

enum status_code offload_tensor_bytes(const char *where, const struct offload_tensor *tensor, int64_t *bytes,
                                      struct status *error)
{
    char quote[QUOTE_BYTES];
    const struct file_place place = {.path = where};
    if (tensor->name[0] == '\0' || strchr(tensor->name, '/') != NULL) {
        return status_set_at(error, STATUS_INVALID, place,
                             "%s cannot be the name of a weight: %s; rename it in the model",
                             name_quote(tensor->name, quote),
                             tensor->name[0] == '\0' ? "it is empty" : "its file would lie in another folder");
    }
    int64_t size = tensor->type->bytes;
    bool fits = tensor->rank <= OFFLOAD_RANK_MAXIMUM, is_empty = false;
    for (int i = 0; i < tensor->rank && fits; i++) {
        if (tensor->shape[i] < 0) {
            return status_set_at(error, STATUS_INVALID, place, "%s has a dimension of %" PRId64 "; " REMEDY_AGAIN,
                                 name_quote(tensor->name, quote), tensor->shape[i]);
        }
        is_empty = is_empty || tensor->shape[i] == 0;
        fits = tensor->shape[i] == 0 || size_multiply(size, tensor->shape[i], &size);
    }
    if (!fits) {
        return status_set_at(error, STATUS_OVERFLOW, place, "the size of %s does not fit 63 bits; " REMEDY_AGAIN,
                             name_quote(tensor->name, quote));
    }
    *bytes = is_empty ? 0 : size;
    return STATUS_OK;
}

enum status_code offload_dat_path(const struct offload_folder *folder, const char *name, struct text *path,
                                  struct status *error)
{
    text_format(path, "%s/%s.dat", folder->path, name);
    return path->failed ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a path") : STATUS_OK;
}

/* -- entries */

/* STATUS_INVALID with the place of a member of an entry; NULL: of the entry. */
__attribute__((format(printf, 5, 6))) static enum status_code entry_fault(const struct offload_folder *folder,
                                                                          const char *name, const char *member,
                                                                          struct status *error, const char *format, ...)
{
    char cause[STATUS_TEXT_BYTES], quote[QUOTE_BYTES];
    struct text pointer = {0};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cause, sizeof cause, format, arguments);
    va_end(arguments);
    json_pointer_append(name, &pointer);
    if (member != NULL) {
        json_pointer_append(member, &pointer);
    }
    status_set(error, STATUS_INVALID, "%s%s", name_quote(name, quote), cause);
    json_place_add(folder->index_path, text_string(&pointer), error);
    text_release(&pointer);
    return STATUS_INVALID;
}

/* *type is NULL if the entry says none. */
static enum status_code type_read(const struct offload_folder *folder, const char *name, const struct json *value,
                                  const struct offload_type **type, struct status *error)
{
    char quote[QUOTE_BYTES];
    const struct json *said = json_get(value, "dtype");
    const char *word = json_string_or(said, NULL);
    *type = word != NULL ? offload_type_named(word) : NULL;
    if (said == NULL || *type != NULL) {
        return STATUS_OK;
    }
    return entry_fault(folder, name, "dtype", error, ": dtype %s is not one that accelerate writes; " REMEDY_AGAIN,
                       word != NULL ? name_quote(word, quote) : json_kind_name(json_kind(said)));
}

static enum status_code shape_read(const struct offload_folder *folder, const char *name, const struct json *value,
                                   struct offload_entry *entry, struct status *error)
{
    const struct json *shape = json_get(value, "shape");
    if (json_kind(shape) != JSON_KIND_ARRAY || json_count(shape) > OFFLOAD_RANK_MAXIMUM) {
        return entry_fault(folder, name, shape != NULL ? "shape" : NULL, error,
                           shape == NULL ? " has no shape; " REMEDY_AGAIN
                                         : ": shape is a list of %d sizes at most; " REMEDY_AGAIN,
                           OFFLOAD_RANK_MAXIMUM);
    }
    entry->rank = (int)json_count(shape);
    for (int i = 0; i < entry->rank; i++) {
        const struct json *size = json_at(shape, (size_t)i);
        entry->shape[i] = json_integer_or(size, -1);
        if (entry->shape[i] < 0) {
            return entry_fault(folder, name, "shape", error,
                               ": size %d of its shape is no integer from 0 on; " REMEDY_AGAIN, i);
        }
    }
    return STATUS_OK;
}

enum status_code offload_header(struct offload_folder *folder, const char *file, const struct checkpoint **checkpoint,
                                struct status *error)
{
    for (int i = 0; i < folder->safetensors_count; i++) {
        if (strcmp(folder->safetensors[i]->name, file) == 0) {
            *checkpoint = folder->safetensors[i];
            return STATUS_OK;
        }
    }
    struct checkpoint *opened = NULL;
    if (folder->safetensors_count == CHECKPOINT_FILES_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "%s: it names more than %d files; " REMEDY_AGAIN, folder->index_path,
                          CHECKPOINT_FILES_MAXIMUM);
    }
    struct checkpoint **grown = array_extend(folder->safetensors, (size_t)folder->safetensors_count,
                                             &folder->safetensors_room, sizeof(struct checkpoint *));
    if (grown == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for the header of %s", file);
    }
    folder->safetensors = grown;
    enum status_code code = checkpoint_open(file, &opened, error);
    if (code == STATUS_OK) {
        grown[folder->safetensors_count++] = opened;
        *checkpoint = opened;
    }
    return code;
}

/* An entry whose elements lie in a file of safetensors. */
static enum status_code reference_read(struct offload_folder *folder, const char *name, const struct json *value,
                                       struct offload_entry *entry, struct status *error)
{
    char quote[QUOTE_BYTES];
    const struct checkpoint *checkpoint = NULL;
    const struct json *weight = json_get(value, "weight_name");
    entry->safetensors_file = json_string_or(json_get(value, "safetensors_file"), NULL);
    entry->weight_name = weight == NULL ? name : json_string_or(weight, NULL);
    if (entry->safetensors_file == NULL || entry->weight_name == NULL) {
        return entry_fault(folder, name, entry->safetensors_file == NULL ? "safetensors_file" : "weight_name", error,
                           ": safetensors_file and weight_name are texts; " REMEDY_AGAIN);
    }
    struct status cause = {0};
    char line[STATUS_LINE_BYTES];
    enum status_code code = offload_header(folder, entry->safetensors_file, &checkpoint, &cause);
    if (code == STATUS_OUT_OF_MEMORY) {
        return status_copy(error, code, &cause);
    }
    if (code != STATUS_OK) {
        return entry_fault(folder, name, "safetensors_file", error, ": %s; put the file back, or " REMEDY_AGAIN,
                           status_line(&cause, line));
    }
    const struct checkpoint_tensor *stored = checkpoint_find(checkpoint, entry->weight_name);
    const struct offload_type *held = stored != NULL ? offload_type_of_storage(stored->type) : NULL;
    if (held == NULL || stored->rank > OFFLOAD_RANK_MAXIMUM) {
        return entry_fault(folder, name, "safetensors_file", error,
                           stored == NULL ? ": %s has no tensor %s; " REMEDY_AGAIN
                                          : ": in %s the elements of %s have no bytes of their own; " REMEDY_AGAIN,
                           entry->safetensors_file, name_quote(entry->weight_name, quote));
    }
    entry->type = entry->type != NULL ? entry->type : held;
    entry->rank = stored->rank;
    for (int i = 0; i < entry->rank; i++) {
        entry->shape[i] = stored->shape[i];
    }
    return STATUS_OK;
}

enum status_code offload_entry_read(struct offload_folder *folder, const char *name, struct offload_entry *entry,
                                    struct status *error)
{
    struct offload_entry read = {.name = name};
    const struct json *value = json_get(folder->index, name);
    if (value == NULL) {
        return entry_fault(folder, name, NULL, error,
                           " is not in this index; the folder was written for another model, or for another part "
                           "of it: name the folder of this model, or " REMEDY_AGAIN);
    }
    if (json_kind(value) != JSON_KIND_OBJECT) {
        return entry_fault(folder, name, NULL, error, " is %s; an entry has a dtype and a shape: " REMEDY_AGAIN,
                           json_kind_name(json_kind(value)));
    }
    enum status_code code = type_read(folder, name, value, &read.type, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (json_kind(json_get(value, "safetensors_file")) != JSON_KIND_NULL) {
        code = reference_read(folder, name, value, &read, error);
    } else if (read.type == NULL) {
        code = entry_fault(folder, name, NULL, error, " has no dtype; " REMEDY_AGAIN);
    } else {
        code = shape_read(folder, name, value, &read, error);
    }
    if (code == STATUS_OK) {
        const struct offload_tensor tensor = {name, read.type, read.rank, read.shape};
        struct text pointer = {0};
        json_pointer_append(name, &pointer);
        code = offload_tensor_bytes(folder->index_path, &tensor, &read.bytes, error);
        if (code != STATUS_OK) {
            json_place_add(folder->index_path, text_string(&pointer), error);
        }
        text_release(&pointer);
    }
    if (code == STATUS_OK) {
        *entry = read;
    }
    return code;
}

enum status_code offload_entry_expect(const struct offload_folder *folder, const struct offload_entry *entry,
                                      const struct offload_tensor *tensor, struct status *error)
{
    bool same = entry->type == tensor->type && entry->rank == tensor->rank;
    for (int i = 0; i < tensor->rank && same; i++) {
        same = entry->shape[i] == tensor->shape[i];
    }
    if (same) {
        return STATUS_OK;
    }
    struct text there = {0}, wanted = {0};
    offload_shape_append(entry->type, entry->rank, entry->shape, &there);
    offload_shape_append(tensor->type, tensor->rank, tensor->shape, &wanted);
    enum status_code code = entry_fault(folder, entry->name, NULL, error,
                                        " is %s, and the model has %s; the folder was written for another model: name "
                                        "the folder of this one, or " REMEDY_AGAIN,
                                        text_string(&there), text_string(&wanted));
    text_release(&there);
    text_release(&wanted);
    return code;
}

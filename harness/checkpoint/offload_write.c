/* Offload writer: files first, the index last, and all of it taken back when it does not come to its end. */
#include "harness/checkpoint/offload_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/file_replace.h"
#include "harness/base/json.h"
#include "harness/base/size.h"
#include "harness/checkpoint/checkpoint_builder.h"
#include "harness/checkpoint/offload_folder_inside.h"

enum { COMPARED_BYTES = 1 << 16 };

/* The tensor that is being written, or compared. */
struct current {
    const struct offload_tensor *tensor; /* NULL: none */
    struct text path;
    struct file_replacement *file; /* NULL: it is compared */
    struct byte_source *there;     /* what it is compared with */
    int64_t bytes, done;
    bool is_new; /* no file has the name yet */
};

struct offload_writer {
    struct offload_folder *folder;
    enum offload_existing existing;
    struct json *before;    /* the index as it was found; NULL: there was none */
    struct json *written;   /* names that this writer has written: their entries */
    struct json *withdrawn; /* names whose entries were taken out of the index on the disk */
    struct json *added;     /* names of files that were not there before */
    struct json
        *unsettled; /* names of files that may not be on the disk yet: they are waited for together, at the end */
    struct current current;
    struct offload_totals totals;
    bool made_folder; /* by this writer */
};

static enum status_code memory_missing(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for the index of an offload folder");
}

/* -- the index on the disk */

/* The index that was found, without the names of `without`; written to the disk, or gone where nothing is left. */
static enum status_code index_reduce(const struct offload_writer *writer, const struct json *without,
                                     struct status *error)
{
    struct json *rest = json_object_new();
    bool made = rest != NULL;
    for (const char *name = json_key_after(writer->before, NULL); name != NULL && made;
         name = json_key_after(writer->before, name)) {
        if (json_get(without, name) == NULL) {
            made = json_set(rest, name, json_copy_new(json_get(writer->before, name)));
        }
    }
    enum status_code code = STATUS_OK;
    if (!made) {
        code = memory_missing(error);
    } else if (json_count(rest) > 0) {
        code = offload_index_write(writer->folder, rest, error);
    } else if (unlink(writer->folder->index_path) != 0 && errno != ENOENT) {
        code = status_set(error, STATUS_IO, "%s: cannot be removed: %s", writer->folder->index_path, strerror(errno));
    }
    json_release(rest);
    return code;
}

/* -- opening */

static enum status_code index_find(struct offload_writer *writer, struct status *error)
{
    struct offload_folder *folder = writer->folder;
    struct stat facts;
    enum status_code code = file_replace_check(folder->index_path, FILE_CHOSEN, error);
    if (code != STATUS_OK || (lstat(folder->index_path, &facts) != 0 && errno == ENOENT)) {
        return code;
    }
    code = offload_index_load(folder, error);
    if (code == STATUS_OK && (writer->before = json_copy_new(folder->index)) == NULL) {
        code = memory_missing(error);
    }
    return code;
}

static void writer_release(struct offload_writer *writer)
{
    json_release(writer->before);
    json_release(writer->written);
    json_release(writer->withdrawn);
    json_release(writer->added);
    json_release(writer->unsettled);
    text_release(&writer->current.path);
    byte_source_release(writer->current.there);
    file_replacement_abandon(writer->current.file);
    offload_folder_close(writer->folder);
    free(writer);
}

enum status_code offload_writer_open(const char *path, enum offload_existing existing, struct offload_writer **writer,
                                     struct status *error)
{
    struct offload_writer *opened = calloc(1, sizeof *opened);
    if (opened == NULL) {
        return memory_missing(error);
    }
    opened->existing = existing;
    opened->written = json_object_new();
    opened->withdrawn = json_object_new();
    opened->added = json_object_new();
    opened->unsettled = json_object_new();
    bool made =
        opened->written != NULL && opened->withdrawn != NULL && opened->added != NULL && opened->unsettled != NULL;
    enum status_code code = made ? offload_folder_new(path, &opened->folder, error) : memory_missing(error);
    if (code == STATUS_OK) {
        code = offload_folder_make(opened->folder, &opened->made_folder, error);
    }
    if (code == STATUS_OK) {
        code = index_find(opened, error);
    }
    if (code != STATUS_OK) {
        offload_writer_abandon(opened);
        return code;
    }
    *writer = opened;
    return STATUS_OK;
}

/* -- what is there already */

static bool is_kept(const struct offload_writer *writer, const char *name)
{
    return writer->existing == OFFLOAD_KEEP && json_get(writer->before, name) != NULL;
}

/* Notes that an entry is to go; *changes is set where it stands on the disk. */
static bool withdrawal_note(struct offload_writer *writer, const char *name, bool *changes)
{
    bool stands = json_get(writer->before, name) != NULL && json_get(writer->withdrawn, name) == NULL;
    *changes = *changes || stands;
    return !stands || json_set(writer->withdrawn, name, json_boolean_new(true));
}

/* Takes an entry out of the index on the disk before its file changes. */
static enum status_code entry_withdraw(struct offload_writer *writer, const char *name, struct status *error)
{
    bool changes = false;
    if (!withdrawal_note(writer, name, &changes)) {
        return memory_missing(error);
    }
    return changes ? index_reduce(writer, writer->withdrawn, error) : STATUS_OK;
}

/* What a tensor takes of the disk besides what it takes the place of, which goes only when it is whole. */
static enum status_code growth_add(const struct offload_writer *writer, const struct offload_tensor *tensor,
                                   int64_t *growth_bytes, int64_t *largest_bytes, struct status *error)
{
    struct text path = {0};
    struct stat facts = {0};
    int64_t bytes = 0;
    enum status_code code = offload_tensor_bytes(writer->folder->path, tensor, &bytes, error);
    if (code == STATUS_OK && !is_kept(writer, tensor->name)) {
        code = offload_dat_path(writer->folder, tensor->name, &path, error);
        int64_t old_bytes = code == STATUS_OK && lstat(text_string(&path), &facts) == 0 ? (int64_t)facts.st_size : 0;
        *largest_bytes = old_bytes > *largest_bytes ? old_bytes : *largest_bytes;
        if (code == STATUS_OK && bytes > old_bytes && !size_add(*growth_bytes, bytes - old_bytes, growth_bytes)) {
            code = status_set(error, STATUS_OVERFLOW, "%s: the bytes of all weights do not fit 63 bits",
                              writer->folder->path);
        }
    }
    text_release(&path);
    return code;
}

enum status_code offload_writer_expect(struct offload_writer *writer, const struct offload_tensor *tensors, int count,
                                       struct status *error)
{
    int64_t needed_bytes = 0, largest_bytes = 0;
    enum status_code code = STATUS_OK;
    for (int i = 0; i < count && code == STATUS_OK; i++) {
        code = growth_add(writer, &tensors[i], &needed_bytes, &largest_bytes, error);
    }
    if (code == STATUS_OK && size_add(needed_bytes, largest_bytes, &needed_bytes)) {
        code = offload_room_check(writer->folder, needed_bytes, error);
    }
    bool changes = false, made = true;
    for (int i = 0; i < count && code == STATUS_OK && made && writer->existing == OFFLOAD_REPLACE; i++) {
        made = withdrawal_note(writer, tensors[i].name, &changes);
    }
    if (code != STATUS_OK || !made) {
        return code != STATUS_OK ? code : memory_missing(error);
    }
    return changes ? index_reduce(writer, writer->withdrawn, error) : STATUS_OK;
}

/* The tensor is there and stays: its bytes will be held against those that are given. */
static enum status_code compare_begin(struct offload_writer *writer, const struct offload_tensor *tensor,
                                      struct status *error)
{
    struct offload_entry entry;
    enum status_code code = offload_entry_read(writer->folder, tensor->name, &entry, error);
    if (code == STATUS_OK) {
        code = offload_entry_expect(writer->folder, &entry, tensor, error);
    }
    return code == STATUS_OK ? offload_source_open(writer->folder, &entry, &writer->current.there, error) : code;
}

static enum status_code compare_take(struct current *current, const unsigned char *bytes, int64_t count,
                                     struct status *error)
{
    unsigned char there[COMPARED_BYTES];
    char quote[QUOTE_BYTES];
    enum status_code code = STATUS_OK;
    for (int64_t at = 0; at < count && code == STATUS_OK;) {
        int64_t now = count - at < COMPARED_BYTES ? count - at : COMPARED_BYTES;
        code = byte_source_read(current->there, current->done + at, there, (size_t)now, error);
        if (code == STATUS_OK && memcmp(there, bytes + at, (size_t)now) != 0) {
            code =
                status_set(error, STATUS_INVALID,
                           "%s: it has other values of %s than the model; the folder was written for another model or "
                           "older weights: name another folder, or have it replaced",
                           current->there->name, name_quote(current->tensor->name, quote));
        }
        at += now;
    }
    return code;
}

/* -- one tensor */

static enum status_code replace_begin(struct offload_writer *writer, const struct offload_tensor *tensor,
                                      struct status *error)
{
    struct current *current = &writer->current;
    struct stat facts;
    enum status_code code = entry_withdraw(writer, tensor->name, error);
    if (code == STATUS_OK) {
        code = offload_dat_path(writer->folder, tensor->name, &current->path, error);
    }
    if (code == STATUS_OK) {
        current->is_new = lstat(text_string(&current->path), &facts) != 0 && errno == ENOENT;
        code = file_replacement_open(text_string(&current->path), FILE_CHOSEN, &current->file, error);
    }
    return code;
}

enum status_code offload_writer_begin(struct offload_writer *writer, const struct offload_tensor *tensor,
                                      struct status *error)
{
    struct current *current = &writer->current;
    *current = (struct current){.tensor = tensor};
    enum status_code code = offload_tensor_bytes(writer->folder->path, tensor, &current->bytes, error);
    if (code != STATUS_OK) {
        return code;
    }
    return is_kept(writer, tensor->name) ? compare_begin(writer, tensor, error) : replace_begin(writer, tensor, error);
}

enum status_code offload_writer_take(struct offload_writer *writer, const void *bytes, int64_t count,
                                     struct status *error)
{
    struct current *current = &writer->current;
    enum status_code code = STATUS_OK;
    if (current->tensor == NULL || count < 0 || count > current->bytes - current->done) {
        return status_set(error, STATUS_INTERNAL, "%s: more bytes than a tensor has", writer->folder->path);
    }
    if (current->there != NULL) {
        code = compare_take(current, bytes, count, error);
    } else {
        struct text_drain *drain = file_replacement_drain(current->file);
        if (!drain->take(drain, bytes, (size_t)count)) {
            code = status_copy(error, drain->error.code, &drain->error);
        }
    }
    current->done += code == STATUS_OK ? count : 0;
    return code;
}

static struct json *entry_new(const struct offload_tensor *tensor)
{
    struct json *entry = json_object_new(), *shape = json_array_new();
    bool made = shape != NULL && json_set(entry, "dtype", json_string_new(tensor->type->name));
    for (int i = 0; i < tensor->rank && made; i++) {
        made = json_append(shape, json_integer_new(tensor->shape[i]));
    }
    return json_made(entry, json_set(entry, "shape", shape) && made);
}

/* Into the index in memory; on the disk it is there when the writer finishes. */
static enum status_code entry_add(struct offload_writer *writer, const char *name, struct json *entry,
                                  struct status *error)
{
    bool made = json_set(writer->written, name, json_boolean_new(true));
    return json_set(writer->folder->index, name, entry) && made ? STATUS_OK : memory_missing(error);
}

static enum status_code replace_end(struct offload_writer *writer, struct status *error)
{
    static const char one_byte[1];
    struct current *current = &writer->current;
    const struct offload_tensor *tensor = current->tensor;
    bool noted = json_set(writer->unsettled, tensor->name, json_boolean_new(true)) &&
                 (!current->is_new || json_set(writer->added, tensor->name, json_boolean_new(true)));
    struct file_replacement *file = current->file;
    struct text_drain *drain = file_replacement_drain(file);
    current->file = NULL;
    if (current->bytes == 0) {
        (void)drain->take(drain, one_byte, sizeof one_byte); /* numpy maps no empty file; the drain keeps an error */
    }
    enum status_code code = file_replacement_name(file, error);
    if (code == STATUS_OK) {
        code = entry_add(writer, tensor->name, noted ? entry_new(tensor) : NULL, error);
    }
    writer->totals.written_count++;
    writer->totals.written_bytes += current->bytes;
    return code;
}

enum status_code offload_writer_end(struct offload_writer *writer, struct status *error)
{
    struct current *current = &writer->current;
    enum status_code code = STATUS_OK;
    if (current->tensor == NULL || current->done != current->bytes) {
        return status_set(error, STATUS_INTERNAL, "%s: a tensor of %" PRId64 " bytes was given %" PRId64,
                          writer->folder->path, current->bytes, current->done);
    }
    if (current->there != NULL) {
        byte_source_release(current->there);
        writer->totals.kept_count++;
        writer->totals.kept_bytes += current->bytes;
    } else {
        code = replace_end(writer, error);
    }
    text_release(&current->path);
    *current = (struct current){0};
    return code;
}

enum status_code offload_writer_refer(struct offload_writer *writer, const char *name, const char *file,
                                      const char *weight_name, const struct offload_type *type, struct status *error)
{
    char quote[QUOTE_BYTES];
    if (is_kept(writer, name)) {
        return status_set(error, STATUS_INVALID, "%s: %s is there already; name another folder, or have it replaced",
                          writer->folder->index_path, name_quote(name, quote));
    }
    struct json *entry = json_object_new();
    bool made = json_set(entry, "safetensors_file", json_string_new(file)) &&
                json_set(entry, "weight_name", json_string_new(weight_name)) &&
                (type == NULL || json_set(entry, "dtype", json_string_new(type->name)));
    enum status_code code = entry_withdraw(writer, name, error);
    if (code != STATUS_OK) {
        json_release(entry);
        return code;
    }
    return entry_add(writer, name, json_made(entry, made), error);
}

/* -- the end */

struct offload_folder *offload_writer_folder(struct offload_writer *writer)
{
    return writer->folder;
}

struct offload_totals offload_writer_totals(const struct offload_writer *writer)
{
    return writer->totals;
}

/* What a writer that does not come to its end has added goes; what it has replaced is no more, and has no entry. */
static void additions_remove(struct offload_writer *writer)
{
    for (const char *name = json_key_after(writer->added, NULL); name != NULL;
         name = json_key_after(writer->added, name)) {
        struct text path = {0};
        if (offload_dat_path(writer->folder, name, &path, NULL) == STATUS_OK) {
            unlink(text_string(&path));
        }
        text_release(&path);
    }
}

void offload_writer_abandon(struct offload_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    file_replacement_abandon(writer->current.file);
    writer->current.file = NULL;
    if (writer->folder != NULL) {
        additions_remove(writer);
    }
    if (json_count(writer->withdrawn) > 0) {
        index_reduce(writer, writer->written, NULL); /* entries whose files are as they were are given back */
    }
    if (writer->made_folder) {
        rmdir(writer->folder->path); /* stays if somebody else has put a file into it */
    }
    writer_release(writer);
}

/* The index is to name nothing that a power cut could take away. */
static enum status_code files_settle(const struct offload_writer *writer, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (const char *name = json_key_after(writer->unsettled, NULL); name != NULL && code == STATUS_OK;
         name = json_key_after(writer->unsettled, name)) {
        struct text path = {0};
        code = offload_dat_path(writer->folder, name, &path, error);
        code = code == STATUS_OK ? file_settle(text_string(&path), error) : code;
        text_release(&path);
    }
    return code;
}

enum status_code offload_writer_finish(struct offload_writer *writer, struct status *error)
{
    enum status_code code = STATUS_OK;
    if (writer->current.tensor != NULL) {
        code = status_set(error, STATUS_INTERNAL, "%s: a tensor is written by half", writer->folder->path);
    } else {
        code = files_settle(writer, error);
    }
    if (code == STATUS_OK && json_count(writer->written) > 0) {
        code = offload_index_write(writer->folder, writer->folder->index, error);
    }
    if (code != STATUS_OK) {
        offload_writer_abandon(writer);
        return code;
    }
    writer_release(writer);
    return STATUS_OK;
}

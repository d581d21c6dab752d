/* Offload writer: files first, the index last, and all of it taken back when it does not come to its end. */
#include "harness/checkpoint/offload_write.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/arena.h"
#include "harness/base/code_point.h"
#include "harness/base/file_replace.h"
#include "harness/base/json.h"
#include "harness/checkpoint/checkpoint_builder.h"
#include "harness/checkpoint/offload_folder_inside.h"

enum { COMPARED_BYTES = 1 << 16, INDENT = 2 };

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
    struct current current;
    struct offload_totals totals;
    char made_folder[PATH_MAX]; /* by this writer; "": it was there */
};

static enum status_code memory_missing(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for the index of an offload folder");
}

/* -- the index on the disk */

/* Characters beyond ASCII are escaped, as Python writes them: accelerate opens the index in the encoding of the locale. They
 * stand in strings alone. */
static void ascii_append(const char *document, struct text *text)
{
    while (*document != '\0') {
        size_t plain = 0;
        while (document[plain] != '\0' && (unsigned char)document[plain] < 0x80) {
            plain++;
        }
        text_append_bytes(text, document, plain);
        document += plain;
        uint32_t point = 0;
        if (*document != '\0') {
            document += code_point_decode(document, &point);
        }
        if (point > 0xFFFF) {
            text_format(text, "\\u%04x\\u%04x", (unsigned)(0xD800 + ((point - 0x10000) >> 10)),
                        (unsigned)(0xDC00 + ((point - 0x10000) & 0x3FF)));
        } else if (point > 0) {
            text_format(text, "\\u%04x", (unsigned)point);
        }
    }
}

static enum status_code index_write(const struct offload_writer *writer, const struct json *index, struct status *error)
{
    struct text document = {0}, content = {0};
    enum status_code code = json_write(index, INDENT, &document, error);
    if (code == STATUS_OK) {
        ascii_append(text_string(&document), &content);
        code = file_replace(writer->folder->index_path, FILE_CHOSEN, &content, error);
    }
    text_release(&document);
    text_release(&content);
    return code;
}

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
        code = index_write(writer, rest, error);
    } else if (unlink(writer->folder->index_path) != 0 && errno != ENOENT) {
        code = status_set(error, STATUS_IO, "%s: cannot be removed: %s", writer->folder->index_path, strerror(errno));
    }
    json_release(rest);
    return code;
}

/* -- opening */

/* Makes the folder and those above it; the writer remembers the last one if it has made it. */
static enum status_code folder_make(struct offload_writer *writer, struct status *error)
{
    char path[PATH_MAX];
    struct stat facts;
    if (snprintf(path, sizeof path, "%s", writer->folder->path) >= PATH_MAX) {
        return status_set(error, STATUS_IO, "%s: cannot be made: %s", writer->folder->path, strerror(ENAMETOOLONG));
    }
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(path, 0777) == 0 || errno == EEXIST || errno == EROFS || errno == EACCES;
        if (!made) {
            return status_set(error, STATUS_IO, "%s: cannot be made: %s; name another folder", path, strerror(errno));
        }
        *slash = '/';
    }
    if (mkdir(path, 0777) == 0) {
        memcpy(writer->made_folder, path, sizeof path);
        return STATUS_OK;
    }
    int cause = errno;
    if (cause == EEXIST && stat(path, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        return STATUS_OK;
    }
    return cause == EEXIST
               ? status_set(error, STATUS_IO, "%s: is not a folder; name one for the weights", path)
               : status_set(error, STATUS_IO, "%s: cannot be made: %s; name another folder", path, strerror(cause));
}

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
    bool made = opened->written != NULL && opened->withdrawn != NULL && opened->added != NULL;
    enum status_code code = made ? offload_folder_new(path, &opened->folder, error) : memory_missing(error);
    if (code == STATUS_OK) {
        code = folder_make(opened, error);
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

/* Takes entries out of the index on the disk before their files change. */
static enum status_code entries_withdraw(struct offload_writer *writer, const char *const *names, int count,
                                         struct status *error)
{
    bool made = true, changes = false;
    for (int i = 0; i < count && made; i++) {
        bool stands = json_get(writer->before, names[i]) != NULL && json_get(writer->withdrawn, names[i]) == NULL;
        made = !stands || json_set(writer->withdrawn, names[i], json_boolean_new(true));
        changes = changes || stands;
    }
    if (!made) {
        return memory_missing(error);
    }
    return changes ? index_reduce(writer, writer->withdrawn, error) : STATUS_OK;
}

enum status_code offload_writer_expect(struct offload_writer *writer, const char *const *names, int count,
                                       struct status *error)
{
    return writer->existing == OFFLOAD_REPLACE ? entries_withdraw(writer, names, count, error) : STATUS_OK;
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
    enum status_code code = entries_withdraw(writer, &tensor->name, 1, error);
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
    bool stays = writer->existing == OFFLOAD_KEEP && json_get(writer->before, tensor->name) != NULL;
    return stays ? compare_begin(writer, tensor, error) : replace_begin(writer, tensor, error);
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
            code = status_set(error, drain->error.code, "%s", drain->error.text);
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
    struct text rest = {0};
    if (current->bytes == 0) {
        text_append_bytes(&rest, one_byte, sizeof one_byte); /* numpy maps no empty file */
    }
    bool noted = !current->is_new || json_set(writer->added, tensor->name, json_boolean_new(true));
    struct file_replacement *file = current->file;
    current->file = NULL;
    enum status_code code = file_replacement_finish(file, &rest, error);
    text_release(&rest);
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
    if (writer->existing == OFFLOAD_KEEP && json_get(writer->before, name) != NULL) {
        return status_set(error, STATUS_INVALID, "%s: %s is there already; name another folder, or have it replaced",
                          writer->folder->index_path, name_quote(name, quote));
    }
    struct json *entry = json_object_new();
    bool made = json_set(entry, "safetensors_file", json_string_new(file)) &&
                json_set(entry, "weight_name", json_string_new(weight_name)) &&
                (type == NULL || json_set(entry, "dtype", json_string_new(type->name)));
    enum status_code code = entries_withdraw(writer, &name, 1, error);
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
    if (writer->made_folder[0] != '\0') {
        rmdir(writer->made_folder); /* stays where somebody else has put a file into it */
    }
    writer_release(writer);
}

enum status_code offload_writer_finish(struct offload_writer *writer, struct status *error)
{
    enum status_code code = STATUS_OK;
    if (writer->current.tensor != NULL) {
        code = status_set(error, STATUS_INTERNAL, "%s: a tensor is written by half", writer->folder->path);
    } else if (json_count(writer->written) > 0) {
        code = index_write(writer, writer->folder->index, error);
    }
    if (code != STATUS_OK) {
        offload_writer_abandon(writer);
        return code;
    }
    writer_release(writer);
    return STATUS_OK;
}

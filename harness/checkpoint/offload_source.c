/* Offload sources: the elements of an entry, from its .dat or from a part of a file of safetensors. Nothing is kept of
 * what was read but one piece while it is converted. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/regular_file.h"
#include "harness/checkpoint/checkpoint_builder.h"
#include "harness/checkpoint/offload_folder_inside.h"
#include "harness/kernels/convert.h"

enum { PIECE_ELEMENTS = 4096, ELEMENT_BYTES_MAXIMUM = 16 };

struct part_source {
    struct byte_source base;
    struct byte_source *file;
    int64_t offset; /* of the first element in the file */
    const struct offload_type *from, *to;
    _Alignas(16) unsigned char piece[PIECE_ELEMENTS * ELEMENT_BYTES_MAXIMUM];
};

/* Whether elements of one type can be made from those of the other here. */
static bool type_converts(const struct offload_type *type)
{
    return type->has_dtype && (dtype_is_floating(type->dtype) || type->dtype == DTYPE_FLOAT8_E4M3FN);
}

static enum status_code part_convert(struct part_source *self, int64_t first, void *bytes, int64_t count,
                                     struct status *error)
{
    enum status_code code = STATUS_OK;
    for (int64_t done = 0; done < count && code == STATUS_OK;) {
        int64_t now = count - done < PIECE_ELEMENTS ? count - done : PIECE_ELEMENTS;
        code = byte_source_read(self->file, self->offset + (first + done) * self->from->bytes, self->piece,
                                (size_t)(now * self->from->bytes), error);
        for (int64_t i = 0; i < now && code == STATUS_OK; i++) {
            float_store(bytes, self->to->dtype, done + i, float_load(self->piece, self->from->dtype, i));
        }
        done += now;
    }
    return code;
}

static enum status_code part_read(struct byte_source *source, int64_t offset, void *bytes, size_t count,
                                  struct status *error)
{
    struct part_source *self = (struct part_source *)source;
    if (self->from == self->to) {
        return byte_source_read(self->file, self->offset + offset, bytes, count, error);
    }
    if (offset % self->to->bytes != 0 || count % (size_t)self->to->bytes != 0) {
        return status_set(error, STATUS_INTERNAL, "%s: part of an element is read", source->name);
    }
    return part_convert(self, offset / self->to->bytes, bytes, (int64_t)count / self->to->bytes, error);
}

static void part_release(struct byte_source *source)
{
    struct part_source *self = (struct part_source *)source;
    byte_source_release(self->file);
    free(self);
}

/* One that converts has one piece, which is one reader's. */
static const struct byte_source_table part_table = {.read = part_read, .release = part_release, .is_parallel = true};
static const struct byte_source_table converting_table = {.read = part_read, .release = part_release};

enum status_code offload_part_open(struct byte_source *file, int64_t offset, const struct offload_type *from,
                                   const struct offload_entry *entry, struct byte_source **source, struct status *error)
{
    char quote[QUOTE_BYTES];
    if (from != entry->type && (!type_converts(from) || !type_converts(entry->type))) {
        enum status_code code =
            status_set(error, STATUS_INVALID,
                       "%s: %s is stored as %s and wanted as %s, which is not converted here; offload the model "
                       "in the dtype that its file has",
                       file->name, name_quote(entry->name, quote), from->name, entry->type->name);
        byte_source_release(file);
        return code;
    }
    struct part_source *self = malloc(sizeof *self);
    if (self == NULL) {
        byte_source_release(file);
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory to read %s",
                          name_quote(entry->name, quote));
    }
    bool converts = from != entry->type;
    self->base = (struct byte_source){.table = converts || !file->table->is_parallel ? &converting_table : &part_table,
                                      .name = file->name,
                                      .size_bytes = entry->bytes};
    self->file = file;
    self->offset = offset;
    self->from = from;
    self->to = entry->type;
    *source = &self->base;
    return STATUS_OK;
}

static enum status_code reference_open(struct offload_folder *folder, const struct offload_entry *entry,
                                       struct byte_source **source, struct status *error)
{
    const struct checkpoint *checkpoint = NULL;
    struct byte_source *file = NULL;
    enum status_code code = offload_header(folder, entry->safetensors_file, &checkpoint, error);
    const struct checkpoint_tensor *stored = code == STATUS_OK ? checkpoint_find(checkpoint, entry->weight_name) : NULL;
    if (code == STATUS_OK && stored == NULL) {
        code = status_set(error, STATUS_INTERNAL, "%s has lost a tensor", entry->safetensors_file);
    }
    if (code == STATUS_OK) {
        code = file_source_open(checkpoint->files[stored->file].name, &file, error);
    }
    return code == STATUS_OK
               ? offload_part_open(file, stored->offset, offload_type_of_storage(stored->type), entry, source, error)
               : code;
}

/* The size that a .dat must have. numpy maps no empty file, so an empty tensor has a byte that means nothing; older
 * releases wrote none. */
static enum status_code dat_size_check(const struct offload_folder *folder, const struct offload_entry *entry,
                                       const struct byte_source *file, struct status *error)
{
    bool fits = file->size_bytes == entry->bytes || (entry->bytes == 0 && file->size_bytes == 1);
    if (fits) {
        return STATUS_OK;
    }
    struct text said = {0};
    offload_shape_append(entry->type, entry->rank, entry->shape, &said);
    enum status_code code =
        status_set(error, STATUS_INVALID,
                   "%s: it has %" PRId64 " bytes, and %s of %s is %" PRId64
                   "; it was cut, or belongs to another model: offload the model again, into a "
                   "new folder",
                   file->name, file->size_bytes, text_string(&said), folder->index_path, entry->bytes);
    text_release(&said);
    return code;
}

enum status_code offload_source_open(struct offload_folder *folder, const struct offload_entry *entry,
                                     struct byte_source **source, struct status *error)
{
    if (entry->safetensors_file != NULL) {
        return reference_open(folder, entry, source, error);
    }
    struct text path = {0};
    struct byte_source *file = NULL;
    struct status cause = {0};
    enum status_code code = offload_dat_path(folder, entry->name, &path, error);
    if (code == STATUS_OK) {
        code = file_source_open(text_string(&path), &file, &cause);
        if (code != STATUS_OK) {
            status_copy(error, code, &cause);
            status_extend(error, ", and %s names it; offload the model again, into a new folder", folder->index_path);
        }
    }
    text_release(&path);
    if (code == STATUS_OK) {
        code = dat_size_check(folder, entry, file, error);
        if (code != STATUS_OK) {
            byte_source_release(file);
            return code;
        }
        return offload_part_open(file, 0, entry->type, entry, source, error);
    }
    return code;
}

static void file_prefetch(const struct offload_folder *folder, const char *name)
{
    struct text path = {0};
    struct stat facts;
    bool has_dat = strchr(name, '/') == NULL && json_get(json_get(folder->index, name), "shape") != NULL;
    if (has_dat && offload_dat_path(folder, name, &path, NULL) == STATUS_OK) {
        int file = regular_file_open(text_string(&path), &facts);
        if (file >= 0) {
            posix_fadvise(file, 0, OFFLOAD_PREFETCH_BYTES, POSIX_FADV_WILLNEED);
            close(file);
        }
    }
    text_release(&path);
}

/* Where names are read in the order of the index, each file is asked for once: a second time costs as much as the
 * first. */
void offload_prefetch(struct offload_folder *folder, const char *name)
{
    const char *next = json_key_after(folder->index, name);
    const char *second = next != NULL ? json_key_after(folder->index, next) : NULL;
    bool goes_on = folder->expected != NULL && strcmp(folder->expected, name) == 0;
    if (next != NULL && !goes_on) {
        file_prefetch(folder, next);
    }
    if (second != NULL) {
        file_prefetch(folder, second);
    }
    free(folder->expected);
    folder->expected = next != NULL ? strdup(next) : NULL;
}

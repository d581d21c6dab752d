/* GGUF: head and tensors of a file, and the files that a model is split into. The metadata is in gguf_metadata.c. */
#include "harness/checkpoint/gguf.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/base/text.h"

enum {
    ALIGNMENT_DEFAULT = 32,
    ENTRY_BYTES_LEAST = 13, /* an empty key, a type, one byte */
    TENSOR_BYTES_LEAST = 24 /* an empty name, no dimension, a type, an offset */
};

void gguf_fault(struct gguf *self, const char *format, ...)
{
    char cause[STATUS_TEXT_BYTES];
    va_list arguments;
    if (self->code != STATUS_OK) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(cause, sizeof cause, format, arguments);
    va_end(arguments);
    self->code = status_set(self->builder->error, STATUS_INVALID, "%s: byte %" PRId64 ": %s", self->window.source->name,
                            self->window.offset, cause);
}

uint64_t gguf_number(struct gguf *self, size_t size, const char *what)
{
    unsigned char bytes[8] = {0};
    uint64_t number = 0;
    if (self->code == STATUS_OK && window_left(&self->window) < (int64_t)size) {
        gguf_fault(self, "the file ends inside %s; fetch it again", what);
    }
    if (self->code == STATUS_OK) {
        self->code = window_take(&self->window, bytes, size, self->builder->error);
    }
    for (size_t i = 0; i < size; i++) {
        number = number << 8 | bytes[self->is_big_endian ? i : size - 1 - i];
    }
    return self->code == STATUS_OK ? number : 0;
}

void gguf_text(struct gguf *self, char *text, size_t capacity, const char *what)
{
    uint64_t length = gguf_number(self, 8, what);
    text[0] = '\0';
    if (self->code == STATUS_OK && length < capacity && length > (uint64_t)window_left(&self->window)) {
        gguf_fault(self, "the file ends inside %s; fetch it again", what);
    }
    if (self->code == STATUS_OK && length >= capacity) {
        gguf_fault(self, "%s of %" PRIu64 " bytes is claimed, and %zu is the most; fetch the file again", what, length,
                   capacity - 1);
    }
    if (self->code == STATUS_OK) {
        self->code = window_take(&self->window, text, (size_t)length, self->builder->error);
    }
    if (self->code == STATUS_OK) {
        text[length] = '\0';
        if (strlen(text) != length) {
            gguf_fault(self, "%s has a zero character; fetch the file again", what);
        }
    }
}

static void head_read(struct gguf *self)
{
    unsigned char magic[4] = {0};
    if (self->code != STATUS_OK) {
        return;
    }
    enum status_code code = byte_source_read(self->window.source, 0, magic, sizeof magic, self->builder->error);
    if (code == STATUS_OK && memcmp(magic, "GGUF", sizeof magic) != 0) {
        gguf_fault(self, "it does not begin with GGUF; this is not a file of that format");
    }
    self->code = self->code == STATUS_OK ? code : self->code;
    self->window.offset = 4;
    uint64_t version = gguf_number(self, 4, "the version");
    if ((version & 0xFFFF) == 0) {
        self->is_big_endian = true;
        version = __builtin_bswap32((uint32_t)version);
    }
    if (version != 2 && version != 3) {
        gguf_fault(self, "version %" PRIu64 " of GGUF; read are 2 and 3, so convert it with a newer llama.cpp",
                   version);
    }
    self->tensor_count = gguf_number(self, 8, "the number of tensors");
    self->entry_count = gguf_number(self, 8, "the number of entries");
    uint64_t left = (uint64_t)window_left(&self->window);
    if (self->tensor_count > left / TENSOR_BYTES_LEAST || self->entry_count > left / ENTRY_BYTES_LEAST) {
        gguf_fault(self,
                   "%" PRIu64 " tensors and %" PRIu64 " entries are claimed, but %" PRIu64
                   " bytes follow; fetch the file again",
                   self->tensor_count, self->entry_count, left);
    }
}

/* The shape of a tensor, the slowest size first. */
static void shape_read(struct gguf *self, struct checkpoint_tensor *tensor, int64_t shape[GGUF_RANK_MAXIMUM])
{
    uint64_t rank = gguf_number(self, 4, "a rank");
    if (rank > GGUF_RANK_MAXIMUM) {
        gguf_fault(self, "a tensor of %" PRIu64 " dimensions, and %d are the most; fetch the file again", rank,
                   GGUF_RANK_MAXIMUM);
        return;
    }
    tensor->rank = (int)rank;
    tensor->shape = shape;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        uint64_t size = gguf_number(self, 8, "a size");
        if (size > INT64_MAX) {
            gguf_fault(self, "a size of %" PRIu64 "; fetch the file again", size);
        }
        shape[i] = (int64_t)size;
    }
}

static void type_read(struct gguf *self, struct checkpoint_tensor *tensor)
{
    uint64_t type = gguf_number(self, 4, "a storage type");
    int64_t row = tensor->rank > 0 ? tensor->shape[tensor->rank - 1] : 1;
    tensor->type = gguf_type((uint32_t)type);
    if (tensor->type == NULL) {
        gguf_fault(self, "storage type %" PRIu64 " is not known; known are 0 to 42 without 4, 5, 31 to 33, 36 to 38",
                   type);
    } else if (row % tensor->type->block_elements != 0) {
        gguf_fault(self,
                   "rows of %" PRId64 " elements are no whole number of blocks of %d, as %s has; fetch the file "
                   "again",
                   row, tensor->type->block_elements, tensor->type->name);
    }
}

/* end: of the tensors so far, from the begin of the data. */
static void tensor_read(struct gguf *self, int64_t *end)
{
    char name[GGUF_NAME_BYTES];
    int64_t shape[GGUF_RANK_MAXIMUM];
    struct checkpoint_tensor tensor = {.name = name, .file = self->file};
    struct checkpoint_tensor *added = NULL;
    gguf_text(self, name, sizeof name, "a name");
    shape_read(self, &tensor, shape);
    if (self->code == STATUS_OK) {
        type_read(self, &tensor);
    }
    uint64_t offset = gguf_number(self, 8, "an offset");
    if (self->code == STATUS_OK && offset != (uint64_t)*end) {
        gguf_fault(self,
                   "the tensor is said to begin at byte %" PRIu64 " of the data, but the one before it ends at %" PRId64
                   "; fetch the file again",
                   offset, *end);
    }
    if (self->code == STATUS_OK) {
        self->code = builder_tensor(self->builder, &tensor, &added);
    }
    if (self->code == STATUS_OK) {
        added->offset = *end;
        if (!size_add(*end, added->bytes, end) || !size_round_up(*end, self->alignment, end)) {
            gguf_fault(self, "the tensors are too large together; fetch the file again");
        }
    }
}

/* From here on offsets count from the begin of the file, inside which every tensor lies. */
static void data_place(struct gguf *self, int first_tensor)
{
    const struct checkpoint *checkpoint = self->builder->checkpoint;
    const struct byte_source *source = self->window.source;
    char quote[QUOTE_BYTES];
    int64_t begin = 0;
    if (self->code != STATUS_OK || !size_round_up(self->window.offset, self->alignment, &begin)) {
        gguf_fault(self, "the data begin beyond 63 bits; fetch the file again");
        return;
    }
    for (int i = first_tensor; i < checkpoint->tensor_count; i++) {
        struct checkpoint_tensor *tensor = &checkpoint->tensors[i];
        int64_t end = 0;
        if (!size_add(begin, tensor->offset, &tensor->offset) || !size_add(tensor->offset, tensor->bytes, &end) ||
            end > source->size_bytes) {
            self->code = status_set(self->builder->error, STATUS_INVALID,
                                    "%s: tensor %s: %" PRId64 " bytes from byte %" PRId64
                                    " on, but the file has %" PRId64 "; fetch it again",
                                    source->name, name_quote(tensor->name, quote), tensor->bytes, tensor->offset,
                                    source->size_bytes);
            return;
        }
    }
}

static enum status_code file_read(struct checkpoint_builder *builder, struct byte_source *source)
{
    int first_tensor = builder->checkpoint->tensor_count;
    int64_t end = 0;
    struct gguf *self = malloc(sizeof *self);
    if (self == NULL) {
        return status_set(builder->error, STATUS_OUT_OF_MEMORY, "%s: no host memory for its header", source->name);
    }
    self->builder = builder;
    self->is_big_endian = false;
    self->alignment = ALIGNMENT_DEFAULT;
    window_begin(&self->window, source, 0, source->size_bytes);
    self->code = builder_file(builder, source);
    self->file = builder->checkpoint->file_count - 1;
    head_read(self);
    gguf_entries(self);
    for (uint64_t i = 0; i < self->tensor_count && self->code == STATUS_OK; i++) {
        tensor_read(self, &end);
    }
    data_place(self, first_tensor);
    enum status_code code = self->code;
    free(self);
    return code;
}

enum { SPLIT_ENDING_BYTES = sizeof "-00001-of-00002.gguf" };

/* Whether the name ends in -00001-of-00002.gguf; then how many there are. */
static bool name_is_split(const char *name, int *count)
{
    int number = 0;
    char again[64];
    size_t length = strlen(name);
    if (length < SPLIT_ENDING_BYTES) {
        return false;
    }
    const char *ending = name + length - (SPLIT_ENDING_BYTES - 1);
    if (sscanf(ending, "-%5d-of-%5d.gguf", &number, count) != 2) {
        return false;
    }
    snprintf(again, sizeof again, "-%05d-of-%05d.gguf", number, *count);
    return strcmp(again, ending) == 0 && number >= 1 && number <= *count;
}

static enum status_code split_read(struct checkpoint_builder *builder, int number, int count)
{
    struct byte_source *source = NULL;
    struct text name = {0};
    text_append_bytes(&name, builder->file_name, strlen(builder->file_name) - (SPLIT_ENDING_BYTES - 1));
    text_format(&name, "-%05d-of-%05d.gguf", number, count);
    enum status_code code =
        name.failed ? status_set(builder->error, STATUS_OUT_OF_MEMORY, "no host memory for a name")
                    : builder->place->open(builder->place->context, text_string(&name), &source, builder->error);
    text_release(&name);
    if (code != STATUS_OK) {
        status_prefix(builder->error, "a part of %s", builder->file_name);
        return code;
    }
    code = file_read(builder, source);
    byte_source_release(source);
    return code;
}

/* What the metadata of each file says of the parts and their tensors. */
static enum status_code splits_check(struct checkpoint_builder *builder)
{
    const struct checkpoint *checkpoint = builder->checkpoint;
    for (int i = 0; i < checkpoint->entry_count; i++) {
        const struct checkpoint_entry *entry = &checkpoint->entries[i];
        const char *key = entry->key;
        int64_t here = strcmp(key, "split.count") == 0           ? checkpoint->file_count
                       : strcmp(key, "split.no") == 0            ? entry->file
                       : strcmp(key, "split.tensors.count") == 0 ? checkpoint->tensor_count
                                                                 : entry->integer;
        bool is_unsplit = strcmp(key, "split.count") == 0 && entry->integer == 0;
        if (here != entry->integer && !is_unsplit) {
            return status_set(builder->error, STATUS_INVALID,
                              "%s: %s is %" PRId64 ", but it is %" PRId64 " by the names of the files; fetch all parts "
                              "under their own names, as NAME-00001-of-00002.gguf",
                              checkpoint->files[entry->file].name, key, entry->integer, here);
        }
    }
    return STATUS_OK;
}

enum status_code gguf_read(struct checkpoint_builder *builder, struct byte_source *source)
{
    int count = 0;
    bool is_split = name_is_split(builder->file_name, &count) && count > 1;
    enum status_code code = is_split ? builder_files_expect(builder, count) : file_read(builder, source);
    for (int i = 1; is_split && i <= count && code == STATUS_OK; i++) {
        code = split_read(builder, i, count);
    }
    if (code == STATUS_OK) {
        code = splits_check(builder);
    }
    return code == STATUS_OK ? builder_finish(builder) : code;
}

/* Safetensors: the header of one file. After release 0.8.0 of the safetensors library, whose rules these are:
 *
 *   bytes 0 to 7: N, the length of the header, little-endian; N <= 100,000,000 and 8 + N <= the size of the file
 *   N bytes: a JSON object in UTF-8 that begins with '{'; blanks may follow it
 *   the rest: the tensors, byte after byte: begin and end of each, counted from here, leave no gap and do not overlap,
 *   the last one ends where the file does, and each is as large as its shape and dtype say.
 *
 * Members besides dtype, shape and data_offsets are passed over, as the library does. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/checkpoint/checkpoint_builder.h"
#include "harness/checkpoint/header_json.h"

enum { HEADER_MAXIMUM = 100000000, RANK_MAXIMUM = 64 };

struct safetensors {
    struct checkpoint_builder *builder;
    struct byte_source *source;
    int64_t buffer_begin; /* where the header ends */
    int file;
    struct header_json json;
    char name[HEADER_STRING_BYTES]; /* of the member that is being read: the strings in it go to json */
};

/* One member of the header that is a tensor. */
struct description {
    const struct storage_type *type; /* NULL: not said yet */
    int rank;                        /* -1: not said yet */
    int64_t shape[RANK_MAXIMUM];
    int64_t begin, end; /* begin -1: not said yet */
};

static void member_twice(struct header_json *json, const char *member)
{
    header_fault(json, "%s stands twice in this tensor; fetch the file again", member);
}

static void dtype_read(struct header_json *json, struct description *description)
{
    char quote[QUOTE_BYTES];
    if (description->type != NULL) {
        member_twice(json, "dtype");
    }
    header_string(json);
    description->type = safetensors_type(json->string);
    if (description->type == NULL) {
        header_fault(json,
                     "dtype %s is not known; known are those of safetensors 0.8: BOOL, U8 to U64, I8 to I64, "
                     "F4 to F64, BF16, C64",
                     name_quote(json->string, quote));
    }
}

static void shape_read(struct header_json *json, struct description *description)
{
    if (description->rank >= 0) {
        member_twice(json, "shape");
    }
    description->rank = 0;
    header_open(json, '[');
    while (header_more(json, ']')) {
        if (description->rank == RANK_MAXIMUM) {
            header_fault(json, "a shape of more than %d dimensions; fetch the file again", RANK_MAXIMUM);
            return;
        }
        description->shape[description->rank++] = header_integer(json);
    }
}

static void offsets_read(struct header_json *json, struct description *description)
{
    int64_t offsets[2] = {0};
    int count = 0;
    if (description->begin >= 0) {
        member_twice(json, "data_offsets");
    }
    header_open(json, '[');
    while (header_more(json, ']')) {
        int64_t offset = header_integer(json);
        if (count < 2) {
            offsets[count] = offset;
        }
        count += count < 3 ? 1 : 0;
    }
    if (count != 2) {
        header_fault(json, "data_offsets has not two numbers; fetch the file again");
    }
    description->begin = offsets[0];
    description->end = offsets[1];
}

static void description_read(struct header_json *json, struct description *description)
{
    *description = (struct description){.rank = -1, .begin = -1};
    header_open(json, '{');
    while (header_more(json, '}')) {
        header_key(json);
        if (strcmp(json->string, "dtype") == 0) {
            dtype_read(json, description);
        } else if (strcmp(json->string, "shape") == 0) {
            shape_read(json, description);
        } else if (strcmp(json->string, "data_offsets") == 0) {
            offsets_read(json, description);
        } else {
            header_skip(json);
        }
    }
    const char *missing = description->type == NULL ? "dtype"
                          : description->rank < 0   ? "shape"
                          : description->begin < 0  ? "data_offsets"
                                                    : NULL;
    if (missing != NULL) {
        header_fault(json, "this tensor has no %s; fetch the file again", missing);
    }
}

static enum status_code tensor_add(struct safetensors *self, const struct description *description)
{
    char quote[QUOTE_BYTES];
    const char *name = self->name;
    struct checkpoint_tensor *added = NULL;
    const struct checkpoint_tensor tensor = {.name = name,
                                             .type = description->type,
                                             .shape = description->shape,
                                             .rank = description->rank,
                                             .file = self->file};
    enum status_code code = builder_tensor(self->builder, &tensor, &added);
    if (code != STATUS_OK) {
        return code;
    }
    int64_t length = description->end - description->begin;
    if (length != added->bytes) {
        return status_set(self->builder->error, STATUS_INVALID,
                          "%s: tensor %s: data_offsets [%" PRId64 ", %" PRId64 "] are %" PRId64
                          " bytes, but its shape and %s are %" PRId64 "; fetch the file again",
                          self->source->name, name_quote(name, quote), description->begin, description->end, length,
                          description->type->name, added->bytes);
    }
    if (!size_add(self->buffer_begin, description->begin, &added->offset)) {
        return status_set(self->builder->error, STATUS_INVALID,
                          "%s: tensor %s: it begins beyond 63 bits; fetch the file again", self->source->name,
                          name_quote(name, quote));
    }
    return STATUS_OK;
}

static void metadata_read(struct safetensors *self)
{
    struct header_json *json = &self->json;
    header_open(json, '{');
    while (header_more(json, '}')) {
        header_key(json);
        memcpy(self->name, json->string, json->length + 1);
        header_string(json);
        bool is_large = json->is_cut || json->length > CHECKPOINT_TEXT_MAXIMUM;
        const struct checkpoint_entry entry = {.key = self->name,
                                               .file = self->file,
                                               .kind = is_large ? CHECKPOINT_VALUE_LARGE : CHECKPOINT_VALUE_TEXT,
                                               .text = is_large ? NULL : json->string};
        if (json->code == STATUS_OK) {
            json->code = builder_entry(self->builder, &entry);
        }
    }
}

static void members_read(struct safetensors *self)
{
    struct header_json *json = &self->json;
    struct description description;
    bool has_metadata = false;
    header_open(json, '{');
    while (header_more(json, '}')) {
        header_key(json);
        if (strcmp(json->string, "__metadata__") == 0) {
            if (has_metadata) {
                header_fault(json, "__metadata__ stands twice; fetch the file again");
            }
            has_metadata = true;
            metadata_read(self);
            continue;
        }
        memcpy(self->name, json->string, json->length + 1);
        description_read(json, &description);
        if (json->code == STATUS_OK) {
            json->code = tensor_add(self, &description);
        }
    }
    header_end(json);
}

static int offset_compare(const void *a, const void *b)
{
    const struct checkpoint_tensor *one = a;
    const struct checkpoint_tensor *other = b;
    if (one->offset != other->offset) {
        return one->offset < other->offset ? -1 : 1;
    }
    if (one->bytes != other->bytes) {
        return one->bytes < other->bytes ? -1 : 1; /* empty ones before what follows */
    }
    return strcmp(one->name, other->name); /* so that the order is the same everywhere */
}

/* Each tensor of the file begins where the one before it ends, the first at the end of the header. */
static enum status_code extents_check(struct safetensors *self, int first_tensor)
{
    struct checkpoint *checkpoint = self->builder->checkpoint;
    char quote[QUOTE_BYTES];
    int64_t count = checkpoint->tensor_count - first_tensor;
    int64_t end = self->buffer_begin;
    int64_t sorting_bytes = count * (int64_t)sizeof *checkpoint->tensors;
    enum status_code code = builder_reserve(self->builder, sorting_bytes);
    if (code == STATUS_OK && count > 0) {
        qsort(checkpoint->tensors + first_tensor, (size_t)count, sizeof *checkpoint->tensors, offset_compare);
        code = builder_reserve(self->builder, -sorting_bytes);
    }
    if (code != STATUS_OK) {
        return code;
    }
    for (int i = first_tensor; i < checkpoint->tensor_count; i++) {
        const struct checkpoint_tensor *tensor = &checkpoint->tensors[i];
        int64_t begin = end;
        if (!size_add(begin, tensor->bytes, &end) || tensor->offset != begin) {
            return status_set(self->builder->error, STATUS_INVALID,
                              "%s: tensor %s: it begins at byte %" PRId64
                              " of the file, but what is before it ends at byte %" PRId64 "; fetch the file again",
                              self->source->name, name_quote(tensor->name, quote), tensor->offset, begin);
        }
    }
    if (end != self->source->size_bytes) {
        return status_set(self->builder->error, STATUS_INVALID,
                          "%s: its tensors end at byte %" PRId64 ", but it has %" PRId64 "; fetch the file again",
                          self->source->name, end, self->source->size_bytes);
    }
    return STATUS_OK;
}

/* Where the header ends. */
static enum status_code header_length_read(struct safetensors *self)
{
    unsigned char bytes[8] = {0};
    uint64_t length = 0;
    struct status *error = self->builder->error;
    enum status_code code = byte_source_read(self->source, 0, bytes, sizeof bytes, error);
    for (int i = 7; i >= 0; i--) {
        length = length << 8 | bytes[i];
    }
    if (code == STATUS_OK && length > HEADER_MAXIMUM) {
        code = status_set(error, STATUS_INVALID,
                          "%s: byte 0: a header of %" PRIu64 " bytes is claimed, and %d is the most; this is not a "
                          "file of safetensors",
                          self->source->name, length, HEADER_MAXIMUM);
    }
    if (code == STATUS_OK && (int64_t)length > self->source->size_bytes - 8) {
        code = status_set(error, STATUS_INVALID,
                          "%s: byte 0: a header of %" PRIu64 " bytes is claimed, but the file has %" PRId64
                          "; fetch the file again",
                          self->source->name, length, self->source->size_bytes);
    }
    if (code == STATUS_OK) {
        self->buffer_begin = 8 + (int64_t)length;
    }
    return code;
}

static enum status_code header_read(struct safetensors *self)
{
    int first_tensor = self->builder->checkpoint->tensor_count;
    int byte = -1;
    header_begin(&self->json, self->source, 8, self->buffer_begin, self->builder->error);
    enum status_code code = window_peek(&self->json.window, &byte, self->builder->error);
    if (code == STATUS_OK && byte != '{') {
        header_fault(&self->json, "the header does not begin with '{'; this is not a file of safetensors");
        code = self->json.code;
    }
    if (code == STATUS_OK) {
        members_read(self);
        code = self->json.code;
    }
    return code == STATUS_OK ? extents_check(self, first_tensor) : code;
}

enum status_code safetensors_file_read(struct checkpoint_builder *builder, struct byte_source *source)
{
    struct safetensors *self = malloc(sizeof *self);
    if (self == NULL) {
        return status_set(builder->error, STATUS_OUT_OF_MEMORY, "%s: no host memory for its header", source->name);
    }
    self->builder = builder;
    self->source = source;
    enum status_code code = builder_file(builder, source);
    self->file = builder->checkpoint->file_count - 1;
    if (code == STATUS_OK) {
        code = header_length_read(self);
    }
    if (code == STATUS_OK) {
        code = header_read(self);
    }
    free(self);
    return code;
}

enum status_code safetensors_read(struct checkpoint_builder *builder, struct byte_source *source)
{
    enum status_code code = safetensors_file_read(builder, source);
    return code == STATUS_OK ? builder_finish(builder) : code;
}

/* Checkpoint builder: lists in the arena of a checkpoint, each byte of them accounted for. Not a reader of a format. */
#include "harness/checkpoint/checkpoint_builder.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/hash.h"
#include "harness/base/size.h"

const char *name_quote(const char *name, char quote[QUOTE_BYTES])
{
    size_t length = 0;
    quote[length++] = '\'';
    for (; *name != '\0' && length < QUOTE_BYTES - 5; name++) {
        unsigned char c = (unsigned char)*name;
        quote[length++] = c < 0x20 || c >= 0x7F ? '?' : (char)c;
    }
    snprintf(quote + length, QUOTE_BYTES - length, "%s'", *name != '\0' ? "..." : "");
    return quote;
}

/* What an allocation can cost in the arena: its alignment, and the end of a chunk that it did not fit into, which is
 * shorter than itself and than a chunk of 64 KiB; small ones leave less than an eighth of it. */
static int64_t cost_of(size_t size)
{
    enum { SMALL_BYTES = 4096, ALIGNMENT = 16, CHUNK_BYTES = 64 * 1024 };
    int64_t bytes = size < INT64_MAX / 4 ? (int64_t)size : INT64_MAX / 4;
    int64_t lost_bytes = bytes <= SMALL_BYTES ? bytes / 8 : bytes < CHUNK_BYTES ? bytes : CHUNK_BYTES;
    return ALIGNMENT + bytes + lost_bytes;
}

enum status_code builder_reserve(struct checkpoint_builder *builder, int64_t bytes)
{
    int64_t taken = 0;
    if (!size_add_signed(builder->taken_bytes, bytes, &taken) || taken > builder->allowed_bytes) {
        return status_set(builder->error, STATUS_INVALID,
                          "%s: to list what its header names takes more than %" PRId64
                          " bytes of memory, the most for files of this size; this is not the file that is meant",
                          builder->checkpoint->name, builder->allowed_bytes);
    }
    builder->taken_bytes = taken;
    return STATUS_OK;
}

enum status_code builder_alloc(struct checkpoint_builder *builder, size_t size, void **memory)
{
    enum status_code code = builder_reserve(builder, cost_of(size));
    if (code != STATUS_OK) {
        return code;
    }
    *memory = arena_alloc(&builder->checkpoint->arena, size);
    if (*memory == NULL) {
        return status_set(builder->error, STATUS_OUT_OF_MEMORY, "%s: no host memory for its header",
                          builder->checkpoint->name);
    }
    return STATUS_OK;
}

enum status_code builder_grow(struct checkpoint_builder *builder, void **list, int count, int *capacity,
                              size_t element_bytes)
{
    if (count < *capacity) {
        return STATUS_OK;
    }
    void *grown = NULL;
    int wanted = *capacity > 0 ? *capacity + *capacity / 2 : 8;
    if (*capacity > INT_MAX / 2) {
        return status_set(builder->error, STATUS_INVALID, "%s: more than %d elements of a list",
                          builder->checkpoint->name, *capacity);
    }
    enum status_code code = builder_alloc(builder, (size_t)wanted * element_bytes, &grown);
    if (code == STATUS_OK) {
        if (count > 0) {
            memcpy(grown, *list, (size_t)count * element_bytes);
        }
        *list = grown;
        *capacity = wanted;
    }
    return code;
}

enum status_code builder_copy(struct checkpoint_builder *builder, const char *text, const char **copy)
{
    void *memory = NULL;
    size_t size = strlen(text) + 1;
    enum status_code code = builder_alloc(builder, size, &memory);
    if (code == STATUS_OK) {
        memcpy(memory, text, size);
        *copy = memory;
    }
    return code;
}

enum status_code builder_files_expect(const struct checkpoint_builder *builder, int count)
{
    if (count > CHECKPOINT_FILES_MAXIMUM) {
        return status_set(builder->error, STATUS_INVALID,
                          "%s: it names %d files, and %d are the most; this is not the file that is meant",
                          builder->file_name, count, CHECKPOINT_FILES_MAXIMUM);
    }
    return STATUS_OK;
}

enum status_code builder_file(struct checkpoint_builder *builder, const struct byte_source *source)
{
    struct checkpoint *checkpoint = builder->checkpoint;
    void *files = checkpoint->files;
    struct checkpoint_file file = {.size_bytes = source->size_bytes};
    bool is_small = source->size_bytes < CHECKPOINT_FILE_MEMORY_MAXIMUM / CHECKPOINT_MEMORY_FACTOR;
    int64_t allowed_bytes = is_small ? source->size_bytes * CHECKPOINT_MEMORY_FACTOR : CHECKPOINT_FILE_MEMORY_MAXIMUM;
    if (!size_add(builder->allowed_bytes, allowed_bytes, &builder->allowed_bytes)) {
        return status_set(builder->error, STATUS_OVERFLOW, "%s: the files are too large together", source->name);
    }
    enum status_code code =
        builder_grow(builder, &files, checkpoint->file_count, &builder->file_capacity, sizeof *checkpoint->files);
    if (code == STATUS_OK) {
        checkpoint->files = files;
        code = builder_copy(builder, source->name, &file.name);
    }
    if (code == STATUS_OK) {
        checkpoint->files[checkpoint->file_count++] = file;
    }
    return code;
}

/* Elements and bytes of a shape. */
static enum status_code tensor_measure(struct checkpoint_builder *builder, struct checkpoint_tensor *tensor)
{
    char quote[QUOTE_BYTES];
    const char *file = builder->checkpoint->files[tensor->file].name;
    int64_t elements = 1;
    int64_t total = 0;
    bool fits = true;
    bool empty = false;
    for (int i = 0; i < tensor->rank; i++) {
        fits = fits && (tensor->shape[i] == 0 || size_multiply(elements, tensor->shape[i], &elements));
        empty = empty || tensor->shape[i] == 0;
    }
    elements = empty ? 0 : elements;
    if (!fits || !size_add(builder->checkpoint->element_count, elements, &total)) {
        return status_set(builder->error, STATUS_INVALID,
                          "%s: tensor %s: the product of its shape does not fit 63 bits; fetch the file again", file,
                          name_quote(tensor->name, quote));
    }
    if (!storage_bytes(tensor->type, elements, &tensor->bytes)) {
        return status_set(builder->error, STATUS_INVALID,
                          "%s: tensor %s: %" PRId64 " elements are no whole number of blocks of %d elements, or their "
                          "bytes do not fit 63 bits; fetch the file again",
                          file, name_quote(tensor->name, quote), elements, tensor->type->block_elements);
    }
    builder->checkpoint->element_count = total;
    return STATUS_OK;
}

enum status_code builder_tensor(struct checkpoint_builder *builder, const struct checkpoint_tensor *tensor,
                                struct checkpoint_tensor **added)
{
    struct checkpoint *checkpoint = builder->checkpoint;
    struct checkpoint_tensor copy = *tensor;
    void *tensors = checkpoint->tensors;
    void *shape = NULL;
    enum status_code code = tensor_measure(builder, &copy);
    if (code == STATUS_OK) {
        code = builder_grow(builder, &tensors, checkpoint->tensor_count, &builder->tensor_capacity,
                            sizeof *checkpoint->tensors);
    }
    if (code == STATUS_OK) {
        checkpoint->tensors = tensors;
        code = builder_copy(builder, tensor->name, &copy.name);
    }
    if (code == STATUS_OK) {
        code = builder_alloc(builder, (size_t)tensor->rank * sizeof(int64_t), &shape);
    }
    if (code == STATUS_OK) {
        if (tensor->rank > 0) {
            memcpy(shape, tensor->shape, (size_t)tensor->rank * sizeof(int64_t));
        }
        copy.shape = shape;
        checkpoint->tensors[checkpoint->tensor_count] = copy;
        *added = &checkpoint->tensors[checkpoint->tensor_count++];
    }
    return code;
}

enum status_code builder_entry(struct checkpoint_builder *builder, const struct checkpoint_entry *entry)
{
    struct checkpoint *checkpoint = builder->checkpoint;
    struct checkpoint_entry copy = *entry;
    void *entries = checkpoint->entries;
    void *integers = NULL;
    enum status_code code =
        builder_grow(builder, &entries, checkpoint->entry_count, &builder->entry_capacity, sizeof *checkpoint->entries);
    if (code == STATUS_OK) {
        checkpoint->entries = entries;
        code = builder_copy(builder, entry->key, &copy.key);
    }
    if (code == STATUS_OK && entry->text != NULL) {
        code = builder_copy(builder, entry->text, &copy.text);
    }
    if (code == STATUS_OK && entry->integers != NULL) {
        code = builder_alloc(builder, (size_t)entry->count * sizeof(int64_t), &integers);
        if (code == STATUS_OK && entry->count > 0) {
            memcpy(integers, entry->integers, (size_t)entry->count * sizeof(int64_t));
        }
        copy.integers = integers;
    }
    if (code == STATUS_OK) {
        checkpoint->entries[checkpoint->entry_count++] = copy;
    }
    return code;
}

/* The slot of a name: the one that holds it, or the free one where it belongs, the next free one. */
static int slot_of(const struct checkpoint *checkpoint, const char *name)
{
    uint64_t hash = hash_text(HASH_START, name);
    int mask = checkpoint->slot_count - 1;
    int slot = (int)((hash ^ hash >> 32) & (uint64_t)mask);
    while (checkpoint->slots[slot] >= 0 && strcmp(checkpoint->tensors[checkpoint->slots[slot]].name, name) != 0) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

static enum status_code name_twice(struct checkpoint_builder *builder, const struct checkpoint_tensor *one,
                                   const struct checkpoint_tensor *other)
{
    char quote[QUOTE_BYTES];
    const struct checkpoint_file *files = builder->checkpoint->files;
    if (one->file == other->file) {
        return status_set(builder->error, STATUS_INVALID, "%s: tensor %s: it is listed twice; fetch the file again",
                          files[one->file].name, name_quote(one->name, quote));
    }
    return status_set(builder->error, STATUS_INVALID,
                      "%s: tensor %s: %s has one of this name, too; fetch the files again", files[other->file].name,
                      name_quote(one->name, quote), files[one->file].name);
}

static int entry_compare(const void *a, const void *b)
{
    const struct checkpoint_entry *one = *(const struct checkpoint_entry *const *)a;
    const struct checkpoint_entry *other = *(const struct checkpoint_entry *const *)b;
    return one->file != other->file ? (one->file < other->file ? -1 : 1) : strcmp(one->key, other->key);
}

static enum status_code entries_check(struct checkpoint_builder *builder)
{
    const struct checkpoint *checkpoint = builder->checkpoint;
    int count = checkpoint->entry_count;
    char quote[QUOTE_BYTES];
    int64_t bytes = 2 * (int64_t)count * (int64_t)sizeof(struct checkpoint_entry *); /* sorting takes as much again */
    enum status_code code = count > 1 ? builder_reserve(builder, bytes) : STATUS_OK;
    if (code != STATUS_OK || count < 2) {
        return code;
    }
    const struct checkpoint_entry **sorted = malloc((size_t)count * sizeof *sorted);
    if (sorted == NULL) {
        return status_set(builder->error, STATUS_OUT_OF_MEMORY, "%s: no host memory for its header", checkpoint->name);
    }
    for (int i = 0; i < count; i++) {
        sorted[i] = &checkpoint->entries[i];
    }
    qsort(sorted, (size_t)count, sizeof *sorted, entry_compare);
    for (int i = 1; i < count && code == STATUS_OK; i++) {
        if (entry_compare(&sorted[i - 1], &sorted[i]) == 0) {
            code = status_set(builder->error, STATUS_INVALID,
                              "%s: the key %s stands twice in its metadata; fetch the file again",
                              checkpoint->files[sorted[i]->file].name, name_quote(sorted[i]->key, quote));
        }
    }
    free(sorted);
    return code == STATUS_OK ? builder_reserve(builder, -bytes) : code;
}

static enum status_code names_check(struct checkpoint_builder *builder)
{
    struct checkpoint *checkpoint = builder->checkpoint;
    void *slots = NULL;
    checkpoint->slot_count = 16;
    while (checkpoint->slot_count / 3 < checkpoint->tensor_count / 2) {
        checkpoint->slot_count *= 2;
    }
    enum status_code code = builder_alloc(builder, (size_t)checkpoint->slot_count * sizeof(int), &slots);
    if (code != STATUS_OK) {
        return code;
    }
    checkpoint->slots = slots;
    memset(checkpoint->slots, 0xFF, (size_t)checkpoint->slot_count * sizeof(int)); /* all -1 */
    for (int i = 0; i < checkpoint->tensor_count; i++) {
        const struct checkpoint_tensor *tensor = &checkpoint->tensors[i];
        int slot = slot_of(checkpoint, tensor->name);
        if (checkpoint->slots[slot] >= 0) {
            return name_twice(builder, &checkpoint->tensors[checkpoint->slots[slot]], tensor);
        }
        checkpoint->slots[slot] = i;
        /* each lies inside its file, and the sizes of the files have been added without an overflow */
        checkpoint->stored_bytes += tensor->bytes;
        checkpoint->files[tensor->file].data_bytes += tensor->bytes;
    }
    return STATUS_OK;
}

enum status_code builder_finish(struct checkpoint_builder *builder)
{
    enum status_code code = entries_check(builder);
    return code == STATUS_OK ? names_check(builder) : code;
}

const struct checkpoint_tensor *checkpoint_find(const struct checkpoint *checkpoint, const char *name)
{
    int index = checkpoint->slot_count > 0 ? checkpoint->slots[slot_of(checkpoint, name)] : -1;
    return index >= 0 ? &checkpoint->tensors[index] : NULL;
}

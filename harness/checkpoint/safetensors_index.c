/* Safetensors index: which shard holds which tensor, {"metadata": {"total_size": N}, "weight_map": {TENSOR: SHARD}}.
 * Every shard's header is read, and the two must agree: what the map lists is in that shard, and nothing else is.
 * total_size is kept as it is claimed: it disagrees in files that load (models/find/checkpoint_check.h compares it). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/checkpoint/checkpoint_builder.h"
#include "harness/checkpoint/header_json.h"

enum { INDEX_BYTES_MAXIMUM = 100000000 };

struct mapping {
    const char *tensor, *shard;
};

struct safetensors_index {
    struct checkpoint_builder *builder;
    struct byte_source *source;
    struct mapping *mappings;
    int count, capacity;
    bool has_map, has_metadata;
    struct header_json json;
};

/* A plain name: an index must not lead out of its folder. */
static void shard_name_check(struct header_json *json)
{
    char quote[QUOTE_BYTES];
    static const char ending[] = ".safetensors";
    const char *name = json->string;
    size_t length = json->length;
    bool named = length >= sizeof ending && strcmp(name + length - (sizeof ending - 1), ending) == 0;
    if (json->code == STATUS_OK && (json->is_cut || !named || name[0] == '.' || strchr(name, '/') != NULL)) {
        header_fault(json,
                     "%s is no name of a shard; a file beside the index is meant, as "
                     "model-00001-of-00002.safetensors",
                     name_quote(name, quote));
    }
}

static void mapping_read(struct safetensors_index *self)
{
    struct header_json *json = &self->json;
    struct mapping mapping = {0};
    void *mappings = self->mappings;
    header_key(json);
    if (json->code == STATUS_OK) {
        json->code = builder_copy(self->builder, json->string, &mapping.tensor);
    }
    header_string(json);
    shard_name_check(json);
    if (json->code == STATUS_OK) {
        json->code = builder_copy(self->builder, json->string, &mapping.shard);
    }
    if (json->code == STATUS_OK) {
        json->code = builder_grow(self->builder, &mappings, self->count, &self->capacity, sizeof mapping);
    }
    if (json->code == STATUS_OK) {
        self->mappings = mappings;
        self->mappings[self->count++] = mapping;
    }
}

static void weight_map_read(struct safetensors_index *self)
{
    if (self->has_map) {
        header_fault(&self->json, "weight_map stands twice; fetch the file again");
    }
    self->has_map = true;
    header_open(&self->json, '{');
    while (header_more(&self->json, '}')) {
        mapping_read(self);
    }
}

static void metadata_read(struct safetensors_index *self)
{
    struct header_json *json = &self->json;
    struct checkpoint *checkpoint = self->builder->checkpoint;
    if (self->has_metadata) {
        header_fault(json, "metadata stands twice; fetch the file again");
    }
    self->has_metadata = true;
    header_open(json, '{');
    while (header_more(json, '}')) {
        header_key(json);
        if (strcmp(json->string, "total_size") != 0) {
            header_skip(json);
        } else if (checkpoint->claimed_total_bytes >= 0) {
            header_fault(json, "total_size stands twice; fetch the file again");
        } else {
            checkpoint->claimed_total_bytes = header_integer(json);
        }
    }
}

static enum status_code members_read(struct safetensors_index *self)
{
    struct header_json *json = &self->json;
    header_open(json, '{');
    while (header_more(json, '}')) {
        header_key(json);
        if (strcmp(json->string, "weight_map") == 0) {
            weight_map_read(self);
        } else if (strcmp(json->string, "metadata") == 0) {
            metadata_read(self);
        } else {
            header_skip(json);
        }
    }
    header_end(json);
    if (json->code == STATUS_OK && self->count == 0) {
        json->code = status_set(json->error, STATUS_INVALID,
                                "%s: it has no weight_map that lists a tensor; fetch the "
                                "file again",
                                self->source->name);
    }
    return json->code;
}

static int mapping_compare(const void *a, const void *b)
{
    return strcmp(((const struct mapping *)a)->shard, ((const struct mapping *)b)->shard);
}

static enum status_code shard_read(struct safetensors_index *self, const char *name)
{
    struct byte_source *source = NULL;
    struct status *error = self->builder->error;
    enum status_code code = self->builder->place->open(self->builder->place->context, name, &source, error);
    if (code == STATUS_OK) {
        code = safetensors_file_read(self->builder, source);
        byte_source_release(source);
    } else {
        status_prefix(error, "a shard of %s", self->source->name);
    }
    return code;
}

/* Mappings are in the order of their shards. */
static bool is_first_of_shard(const struct safetensors_index *self, int index)
{
    return index == 0 || strcmp(self->mappings[index].shard, self->mappings[index - 1].shard) != 0;
}

static enum status_code shards_read(struct safetensors_index *self)
{
    int64_t sorting_bytes = (int64_t)self->count * (int64_t)sizeof *self->mappings;
    enum status_code code = builder_reserve(self->builder, sorting_bytes);
    if (code == STATUS_OK) {
        qsort(self->mappings, (size_t)self->count, sizeof *self->mappings, mapping_compare);
        code = builder_reserve(self->builder, -sorting_bytes);
    }
    int shard_count = 0;
    for (int i = 0; i < self->count && code == STATUS_OK; i++) {
        shard_count += is_first_of_shard(self, i) ? 1 : 0;
    }
    if (code == STATUS_OK) {
        code = builder_files_expect(self->builder, shard_count);
    }
    for (int i = 0; i < self->count && code == STATUS_OK; i++) {
        if (is_first_of_shard(self, i)) {
            code = shard_read(self, self->mappings[i].shard);
        }
    }
    return code;
}

static enum status_code disagreement(struct safetensors_index *self, const char *file, const char *tensor,
                                     const char *cause)
{
    char quote[QUOTE_BYTES];
    return status_set(self->builder->error, STATUS_INVALID, "%s: tensor %s: %s; fetch the files again", file,
                      name_quote(tensor, quote), cause);
}

/* The files behind the index itself, which is number 0, are in the order of their shards too. */
static enum status_code mappings_check(struct safetensors_index *self)
{
    const struct checkpoint *checkpoint = self->builder->checkpoint;
    void *memory = NULL;
    int file = 0;
    enum status_code code = builder_alloc(self->builder, (size_t)checkpoint->tensor_count, &memory);
    bool *listed = memory;
    for (int i = 0; i < self->count && code == STATUS_OK; i++) {
        const struct mapping *mapping = &self->mappings[i];
        file += is_first_of_shard(self, i) ? 1 : 0;
        const struct checkpoint_tensor *tensor = checkpoint_find(checkpoint, mapping->tensor);
        if (tensor == NULL || tensor->file != file) {
            code = disagreement(self, checkpoint->files[file].name, mapping->tensor,
                                "the index says that it is here, but it is not");
        } else if (listed[tensor - checkpoint->tensors]) {
            code = disagreement(self, self->source->name, mapping->tensor, "it is listed twice");
        } else {
            listed[tensor - checkpoint->tensors] = true;
        }
    }
    for (int i = 0; i < checkpoint->tensor_count && code == STATUS_OK; i++) {
        if (!listed[i]) {
            code = disagreement(self, checkpoint->files[checkpoint->tensors[i].file].name, checkpoint->tensors[i].name,
                                "it is here, but the index does not list it");
        }
    }
    return code;
}

static enum status_code index_read(struct safetensors_index *self)
{
    struct byte_source *source = self->source;
    if (source->size_bytes > INDEX_BYTES_MAXIMUM) {
        return status_set(self->builder->error, STATUS_INVALID,
                          "%s: an index of %" PRId64 " bytes, and %d is the most; this is not the file that is meant",
                          source->name, source->size_bytes, INDEX_BYTES_MAXIMUM);
    }
    header_begin(&self->json, source, 0, source->size_bytes, self->builder->error);
    enum status_code code = builder_file(self->builder, source);
    if (code == STATUS_OK) {
        code = members_read(self);
    }
    if (code == STATUS_OK) {
        code = shards_read(self);
    }
    if (code == STATUS_OK) {
        code = builder_finish(self->builder);
    }
    return code == STATUS_OK ? mappings_check(self) : code;
}

enum status_code safetensors_index_read(struct checkpoint_builder *builder, struct byte_source *source)
{
    struct safetensors_index *self = malloc(sizeof *self);
    if (self == NULL) {
        return status_set(builder->error, STATUS_OUT_OF_MEMORY, "%s: no host memory for it", source->name);
    }
    self->builder = builder;
    self->source = source;
    self->mappings = NULL;
    self->count = self->capacity = 0;
    self->has_map = self->has_metadata = false;
    enum status_code code = index_read(self);
    free(self);
    return code;
}

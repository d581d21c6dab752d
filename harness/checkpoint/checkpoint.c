/* Checkpoint: the table of formats, and where files lie on this machine. Not a reader of a format. */
#include "harness/checkpoint/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/checkpoint/checkpoint_builder.h"

/* The longest ending first, where one is the end of another. */
static const struct {
    enum checkpoint_format format;
    const char *name, *ending;
    enum status_code (*read)(struct checkpoint_builder *builder, struct byte_source *source);
} formats[] = {
    {CHECKPOINT_SAFETENSORS_INDEX, "safetensors index", ".safetensors.index.json", safetensors_index_read},
    {CHECKPOINT_SAFETENSORS, "safetensors", ".safetensors", safetensors_read},
    {CHECKPOINT_GGUF, "GGUF", ".gguf", gguf_read},
};

enum { FORMAT_ROWS = sizeof formats / sizeof formats[0] };

const char *checkpoint_format_name(enum checkpoint_format format)
{
    for (int i = 0; i < FORMAT_ROWS; i++) {
        if (formats[i].format == format) {
            return formats[i].name;
        }
    }
    return "unknown";
}

/* The row whose ending the name has; FORMAT_ROWS where none. */
static int format_row(const char *name)
{
    size_t length = strlen(name);
    int row = 0;
    while (row < FORMAT_ROWS) {
        size_t ending = strlen(formats[row].ending);
        if (length > ending && strcmp(name + length - ending, formats[row].ending) == 0) {
            break;
        }
        row++;
    }
    return row;
}

bool checkpoint_is_named(const char *name)
{
    return format_row(name) < FORMAT_ROWS;
}

static enum status_code source_read(const struct checkpoint_place *place, const char *name, struct byte_source *source,
                                    int row, struct checkpoint *checkpoint, struct status *error)
{
    struct checkpoint_builder builder = {.checkpoint = checkpoint,
                                         .place = place,
                                         .file_name = name,
                                         .error = error,
                                         .allowed_bytes = CHECKPOINT_SPARE_BYTES};
    checkpoint->format = formats[row].format;
    checkpoint->claimed_total_bytes = -1;
    checkpoint->name = source->name; /* until it has been copied */
    enum status_code code = builder_copy(&builder, source->name, &checkpoint->name);
    return code == STATUS_OK ? formats[row].read(&builder, source) : code;
}

enum status_code checkpoint_read(const struct checkpoint_place *place, const char *name, struct checkpoint **checkpoint,
                                 struct status *error)
{
    struct byte_source *source = NULL;
    int row = format_row(name);
    if (row == FORMAT_ROWS) {
        return status_set(error, STATUS_INVALID,
                          "%s: it is no model file; known are .safetensors, .safetensors.index.json and .gguf", name);
    }
    struct checkpoint *result = calloc(1, sizeof *result);
    if (result == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no host memory for its header", name);
    }
    enum status_code code = place->open(place->context, name, &source, error);
    if (code == STATUS_OK) {
        code = source_read(place, name, source, row, result, error);
        byte_source_release(source);
    }
    if (code != STATUS_OK) {
        checkpoint_release(result);
        return code;
    }
    *checkpoint = result;
    return STATUS_OK;
}

/* context: the folder with its slash, "" for the current one. */
static enum status_code folder_open(const void *context, const char *name, struct byte_source **source,
                                    struct status *error)
{
    struct text path = {0};
    text_format(&path, "%s%s", (const char *)context, name);
    enum status_code code = path.failed ? status_set(error, STATUS_OUT_OF_MEMORY, "no host memory for a path")
                                        : file_source_open(text_string(&path), source, error);
    text_release(&path);
    return code;
}

enum status_code checkpoint_open(const char *path, struct checkpoint **checkpoint, struct status *error)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    char *folder = strndup(path, (size_t)(name - path));
    if (folder == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no host memory for a path");
    }
    const struct checkpoint_place place = {.open = folder_open, .context = folder};
    enum status_code code = checkpoint_read(&place, name, checkpoint, error);
    free(folder);
    return code;
}

void checkpoint_release(struct checkpoint *checkpoint)
{
    if (checkpoint != NULL) {
        arena_release(&checkpoint->arena);
        free(checkpoint);
    }
}

const struct checkpoint_entry *checkpoint_entry(const struct checkpoint *checkpoint, const char *key)
{
    for (int i = 0; i < checkpoint->entry_count; i++) {
        if (strcmp(checkpoint->entries[i].key, key) == 0) {
            return &checkpoint->entries[i];
        }
    }
    return NULL;
}

/* Offload copy: one open file, one piece. */
#include "harness/cli/offload_copy.h"

#include <stdlib.h>

static enum status_code file_open(struct offload_copy *copy, int file, struct status *error)
{
    if (copy->source != NULL && copy->file == file) {
        return STATUS_OK;
    }
    byte_source_release(copy->source);
    copy->source = NULL;
    copy->file = file;
    return file_source_open(copy->files->files[file].name, &copy->source, error);
}

enum status_code offload_copy_item(struct offload_copy *copy, const struct offload_item *item,
                                   enum status_code (*take)(void *context, const void *bytes, int64_t count,
                                                            struct status *error),
                                   void *context, struct status *error)
{
    enum status_code code = STATUS_OK;
    if (copy->piece == NULL && (copy->piece = malloc(OFFLOAD_PIECE_BYTES)) == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory to copy weights");
    }
    for (int i = 0; i < item->part_count && code == STATUS_OK; i++) {
        const struct checkpoint_tensor *part = item->parts[i];
        code = file_open(copy, part->file, error);
        for (int64_t at = 0; at < part->bytes && code == STATUS_OK;) {
            int64_t left = part->bytes - at, now = left < OFFLOAD_PIECE_BYTES ? left : OFFLOAD_PIECE_BYTES;
            code = byte_source_read(copy->source, part->offset + at, copy->piece, (size_t)now, error);
            if (code == STATUS_OK) {
                code = take(context, copy->piece, now, error);
            }
            at += now;
        }
    }
    return code;
}

void offload_copy_close(struct offload_copy *copy)
{
    byte_source_release(copy->source);
    free(copy->piece);
    *copy = (struct offload_copy){0};
}

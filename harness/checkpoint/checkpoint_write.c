/* Checkpoint write: nameless files, filled one after the other and named at the end. Not the plan, and not the
 * numbers. */
#include "harness/checkpoint/checkpoint_write.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file_replace.h"
#include "harness/base/ordered_work.h"

/* Pieces that are made and taken while they are in a processor's cache. */
enum {
    PIECE_BYTES = 256 * 1024,
    PIECES_EACH = 4,
    WORKERS_MAXIMUM = CHECKPOINT_WRITE_BYTES / (PIECES_EACH * PIECE_BYTES)
};

static const char index_name[] = "model.safetensors.index.json";

/* One file of the folder while it has no name. */
struct pending {
    char *path;
    struct file_replacement *replacement;
};

struct writer {
    const struct checkpoint_writing *writing;
    struct pending *files; /* in the order in which they take their names */
    int count;
    /* of the file of tensors that is written now */
    const struct planned_file *planned;
    struct file_replacement *replacement;
    int64_t written_bytes; /* of all files */
    struct status *error;
};

/* The tensor of a file that holds the byte at offset: the last one that does not begin behind it. Tensors without bytes
 * are never it, unless they are the last. */
static int tensor_at_offset(const struct writer *writer, int64_t offset)
{
    const struct planned_file *file = writer->planned;
    const struct planned_tensor *tensors = writer->writing->plan->tensors;
    int low = 0, high = file->tensor_count - 1;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (tensors[file->tensors[middle]].offset <= offset) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

static int64_t piece_length(const struct writer *writer, int index)
{
    int64_t left = writer->planned->data_bytes - (int64_t)index * PIECE_BYTES;
    return left < PIECE_BYTES ? left : PIECE_BYTES;
}

/* Pieces begin at multiples of the widest element, and tensors are sorted by width, so that no element is cut. */
static void piece_make(void *context, int index, void *result)
{
    const struct writer *writer = context;
    const struct checkpoint_writing *writing = writer->writing;
    int64_t at = (int64_t)index * PIECE_BYTES, end = at + piece_length(writer, index);
    char *out = result;
    for (int i = tensor_at_offset(writer, at); at < end; i++) {
        const struct planned_tensor *tensor = &writing->plan->tensors[writer->planned->tensors[i]];
        int64_t tensor_end = tensor->offset + tensor->bytes;
        int64_t bytes = (tensor_end < end ? tensor_end : end) - at;
        int width = tensor->type->block_bytes;
        if (bytes > 0) {
            writing->fill(writing->context, writer->planned->tensors[i], (at - tensor->offset) / width, bytes / width,
                          out);
            out += bytes;
            at += bytes;
        }
    }
}

static void progress_tell(struct writer *writer, int64_t bytes)
{
    const struct checkpoint_writing *writing = writer->writing;
    writer->written_bytes += bytes;
    if (writing->progress != NULL) {
        writing->progress(writing->progress_context, writer->planned->name, writer->written_bytes);
    }
}

static bool piece_take(void *context, int index, void *result)
{
    struct writer *writer = context;
    struct text_drain *drain = file_replacement_drain(writer->replacement);
    int64_t bytes = piece_length(writer, index);
    if (!drain->take(drain, result, (size_t)bytes)) {
        return false;
    }
    progress_tell(writer, bytes);
    return true;
}

static enum status_code pieces_write(struct writer *writer)
{
    struct text_drain *drain = file_replacement_drain(writer->replacement);
    int64_t count = (writer->planned->data_bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    if (count > INT_MAX) {
        return status_set(writer->error, STATUS_OVERFLOW, "%s: it is longer than a file of this program may be",
                          writer->planned->name);
    }
    int workers = ordered_work_workers((int)count);
    struct ordered_work work = {.count = (int)count,
                                .worker_count = workers < WORKERS_MAXIMUM ? workers : WORKERS_MAXIMUM,
                                .result_bytes = PIECE_BYTES,
                                .results_each = PIECES_EACH,
                                .is_filled = true,
                                .context = writer,
                                .work = piece_make,
                                .take = piece_take};
    enum status_code code = ordered_work_run(&work, writer->error);
    if (code == STATUS_OK && drain->error.code != STATUS_OK) {
        code = status_copy(writer->error, drain->error.code, &drain->error);
    }
    return code;
}

/* The header and the data of one file of tensors. */
static enum status_code tensors_write(struct writer *writer, int file)
{
    const struct checkpoint_writing *writing = writer->writing;
    struct text header = {0};
    struct text_drain *drain = file_replacement_drain(writer->replacement);
    writer->planned = &writing->plan->files[file];
    planned_header_append(writing->plan, file, &header);
    enum status_code code = text_status(&header, "the header of a file", writer->error);
    if (code == STATUS_OK && !drain->take(drain, text_string(&header), header.length)) {
        code = status_copy(writer->error, drain->error.code, &drain->error);
    }
    text_release(&header);
    if (code == STATUS_OK) {
        progress_tell(writer, writer->planned->header_bytes);
    }
    if (code == STATUS_OK && writing->is_zero) {
        code = file_replacement_skip(writer->replacement, writer->planned->data_bytes, writer->error);
    } else if (code == STATUS_OK) {
        code = pieces_write(writer);
    }
    return code == STATUS_OK ? file_replacement_settle(writer->replacement, writer->error) : code;
}

/* Opens the next file of the folder. content is written at once; without it the tensors of file number `file` are. */
static enum status_code file_add(struct writer *writer, const char *name, const struct text *content, int file)
{
    struct pending *pending = &writer->files[writer->count];
    size_t bytes = strlen(writer->writing->folder) + strlen(name) + 2;
    pending->path = malloc(bytes);
    if (pending->path == NULL) {
        return status_set(writer->error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
    }
    writer->count++;
    snprintf(pending->path, bytes, "%s/%s", writer->writing->folder, name);
    enum status_code code = file_replacement_open(pending->path, FILE_CHOSEN, &pending->replacement, writer->error);
    writer->replacement = pending->replacement;
    if (code != STATUS_OK || content == NULL) {
        return code == STATUS_OK ? tensors_write(writer, file) : code;
    }
    struct text_drain *drain = file_replacement_drain(pending->replacement);
    if (!drain->take(drain, text_string(content), content->length)) {
        return status_copy(writer->error, drain->error.code, &drain->error);
    }
    return file_replacement_settle(pending->replacement, writer->error);
}

/* Small files first: where nothing at all can be written it is known at once. They take their names in the order of the
 * list. */
static enum status_code files_make(struct writer *writer)
{
    const struct checkpoint_writing *writing = writer->writing;
    enum status_code code = STATUS_OK;
    for (int i = 0; i < writing->text_count && code == STATUS_OK; i++) {
        code = file_add(writer, writing->texts[i].name, writing->texts[i].content, -1);
    }
    for (int i = 0; i < writing->plan->file_count && code == STATUS_OK; i++) {
        code = file_add(writer, writing->plan->files[i].name, NULL, i);
    }
    if (code == STATUS_OK && writing->index != NULL) {
        code = file_add(writer, index_name, writing->index, -1);
    }
    return code;
}

static enum status_code files_name(struct writer *writer)
{
    enum status_code code = STATUS_OK;
    for (int i = 0; i < writer->count && code == STATUS_OK; i++) {
        struct file_replacement *replacement = writer->files[i].replacement;
        writer->files[i].replacement = NULL; /* released by its end */
        code = file_replacement_finish(replacement, &(const struct text){0}, writer->error);
    }
    return code;
}

int checkpoint_write_open_files(const struct checkpoint_writing *writing)
{
    return 2 * (writing->plan->file_count + writing->text_count + 1); /* each with its folder */
}

enum status_code checkpoint_write(const struct checkpoint_writing *writing, struct status *error)
{
    struct writer writer = {.writing = writing, .error = error};
    size_t room = (size_t)writing->plan->file_count + (size_t)writing->text_count + 1;
    writer.files = calloc(room, sizeof *writer.files);
    enum status_code code = writer.files != NULL
                                ? files_make(&writer)
                                : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a list");
    if (code == STATUS_OK) {
        code = files_name(&writer);
    }
    for (int i = 0; i < writer.count; i++) {
        file_replacement_abandon(writer.files[i].replacement);
        free(writer.files[i].path);
    }
    free(writer.files);
    return code;
}

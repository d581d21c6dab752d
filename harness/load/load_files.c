/* Load files: descriptors and what the files were when they were opened. Not a reader of a format. */
#include "harness/load/load_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/regular_file.h"
#include "harness/base/text.h"

struct open_file {
    struct open_file *next;
    int file;
    struct stat facts;
    char path[];
};

/* The files own the descriptor; a source only reads it, and may go before. */
struct held_source {
    struct byte_source base;
    const struct open_file *held;
};

static enum status_code held_read(struct byte_source *source, int64_t offset, void *bytes, size_t count,
                                  struct status *error)
{
    const struct held_source *self = (const struct held_source *)source;
    size_t done = 0;
    while (done < count) {
        ssize_t got = pread(self->held->file, (char *)bytes + done, count - done, offset + (int64_t)done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return status_set(error, STATUS_IO,
                              "%s: cannot be read at byte %" PRId64 ": %s; check the disk, and try again", source->name,
                              offset + (int64_t)done, strerror(errno));
        }
        if (got == 0) {
            return status_set(error, STATUS_IO,
                              "%s: it has become shorter while it was read: byte %" PRId64 " of %" PRId64
                              " is not there any more; fetch the file again, and try again",
                              source->name, offset + (int64_t)done, source->size_bytes);
        }
        done += (size_t)got;
    }
    return STATUS_OK;
}

static void held_release(struct byte_source *source)
{
    free(source);
}

static const struct byte_source_table held_table = {.read = held_read, .release = held_release};

/* What checkpoint_place hands around. */
struct opening {
    struct load_files *files;
    const char *folder; /* with its slash; "" the current one */
    const char *asked;  /* the name that the file goes by in its folder, */
    const char *known;  /* and the one that checkpoint_read was given for it */
};

static enum status_code source_new(const struct open_file *held, struct byte_source **source, struct status *error)
{
    struct held_source *self = malloc(sizeof *self);
    if (self == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no host memory to read it", held->path);
    }
    *self = (struct held_source){.base = {.table = &held_table, .name = held->path, .size_bytes = held->facts.st_size},
                                 .held = held};
    *source = &self->base;
    return STATUS_OK;
}

static enum status_code open_refuse(const char *path, int reason, struct status *error)
{
    if (reason == 0) {
        return status_set(error, STATUS_IO, "%s: is not a regular file; put the file of the checkpoint in its place",
                          path);
    }
    const char *remedy = reason == EMFILE ? "; all shards are held open: raise the limit with ulimit -n" : "";
    return status_set(error, STATUS_IO, "%s: cannot be opened: %s%s", path, strerror(reason), remedy);
}

/* Opens the file at path and adds it to the list; takes path over. */
static enum status_code file_hold(struct load_files *files, struct text *path, struct open_file **made,
                                  struct status *error)
{
    struct open_file *held = path->failed ? NULL : malloc(sizeof *held + path->length + 1);
    if (held == NULL) {
        text_release(path);
        return status_set(error, STATUS_OUT_OF_MEMORY, "a file of a checkpoint: no host memory to open it");
    }
    memcpy(held->path, text_string(path), path->length + 1);
    text_release(path);
    held->file = regular_file_open(held->path, &held->facts);
    if (held->file < 0) {
        enum status_code code = open_refuse(held->path, errno, error);
        free(held);
        return code;
    }
    /* From begin to end, so the system may read far ahead. Hints from here, piece by piece, were slower than none. */
    posix_fadvise(held->file, 0, 0, POSIX_FADV_SEQUENTIAL);
    held->next = files->opened;
    files->opened = held;
    *made = held;
    return STATUS_OK;
}

static enum status_code place_open(const void *context, const char *name, struct byte_source **source,
                                   struct status *error)
{
    const struct opening *opening = context;
    struct open_file *held = NULL;
    struct text path = {0};
    text_format(&path, "%s%s", opening->folder, strcmp(name, opening->known) == 0 ? opening->asked : name);
    enum status_code code = file_hold(opening->files, &path, &held, error);
    return code == STATUS_OK ? source_new(held, source, error) : code;
}

static struct open_file *held_find(const struct load_files *files, const char *path)
{
    struct open_file *held = files->opened;
    while (held != NULL && strcmp(held->path, path) != 0) {
        held = held->next;
    }
    return held;
}

static enum status_code sources_make(struct load_files *files, struct status *error)
{
    int count = files->checkpoint->file_count;
    enum status_code code = STATUS_OK;
    const char **paths = calloc((size_t)count + 1, sizeof *paths);
    files->paths = (struct file_paths){paths, count};
    files->sources = calloc((size_t)count + 1, sizeof *files->sources);
    if (files->sources == NULL || paths == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no host memory to read it", files->checkpoint->name);
    }
    for (int i = 0; i < count && code == STATUS_OK; i++) {
        paths[i] = files->checkpoint->files[i].name;
        const struct open_file *held = held_find(files, paths[i]);
        code = held != NULL
                   ? source_new(held, &files->sources[i], error)
                   : status_set(error, STATUS_INTERNAL, "%s: was not opened", files->checkpoint->files[i].name);
    }
    return code;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), ending_length = strlen(ending);
    return length >= ending_length && strcmp(text + length - ending_length, ending) == 0;
}

enum status_code load_files_open(const char *path, struct load_files *files, struct status *error)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    char *folder = strndup(path, (size_t)(name - path));
    struct load_files opened = {0};
    struct opening opening = {.files = &opened, .folder = folder, .asked = name, .known = name};
    const struct checkpoint_place place = {.open = place_open, .context = &opening};
    if (ends_with(name, ".json")) {
        opening.known = "model.safetensors.index.json"; /* an index may have any name */
    }
    enum status_code code = folder == NULL ? status_set(error, STATUS_OUT_OF_MEMORY, "no host memory for a path")
                                           : checkpoint_read(&place, opening.known, &opened.own, error);
    opened.checkpoint = opened.own;
    if (code == STATUS_OK) {
        code = sources_make(&opened, error);
    }
    free(folder);
    if (code != STATUS_OK) {
        load_files_release(&opened);
        return code;
    }
    *files = opened;
    return STATUS_OK;
}

static enum status_code length_check(const struct open_file *held, const struct checkpoint_file *file,
                                     struct status *error)
{
    return held->facts.st_size == file->size_bytes
               ? STATUS_OK
               : status_set(error, STATUS_IO,
                            "%s: it had %" PRId64 " bytes when its header was read, and has %" PRId64
                            " now; try again when nothing changes it",
                            file->name, file->size_bytes, (int64_t)held->facts.st_size);
}

enum status_code load_files_hold(const struct checkpoint *checkpoint, struct load_files *files, struct status *error)
{
    struct load_files opened = {.checkpoint = checkpoint};
    enum status_code code = STATUS_OK;
    for (int i = 0; i < checkpoint->file_count && code == STATUS_OK; i++) {
        struct open_file *held = NULL;
        struct text path = {0};
        text_append(&path, checkpoint->files[i].name);
        code = file_hold(&opened, &path, &held, error);
        code = code == STATUS_OK ? length_check(held, &checkpoint->files[i], error) : code;
    }
    code = code == STATUS_OK ? sources_make(&opened, error) : code;
    if (code != STATUS_OK) {
        load_files_release(&opened);
        return code;
    }
    *files = opened;
    return STATUS_OK;
}

enum status_code load_files_read(const struct load_files *files, const struct checkpoint_tensor *stored, int64_t at,
                                 void *bytes, int64_t count, struct status *error)
{
    return byte_source_read(files->sources[stored->file], stored->offset + at, bytes, (size_t)count, error);
}

static enum status_code part_stream(const struct load_files *files, const struct load_stream *stream, int part,
                                    void *piece, struct status *error)
{
    const struct checkpoint_tensor *stored = stream->parts[part];
    enum status_code code = STATUS_OK;
    for (int64_t at = 0; at < stored->bytes && code == STATUS_OK; at += LOAD_STREAM_BYTES) {
        int64_t left = stored->bytes - at, now = left < LOAD_STREAM_BYTES ? left : LOAD_STREAM_BYTES;
        code = load_files_read(files, stored, at, piece, now, error);
        code = code == STATUS_OK ? stream->take(stream->context, piece, now, error) : code;
    }
    return code;
}

enum status_code load_files_stream(const struct load_files *files, const struct load_stream *stream,
                                   struct status *error)
{
    void *piece = malloc(LOAD_STREAM_BYTES);
    enum status_code code = piece != NULL
                                ? STATUS_OK
                                : status_set(error, STATUS_OUT_OF_MEMORY,
                                             "the host has no memory for a piece of %d bytes", LOAD_STREAM_BYTES);
    for (int i = 0; i < stream->part_count && code == STATUS_OK; i++) {
        code = part_stream(files, stream, i, piece, error);
    }
    free(piece);
    return code;
}

static bool times_equal(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static enum status_code held_check(const struct open_file *held, struct status *error)
{
    struct stat now = {0}, named = {0};
    if (fstat(held->file, &now) != 0) {
        return status_set(error, STATUS_IO, "%s: cannot be looked at any more: %s; try again", held->path,
                          strerror(errno));
    }
    if (now.st_size != held->facts.st_size || !times_equal(now.st_mtim, held->facts.st_mtim)) {
        return status_set(error, STATUS_IO,
                          "%s: it was written to while it was read, so that nobody knows what was read; try again when "
                          "nothing changes it",
                          held->path);
    }
    if (stat(held->path, &named) != 0) {
        return status_set(error, STATUS_IO, "%s: it was removed while it was read (%s); put it there, and try again",
                          held->path, strerror(errno));
    }
    if (named.st_dev != now.st_dev || named.st_ino != now.st_ino) {
        return status_set(error, STATUS_IO,
                          "%s: it was replaced by another file while it was read; try again for what is there now",
                          held->path);
    }
    return STATUS_OK;
}

enum status_code load_files_check(const struct load_files *files, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (const struct open_file *held = files->opened; held != NULL && code == STATUS_OK; held = held->next) {
        code = held_check(held, error);
    }
    return code;
}

void load_files_release(struct load_files *files)
{
    for (int i = 0; files->sources != NULL && i < files->checkpoint->file_count; i++) {
        byte_source_release(files->sources[i]);
    }
    free(files->sources);
    free((void *)files->paths.paths);
    checkpoint_release(files->own);
    for (struct open_file *held = files->opened, *next = NULL; held != NULL; held = next) {
        next = held->next;
        close(held->file);
        free(held);
    }
    *files = (struct load_files){0};
}

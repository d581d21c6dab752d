/* File source: a regular file as a byte source. Nothing is kept of what was read. */
#include "harness/base/byte_source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/regular_file.h"

struct file_source {
    struct byte_source base;
    int file;
    char path[]; /* base.name */
};

static enum status_code file_source_read(struct byte_source *source, int64_t offset, void *bytes, size_t count,
                                         struct status *error)
{
    const struct file_source *self = (const struct file_source *)source;
    size_t done = 0;
    while (done < count) {
        ssize_t got = pread(self->file, (char *)bytes + done, count - done, offset + (int64_t)done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return status_set(error, STATUS_IO, "%s: cannot be read at byte %" PRId64 ": %s", source->name,
                              offset + (int64_t)done, got < 0 ? strerror(errno) : "it has become shorter");
        }
        done += (size_t)got;
    }
    return STATUS_OK;
}

static void file_source_release(struct byte_source *source)
{
    struct file_source *self = (struct file_source *)source;
    close(self->file);
    free(self);
}

static const struct byte_source_table file_source_table = {
    .read = file_source_read, .release = file_source_release, .is_parallel = true};

enum status_code file_source_open(const char *path, struct byte_source **source, struct status *error)
{
    struct stat facts;
    int file = regular_file_open(path, &facts);
    if (file < 0) {
        return errno == 0 ? status_set(error, STATUS_IO, "%s: is not a regular file", path)
                          : status_set(error, STATUS_IO, "%s: cannot be opened: %s", path, strerror(errno));
    }
    size_t path_bytes = strlen(path) + 1;
    struct file_source *self = malloc(sizeof *self + path_bytes);
    if (self == NULL) {
        close(file);
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no host memory to open it", path);
    }
    memcpy(self->path, path, path_bytes);
    self->base = (struct byte_source){.table = &file_source_table, .name = self->path, .size_bytes = facts.st_size};
    self->file = file;
    *source = &self->base;
    return STATUS_OK;
}

/* Plain transfers: see plain_transfer.h. Nothing here knows what a checkpoint is. */
#include "harness/load/plain_transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/byte_source.h"
#include "harness/base/bytes_write.h"
#include "harness/base/clock.h"
#include "harness/base/text.h"
#include "harness/device/staging.h"

/* -- files */

static enum status_code watch_ask(const struct load_watch *watch, const char *name, const char *doing,
                                  struct status *error)
{
    bool stops = watch != NULL && watch->stops != NULL && watch->stops(watch->context);
    return stops ? status_set(error, STATUS_UNAVAILABLE, "%s: %s it was interrupted", name, doing) : STATUS_OK;
}

static int64_t piece_of(int64_t left)
{
    return left < PLAIN_PIECE_BYTES ? left : PLAIN_PIECE_BYTES;
}

/* Memory that has been written to, so that no page of it is made while the clock runs; not zero, which a disk may leave
 * out. */
static enum status_code buffer_open(struct device *device, int64_t bytes, struct staging *buffer, struct status *error)
{
    uint32_t state = 1;
    enum status_code code = staging_take(device, bytes, buffer, error);
    for (size_t i = 0; code == STATUS_OK && i < (size_t)bytes / sizeof state; i++) {
        state = state * 1664525U + 1013904223U;
        ((uint32_t *)buffer->memory)[i] = state;
    }
    return code;
}

static enum status_code file_read(const char *path, void *buffer, const struct load_watch *watch, int64_t *bytes,
                                  struct status *error)
{
    struct byte_source *source = NULL;
    enum status_code code = file_source_open(path, &source, error);
    if (code != STATUS_OK) {
        return code;
    }
    for (int64_t at = 0; at < source->size_bytes && code == STATUS_OK; at += PLAIN_PIECE_BYTES) {
        code = watch_ask(watch, path, "reading", error);
        if (code == STATUS_OK) {
            code = byte_source_read(source, at, buffer, (size_t)piece_of(source->size_bytes - at), error);
        }
    }
    *bytes += source->size_bytes;
    byte_source_release(source);
    return code;
}

enum status_code plain_read(const struct file_paths *files, const struct load_watch *watch, struct plain_transfer *made,
                            struct status *error)
{
    struct plain_transfer read = {.cached_bytes = files_cached_bytes(files)};
    struct staging buffer = {0};
    enum status_code code = buffer_open(NULL, PLAIN_PIECE_BYTES, &buffer, error);
    double begin = clock_seconds();
    for (int i = 0; i < files->count && code == STATUS_OK; i++) {
        code = file_read(files->paths[i], buffer.memory, watch, &read.bytes, error);
    }
    read.seconds = clock_seconds() - begin;
    (void)staging_give_back(&buffer, NULL);
    if (code == STATUS_OK) {
        *made = read;
    }
    return code;
}

/* A file that never had a name; where the file system knows none, one that loses it at once. */
static int nameless_open(const char *folder)
{
    struct text path = {0};
    int file = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) {
        return file;
    }
    text_format(&path, "%s/.assay-plain-XXXXXX", folder);
    file = path.failed ? -1 : mkostemp(path.data, O_CLOEXEC);
    if (file >= 0) {
        unlink(path.data);
    }
    text_release(&path);
    return file;
}

static enum status_code pieces_write(int file, const char *folder, const struct staging *buffer, int64_t bytes,
                                     const struct load_watch *watch, struct status *error)
{
    int cause = 0;
    for (int64_t done = 0; done < bytes && cause == 0; done += PLAIN_PIECE_BYTES) {
        enum status_code code = watch_ask(watch, folder, "writing a plain file into", error);
        if (code != STATUS_OK) {
            return code;
        }
        cause = bytes_write(file, buffer->memory, (size_t)piece_of(bytes - done));
    }
    cause = cause == 0 && fsync(file) != 0 ? errno : cause;
    return cause == 0
               ? STATUS_OK
               : status_set(error, STATUS_IO, "%s: a plain file of %" PRId64 " bytes cannot be written there: %s",
                            folder, bytes, strerror(cause));
}

enum status_code plain_write(const char *folder, int64_t bytes, const struct load_watch *watch,
                             struct plain_transfer *made, struct status *error)
{
    struct staging buffer = {0};
    enum status_code code = buffer_open(NULL, PLAIN_PIECE_BYTES, &buffer, error);
    if (code != STATUS_OK) {
        return code;
    }
    double begin = clock_seconds();
    int file = nameless_open(folder);
    code = file < 0 ? status_set(error, STATUS_IO, "%s: no file can be made there: %s", folder, strerror(errno))
                    : pieces_write(file, folder, &buffer, bytes, watch, error);
    if (code == STATUS_OK) {
        *made = (struct plain_transfer){.bytes = bytes, .seconds = clock_seconds() - begin};
    }
    if (file >= 0) {
        close(file);
    }
    (void)staging_give_back(&buffer, NULL);
    return code;
}

/* -- a device */

struct copy_ends {
    struct device *device;
    void *segment;          /* of the device */
    struct staging staging; /* of the host */
    int64_t bytes;          /* of either */
};

/* A device of a bound may have little left: half as much is tried then, down to one piece. */
static enum status_code ends_open(struct device *device, int64_t bytes, struct copy_ends *ends, struct status *error)
{
    int64_t wanted = bytes < PLAIN_SEGMENT_BYTES ? bytes : PLAIN_SEGMENT_BYTES;
    enum status_code code = device->table->segment_alloc(device, wanted, &ends->segment, error);
    while (code == STATUS_OUT_OF_MEMORY && wanted / 2 >= PLAIN_PIECE_BYTES) {
        wanted /= 2;
        code = device->table->segment_alloc(device, wanted, &ends->segment, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    ends->device = device;
    ends->bytes = wanted;
    code = buffer_open(device, wanted, &ends->staging, error);
    if (code == STATUS_OK) {
        code = device->table->copy_from_host(device, ends->segment, ends->staging.memory, wanted, error);
    }
    return code == STATUS_OK ? device->table->synchronize(device, error) : code;
}

static enum status_code ends_copy(const struct copy_ends *ends, enum plain_direction direction, int64_t bytes,
                                  struct status *error)
{
    struct device *device = ends->device;
    enum status_code code = STATUS_OK;
    for (int64_t done = 0; done < bytes && code == STATUS_OK; done += ends->bytes) {
        int64_t now = bytes - done < ends->bytes ? bytes - done : ends->bytes;
        code = direction == PLAIN_TO_DEVICE
                   ? device->table->copy_from_host(device, ends->segment, ends->staging.memory, now, error)
                   : device->table->copy_to_host(device, ends->staging.memory, ends->segment, now, error);
    }
    return code == STATUS_OK ? device->table->synchronize(device, error) : code;
}

/* Both are given back, also where one of them fails: the first error stays. */
static enum status_code ends_close(struct device *device, struct copy_ends *ends, struct status *error)
{
    enum status_code code = staging_give_back(&ends->staging, error), freed = STATUS_OK;
    if (ends->segment != NULL) {
        freed = device->table->segment_free(device, ends->segment, ends->bytes, code == STATUS_OK ? error : NULL);
    }
    return code == STATUS_OK ? freed : code;
}

enum status_code plain_copy(struct device *device, enum plain_direction direction, int64_t bytes,
                            struct plain_transfer *made, struct status *error)
{
    struct copy_ends ends = {0};
    struct device_properties properties;
    enum status_code code = device->table->properties(device, &properties, error);
    if (code == STATUS_OK && !properties.computes) {
        code = status_set(error, STATUS_UNAVAILABLE, "%s holds nothing that could be copied", properties.kind);
    }
    if (code != STATUS_OK || bytes <= 0) {
        if (code == STATUS_OK) {
            *made = (struct plain_transfer){0};
        }
        return code;
    }
    code = ends_open(device, bytes, &ends, error);
    if (code == STATUS_OK) {
        double begin = clock_seconds();
        code = ends_copy(&ends, direction, bytes, error);
        if (code == STATUS_OK) {
            *made = (struct plain_transfer){.bytes = bytes, .seconds = clock_seconds() - begin};
        }
    }
    enum status_code closed = ends_close(device, &ends, code == STATUS_OK ? error : NULL);
    return code == STATUS_OK ? closed : code;
}

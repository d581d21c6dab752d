/* File content: reading to the end. What the bytes mean is the caller's. */
#include "harness/base/file_content.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/regular_file.h"

/* Reads until the end or until more than maximum_bytes are there. */
static enum status_code bytes_read(int file, const char *path, size_t maximum_bytes, struct text *content,
                                   struct status *error)
{
    char buffer[16 * 1024];
    for (;;) {
        ssize_t count = read(file, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return status_set(error, STATUS_IO, "%s: cannot be read: %s", path, strerror(errno));
        }
        if (count == 0) {
            return STATUS_OK;
        }
        text_append_bytes(content, buffer, (size_t)count);
        if (content->failed) {
            return status_set(error, STATUS_OUT_OF_MEMORY, "%s: the host has not enough memory to read it", path);
        }
        if (content->length > maximum_bytes) {
            return status_set(error, STATUS_INVALID, "%s: larger than %zu bytes; this is not the file that is meant",
                              path, maximum_bytes);
        }
    }
}

enum status_code file_content_read(const char *path, const char *kind, size_t maximum_bytes, struct text *content,
                                   struct status *error)
{
    struct stat facts;
    int file = regular_file_open(path, &facts);
    if (file < 0) {
        return errno == 0
                   ? status_set(error, STATUS_IO,
                                "%s: is not a regular file; name a file of %s, and save what a pipe yields as one",
                                path, kind)
                   : status_set(error, STATUS_IO, "%s: cannot be opened: %s", path, strerror(errno));
    }
    enum status_code code = bytes_read(file, path, maximum_bytes, content, error);
    close(file);
    return code;
}

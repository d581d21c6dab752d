/* Save: content to a file, whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/report/report.h"

/* 0, or the errno of what went wrong. The descriptor is closed in any case. */
static int content_write(int descriptor, const struct text *content, bool durable)
{
    const char *bytes = text_string(content);
    size_t left = content->length;
    int cause = 0;
    while (left > 0 && cause == 0) {
        ssize_t written = write(descriptor, bytes, left);
        if (written > 0) {
            bytes += written;
            left -= (size_t)written;
        } else if (written == 0 || errno != EINTR) {
            cause = written == 0 ? ENOSPC : errno;
        }
    }
    if (cause == 0 && durable && fsync(descriptor) != 0) {
        cause = errno;
    }
    if (close(descriptor) != 0 && cause == 0) {
        cause = errno;
    }
    return cause;
}

/* The file beside, complete and with the usual permissions, then renamed. */
static int file_replace(const char *path, const struct text *content)
{
    struct text beside = {0};
    text_format(&beside, "%s.XXXXXX", path);
    if (beside.failed) {
        text_release(&beside);
        return ENOMEM;
    }
    int descriptor = mkstemp(beside.data);
    int cause = descriptor < 0 ? errno : 0;
    if (cause == 0) {
        mode_t mask = umask(0);
        umask(mask);
        cause = fchmod(descriptor, 0666 & ~mask) != 0 ? errno : 0;
        int written = content_write(descriptor, content, true);
        cause = cause != 0 ? cause : written;
        if (cause == 0 && rename(beside.data, path) != 0) {
            cause = errno;
        }
        if (cause != 0) {
            unlink(beside.data);
        }
    }
    text_release(&beside);
    return cause;
}

enum status_code report_save(const char *path, const struct text *content, struct status *error)
{
    if (content->failed) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory for its content", path);
    }
    struct stat kind;
    bool direct = stat(path, &kind) == 0 && !S_ISREG(kind.st_mode);
    int cause;
    if (direct) {
        int descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        cause = descriptor < 0 ? errno : content_write(descriptor, content, false);
    } else {
        cause = file_replace(path, content);
    }
    if (cause != 0) {
        return status_set(error, STATUS_IO, "%s: cannot be written: %s", path, strerror(cause));
    }
    return STATUS_OK;
}

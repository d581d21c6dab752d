/* Regular file: opened without waiting, then looked at. Not a reader or a writer of anything. */
#include "harness/base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* O_NONBLOCK: a FIFO without a writer must not hold us up; to a regular file it means nothing. */
static int file_open(const char *path, int flags, struct stat *facts)
{
    int file = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (file < 0) {
        return -1;
    }
    int cause = fstat(file, facts) != 0 ? errno : 0;
    if (cause != 0 || !S_ISREG(facts->st_mode)) {
        close(file);
        errno = cause;
        return -1;
    }
    return file;
}

int regular_file_open(const char *path, struct stat *facts)
{
    return file_open(path, O_RDONLY, facts);
}

static enum status_code file_told(const char *path, int flags, const char *remedy, int *file, struct status *error)
{
    struct stat facts;
    int opened = file_open(path, flags, &facts);
    int cause = errno;
    if (opened >= 0) {
        *file = opened;
        return STATUS_OK;
    }
    if (cause == ELOOP && (flags & O_NOFOLLOW) != 0) {
        return status_set(error, STATUS_IO,
                          "%s: is a symbolic link, and nothing is appended through one; remove it, or %s", path,
                          remedy);
    }
    return cause == 0 ? status_set(error, STATUS_IO, "%s: is not a regular file; %s", path, remedy)
                      : status_set(error, STATUS_IO, "%s: cannot be opened: %s; %s", path, strerror(cause), remedy);
}

enum status_code regular_file_read(const char *path, const char *remedy, int *file, struct status *error)
{
    return file_told(path, O_RDONLY, remedy, file, error);
}

enum status_code regular_file_append(const char *path, const char *remedy, int *file, struct status *error)
{
    return file_told(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, remedy, file, error);
}

/* File append: one writer at a time, and back to the old length if the disk is full. Replaces nothing. */
#include "harness/base/file_append.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/bytes_write.h"

static enum status_code append_fail(const char *path, int cause, struct status *error)
{
    return status_set(error, STATUS_IO, "%s: cannot be written: %s", path, strerror(cause));
}

static int lock_wait(int file)
{
    int result = 0;
    do {
        result = flock(file, LOCK_EX);
    } while (result != 0 && errno == EINTR);
    return result;
}

enum status_code file_append(const char *path, const struct text *content, struct status *error)
{
    struct stat before = {0};
    if (content->failed) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for what goes into %s", path);
    }
    const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    if (file < 0) {
        return append_fail(path, errno, error);
    }
    enum status_code code = STATUS_OK;
    const bool regular = fstat(file, &before) == 0 && S_ISREG(before.st_mode);
    if (regular && (lock_wait(file) != 0 || fstat(file, &before) != 0)) {
        code = append_fail(path, errno, error);
    }
    if (code == STATUS_OK && bytes_write(file, text_string(content), content->length) != 0) {
        code = append_fail(path, errno, error);
        if (regular && ftruncate(file, before.st_size) != 0) {
            code = append_fail(path, errno, error);
        }
    }
    if (close(file) != 0 && code == STATUS_OK) {
        code = append_fail(path, errno, error);
    }
    return code;
}

/* Bytes to a descriptor: partial writes and interruptions are gone on with. Not a buffer. */
#include "harness/base/bytes_write.h"

#include <errno.h>
#include <unistd.h>

int bytes_write(int descriptor, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(descriptor, bytes, count);
        if (written > 0) {
            bytes += written;
            count -= (size_t)written;
        } else if (written == 0) {
            errno = ENOSPC;
            return errno;
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

/* Byte source: the check that every read stays inside, in one place. Not an implementation. */
#include "harness/base/byte_source.h"

#include <inttypes.h>

enum status_code byte_source_read(struct byte_source *source, int64_t offset, void *bytes, size_t count,
                                  struct status *error)
{
    if (offset < 0 || offset > source->size_bytes || count > (uint64_t)(source->size_bytes - offset)) {
        return status_set(error, STATUS_INVALID,
                          "%s: %zu bytes at byte %" PRId64 " are wanted, but it ends at byte %" PRId64
                          "; it is cut short, or not the file that is meant",
                          source->name, count, offset, source->size_bytes);
    }
    return count == 0 ? STATUS_OK : source->table->read(source, offset, bytes, count, error);
}

void byte_source_release(struct byte_source *source)
{
    if (source != NULL) {
        source->table->release(source);
    }
}

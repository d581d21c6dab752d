/* Memory source: the smallest implementation of a byte source. */
#include "tests/support/memory_source.h"

#include <stdlib.h>
#include <string.h>

struct memory_source {
    struct byte_source base;
    const char *bytes;
};

static enum status_code memory_source_read(struct byte_source *source, int64_t offset, void *bytes, size_t count,
                                           struct status *error)
{
    (void)error;
    memcpy(bytes, ((const struct memory_source *)source)->bytes + offset, count);
    return STATUS_OK;
}

static void memory_source_release(struct byte_source *source)
{
    free(source);
}

struct byte_source *memory_source_new(const char *name, const void *bytes, size_t count)
{
    static const struct byte_source_table table = {.read = memory_source_read, .release = memory_source_release};
    struct memory_source *self = malloc(sizeof *self);
    if (self == NULL) {
        return NULL;
    }
    *self =
        (struct memory_source){.base = {.table = &table, .name = name, .size_bytes = (int64_t)count}, .bytes = bytes};
    return &self->base;
}

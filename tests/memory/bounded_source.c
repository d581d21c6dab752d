/* Bounded source: malloc behind a limit. */
#include "tests/memory/bounded_source.h"

#include <stdlib.h>

static enum status_code bounded_alloc(void *context, int64_t bytes, void **address, struct status *error)
{
    struct bounded_source *source = context;
    source->call_count += 1;
    if (source->call_count == source->failing_call) {
        return status_set(error, STATUS_DEVICE, "alloc fails on demand");
    }
    if (bytes > source->capacity_bytes - source->held_bytes) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "bound reached");
    }
    *address = malloc((size_t)bytes);
    if (*address == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "malloc failed");
    }
    source->held_bytes += bytes;
    source->held_count += 1;
    return STATUS_OK;
}

static enum status_code bounded_free(void *context, void *address, int64_t bytes, struct status *error)
{
    struct bounded_source *source = context;
    source->call_count += 1;
    if (source->call_count == source->failing_call) {
        return status_set(error, STATUS_DEVICE, "free fails on demand");
    }
    free(address);
    source->held_bytes -= bytes;
    source->held_count -= 1;
    return STATUS_OK;
}

struct segment_source bounded_source(struct bounded_source *source)
{
    static const struct segment_source_table table = {.alloc = bounded_alloc, .free = bounded_free};
    return (struct segment_source){.table = &table, .context = source};
}

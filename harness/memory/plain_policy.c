/* Plain policy: one segment for each block, of exactly its bytes. Not a model of any driver's page sizes. */
#include <stddef.h>

#include "harness/memory/block.h"

static enum status_code plain_alloc(struct allocator *allocator, int64_t bytes, struct block **block,
                                    struct status *error)
{
    struct block *taken = NULL;
    enum status_code code = segment_take(allocator, bytes, POOL_LARGE, &taken, error);
    if (code != STATUS_OK) {
        return code;
    }
    segment_note_used(allocator, taken->segment);
    taken->requested_bytes = bytes;
    taken->rounded_bytes = bytes;
    taken->live = true;
    *block = taken;
    return STATUS_OK;
}

static enum status_code plain_free(struct allocator *allocator, struct block *block, struct status *error)
{
    segment_note_free(allocator, block->segment);
    return segment_give_back(allocator, block->segment, error);
}

const struct policy plain_policy = {.name = "plain", .alloc = plain_alloc, .free = plain_free};

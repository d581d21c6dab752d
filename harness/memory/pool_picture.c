/* Pool picture: lists of segments and blocks copied into arrays. It compares nothing. */
#include "harness/memory/pool_picture.h"

#include <stdlib.h>

#include "harness/base/array.h"

static bool segment_add(struct pool_picture *picture, struct segment *segment)
{
    struct picture_segment *segments =
        array_extend(picture->segments, (size_t)picture->segment_count, &picture->segment_capacity, sizeof *segments);
    if (segments == NULL) {
        return false;
    }
    picture->segments = segments;
    struct picture_segment *added = &picture->segments[picture->segment_count];
    *added = (struct picture_segment){
        .segment = segment, .first_block = picture->block_count, .is_free = segment_is_free(segment)};
    segment->number = picture->segment_count++;
    for (struct block *block = segment->first; block != NULL; block = block->next) {
        struct picture_block *blocks =
            array_extend(picture->blocks, (size_t)picture->block_count, &picture->block_capacity, sizeof *blocks);
        if (blocks == NULL) {
            return false;
        }
        picture->blocks = blocks;
        picture->blocks[picture->block_count++] = (struct picture_block){
            .block = block, .bytes = block->bytes, .owner = block->live ? block->mark - 1 : -1, .live = block->live};
        added->block_count++;
    }
    return true;
}

static void blocks_mark(const struct owned_block *owned, int count, bool marked)
{
    for (int i = 0; i < count; i++) {
        if (owned[i].block != NULL) {
            owned[i].block->mark = marked ? owned[i].owner + 1 : 0;
        }
    }
}

bool pool_picture_take(struct pool_picture *picture, struct allocator *allocator, const struct owned_block *owned,
                       int owned_count)
{
    bool taken = true;
    picture->segment_count = 0;
    picture->block_count = 0;
    blocks_mark(owned, owned_count, true);
    for (struct segment *segment = allocator->segments; segment != NULL && taken; segment = segment->next) {
        taken = segment->pool != POOL_LARGE || segment_add(picture, segment);
    }
    blocks_mark(owned, owned_count, false);
    return taken;
}

void pool_picture_release(struct pool_picture *picture)
{
    free(picture->segments);
    free(picture->blocks);
    *picture = (struct pool_picture){0};
}

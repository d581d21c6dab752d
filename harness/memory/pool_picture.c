/* Pool picture: lists of segments and blocks copied into arrays. It compares nothing. */
#include "harness/memory/pool_picture.h"

#include <stdlib.h>

static bool room_make(void **array, int *capacity, int count, size_t size)
{
    if (count < *capacity) {
        return true;
    }
    int wanted = *capacity > 0 ? 2 * *capacity : 256;
    void *grown = realloc(*array, (size_t)wanted * size);
    if (grown == NULL) {
        return false;
    }
    *array = grown;
    *capacity = wanted;
    return true;
}

static bool segment_add(struct pool_picture *picture, struct segment *segment)
{
    if (!room_make((void **)&picture->segments, &picture->segment_capacity, picture->segment_count,
                   sizeof *picture->segments)) {
        return false;
    }
    struct picture_segment *added = &picture->segments[picture->segment_count];
    *added = (struct picture_segment){
        .segment = segment, .first_block = picture->block_count, .is_free = segment_is_free(segment)};
    segment->number = picture->segment_count++;
    for (struct block *block = segment->first; block != NULL; block = block->next) {
        if (!room_make((void **)&picture->blocks, &picture->block_capacity, picture->block_count,
                       sizeof *picture->blocks)) {
            return false;
        }
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

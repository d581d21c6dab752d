/* Pool picture: the segments of the large pool at one moment, block by block. For pool_forecast.c alone. */
#ifndef ASSAY_MEMORY_POOL_PICTURE_H
#define ASSAY_MEMORY_POOL_PICTURE_H

#include "harness/memory/block.h"
#include "harness/memory/pool_forecast.h"

struct picture_block {
    struct block *block;
    int64_t bytes;
    int owner; /* -1: free, or live through all repetitions */
    bool live;
};

struct picture_segment {
    struct segment *segment;
    int first_block, block_count;
    bool is_free; /* wholly */
};

struct pool_picture {
    struct picture_segment *segments;
    struct picture_block *blocks;
    int segment_count, block_count;
    size_t segment_capacity, block_capacity;
};

/* Segments are numbered in the order of the picture (segment->number). False if the host has no memory. */
bool pool_picture_take(struct pool_picture *picture, struct allocator *allocator, const struct owned_block *owned,
                       int owned_count);
void pool_picture_release(struct pool_picture *picture);

#endif

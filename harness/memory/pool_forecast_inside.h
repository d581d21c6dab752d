/* The inside of a pool forecast: for pool_forecast*.c alone. A segment is named by its number in the picture before; a
 * role is what a segment holds where a repetition begins: role i is what segment i held in that picture. */
#ifndef ASSAY_MEMORY_POOL_FORECAST_INSIDE_H
#define ASSAY_MEMORY_POOL_FORECAST_INSIDE_H

#include "harness/memory/linear_bytes.h"
#include "harness/memory/pool_picture.h"

struct forecast_block {
    struct linear_bytes size;
    int previous, next; /* neighbours in the segment; -1: none */
    int segment, owner;
    int free_at; /* its place among the free; -1: it is live, or never large enough */
    bool live;
};

struct pool_forecast {
    struct allocator *allocator;
    int owner_count;
    struct pool_picture before, now; /* where the repetition begins, and where it has ended */
    int note_count;
    /* -- by segment of the picture before */
    int *now_number;         /* of the segment in the other picture */
    int *moves_to;           /* the segment that has the role now */
    int *first;              /* of its forecast blocks; -1: it is left out, because nothing changes in it */
    int *place, *place_next; /* the segment that has the role, while repetitions are gone through */
    int *moving, moving_count;
    bool *is_tied;   /* its role may change places with others that are wholly free */
    bool *is_pinned; /* its role must stay where it is */
    size_t segment_room;
    /* -- by owner */
    int *owner_segment; /* in the picture now */
    int *owner_block;   /* the forecast block; 2 * owner_count */
    /* -- while a repetition is carried out with linear sizes */
    struct linear_span span;
    struct forecast_block *blocks;
    int block_count, block_room;
    int *free_blocks, free_count; /* room for block_room */
    int *ties;                    /* choices between segments: how many, then which; the first is the one taken */
    int tie_count, tie_room;
};

/* Carries the events out from the picture before. False if the span ends at once. */
bool forecast_events_run(struct pool_forecast *forecast, const struct forecast_event *events, int event_count);

#endif

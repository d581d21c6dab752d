/* Announced source: a segment source without memory that lays segments where another allocator's lay. Each segment of
 * the other one is announced, with its address, before the allocation that needed it; what is asked for without an
 * announcement lies above all of them. So two allocators that follow the same rules have the same addresses, and two
 * that do not remain comparable.
 *
 * An announcement that is not taken up is kept: the next request of the same size that was not announced may have
 * it. */
#ifndef ASSAY_MEMORY_ANNOUNCED_SOURCE_H
#define ASSAY_MEMORY_ANNOUNCED_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/memory/allocator.h"
#include "harness/memory/span_set.h"

enum announcement_state {
    ANNOUNCEMENT_NONE,
    ANNOUNCEMENT_OPEN,    /* made; the next request has it if it fits */
    ANNOUNCEMENT_KEPT,    /* not taken up */
    ANNOUNCEMENT_HELD,    /* a segment of the allocator lies there */
    ANNOUNCEMENT_RETURNED /* and was given back, or the other allocator did that with one that was kept */
};

struct announcement {
    enum announcement_state state;
    int64_t address, bytes;
    int64_t period; /* in which it was returned */
};

struct announced_source {
    struct announcement *announcements; /* by number */
    size_t open;                        /* the number of the open one; ANNOUNCED_NONE */
    size_t *kept;                       /* numbers, the newest last; those that are no longer kept are passed over */
    size_t kept_count;
    struct span_set held;             /* the allocator's segments */
    int64_t next_address;             /* above all announcements */
    int64_t period;                   /* begun by announced_source_begin */
    int64_t taken_count, taken_bytes; /* in this period */
    int64_t returned_count, returned_bytes;
};

#define ANNOUNCED_NONE SIZE_MAX

/* end_address: none of the announcements reaches beyond it. */
enum status_code announced_source_open(struct announced_source *source, size_t announcement_count, int64_t end_address,
                                       struct status *error);

/* The allocator on it must be closed. An empty one is accepted. */
void announced_source_close(struct announced_source *source);

/* The source as the allocator sees it. STATUS_OVERFLOW if segments leave 63 bits. */
struct segment_source announced_source_segments(struct announced_source *source);

/* None may be open. Each number is announced once. */
void announced_source_announce(struct announced_source *source, size_t number, int64_t address, int64_t bytes);

/* Keeps the announcement that is open, if one is. */
void announced_source_keep(struct announced_source *source);

/* Begins a period: counts from 0. */
void announced_source_begin(struct announced_source *source);

/* The other allocator gives back the segment of an announcement. Whether ours gave it back in this period. */
bool announced_source_withdraw(struct announced_source *source, size_t number);

#endif

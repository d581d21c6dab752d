/* Ordered work: items that do not depend on each other, done by several threads, and taken in order by the one that
 * asked.
 *
 * What is taken, and in which order, is the same with any number of threads. At most some dozens of results for each
 * thread wait to be taken, so that memory does not grow with the number of items. */
#ifndef ASSAY_BASE_ORDERED_WORK_H
#define ASSAY_BASE_ORDERED_WORK_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/status.h"

enum { ORDERED_RESULTS_EACH = 32 };

struct ordered_work {
    int count;           /* items */
    int worker_count;    /* threads beside the caller's; 0: the caller's alone, each item as it is taken */
    size_t result_bytes; /* of one result */
    /* that wait for each thread, at most; 0: ORDERED_RESULTS_EACH. Fewer large ones stay in its cache */
    int results_each;
    bool is_filled; /* work fills every byte of its result, which is then not zeroed for it */
    void *context;  /* handed to the functions below */
    /* Does item number index. result is zeroed, unless is_filled. Called by any thread, several at a time. */
    void (*work)(void *context, int index, void *result);
    /* Takes the results over, by index from 0 on, in the caller's thread; false: nothing more is wanted. */
    bool (*take)(void *context, int index, void *result);
    /* Releases a result that nobody takes, because there was an end before it. May be NULL. */
    void (*drop)(void *context, void *result);
};

/* Ends when every item was taken or take has said false. Where fewer threads can be had, fewer do it.
 * STATUS_OUT_OF_MEMORY. */
enum status_code ordered_work_run(const struct ordered_work *work, struct status *error);

/* How many threads are worth having: one for each processor that this process may use, at most 16, at most one for each
 * item; 0 where that would be one. */
int ordered_work_workers(int count);

#endif

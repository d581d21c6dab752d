/* Shard split: sorted once, then dealt out from a heap of parts, the emptiest on top. What a case costs is the
 * caller's matter. */
#include "harness/run/shard_split.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int costliest_first(const void *left, const void *right)
{
    const struct shard_item *a = *(const struct shard_item *const *)left, *b = *(const struct shard_item *const *)right;
    int order = (a->cost < b->cost) - (a->cost > b->cost);
    return order != 0 ? order : strcmp(a->id, b->id);
}

struct part {
    int64_t cost;
    int64_t count; /* of equally full parts the one with fewer items, so that none stays empty where costs are 0 */
    int number;
};

static bool is_emptier(const struct part *a, const struct part *b)
{
    if (a->cost != b->cost) {
        return a->cost < b->cost;
    }
    return a->count != b->count ? a->count < b->count : a->number < b->number;
}

/* The top has grown: down with it until both below are fuller. */
static void top_settle(struct part *heap, int count)
{
    int at = 0;
    for (;;) {
        int least = at, left = 2 * at + 1, right = left + 1;
        least = left < count && is_emptier(&heap[left], &heap[least]) ? left : least;
        least = right < count && is_emptier(&heap[right], &heap[least]) ? right : least;
        if (least == at) {
            return;
        }
        struct part swapped = heap[at];
        heap[at] = heap[least];
        heap[least] = swapped;
        at = least;
    }
}

enum status_code shard_split(const struct shard_item *items, int count, int shard_count, int *shards, int64_t *loads,
                             struct status *error)
{
    const struct shard_item **sorted = calloc((size_t)count + 1, sizeof *sorted);
    struct part *heap = calloc((size_t)shard_count + 1, sizeof *heap);
    if (sorted == NULL || heap == NULL) {
        free(sorted);
        free(heap);
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory to divide %d cases", count);
    }
    for (int i = 0; i < count; i++) {
        sorted[i] = &items[i];
    }
    qsort(sorted, (size_t)count, sizeof *sorted, costliest_first);
    for (int i = 0; i < shard_count; i++) {
        heap[i].number = i;
    }
    for (int i = 0; i < count; i++) {
        shards[sorted[i] - items] = heap[0].number;
        heap[0].count++;
        if (__builtin_add_overflow(heap[0].cost, sorted[i]->cost, &heap[0].cost)) {
            heap[0].cost = INT64_MAX;
        }
        top_settle(heap, shard_count);
    }
    for (int i = 0; i < shard_count; i++) {
        loads[heap[i].number] = heap[i].cost;
    }
    free(sorted);
    free(heap);
    return STATUS_OK;
}

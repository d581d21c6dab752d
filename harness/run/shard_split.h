/* Shard split: cases divided into parts that take about the same time. A pure function: the same cases and costs give
 * the same parts, in whatever order they come, on every machine.
 *
 * Longest processing time first (Graham 1969): the costliest case that is left goes to the part that has least so far.
 * The longest part is then at most 4/3 - 1/(3 n) times the longest of the best division into n parts.
 *
 * Worked: costs 5, 4, 3, 3, 3 in two parts: 5 + 3 and 4 + 3 + 3, the longest is 10; the best would be 9. */
#ifndef ASSAY_RUN_SHARD_SPLIT_H
#define ASSAY_RUN_SHARD_SPLIT_H

#include <stdint.h>

#include "harness/base/status.h"

enum { SHARDS_MAXIMUM = 100000 };

struct shard_item {
    const char *id; /* no two are equal: decides between equal costs */
    int64_t cost;   /* >= 0 */
};

/* shards[i], from 0 to shard_count - 1, is the part of items[i]. Each part has an item, if there are as many as parts.
 * loads[shard_count] are the costs of the parts; a sum that does not fit is INT64_MAX. STATUS_OUT_OF_MEMORY. */
enum status_code shard_split(const struct shard_item *items, int count, int shard_count, int *shards, int64_t *loads,
                             struct status *error);

#endif

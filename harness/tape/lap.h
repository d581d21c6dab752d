/* Laps of a cycle, held against each other. For cycle.c only.
 *
 * A lap is what lies between two marks. Two that follow each other are alike if they do the same with their own
 * storages, with those of the lap before and with the same storages of all others, and leave the same of their own
 * alive. */
#ifndef ASSAY_TAPE_LAP_H
#define ASSAY_TAPE_LAP_H

#include "harness/tape/graph.h"

/* The laps [first, second) and [second, end). Sizes are not looked at. */
bool lap_is_alike(const struct tape *tape, const struct tape_marks *first, const struct tape_marks *second,
                  const struct tape_marks *end);

/* Three laps that are alike, from marks[0] to marks[3]: whether every storage of the third is `laps` times as much
 * larger than that of the second as that is than that of the first. */
bool lap_grows_evenly(const struct tape *tape, const struct tape_marks *marks, int64_t laps);

/* tape->now: what is alive of the storages since mark, of values the form, and the limits of the lap. */
void snapshot_take(struct tape *tape, const struct tape_marks *mark);

/* As many of the laps to come as stay within the limits of tape->now, if sizes go on as from tape->before. */
int64_t laps_within_limits(const struct tape *tape, int64_t laps);

/* Whether tape->before (of the lap that began at first) and tape->now (of that at second) have the same alive, and
 * values that differ in sizes, strides and offsets alone; nothing of the lap before is alive. Values are then in the
 * same order in both. */
bool snapshots_pair(const struct tape *tape, const struct tape_marks *first, const struct tape_marks *second);

#endif

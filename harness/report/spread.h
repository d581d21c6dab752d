/* Spread: how much repeated attempts at one case differ, each of which had a process of its own. Not for anybody
 * outside this folder. */
#ifndef ASSAY_REPORT_SPREAD_H
#define ASSAY_REPORT_SPREAD_H

#include "harness/report/case_view.h"

/* Attempts at one case while they are read, one after the other. All zero: none yet. */
struct spread_sum {
    int attempt_count;            /* that were measured */
    struct spread_ranges *ranges; /* NULL: fewer than two attempts */
    const char *sequence;         /* of the first one measured; NULL: it is not known */
    enum sequences sequences;
    bool sequences_decided; /* no other attempt can change it */
};

/* Takes in one more attempt; before: the attempt before it, NULL for the first. Attempts that were not measured (an
 * error, a skip) do not count. False if memory ran out. */
bool spread_add(struct spread_sum *sum, struct arena *arena, const struct case_view *before,
                const struct case_view *view);

/* For each stage and level the highest less the lowest, of the readings at its end and of the peaks, whichever is more.
 * BYTES_UNKNOWN if an attempt lacks the reading. Worked: three attempts with 512, 512 and 544 MiB of device bytes at
 * the end of a stage spread over 32 MiB. False if memory ran out. */
bool spread_make(const struct spread_sum *sum, struct arena *arena, struct spread *spread);

/* The widest of all stages; BYTES_UNKNOWN if there is none that all attempts know. */
int64_t spread_widest(const struct spread *spread, enum level level);

/* "10 attempts: requested 0 B, allocated 0 B, reserved 0 B, device 2.00 MiB; one sequence of allocations"; nothing for
 * less than two attempts. */
void spread_append(struct text *text, const struct spread *spread);

#endif

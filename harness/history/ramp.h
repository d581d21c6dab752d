/* Ramp: a plateau, a slope, a second plateau, fitted to a part of a series. A jump is a ramp of one night. Not for
 * anybody outside this folder. */
#ifndef ASSAY_HISTORY_RAMP_H
#define ASSAY_HISTORY_RAMP_H

#include <stdbool.h>

#include "harness/base/arena.h"

struct ramp {
    int from, to;  /* the last place of the first plateau, the first of the second */
    double rise;   /* from one to the other */
    double gain;   /* what it explains of the squares around one plateau, in squares of the deviation */
    bool is_found; /* it explains more than accident does, and is better than any other */
};

/* The sums of a series, over which ramps are fitted in a few operations each. */
struct ramp_sums;

/* Of values[0 .. count), in arena; NULL: no memory. */
struct ramp_sums *ramp_sums_make(const double *values, int count, struct arena *arena);

/* The best ramp of places first .. end - 1. */
struct ramp ramp_fit(const struct ramp_sums *sums, int first, int end, double deviation);

#endif

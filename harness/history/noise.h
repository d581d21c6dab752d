/* Noise: what a series of readings is like between its steps. Sums of squares, medians, ranks; no decisions. Not for
 * anybody outside this folder. */
#ifndef ASSAY_HISTORY_NOISE_H
#define ASSAY_HISTORY_NOISE_H

#include <stdint.h>

#include "harness/base/arena.h"

/* The standard deviation of a night, from the differences of neighbours less their median: no jump and no drift adds
 * to it. At least `least`. Negative: no memory. */
double noise_deviation(const double *values, int count, double least, struct arena *arena);

/* Draws single values that stick out to the median of the five around them and 3 deviations. clean[count] receives all
 * of them. */
void noise_clean(const double *values, int count, double deviation, double *clean);

/* The middle of values[0 .. count), count at least 1, which it sorts. */
double values_middle(double *values, int count);

/* How sure the test of Mann and Kendall is that the values rise (positive) or fall: a standard normal variable if
 * they do neither; 0 for fewer than 3. NAN: no memory. */
double trend_certainty(const double *values, int count, struct arena *arena);

/* The median of the slopes of all pairs (Theil, Sen), per place; of more than 1,000 values of those at five
 * distances, from a quarter to three quarters of all. NAN: no memory, or fewer than 2 values. */
double trend_slope(const double *values, int count, struct arena *arena);

#endif

/* Percentile: positions in a list of values. Not for anybody outside this folder. */
#ifndef ASSAY_REPORT_PERCENTILE_H
#define ASSAY_REPORT_PERCENTILE_H

/* Ascending. */
void values_sort(double *values, int count);

/* The value at a fraction (0 to 1) of sorted values: position (count - 1) * fraction, counted from 0, and between two
 * values linearly from one to the other. It is the definition that numpy and R take by default (Hyndman and Fan's
 * seventh). Worked: of 1, 2, 4, 8 the position of 0.9 is 2.7, and the value 4 + 0.7 * (8 - 4) = 6.8; of 0.5 it is 1.5,
 * and 3. count > 0. */
double values_percentile(const double *sorted, int count, double fraction);

/* The percentile 0.5 of values, which are sorted by it: of two in the middle their mean. count > 0. */
double values_median(double *values, int count);

#endif

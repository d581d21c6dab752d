/* Percentile: sorting and one rule of interpolation. What the values are is for the caller. */
#include "harness/report/percentile.h"

#include <stdlib.h>

static int value_order(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void values_sort(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, value_order);
}

double values_percentile(const double *sorted, int count, double fraction)
{
    double position = (double)(count - 1) * fraction;
    int lower = (int)position;
    if (lower >= count - 1) {
        return sorted[count - 1];
    }
    return sorted[lower] + (position - (double)lower) * (sorted[lower + 1] - sorted[lower]);
}

double values_median(double *values, int count)
{
    values_sort(values, count);
    return values_percentile(values, count, 0.5);
}

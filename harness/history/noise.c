/* Noise: robust estimates over short series. Every function is linear in the nights but those of pairs, which are asked
 * only of what has been found already. */
#include "harness/history/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The mean square of the smallest four fifths of a normal variable's squares: 1 - 2 z phi(z) / 0.8 at z = 1.2816. */
static const double trimmed_share = 0.43772;

static int value_order(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double values_middle(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, value_order);
    return 0.5 * (values[(count - 1) / 2] + values[count / 2]);
}

double noise_deviation(const double *values, int count, double least, struct arena *arena)
{
    const int pairs = count - 1;
    if (pairs < 2) {
        return least;
    }
    double *differences = arena_alloc(arena, (size_t)pairs * sizeof *differences);
    if (differences == NULL) {
        return -1.0;
    }
    for (int at = 0; at < pairs; at++) {
        differences[at] = values[at + 1] - values[at];
    }
    const double middle = values_middle(differences, pairs);
    for (int at = 0; at < pairs; at++) {
        differences[at] = fabs(differences[at] - middle);
    }
    qsort(differences, (size_t)pairs, sizeof *differences, value_order);
    const int kept = (4 * pairs + 4) / 5;
    double sum = 0.0;
    for (int at = 0; at < kept; at++) {
        sum += differences[at] * differences[at];
    }
    const double deviation = sqrt(sum / kept / (2.0 * trimmed_share));
    return deviation > least ? deviation : least;
}

void noise_clean(const double *values, int count, double deviation, double *clean)
{
    for (int at = 0; at < count; at++) {
        double around[5];
        int first = at >= 2 ? at - 2 : 0, last = at + 2 < count ? at + 2 : count - 1;
        memcpy(around, values + first, (size_t)(last - first + 1) * sizeof *around);
        const double middle = values_middle(around, last - first + 1);
        const double low = middle - 3.0 * deviation, high = middle + 3.0 * deviation;
        clean[at] = values[at] < low ? low : values[at] > high ? high : values[at];
    }
}

/* Ties make the sum of signs vary less: sum over groups of t (t - 1) (2 t + 5). */
static double ties_weigh(const double *values, int count, struct arena *arena)
{
    double *sorted = arena_alloc(arena, (size_t)count * sizeof *sorted), sum = 0.0;
    if (sorted == NULL) {
        return 0.0; /* the test is then less sure */
    }
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, value_order);
    for (int at = 0; at < count;) {
        int end = at + 1;
        while (end < count && !(sorted[end] > sorted[at])) {
            end++;
        }
        const double t = end - at;
        sum += t * (t - 1.0) * (2.0 * t + 5.0);
        at = end;
    }
    return sum;
}

double trend_certainty(const double *values, int count, struct arena *arena)
{
    double signs = 0.0;
    for (int left = 0; left < count; left++) {
        for (int right = left + 1; right < count; right++) {
            signs += (values[right] > values[left]) - (values[right] < values[left]);
        }
    }
    const double n = count;
    const double variance = (n * (n - 1.0) * (2.0 * n + 5.0) - ties_weigh(values, count, arena)) / 18.0;
    if (count < 3 || !(variance > 0.0) || fabs(signs) < 1.0) {
        return 0.0;
    }
    return (signs > 0.0 ? signs - 1.0 : signs + 1.0) / sqrt(variance);
}

double trend_slope(const double *values, int count, struct arena *arena)
{
    const size_t pairs = (size_t)count * (size_t)(count - 1) / 2;
    double *slopes = count >= 2 ? arena_alloc(arena, pairs * sizeof *slopes) : NULL;
    if (slopes == NULL) {
        return NAN;
    }
    size_t at = 0;
    for (int left = 0; left < count; left++) {
        for (int right = left + 1; right < count; right++) {
            slopes[at++] = (values[right] - values[left]) / (right - left);
        }
    }
    return values_middle(slopes, (int)pairs);
}

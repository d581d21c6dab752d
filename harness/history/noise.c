/* Noise: robust estimates over series. Every function takes the time of sorting the nights, and that of all pairs only
 * where they are few. */
#include "harness/history/noise.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Of more nights than these the slopes of some distances are looked at, not those of all pairs. */
enum { SLOPE_PAIRS_NIGHTS = 1000, SLOPE_DISTANCES = 5 };

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

/* Sorts values[0 .. count) by merging through room, and counts the pairs of which the later one is smaller. */
static double descents_count(double *values, double *room, int count)
{
    double descents = 0.0;
    for (int width = 1; width < count; width *= 2) {
        for (int first = 0; first < count; first += 2 * width) {
            const int middle = count - first < width ? count : first + width;
            const int end = count - first < 2 * width ? count : first + 2 * width;
            int left = first, right = middle;
            for (int at = first; at < end; at++) {
                const bool is_right = left == middle || (right < end && values[right] < values[left]);
                descents += is_right ? middle - left : 0;
                room[at] = is_right ? values[right++] : values[left++];
            }
        }
        memcpy(values, room, (size_t)count * sizeof *values);
    }
    return descents;
}

double trend_certainty(const double *values, int count, struct arena *arena)
{
    const double n = count;
    double *falling = arena_alloc(arena, (size_t)count * sizeof *falling);
    double *rising = arena_alloc(arena, (size_t)count * sizeof *rising);
    double *room = arena_alloc(arena, (size_t)count * sizeof *room);
    if (falling == NULL || rising == NULL || room == NULL) {
        return NAN;
    }
    for (int at = 0; at < count; at++) {
        falling[at] = values[at];
        rising[at] = -values[at];
    }
    const double signs = descents_count(rising, room, count) - descents_count(falling, room, count);
    const double variance = (n * (n - 1.0) * (2.0 * n + 5.0) - ties_weigh(values, count, arena)) / 18.0;
    if (count < 3 || !(variance > 0.0) || fabs(signs) < 1.0) {
        return 0.0;
    }
    return (signs > 0.0 ? signs - 1.0 : signs + 1.0) / sqrt(variance);
}

/* Adds the slopes of all pairs that are so far apart. */
static int slopes_add(const double *values, int count, int distance, double *slopes, int pairs)
{
    for (int left = 0; left + distance < count; left++) {
        slopes[pairs++] = (values[left + distance] - values[left]) / distance;
    }
    return pairs;
}

double trend_slope(const double *values, int count, struct arena *arena)
{
    const bool is_long = count > SLOPE_PAIRS_NIGHTS;
    const size_t most = (size_t)count * (is_long ? SLOPE_DISTANCES : (size_t)count / 2 + 1);
    double *slopes = count >= 2 ? arena_alloc(arena, most * sizeof *slopes) : NULL;
    int pairs = 0;
    if (slopes == NULL) {
        return NAN;
    }
    for (int distance = 1; distance < count && !is_long; distance++) {
        pairs = slopes_add(values, count, distance, slopes, pairs);
    }
    for (int part = 0; part < SLOPE_DISTANCES && is_long; part++) { /* a quarter to three quarters of them apart */
        pairs = slopes_add(values, count, (int)((int64_t)count * (part + 2) / (SLOPE_DISTANCES + 3)), slopes, pairs);
    }
    return values_middle(slopes, pairs);
}

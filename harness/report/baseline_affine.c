/* Affine fits: a line through the other cases of a kind of device, fitted anew for every case without that case.
 *
 * Each other case weighs 1 / measured², so that relative errors are fitted, which are what a league judges: with equal
 * weights the largest case would decide alone. The moments of all others are put together of those of the cases before
 * and of those behind: as many steps as there are cases, and no moment is ever subtracted from another. */
#include <stdlib.h>
#include <string.h>

#include "harness/report/baseline.h"

enum { OTHERS_MINIMUM = 3 };

/* What a line is fitted over: a figure of a case that is known before it is measured, and which cases belong
 * together. */
struct abscissa {
    int64_t (*bytes)(const struct counted_case *one);
    int (*order)(const struct counted_case *a, const struct counted_case *b); /* 0: they belong together */
};

/* Weighted means and, around them, the weighted sums of squares and products. */
struct moments {
    double weight, x, y, xx, xy;
    int count;
};

static struct moments moments_of(double measured, double x)
{
    return (struct moments){.weight = 1.0 / (measured * measured), .x = x, .y = measured, .count = 1};
}

/* Chan, Golub and LeVeque's rule for two sets. */
static struct moments moments_join(const struct moments *a, const struct moments *b)
{
    if (a->count == 0 || b->count == 0) {
        return a->count == 0 ? *b : *a;
    }
    double weight = a->weight + b->weight, share = b->weight / weight;
    double x = b->x - a->x, y = b->y - a->y, across = a->weight * share;
    return (struct moments){.weight = weight,
                            .x = a->x + x * share,
                            .y = a->y + y * share,
                            .xx = a->xx + b->xx + x * x * across,
                            .xy = a->xy + b->xy + x * y * across,
                            .count = a->count + b->count};
}

/* The line at x. None if the others lie at one place, seen from x. */
static int64_t line_predict(const struct moments *others, double x)
{
    double distance = x - others->x;
    if (others->count < OTHERS_MINIMUM || others->xx <= (others->xx + others->weight * distance * distance) * 1e-12) {
        return BYTES_UNKNOWN;
    }
    double bytes = others->y + others->xy / others->xx * distance;
    return bytes >= 0.0 && bytes < 0x1p62 ? (int64_t)(bytes + 0.5) : BYTES_UNKNOWN;
}

/* One case of those that belong together. */
struct point {
    const struct counted_case *one;
    const struct abscissa *over;
    double x;
    struct moments behind; /* of the points behind it */
};

static int point_order(const void *left, const void *right)
{
    const struct point *a = left, *b = right;
    int order = a->over->order(a->one, b->one);
    return order != 0 ? order : (a->one > b->one) - (a->one < b->one);
}

/* The points from begin to end belong together. */
static void group_predict(const struct counted_cases *counted, struct point *begin, struct point *end,
                          int64_t *predicted_bytes)
{
    struct moments sum = {0};
    for (struct point *at = end; at-- > begin;) {
        struct moments own = moments_of((double)at->one->measured_bytes, at->x);
        at->behind = sum;
        sum = moments_join(&own, &sum);
    }
    sum = (struct moments){0};
    for (struct point *at = begin; at < end; at++) {
        struct moments own = moments_of((double)at->one->measured_bytes, at->x);
        struct moments others = moments_join(&sum, &at->behind);
        predicted_bytes[at->one - counted->cases] = line_predict(&others, at->x);
        sum = moments_join(&sum, &own);
    }
}

static bool fits_make(const struct counted_cases *counted, const struct abscissa *over, int64_t *predicted_bytes)
{
    size_t count = 0;
    struct point *points = calloc((size_t)counted->count + 1, sizeof *points);
    if (points == NULL) {
        return false;
    }
    for (int index = 0; index < counted->count; index++) {
        const struct counted_case *one = &counted->cases[index];
        int64_t bytes = over->bytes(one);
        predicted_bytes[index] = BYTES_UNKNOWN;
        if (bytes != BYTES_UNKNOWN) {
            points[count++] = (struct point){.one = one, .over = over, .x = (double)bytes};
        }
    }
    qsort(points, count, sizeof *points, point_order);
    for (struct point *begin = points, *at = points; at < points + count;) {
        at++;
        if (at == points + count || over->order(begin->one, at->one) != 0) {
            group_predict(counted, begin, at, predicted_bytes);
            begin = at;
        }
    }
    free(points);
    return true;
}

static int64_t tensor_bytes(const struct counted_case *one)
{
    return one->tensor_bytes;
}

static int device_order(const struct counted_case *a, const struct counted_case *b)
{
    return strcmp(a->device, b->device);
}

bool baseline_affine_tensors(const struct counted_cases *counted, int64_t *predicted_bytes)
{
    static const struct abscissa over = {tensor_bytes, device_order};
    return fits_make(counted, &over, predicted_bytes);
}

/* A case of no mode belongs to nobody, so it has no figure. */
static int64_t weights_bytes(const struct counted_case *one)
{
    return one->view->mode != NULL ? one->weights_bytes : BYTES_UNKNOWN;
}

static int device_and_mode_order(const struct counted_case *a, const struct counted_case *b)
{
    int order = device_order(a, b);
    return order != 0 ? order : strcmp(a->view->mode, b->view->mode);
}

bool baseline_affine_weights(const struct counted_cases *counted, int64_t *predicted_bytes)
{
    static const struct abscissa over = {weights_bytes, device_and_mode_order};
    return fits_make(counted, &over, predicted_bytes);
}

/* Ramp: least squares over sums. Which ramps are tried is here, what they mean is in steps.c. */
#include "harness/history/ramp.h"

#include <math.h>

#include "harness/history/steps.h"

/* Places that a ramp may begin and end at: every night of a year, of longer series every second, third and so on, and
 * then the nights around the best. */
enum { RAMP_PLACES = 400 };

struct ramp_sums {
    double *values, *places, *squares; /* [count + 1]: of x, of place times x, of x times x, of what is before */
};

struct ramp_sums *ramp_sums_make(const double *values, int count, struct arena *arena)
{
    struct ramp_sums *sums = arena_alloc(arena, sizeof *sums);
    double *all = arena_alloc(arena, 3 * ((size_t)count + 1) * sizeof *all);
    if (sums == NULL || all == NULL) {
        return NULL;
    }
    *sums = (struct ramp_sums){all, all + count + 1, all + 2 * (count + 1)};
    for (int at = 0; at < count; at++) {
        sums->values[at + 1] = sums->values[at] + values[at];
        sums->places[at + 1] = sums->places[at] + at * values[at];
        sums->squares[at + 1] = sums->squares[at] + values[at] * values[at];
    }
    return sums;
}

/* One ramp that is tried: its height over the places is h = 0 before from, 1 from `to` on, a line between. */
struct trial {
    double gain; /* of squares */
    double rise;
};

static struct trial ramp_try(const struct ramp_sums *sums, int first, int end, int from, int to)
{
    const double n = end - first, length = to - from, inner = to - from - 1;
    const double *values = sums->values, *places = sums->places;
    /* places from + 1 .. to - 1 have j / length for j = 1 .. inner; those from `to` on 1 */
    const double rest = end - to;
    const double h = inner / 2.0 + rest; /* sum of j / length is inner (inner + 1) / 2 / length = inner / 2 */
    const double hh = inner * (inner + 1.0) * (2.0 * inner + 1.0) / 6.0 / (length * length) + rest;
    const double slope_part =
        (places[to] - places[from + 1]) - (double)from * (values[to] - values[from + 1]); /* of j x */
    const double hx = slope_part / length + (values[end] - values[to]);
    const double x = values[end] - values[first];
    const double spread = hh - h * h / n, shared = hx - h * x / n;
    if (!(spread > 0.0)) {
        return (struct trial){0.0, 0.0};
    }
    return (struct trial){shared * shared / spread, shared / spread};
}

/* What accident gains at most, in squares of the deviation, of a jump alone or any ramp: the best of some hundred
 * trials that depend on each other. The deviation itself is an estimate, a poor one of few nights. Held against noise
 * by tests/history/test_steps. */
static double gain_bound(int count)
{
    const double root = 5.0 + 12.0 / count;
    return root * root;
}

/* A ramp is charged for each of its ends that it may choose: that of more freedom must explain more. */
static double freedom_price(int first, int end, int from, int to)
{
    const double unit = log((double)(end - first));
    const int free_ends = to == from + 1 ? 1 : (from > first ? 1 : 0) + (to < end - 1 ? 1 : 0);
    return unit * free_ends;
}

static void trial_take(const struct ramp_sums *sums, int first, int end, int from, int to, double square,
                       struct ramp *best, double *best_worth)
{
    const struct trial trial = ramp_try(sums, first, end, from, to);
    const double worth = trial.gain / square - freedom_price(first, end, from, to);
    if (worth > *best_worth) {
        *best_worth = worth;
        *best = (struct ramp){from, to, trial.rise, trial.gain / square, false};
    }
}

/* Every stride-th place as either end, and the last night as the other one. */
static void ramps_try(const struct ramp_sums *sums, int first, int end, int stride, double square, struct ramp *best,
                      double *worth)
{
    const int least = stride > DRIFT_NIGHTS_LEAST ? stride : DRIFT_NIGHTS_LEAST;
    for (int from = first; from + DRIFT_NIGHTS_LEAST < end; from += stride) {
        for (int to = from + least; to < end; to += stride) {
            trial_take(sums, first, end, from, to, square, best, worth);
        }
        trial_take(sums, first, end, from, end - 1, square, best, worth);
    }
}

/* Around the best one, ever closer. */
static void ramp_refine(const struct ramp_sums *sums, int first, int end, int stride, double square, struct ramp *best,
                        double *worth)
{
    for (; stride > 0; stride /= 2) {
        const struct ramp middle = *best;
        for (int left = -2; left <= 2; left++) {
            for (int right = -2; right <= 2; right++) {
                const int from = middle.from + left * stride, to = middle.to + right * stride;
                if (from >= first && to < end && to - from >= DRIFT_NIGHTS_LEAST) {
                    trial_take(sums, first, end, from, to, square, best, worth);
                }
            }
        }
    }
}

struct ramp ramp_fit(const struct ramp_sums *sums, int first, int end, double deviation)
{
    const double square = deviation * deviation, bound = gain_bound(end - first);
    struct ramp best = {0};
    double worth = -INFINITY;
    for (int from = first + JUMP_SIDE_NIGHTS - 1; from + JUMP_SIDE_NIGHTS < end; from++) {
        trial_take(sums, first, end, from, from + 1, square, &best, &worth);
    }
    /* a jump explains three quarters of a line, so where no jump comes near the bound no ramp passes it */
    if (best.gain > 0.6 * bound) {
        const int stride = 1 + (end - first - 1) / RAMP_PLACES;
        ramps_try(sums, first, end, stride, square, &best, &worth);
        if (stride > 1) {
            ramp_refine(sums, first, end, stride, square, &best, &worth);
        }
    }
    best.is_found = best.gain > bound;
    return best;
}

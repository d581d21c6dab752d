/* Steps: what the changes of a series mean. The arithmetic of readings is in ramp.c and noise.c. */
#include "harness/history/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/history/noise.h"
#include "harness/history/ramp.h"

static const double certainty_least = 3.29; /* of Mann and Kendall: one in a thousand, on both sides */

const char *step_kind_name(enum step_kind kind)
{
    static const char *const names[] = {"jump", "excursion", "drift"};
    return names[kind];
}

/* A list that grows in an arena. */
struct step_writer {
    struct arena *arena;
    struct step_list *list;
    size_t room;
    bool failed;
};

static void step_add(struct step_writer *writer, struct step step)
{
    struct step_list *list = writer->list;
    struct step *steps =
        arena_array_extend(writer->arena, list->steps, (size_t)list->count, &writer->room, sizeof *steps);
    writer->failed = writer->failed || steps == NULL;
    if (steps != NULL) {
        list->steps = steps;
        steps[list->count++] = step;
    }
}

/* ---- exact series ---- */

/* The last place of the excursion that begins at `at`, or -1: the series is back at the level of at - 1 soon. */
static int excursion_end(const int64_t *bytes, int count, int at)
{
    for (int back = at + 1; back < count && back <= at + EXCURSION_NIGHTS_MOST; back++) {
        if (bytes[back] == bytes[at - 1]) {
            return back - 1;
        }
    }
    return -1;
}

static void exact_find(const int64_t *bytes, int count, struct step_writer *writer)
{
    for (int at = 1; at < count; at++) {
        if (bytes[at] != bytes[at - 1]) {
            const int end = excursion_end(bytes, count, at);
            step_add(writer, (struct step){.kind = end >= 0 ? STEP_EXCURSION : STEP_JUMP,
                                           .from = at - 1,
                                           .to = end >= 0 ? end : at,
                                           .before_bytes = bytes[at - 1],
                                           .after_bytes = bytes[at]});
            at = end >= 0 ? end + 1 : at;
        }
    }
}

static bool changes_often(const int64_t *bytes, int count)
{
    int changes = 0;
    for (int at = 1; at < count; at++) {
        changes += bytes[at] != bytes[at - 1] ? 1 : 0;
    }
    return changes >= 5 && 4 * changes > count;
}

/* ---- readings ---- */

struct reading_series {
    const int64_t *bytes;
    double *values; /* less the first of them, so that squares keep their digits */
    const struct ramp_sums *sums;
    double deviation, least;
    struct step_writer *writer;
};

/* What a drift is: a ramp that is one in the order of the nights, too. */
static bool drift_take(const struct reading_series *series, const struct ramp *ramp)
{
    struct arena arena = {0};
    const double *values = series->values + ramp->from;
    const int count = ramp->to - ramp->from + 1;
    const double slope = trend_slope(values, count, &arena), certainty = trend_certainty(values, count, &arena);
    double *levels = arena_alloc(&arena, (size_t)count * sizeof *levels);
    bool taken = false;
    if (levels == NULL || isnan(slope) || isnan(certainty)) {
        series->writer->failed = true;
    } else if (fabs(certainty) > certainty_least && slope * ramp->rise > 0.0) {
        for (int at = 0; at < count; at++) {
            levels[at] = values[at] - slope * at;
        }
        const double before = (double)series->bytes[0] + values_middle(levels, count);
        step_add(series->writer, (struct step){.kind = STEP_DRIFT,
                                               .from = ramp->from,
                                               .to = ramp->to,
                                               .before_bytes = llround(before),
                                               .after_bytes = llround(before + slope * (count - 1)),
                                               .bytes_per_night = slope});
        taken = true;
    }
    arena_release(&arena);
    return taken;
}

static double middle_of(const struct reading_series *series, int first, int end)
{
    struct arena arena = {0};
    double *values = arena_alloc(&arena, (size_t)(end - first) * sizeof *values), middle = 0.0;
    series->writer->failed = series->writer->failed || values == NULL;
    if (values != NULL) {
        memcpy(values, series->values + first, (size_t)(end - first) * sizeof *values);
        middle = values_middle(values, end - first);
    }
    arena_release(&arena);
    return middle;
}

/* What a jump is: most nights of one side lie elsewhere than most of the other, which a few that stick out do not
 * bring about. Its levels are known when all steps are: levels_settle. */
static bool jump_take(const struct reading_series *series, const struct ramp *ramp, int first, int end)
{
    const double rise = middle_of(series, ramp->to, end) - middle_of(series, first, ramp->to);
    if (rise * ramp->rise <= 0.0 || fabs(rise) < 0.5 * fabs(ramp->rise)) {
        return false;
    }
    step_add(series->writer, (struct step){.kind = STEP_JUMP, .from = ramp->from, .to = ramp->to});
    return true;
}

static bool ramp_take(const struct reading_series *series, const struct ramp *ramp, int first, int end)
{
    if (!ramp->is_found || fabs(ramp->rise) < series->least) {
        return false;
    }
    return ramp->to > ramp->from + 1 ? drift_take(series, ramp) : jump_take(series, ramp, first, end);
}

/* Looks at places first .. end - 1, and at what is beside what it finds, from the left to the right. The depth is that
 * of the steps found, each of which takes nights away. */
static void segment_explain(const struct reading_series *series, int first, int end)
{
    if (end - first < 2 * JUMP_SIDE_NIGHTS) {
        return;
    }
    const struct ramp ramp = ramp_fit(series->sums, first, end, series->deviation);
    if (ramp_take(series, &ramp, first, end)) {
        segment_explain(series, first, ramp.from + 1);
        segment_explain(series, ramp.to, end);
    }
}

static int step_order(const void *left, const void *right)
{
    return ((const struct step *)left)->from - ((const struct step *)right)->from;
}

static void steps_order(struct step_list *list)
{
    if (list->count > 1) {
        qsort(list->steps, (size_t)list->count, sizeof *list->steps, step_order);
    }
}

/* The levels of jumps: medians of the nights up to the steps beside them. */
static void levels_settle(const struct reading_series *series, int count)
{
    struct step_list *list = series->writer->list;
    const double origin = (double)series->bytes[0];
    for (int at = 0; at < list->count; at++) {
        struct step *step = &list->steps[at];
        if (step->kind == STEP_JUMP) {
            const int first = at > 0 ? list->steps[at - 1].to : 0;
            const int end = at + 1 < list->count ? list->steps[at + 1].from + 1 : count;
            step->before_bytes = llround(origin + middle_of(series, first, step->from + 1));
            step->after_bytes = llround(origin + middle_of(series, step->to, end));
        }
    }
}

static void reading_find(const int64_t *bytes, int count, const struct step_rule *rule, struct step_writer *writer)
{
    struct arena arena = {0};
    double *values = arena_alloc(&arena, (size_t)count * sizeof *values);
    double *clean = arena_alloc(&arena, (size_t)count * sizeof *clean);
    if (values == NULL || clean == NULL) {
        writer->failed = true;
        arena_release(&arena);
        return;
    }
    for (int at = 0; at < count; at++) {
        values[at] = (double)(bytes[at] - bytes[0]);
    }
    struct reading_series series = {
        .bytes = bytes, .values = values, .least = (double)rule->least_bytes, .writer = writer};
    series.deviation = noise_deviation(values, count, (double)rule->noise_bytes, &arena);
    if (series.deviation > 0.0) {
        noise_clean(values, count, series.deviation, clean);
        series.sums = ramp_sums_make(clean, count, &arena);
    }
    if (series.sums == NULL) {
        writer->failed = true;
    } else {
        segment_explain(&series, 0, count);
        steps_order(writer->list);
        levels_settle(&series, count);
    }
    arena_release(&arena);
}

bool steps_find(const int64_t *bytes, int count, const struct step_rule *rule, struct arena *arena,
                struct step_list *list)
{
    *list = (struct step_list){.is_unsteady = rule->is_exact && changes_often(bytes, count)};
    struct step_writer writer = {.arena = arena, .list = list};
    if (rule->is_exact && !list->is_unsteady) {
        exact_find(bytes, count, &writer);
    } else if (count >= 2 * JUMP_SIDE_NIGHTS) {
        reading_find(bytes, count, rule, &writer);
    }
    return !writer.failed;
}

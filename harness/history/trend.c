/* Trend: from the rows of a history to series, and from these to steps. What is shown of them is in trend_page.c. */
#include "harness/history/trend.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/history/trend_rows.h"

bool nights_differ(const struct history_run *before, const struct history_run *after, enum environment property)
{
    const char *left = before->environment[property], *right = after->environment[property];
    return left != NULL && right != NULL && strcmp(left, right) != 0;
}

/* ---- steps ---- */

struct step_search {
    struct trend *trend;
    struct trend_group *group;
    struct arena scratch;
    int64_t *bytes; /* [night_count] of the series */
    int *nights;    /* of which night each is */
    int *jumps;     /* [night_count + 2] by night, from 1: the counted jump to it, as its place in the steps and one */
    size_t room;
    bool failed;
};

static int values_gather(const struct step_search *search, const struct trend_series *series, enum level level)
{
    int count = 0;
    for (int at = 0; at < series->count; at++) {
        if (series->points[at].bytes[level] >= 0) {
            search->bytes[count] = series->points[at].bytes[level];
            search->nights[count++] = series->points[at].night;
        }
    }
    return count;
}

static void step_keep(struct step_search *search, const struct trend_series *series, enum level level,
                      const struct step *step)
{
    struct trend_group *group = search->group;
    struct trend_step *steps = arena_array_extend(&search->trend->arena, group->steps, (size_t)group->step_count,
                                                  &search->room, sizeof *steps);
    search->failed = search->failed || steps == NULL;
    if (steps == NULL) {
        return;
    }
    struct trend_step *kept = &steps[group->step_count++];
    group->steps = steps;
    *kept = (struct trend_step){.step = *step, .level = level, .series = series};
    kept->step.from = search->nights[step->from];
    kept->step.to = search->nights[step->to];
    kept->share =
        step->before_bytes > 0 ? (double)(step->after_bytes - step->before_bytes) / (double)step->before_bytes : 0.0;
}

/* The counted jump to this night or to one beside it; NULL: none. */
static const struct trend_step *jump_beside(const struct step_search *search, int night)
{
    const int places[] = {search->jumps[night + 1], search->jumps[night], search->jumps[night + 2]};
    for (int at = 0; at < 3; at++) {
        if (places[at] > 0) {
            return &search->group->steps[places[at] - 1];
        }
    }
    return NULL;
}

/* A reading's jump takes the night of a counted level's that is beside it. */
static void jumps_align(struct step_search *search, int first)
{
    struct trend_group *group = search->group;
    for (int at = first; at < group->step_count; at++) {
        struct trend_step *one = &group->steps[at];
        const bool is_reading = level_is_reading(one->level);
        const struct trend_step *counted =
            is_reading && one->step.kind == STEP_JUMP ? jump_beside(search, one->step.to) : NULL;
        if (counted != NULL) {
            one->step.from = counted->step.from;
            one->step.to = counted->step.to;
        } else if (!is_reading && one->step.kind == STEP_JUMP) {
            search->jumps[one->step.to + 1] = at + 1;
        }
    }
    for (int at = first; at < group->step_count; at++) {
        search->jumps[group->steps[at].step.to + 1] = 0;
    }
}

static void series_search(struct step_search *search, struct trend_series *series)
{
    const int first = search->group->step_count;
    for (int level = 0; level < LEVEL_COUNT && !search->failed; level++) {
        if (!search->trend->request.levels[level]) {
            continue;
        }
        const struct step_rule rule = level_is_reading((enum level)level) ? STEP_RULE_READING : STEP_RULE_EXACT;
        const int count = values_gather(search, series, (enum level)level);
        struct step_list list;
        search->failed = !steps_find(search->bytes, count, &rule, &search->scratch, &list);
        for (int at = 0; at < list.count && !search->failed; at++) {
            step_keep(search, series, (enum level)level, &list.steps[at]);
        }
        search->group->unsteady_count += list.is_unsteady ? 1 : 0;
        arena_release(&search->scratch);
    }
    if (!search->failed) {
        jumps_align(search, first);
    }
    series->has_step = search->group->step_count > first;
}

/* ---- events ---- */

/* Drifts are one event. */
static int event_order_of(const struct trend_step *a, const struct trend_step *b)
{
    const bool a_drifts = a->step.kind == STEP_DRIFT, b_drifts = b->step.kind == STEP_DRIFT;
    if (a_drifts || b_drifts) {
        return (int)b_drifts - (int)a_drifts;
    }
    if (a->step.to != b->step.to) {
        return b->step.to - a->step.to;
    }
    return a->step.from != b->step.from ? b->step.from - a->step.from : (int)a->step.kind - (int)b->step.kind;
}

static int step_order(const void *left, const void *right)
{
    const struct trend_step *a = left, *b = right;
    const int order = event_order_of(a, b);
    const double a_size = fabs(a->share), b_size = fabs(b->share);
    if (order != 0 || a_size > b_size || a_size < b_size) {
        return order != 0 ? order : a_size > b_size ? -1 : 1;
    }
    const int names = strcmp(a->series->id, b->series->id);
    return names != 0 ? names : (int)a->level - (int)b->level;
}

static bool events_make(struct trend *trend, struct trend_group *group)
{
    size_t room = 0;
    if (group->step_count > 0) {
        qsort(group->steps, (size_t)group->step_count, sizeof *group->steps, step_order);
    }
    for (int first = 0; first < group->step_count;) {
        struct trend_event *events =
            arena_array_extend(&trend->arena, group->events, (size_t)group->event_count, &room, sizeof *events);
        if (events == NULL) {
            return false;
        }
        group->events = events;
        const struct step *step = &group->steps[first].step;
        struct trend_event event = {&group->steps[first], 0, step->kind, step->from, step->to};
        for (; first < group->step_count && event_order_of(event.steps, &group->steps[first]) == 0; first++) {
            step = &group->steps[first].step;
            event.from = step->from < event.from ? step->from : event.from;
            event.to = step->to > event.to ? step->to : event.to;
            event.count++;
        }
        events[group->event_count++] = event;
    }
    return true;
}

static bool group_search(struct trend *trend, struct trend_group *group)
{
    struct step_search search = {.trend = trend, .group = group};
    const size_t nights = (size_t)group->night_count + 1;
    search.bytes = calloc(nights, sizeof *search.bytes);
    search.nights = calloc(nights, sizeof *search.nights);
    search.jumps = calloc(nights + 1, sizeof *search.jumps);
    search.failed = search.bytes == NULL || search.nights == NULL || search.jumps == NULL;
    for (int at = 0; at < group->series_count && !search.failed; at++) {
        series_search(&search, &group->series[at]);
    }
    arena_release(&search.scratch);
    free(search.bytes);
    free(search.nights);
    free(search.jumps);
    return !search.failed && events_make(trend, group);
}

enum status_code trend_make(struct history *history, const struct trend_request *request, struct trend *trend,
                            struct status *error)
{
    *trend = (struct trend){.request = *request};
    trend->request.nights = request->nights > 0 ? request->nights : TREND_NIGHTS_DEFAULT;
    trend->source = arena_copy(&trend->arena, history_path(history));
    enum status_code code = trend_rows_read(history, trend, error);
    bool made = trend->source != NULL;
    for (int at = 0; at < trend->group_count && code == STATUS_OK && made; at++) {
        made = group_search(trend, &trend->groups[at]);
    }
    return code == STATUS_OK && !made ? status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the steps of a history")
                                      : code;
}

/* The place of the night that was accepted last; -1: none was. */
static int accepted_night(const struct trend_group *group)
{
    int found = -1;
    for (int night = 0; night < group->night_count; night++) {
        found = group->nights[night].accepted_by != NULL ? night : found;
    }
    return found;
}

int trend_rises(const struct trend *trend, const struct trend_step **worst)
{
    int count = 0;
    *worst = NULL;
    for (int at = 0; at < trend->group_count; at++) {
        const struct trend_group *group = &trend->groups[at];
        const int accepted = accepted_night(group);
        for (int number = 0; number < group->step_count; number++) {
            const struct trend_step *one = &group->steps[number];
            const bool is_rise = one->step.kind != STEP_EXCURSION && one->step.to > accepted &&
                                 one->step.after_bytes > one->step.before_bytes;
            count += is_rise ? 1 : 0;
            *worst = is_rise && (*worst == NULL || one->share > (*worst)->share) ? one : *worst;
        }
    }
    return count;
}

void trend_release(struct trend *trend)
{
    arena_release(&trend->arena);
    *trend = (struct trend){0};
}

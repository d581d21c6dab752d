/* Gate baseline: several sorted lists of cases joined into one, with medians. Judges nothing. */
#include "harness/gate/gate_baseline.h"

#include <stdlib.h>
#include <string.h>

/* The runs from the oldest to the newest, and how far each is read. */
struct joining {
    const struct run_figures *runs[GATE_BASELINES_MAXIMUM];
    int at[GATE_BASELINES_MAXIMUM];
    int count;
    struct run_figures *merged;
};

/* By when they began; what began at once by its id and its place, so that the order in which they came says nothing. */
static int age_order(const void *left, const void *right)
{
    const struct run_figures *const *a = left, *const *b = right;
    int order = strcmp((*a)->started, (*b)->started);
    order = order != 0 ? order : strcmp((*a)->run_id, (*b)->run_id);
    return order != 0 ? order : strcmp((*a)->source, (*b)->source);
}

static int bytes_order(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b ? 1 : 0;
}

static int64_t median_of(int64_t *values, int count)
{
    if (count == 0) {
        return FIGURE_BYTES_UNKNOWN;
    }
    qsort(values, (size_t)count, sizeof *values, bytes_order);
    return values[(count - 1) / 2];
}

/* ---- one case ---- */

/* The case of the lowest id that is not taken yet, of every run that has it: NULL where one has it not. */
static const char *next_take(struct joining *joining, const struct case_figures *found[GATE_BASELINES_MAXIMUM])
{
    const char *lowest = NULL;
    for (int i = 0; i < joining->count; i++) {
        const struct run_figures *run = joining->runs[i];
        found[i] = joining->at[i] < run->case_count ? &run->cases[joining->at[i]] : NULL;
        if (found[i] != NULL && (lowest == NULL || strcmp(found[i]->id, lowest) < 0)) {
            lowest = found[i]->id;
        }
    }
    for (int i = 0; i < joining->count; i++) {
        const bool has = found[i] != NULL && strcmp(found[i]->id, lowest) == 0;
        found[i] = has ? found[i] : NULL;
        joining->at[i] += has ? 1 : 0;
    }
    return lowest;
}

static int64_t level_median(const struct joining *joining, const struct case_figures *const *found, int level,
                            bool predicted)
{
    int64_t values[GATE_BASELINES_MAXIMUM];
    int count = 0;
    for (int i = 0; i < joining->count; i++) {
        const struct case_figures *one = found[i];
        const bool counts = one != NULL && (predicted || !level_is_reading((enum level)level) || !one->invalid);
        const int64_t bytes = !counts     ? FIGURE_BYTES_UNKNOWN
                              : predicted ? one->predicted.of[level]
                                          : one->measured.of[level];
        if (bytes != FIGURE_BYTES_UNKNOWN) {
            values[count++] = bytes;
        }
    }
    return median_of(values, count);
}

static int64_t level_spread(const struct joining *joining, const struct case_figures *const *found, int level)
{
    int64_t widest = FIGURE_BYTES_UNKNOWN;
    for (int i = 0; i < joining->count; i++) {
        const int64_t bytes = found[i] != NULL ? found[i]->spread.of[level] : FIGURE_BYTES_UNKNOWN;
        widest = bytes > widest ? bytes : widest;
    }
    return widest;
}

static struct case_figures case_join(const struct joining *joining, const struct case_figures *const *found)
{
    const struct case_figures *newest = NULL;
    bool all_invalid = true;
    for (int i = joining->count - 1; i >= 0; i--) {
        const struct case_figures *one = found[i];
        const bool better =
            one != NULL && (newest == NULL || (case_figures_measured(one) && !case_figures_measured(newest)));
        newest = better ? one : newest;
        all_invalid = all_invalid && (one == NULL || !case_figures_measured(one) || one->invalid);
    }
    struct case_figures joined = {0};
    if (newest == NULL) { /* a case is joined if one of them has it */
        return joined;
    }
    joined = *newest;
    joined.invalid = newest->invalid && all_invalid;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        joined.measured.of[level] = level_median(joining, found, level, false);
        joined.predicted.of[level] = level_median(joining, found, level, true);
        joined.spread.of[level] = level_spread(joining, found, level);
    }
    return joined;
}

/* ---- what they were measured under ---- */

static int text_order(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static bool property_join(struct joining *joining, int property)
{
    const char *values[GATE_BASELINES_MAXIMUM] = {NULL};
    struct text text = {0};
    int count = 0;
    for (int i = 0; i < joining->count; i++) {
        const char *value = joining->runs[i]->environment[property];
        if (value != NULL) {
            values[count++] = value;
        }
    }
    qsort(values, (size_t)count, sizeof values[0], text_order);
    for (int i = 0; i < count; i++) {
        if (i == 0 || strcmp(values[i], values[i - 1]) != 0) {
            text_format(&text, "%s%s", text.length > 0 ? ", " : "", values[i]);
        }
    }
    bool made = !text.failed;
    if (made && count > 0) {
        joining->merged->environment[property] = arena_copy(&joining->merged->arena, text_string(&text));
        made = joining->merged->environment[property] != NULL;
    }
    text_release(&text);
    return made;
}

static void head_join(struct joining *joining)
{
    const struct run_figures *newest = joining->runs[joining->count - 1];
    struct run_figures *merged = joining->merged;
    merged->source = newest->source;
    merged->run_id = newest->run_id;
    merged->started = newest->started;
    merged->suite_path = newest->suite_path;
    merged->notes = "";
    merged->ended = true;
    for (int i = 0; i < joining->count; i++) {
        merged->ended = merged->ended && joining->runs[i]->ended;
    }
}

enum status_code gate_baseline_room(int count, struct status *error)
{
    return count < GATE_BASELINES_MAXIMUM
               ? STATUS_OK
               : status_set(error, STATUS_INVALID, "a baseline has more than %d runs; give fewer",
                            GATE_BASELINES_MAXIMUM);
}

enum status_code gate_baseline_make(const struct run_figures *const *runs, int count, struct run_figures *merged,
                                    struct status *error)
{
    struct joining joining = {.count = count, .merged = merged};
    const struct case_figures *found[GATE_BASELINES_MAXIMUM];
    *merged = (struct run_figures){0};
    memcpy(joining.runs, runs, (size_t)count * sizeof joining.runs[0]);
    qsort(joining.runs, (size_t)count, sizeof joining.runs[0], age_order);
    head_join(&joining);
    /* Most cases are in every run: the list is as long as the ids are different. */
    size_t ids = 0;
    while (next_take(&joining, found) != NULL) {
        ids++;
    }
    memset(joining.at, 0, sizeof joining.at);
    merged->cases = arena_alloc(&merged->arena, ids * sizeof *merged->cases);
    bool made = merged->cases != NULL;
    for (int property = 0; made && property < ENVIRONMENT_COUNT; property++) {
        made = property_join(&joining, property);
    }
    while (made && next_take(&joining, found) != NULL) {
        merged->cases[merged->case_count++] = case_join(&joining, found);
    }
    return made ? STATUS_OK : status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a baseline of %zu cases", ids);
}

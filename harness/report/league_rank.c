/* Ranking: the figures of the estimators over the cases of one scope, and their order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/league_view.h"
#include "harness/report/percentile.h"
#include "harness/report/proof_rates.h"

const char *league_case_mode(const struct counted_case *one)
{
    return one->view->mode != NULL ? one->view->mode : "unknown";
}

bool league_scope_has(const struct league_scope *scope, const struct counted_case *one)
{
    switch (scope->kind) {
    case SCOPE_ALL:
        return true;
    case SCOPE_MODE:
        return strcmp(league_case_mode(one), scope->name) == 0;
    case SCOPE_FAMILY:
        return strcmp(one->family, scope->name) == 0;
    }
    return false;
}

static const double within_limit = 0.05;

/* The magnitudes of sorted errors, sorted: of those below 0 and of those above, from the middle outwards. */
static void magnitudes_merge(const double *errors, int count, double *magnitudes)
{
    int above = 0;
    while (above < count && errors[above] < 0.0) {
        above++;
    }
    int below = above - 1;
    for (int at = 0; at < count; at++) {
        bool from_below = above == count || (below >= 0 && -errors[below] <= errors[above]);
        magnitudes[at] = fabs(from_below ? errors[below--] : errors[above++]);
    }
}

/* Over the cases that `chosen` marks; errors and magnitudes: room for all of them. */
static struct league_figures figures_of(const struct league *league, int estimator, const bool *chosen, double *errors,
                                        double *magnitudes)
{
    struct league_figures figures = {0};
    double sum = 0.0;
    for (int at = 0; at < league->counted.count; at++) {
        double error = league->estimators[estimator].errors[at];
        if (!chosen[at] || isnan(error)) {
            continue;
        }
        double magnitude = fabs(error);
        const struct proof_limit *limit =
            proof_limit_of(league->counted.cases[at].view->proof, league->estimators[estimator].name);
        figures.proved_count += limit != NULL && limit->outcome != PROOF_UNKNOWN ? 1 : 0;
        figures.safe_count += limit != NULL && limit->outcome == PROOF_RUNS ? 1 : 0;
        if (magnitude > fabs(figures.worst)) {
            figures.worst = error;
            figures.worst_case = league->counted.cases[at].view->label;
        }
        figures.under_count += error < 0.0 ? 1 : 0;
        figures.within_count += magnitude <= within_limit ? 1 : 0;
        errors[figures.case_count++] = error;
    }
    if (figures.case_count > 0) {
        values_sort(errors, figures.case_count); /* so that the sum is the same in whatever order the cases stand */
        for (int at = 0; at < figures.case_count; at++) {
            sum += errors[at];
        }
        figures.bias = sum / figures.case_count;
        magnitudes_merge(errors, figures.case_count, magnitudes);
        figures.median = values_percentile(magnitudes, figures.case_count, 0.5);
        figures.p90 = values_percentile(magnitudes, figures.case_count, 0.9);
    }
    return figures;
}

static int value_order(double a, double b)
{
    return (a > b) - (a < b);
}

/* By what decides a rank alone. */
static int merit_order(const struct league_row *a, const struct league_row *b)
{
    int order = value_order(a->all.median, b->all.median);
    order = order != 0 ? order : value_order(a->all.p90, b->all.p90);
    return order != 0 ? order : value_order(fabs(a->all.worst), fabs(b->all.worst));
}

static int row_order(const void *left, const void *right)
{
    const struct league_row *a = left, *b = right;
    int order = (a->few || a->partial) - (b->few || b->partial);
    order = order != 0 ? order : merit_order(a, b);
    return order != 0 ? order : a->estimator - b->estimator;
}

static void ranks_give(struct league_scope *scope)
{
    qsort(scope->rows, (size_t)scope->row_count, sizeof *scope->rows, row_order);
    for (int index = 0; index < scope->row_count; index++) {
        struct league_row *row = &scope->rows[index];
        if (!row->few && !row->partial) {
            bool equal = index > 0 && merit_order(&scope->rows[index - 1], row) == 0;
            row->rank = equal ? scope->rows[index - 1].rank : index + 1;
            if (equal) {
                row->is_shared = scope->rows[index - 1].is_shared = true;
            }
        }
    }
}

/* Keeps the marks of the cases that all ranked rows answer. */
static void common_choose(const struct league *league, struct league_scope *scope, bool *chosen)
{
    bool any_ranked = scope->row_count > 0 && scope->rows[0].rank > 0;
    scope->common_count = 0;
    for (int at = 0; at < league->counted.count; at++) {
        for (int index = 0; index < scope->row_count && scope->rows[index].rank > 0; index++) {
            chosen[at] = chosen[at] && !isnan(league->estimators[scope->rows[index].estimator].errors[at]);
        }
        chosen[at] = chosen[at] && any_ranked;
        scope->common_count += chosen[at] ? 1 : 0;
    }
}

bool league_scope_make(struct league *league, struct league_scope *scope)
{
    size_t count = (size_t)league->counted.count + 1;
    bool *chosen = calloc(count, sizeof *chosen);
    double *errors = calloc(count, sizeof *errors), *magnitudes = calloc(count, sizeof *magnitudes);
    scope->rows = arena_alloc(&league->arena, (size_t)league->estimator_count * sizeof *scope->rows);
    bool made = chosen != NULL && errors != NULL && magnitudes != NULL && scope->rows != NULL;
    for (int at = 0; made && at < league->counted.count; at++) {
        chosen[at] = league_scope_has(scope, &league->counted.cases[at]);
        scope->case_count += chosen[at] ? 1 : 0;
    }
    for (int index = 0; made && index < league->estimator_count; index++) {
        struct league_row row = {.estimator = index};
        row.all = figures_of(league, index, chosen, errors, magnitudes);
        row.few = row.all.case_count < LEAGUE_FEW;
        row.partial = row.all.case_count < scope->case_count - row.all.case_count;
        if (row.all.case_count > 0) {
            scope->rows[scope->row_count++] = row;
        }
    }
    if (made) {
        ranks_give(scope);
        common_choose(league, scope, chosen);
    }
    for (int index = 0; made && index < scope->row_count && scope->rows[index].rank > 0; index++) {
        scope->rows[index].common = figures_of(league, scope->rows[index].estimator, chosen, errors, magnitudes);
    }
    free(chosen);
    free(errors);
    free(magnitudes);
    return made;
}

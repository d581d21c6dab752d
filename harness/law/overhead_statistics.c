/* Overhead statistics: predictions, errors summed up, and draws of models. */
#include <math.h>
#include <stdlib.h>

#include "harness/law/overhead_law.h"
#include "harness/report/percentile.h"

int64_t overhead_measured(const struct law_point *point, enum overhead_level level)
{
    return level == OVERHEAD_ALLOCATED ? point->allocated_bytes : point->footprint_bytes;
}

double overhead_predict(const struct law_point *point, const double coefficients[TERM_COUNT], double allocator_bytes,
                        enum overhead_moment *moment)
{
    struct overhead_row row;
    overhead_row_make(point, PART_WHOLE, &row);
    return (double)point->weights_bytes + overhead_row_value(&row, coefficients, moment) + allocator_bytes;
}

/* ---- statistics ---- */

struct error_summary error_summary_make(const double *errors, int count, double *room)
{
    struct error_summary summary = {0};
    int under = 0;
    for (int at = 0; at < count; at++) {
        if (!isnan(errors[at])) {
            room[summary.count++] = errors[at];
            under += errors[at] < 0.0;
        }
    }
    if (summary.count == 0) {
        return summary;
    }
    summary.under = (double)under / summary.count;
    summary.bias = values_median(room, summary.count);
    for (int at = 0; at < summary.count; at++) {
        room[at] = fabs(room[at]);
    }
    values_sort(room, summary.count);
    summary.median = values_percentile(room, summary.count, 0.5);
    summary.p90 = values_percentile(room, summary.count, 0.9);
    summary.p99 = summary.count < P99_CASES_MINIMUM ? NAN : values_percentile(room, summary.count, 0.99);
    summary.worst = room[summary.count - 1];
    return summary;
}

/* Steele, Lea and Flood's splitmix64. */
static uint64_t random_next(uint64_t *state)
{
    uint64_t word = *state += 0x9e3779b97f4a7c15u;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
    word = (word ^ word >> 27) * 0x94d049bb133111ebu;
    return word ^ word >> 31;
}

void models_draw(uint64_t *state, double *weights, const int *models, int count)
{
    for (int at = 0; at < count; at++) {
        weights[models[at]] = 0.0;
    }
    for (int at = 0; at < count; at++) {
        weights[models[random_next(state) % (uint64_t)count]] += 1.0;
    }
}

bool cluster_draw_open(const struct overhead_law *law, const int *models, int model_count, struct cluster_draw *draw)
{
    *draw = (struct cluster_draw){.law = law, .models = models, .model_count = model_count};
    draw->clusters = calloc((size_t)law->cluster_count + 1, sizeof *draw->clusters);
    draw->weights = calloc((size_t)law->cluster_count + 1, sizeof *draw->weights);
    if (draw->clusters == NULL || draw->weights == NULL) {
        return false;
    }
    for (int at = 0; at < model_count; at++) {
        int cluster = law->cluster_of_model[models[at]];
        if (draw->weights[cluster] == 0.0) {
            draw->weights[cluster] = 1.0; /* it has been seen */
            draw->clusters[draw->count++] = cluster;
        }
    }
    return true;
}

void cluster_draw_close(struct cluster_draw *draw)
{
    free(draw->clusters);
    free(draw->weights);
}

void cluster_draw_next(const struct cluster_draw *draw, uint64_t *state, double *weights)
{
    models_draw(state, draw->weights, draw->clusters, draw->count);
    for (int at = 0; at < draw->model_count; at++) {
        weights[draw->models[at]] = draw->weights[draw->law->cluster_of_model[draw->models[at]]];
    }
}

struct interval interval_of(double *values, int count, int resample_count, int model_count)
{
    if (count == 0 || 2 * count < resample_count || model_count < MODELS_MINIMUM) {
        return (struct interval){.is_known = false};
    }
    values_sort(values, count);
    return (struct interval){values_percentile(values, count, 0.025), values_percentile(values, count, 0.975), true};
}

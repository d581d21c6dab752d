/* The structural form: its rows, its fits with a model left out, its intervals, and the context on top of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/law/gram.h"
#include "harness/law/overhead_law.h"
#include "harness/report/percentile.h"

#define MEBIBYTE 1048576.0

/* The rows of a kind, and room for what is done with them. */
struct bench {
    struct overhead_law *law;
    const struct least_squares_solver *solver;
    struct fit_rows *ready; /* of the kind at hand; NULL: none */
    double *weights;        /* by model */
    double *values;         /* as many as points, or resamples */
};

static void row_add(struct fit_row *row, const struct law_point *point, int model, enum overhead_part part,
                    int64_t peak)
{
    overhead_row_make(point, part, &row->row);
    row->model = model;
    row->peak_bytes = (double)peak;
    row->beside_bytes = (double)(peak - point->weights_bytes);
}

/* Stages that are known apart are rows of their own; requested bytes where they are known, because what the allocator
 * rounds up is no tensor's. */
static enum status_code rows_make(struct bench *bench, const struct overhead_group *kind, struct status *error)
{
    struct fit_row *rows = calloc(2 * (size_t)kind->point_count + 1, sizeof *rows);
    int count = 0;
    fit_rows_close(bench->ready);
    bench->ready = NULL;
    if (rows == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
    }
    for (int i = 0; i < kind->point_count; i++) {
        const struct law_point *point = &bench->law->points->all[kind->points[i]];
        int model = bench->law->model_of_point[kind->points[i]];
        if (point->pass_bytes > 0) {
            row_add(&rows[count++], point, model, PART_PASS, point->pass_bytes);
        }
        if (point->decode_bytes > 0) {
            row_add(&rows[count++], point, model, PART_DECODE, point->decode_bytes);
        }
        if (point->pass_bytes <= 0 && point->decode_bytes <= 0) {
            row_add(&rows[count++], point, model, PART_WHOLE, point->allocated_bytes);
        }
    }
    enum status_code code = fit_rows_open(rows, count, &bench->ready, error);
    free(rows);
    return code;
}

static int64_t requested_of(const struct law_point *point)
{
    return point->pass_bytes > point->decode_bytes ? point->pass_bytes : point->decode_bytes;
}

/* The median of what the allocator rounds up, over points of models with a weight. */
static double allocator_bytes(const struct bench *bench, const struct overhead_group *kind)
{
    int count = 0;
    for (int i = 0; i < kind->point_count; i++) {
        const struct law_point *point = &bench->law->points->all[kind->points[i]];
        if (bench->weights[bench->law->model_of_point[kind->points[i]]] > 0.0 && requested_of(point) > 0) {
            bench->values[count++] = (double)(point->allocated_bytes - requested_of(point));
        }
    }
    return count > 0 ? values_median(bench->values, count) : 0.0;
}

static void weights_set(const struct bench *bench, const struct overhead_group *kind, double weight)
{
    for (int i = 0; i < kind->model_count; i++) {
        bench->weights[kind->models[i]] = weight;
    }
}

static enum status_code fit_make(const struct bench *bench, const double *start, bool with_counts,
                                 struct overhead_fit *fit, struct status *error)
{
    return overhead_fit_make(bench->solver, bench->ready, bench->weights, start, with_counts, fit, error);
}

/* The error of a point by the models but its own; NaN: they do not tell what its highest moment adds up to, by their
 * law or by that of all models. */
static double error_without(const struct overhead_group *kind, const struct law_point *point,
                            const struct overhead_fit *fit, double rounded_bytes)
{
    struct overhead_row row;
    enum overhead_moment highest = MOMENT_FEED, by_all = MOMENT_FEED;
    double measured = (double)point->allocated_bytes;
    overhead_row_make(point, PART_WHOLE, &row);
    double bytes = (double)point->weights_bytes + overhead_row_value(&row, fit->coefficients, &highest) + rounded_bytes;
    overhead_row_value(&row, kind->fit.coefficients, &by_all);
    return overhead_fit_tells_moment(fit, &row, highest) && overhead_fit_tells_moment(fit, &row, by_all)
               ? (bytes - measured) / measured
               : NAN;
}

/* Each model of the kind is predicted by the others. */
static enum status_code kind_cross_validate(const struct bench *bench, struct overhead_group *kind,
                                            struct status *error)
{
    struct overhead_law *law = bench->law;
    enum status_code code = STATUS_OK;
    struct overhead_fit fit;
    for (int left_out = 0; left_out < kind->model_count && code == STATUS_OK; left_out++) {
        int model = kind->models[left_out];
        weights_set(bench, kind, 1.0);
        bench->weights[model] = 0.0;
        code = fit_make(bench, NULL, false, &fit, error);
        double rounded = allocator_bytes(bench, kind);
        for (int i = 0; i < kind->point_count && code == STATUS_OK; i++) {
            int place = kind->points[i];
            if (law->model_of_point[place] == model) {
                double off = error_without(kind, &law->points->all[place], &fit, rounded);
                law->errors[OVERHEAD_ALLOCATED][FORM_STRUCTURAL][place] = off;
                law->untold_count += isnan(off);
            }
        }
    }
    return code;
}

/* Models are drawn with replacement, and the law is fitted anew from where it is. A draw counts for the coefficients
 * that it tells. */
static enum status_code kind_resample(const struct bench *bench, struct overhead_group *kind, uint64_t *state,
                                      struct status *error)
{
    int count = bench->law->resample_count;
    enum status_code code = STATUS_OK;
    struct overhead_fit fit;
    double *drawn = calloc((size_t)(count + 1) * TERM_COUNT, sizeof *drawn);
    if (drawn == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the intervals of a law");
    }
    for (int i = 0; i < count && code == STATUS_OK; i++) {
        models_draw(state, bench->weights, kind->models, kind->model_count);
        code = fit_make(bench, kind->fit.coefficients, false, &fit, error);
        for (int term = 0; term < TERM_COUNT && code == STATUS_OK; term++) {
            if (overhead_fit_tells(&fit, term)) {
                drawn[(size_t)term * (size_t)count + (size_t)kind->told_resamples[term]++] = fit.coefficients[term];
            }
        }
    }
    for (int term = 0; term < TERM_COUNT && code == STATUS_OK; term++) {
        int model_count = overhead_fit_tells(&kind->fit, term) ? kind->fit.model_counts[term] : 0;
        kind->spread[term] =
            interval_of(drawn + (size_t)term * (size_t)count, kind->told_resamples[term], count, model_count);
    }
    free(drawn);
    return code;
}

static enum status_code kind_make(struct bench *bench, struct overhead_group *kind, uint64_t *state,
                                  struct status *error)
{
    if (!kind->has_terms) {
        return STATUS_OK;
    }
    enum status_code code = rows_make(bench, kind, error);
    weights_set(bench, kind, 1.0);
    code = code == STATUS_OK ? fit_make(bench, NULL, true, &kind->fit, error) : code;
    kind->allocator_bytes = allocator_bytes(bench, kind);
    code = code == STATUS_OK && kind->counts ? kind_cross_validate(bench, kind, error) : code;
    return code == STATUS_OK ? kind_resample(bench, kind, state, error) : code;
}

static bool bench_open(struct bench *bench, struct overhead_law *law, const struct least_squares_solver *solver)
{
    size_t count = (size_t)law->points->count + 1;
    *bench = (struct bench){.law = law, .solver = solver};
    bench->weights = calloc((size_t)law->model_count + 1, sizeof *bench->weights);
    bench->values = calloc(count, sizeof *bench->values);
    return bench->weights != NULL && bench->values != NULL;
}

static void bench_close(struct bench *bench)
{
    fit_rows_close(bench->ready);
    free(bench->weights);
    free(bench->values);
}

enum status_code overhead_group_fit(struct overhead_law *law, const struct least_squares_solver *solver,
                                    const struct overhead_group *group, int without, struct overhead_fit *fit,
                                    double *rounded_bytes, struct status *error)
{
    struct bench bench;
    enum status_code code = STATUS_OK;
    if (!bench_open(&bench, law, solver)) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
    }
    if (code == STATUS_OK) {
        code = rows_make(&bench, group, error);
        weights_set(&bench, group, 1.0);
        bench.weights[without] = 0.0;
    }
    if (code == STATUS_OK) {
        code = fit_make(&bench, NULL, false, fit, error);
        *rounded_bytes = allocator_bytes(&bench, group);
    }
    bench_close(&bench);
    return code;
}

/* ---- the context ---- */

/* Whether a point is measured as those of the kind, and out of sample predicted. */
static bool is_beside(const struct overhead_law *law, const struct overhead_group *kind, int place)
{
    const struct law_point *point = &law->points->all[place];
    return point->footprint_bytes > 0 && !isnan(law->errors[OVERHEAD_ALLOCATED][FORM_STRUCTURAL][place]) &&
           strcmp(point->target, kind->target) == 0 && strcmp(point->program, kind->program) == 0;
}

static double predicted_at(const struct overhead_law *law, int place)
{
    return (1.0 + law->errors[OVERHEAD_ALLOCATED][FORM_STRUCTURAL][place]) *
           (double)law->points->all[place].allocated_bytes;
}

/* footprint = context[0] + context[1] x predicted, of the device of kind; without a model (-1: with all). */
static enum status_code context_fit(const struct bench *bench, const struct overhead_group *kind, int without,
                                    double context[2], struct status *error)
{
    static const int columns[] = {0, 1};
    const struct overhead_law *law = bench->law;
    struct gram sums = gram_empty(2);
    struct gram_rows rows;
    struct least_squares solved;
    int count = 0;
    for (int place = 0; place < law->points->count; place++) {
        if (law->model_of_point[place] != without && is_beside(law, kind, place)) {
            double measured = (double)law->points->all[place].footprint_bytes;
            const double values[] = {MEBIBYTE / measured, predicted_at(law, place) / measured, 1.0};
            gram_rows_add(&sums, columns, 2, values, 1);
            count++;
        }
    }
    context[0] = context[1] = NAN;
    if (count == 0) {
        return STATUS_OK;
    }
    gram_rows_make(&sums, &rows);
    enum status_code code = least_squares_solve(bench->solver, &rows.problem, &solved, error);
    if (code == STATUS_OK) {
        context[0] = solved.solution[0] * MEBIBYTE;
        context[1] = solved.solution[1];
    }
    return code;
}

static enum status_code context_make(const struct bench *bench, struct overhead_group *kind, struct status *error)
{
    struct overhead_law *law = bench->law;
    double context[2];
    enum status_code code = context_fit(bench, kind, -1, kind->context, error);
    for (int i = 0; i < kind->model_count && kind->counts && code == STATUS_OK; i++) {
        code = context_fit(bench, kind, kind->models[i], context, error);
        for (int at = 0; at < kind->point_count && code == STATUS_OK; at++) {
            int place = kind->points[at];
            if (law->model_of_point[place] == kind->models[i] && is_beside(law, kind, place)) {
                double measured = (double)law->points->all[place].footprint_bytes;
                law->errors[OVERHEAD_FOOTPRINT][FORM_STRUCTURAL][place] =
                    (context[0] + context[1] * predicted_at(law, place) - measured) / measured;
            }
        }
    }
    return code;
}

enum status_code overhead_structural_make(struct overhead_law *law, const struct least_squares_solver *solver,
                                          struct status *error)
{
    uint64_t state = law->seed;
    struct bench bench;
    bool is_open = bench_open(&bench, law, solver);
    enum status_code code = STATUS_OK;
    if (!is_open) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
    }
    for (int at = 0; at < law->kind_count && code == STATUS_OK; at++) {
        code = kind_make(&bench, &law->kinds[at], &state, error);
    }
    for (int at = 0; at < law->kind_count && code == STATUS_OK; at++) {
        code = context_make(&bench, &law->kinds[at], error);
    }
    bench_close(&bench);
    return code;
}

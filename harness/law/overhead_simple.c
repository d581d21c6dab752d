/* The simple forms: a factor on the weights, and an affine law over all kinds or for each. */
#include <math.h>
#include <stdlib.h>

#include "harness/law/gram.h"
#include "harness/law/overhead_law.h"

#define MEBIBYTE    1048576.0
#define RULE_FACTOR 1.2

/* Points of a level that are fitted together, and how often each model counts. */
struct simple_bench {
    struct overhead_law *law;
    const struct least_squares_solver *solver;
    enum overhead_level level;
    const struct overhead_group *kind; /* NULL: all */
    double *weights;                   /* by model */
    struct gram *sums;                 /* by model: of its points that are used */
};

bool overhead_simple_is_told(const struct overhead_simple *simple, enum overhead_form form)
{
    bool is_told = true;
    for (int at = 0; at < (form == FORM_AFFINE ? AFFINE_COUNT : 1); at++) {
        is_told = is_told && simple->is_told[at];
    }
    return is_told;
}

static void columns_of(const struct law_point *point, double columns[AFFINE_COUNT])
{
    columns[0] = MEBIBYTE;
    columns[1] = (double)point->weights_bytes;
    columns[2] =
        (double)point->batch * (double)point->seq * (double)point->hidden * law_element_bytes(point->precision);
}

/* Compared are points whose kind counts. */
static bool is_used(const struct simple_bench *bench, int place)
{
    const struct overhead_law *law = bench->law;
    const struct overhead_group *kind = &law->kinds[law->kind_of_point[place]];
    return kind->counts && (bench->kind == NULL || bench->kind == kind) &&
           overhead_measured(&law->points->all[place], bench->level) > 0;
}

/* The sums of each model, once for all fits. */
static void sums_make(struct simple_bench *bench, enum overhead_form form)
{
    static const int places[AFFINE_COUNT] = {0, 1, 2};
    int width = form == FORM_CONSTANT ? 1 : AFFINE_COUNT;
    double columns[AFFINE_COUNT + 1];
    for (int model = 0; model < bench->law->model_count; model++) {
        bench->sums[model] = gram_empty(width);
    }
    for (int place = 0; place < bench->law->points->count; place++) {
        if (is_used(bench, place)) {
            const struct law_point *point = &bench->law->points->all[place];
            double measured = (double)overhead_measured(point, bench->level);
            columns_of(point, columns);
            columns[0] = width == 1 ? columns[1] : columns[0];
            for (int at = 0; at < width; at++) {
                columns[at] /= measured;
            }
            columns[width] = 1.0;
            gram_rows_add(&bench->sums[bench->law->model_of_point[place]], places, width, columns, 1);
        }
    }
}

/* Coefficients, and what the points tell of them. */
struct simple_fit {
    double coefficients[AFFINE_COUNT]; /* all 0 if no point is there */
    bool is_seen[AFFINE_COUNT], is_related[AFFINE_COUNT];
    double relations[AFFINE_COUNT * AFFINE_COUNT]; /* least_squares_relations */
    int width;
};

static enum status_code coefficients_fit(const struct simple_bench *bench, enum overhead_form form,
                                         struct simple_fit *fit, struct status *error)
{
    struct gram_rows rows;
    struct least_squares solved;
    *fit = (struct simple_fit){.width = form == FORM_CONSTANT ? 1 : AFFINE_COUNT};
    struct gram all = gram_empty(fit->width);
    int count = bench->kind != NULL ? bench->kind->model_count : bench->law->model_count;
    for (int at = 0; at < count; at++) {
        int model = bench->kind != NULL ? bench->kind->models[at] : at;
        if (bench->weights[model] > 0.0) {
            gram_add(&all, &bench->sums[model], bench->weights[model]);
        }
    }
    gram_rows_make(&all, &rows);
    if (rows.problem.rows == 0) {
        return STATUS_OK;
    }
    enum status_code code = least_squares_solve(bench->solver, &rows.problem, &solved, error);
    bool is_deficient = false;
    for (int at = 0; at < fit->width && code == STATUS_OK; at++) {
        fit->coefficients[at] = solved.solution[at];
        fit->is_seen[at] = !solved.is_absent[at];
        is_deficient = is_deficient || solved.is_dependent[at];
    }
    return code == STATUS_OK && is_deficient
               ? least_squares_relations(bench->solver, &rows.problem, &solved, fit->is_related, fit->relations, error)
               : code;
}

static double simple_predict(const struct law_point *point, enum overhead_form form, const double *coefficients)
{
    double columns[AFFINE_COUNT];
    columns_of(point, columns);
    return form == FORM_RULE || form == FORM_CONSTANT
               ? coefficients[0] * columns[1]
               : coefficients[0] * columns[0] + coefficients[1] * columns[1] + coefficients[2] * columns[2];
}

/* Of all points, or of those of a model (-1: all). fit: NULL if the form has nothing that is fitted; else points that
 * it does not tell have no error. */
static void errors_set(const struct simple_bench *bench, enum overhead_form form, int model, const double *coefficients,
                       const struct simple_fit *fit)
{
    for (int place = 0; place < bench->law->points->count; place++) {
        if ((model < 0 || bench->law->model_of_point[place] == model) && is_used(bench, place)) {
            const struct law_point *point = &bench->law->points->all[place];
            double measured = (double)overhead_measured(point, bench->level), columns[AFFINE_COUNT];
            columns_of(point, columns);
            bool is_told = fit == NULL || least_squares_follows(fit->width, fit->is_seen, fit->relations,
                                                                fit->width == 1 ? &columns[1] : columns);
            bench->law->errors[bench->level][form][place] =
                is_told ? (simple_predict(point, form, coefficients) - measured) / measured : NAN;
        }
    }
}

static void weights_set(const struct simple_bench *bench, double weight)
{
    for (int model = 0; model < bench->law->model_count; model++) {
        bench->weights[model] = weight;
    }
}

static enum status_code cross_validate(const struct simple_bench *bench, enum overhead_form form, struct status *error)
{
    struct simple_fit fit;
    enum status_code code = STATUS_OK;
    int count = bench->kind != NULL ? bench->kind->model_count : bench->law->model_count;
    for (int at = 0; at < count && code == STATUS_OK; at++) {
        int model = bench->kind != NULL ? bench->kind->models[at] : at;
        weights_set(bench, 1.0);
        bench->weights[model] = 0.0;
        code = coefficients_fit(bench, form, &fit, error);
        if (code == STATUS_OK) {
            errors_set(bench, form, model, fit.coefficients, &fit);
        }
    }
    return code;
}

/* The models of the points that are used, in the order of their numbers. */
static int models_used(const struct simple_bench *bench, int *models)
{
    int count = 0;
    for (int model = 0; model < bench->law->model_count; model++) {
        const struct gram *sums = &bench->sums[model];
        if (sums->sums[sums->columns][sums->columns] > 0.0L) {
            models[count++] = model;
        }
    }
    return count;
}

/* drawn: room for the resamples of each coefficient. */
static enum status_code draws_make(const struct simple_bench *bench, enum overhead_form form,
                                   const struct cluster_draw *draw, double *drawn, struct overhead_simple *simple,
                                   struct status *error)
{
    size_t count = (size_t)bench->law->resample_count;
    uint64_t state = bench->law->seed;
    int told[AFFINE_COUNT] = {0};
    struct simple_fit fit;
    enum status_code code = STATUS_OK;
    for (size_t i = 0; i < count && code == STATUS_OK; i++) {
        cluster_draw_next(draw, &state, bench->weights);
        code = coefficients_fit(bench, form, &fit, error);
        for (int at = 0; at < fit.width && code == STATUS_OK; at++) {
            if (fit.is_seen[at] && !fit.is_related[at]) {
                drawn[(size_t)at * count + (size_t)told[at]++] = fit.coefficients[at];
            }
        }
    }
    for (int at = 0; at < AFFINE_COUNT && code == STATUS_OK; at++) {
        simple->spread[at] =
            interval_of(drawn + (size_t)at * count, told[at], (int)count, simple->is_told[at] ? draw->count : 0);
    }
    return code;
}

static enum status_code resample(const struct simple_bench *bench, enum overhead_form form,
                                 struct overhead_simple *simple, struct status *error)
{
    struct cluster_draw draw = {0};
    double *drawn = calloc((size_t)(bench->law->resample_count + 1) * AFFINE_COUNT, sizeof *drawn);
    int *models = calloc((size_t)bench->law->model_count + 1, sizeof *models);
    bool fine =
        drawn != NULL && models != NULL && cluster_draw_open(bench->law, models, models_used(bench, models), &draw);
    enum status_code code =
        fine ? draws_make(bench, form, &draw, drawn, simple, error)
             : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the intervals of a law");
    cluster_draw_close(&draw);
    free(drawn);
    free(models);
    return code;
}

static enum status_code form_make(struct simple_bench *bench, enum overhead_form form, struct status *error)
{
    struct overhead_simple *simple = &bench->law->simple[bench->level][form];
    struct simple_fit fit;
    if (form == FORM_RULE) {
        simple->coefficients[0] = RULE_FACTOR;
        simple->is_told[0] = true;
        errors_set(bench, form, -1, simple->coefficients, NULL);
        return STATUS_OK;
    }
    sums_make(bench, form);
    weights_set(bench, 1.0);
    enum status_code code = coefficients_fit(bench, form, &fit, error);
    for (int at = 0; at < AFFINE_COUNT && code == STATUS_OK; at++) {
        simple->coefficients[at] = fit.coefficients[at];
        simple->is_told[at] = fit.is_seen[at] && !fit.is_related[at];
    }
    code = code == STATUS_OK ? cross_validate(bench, form, error) : code;
    return code == STATUS_OK ? resample(bench, form, simple, error) : code;
}

enum status_code overhead_simple_make(struct overhead_law *law, const struct least_squares_solver *solver,
                                      enum overhead_level level, struct status *error)
{
    struct simple_bench bench = {.law = law, .solver = solver, .level = level};
    bench.weights = calloc((size_t)law->model_count + 1, sizeof *bench.weights);
    bench.sums = calloc((size_t)law->model_count + 1, sizeof *bench.sums);
    enum status_code code = STATUS_OK;
    if (bench.weights == NULL || bench.sums == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
    }
    for (int form = FORM_RULE; form <= FORM_AFFINE && code == STATUS_OK; form++) {
        code = form_make(&bench, (enum overhead_form)form, error);
    }
    for (int at = 0; at < law->kind_count && code == STATUS_OK; at++) {
        bench.kind = &law->kinds[at];
        sums_make(&bench, FORM_AFFINE_KIND);
        code = bench.kind->counts ? cross_validate(&bench, FORM_AFFINE_KIND, error) : STATUS_OK;
    }
    free(bench.weights);
    free(bench.sums);
    return code;
}

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

/* Coefficients all 0 if no point is there. */
static enum status_code coefficients_fit(const struct simple_bench *bench, enum overhead_form form,
                                         double coefficients[AFFINE_COUNT], struct status *error)
{
    struct least_squares solved;
    struct gram_rows rows;
    int width = form == FORM_CONSTANT ? 1 : AFFINE_COUNT;
    struct gram all = gram_empty(width);
    int count = bench->kind != NULL ? bench->kind->model_count : bench->law->model_count;
    for (int at = 0; at < count; at++) {
        int model = bench->kind != NULL ? bench->kind->models[at] : at;
        if (bench->weights[model] > 0.0) {
            gram_add(&all, &bench->sums[model], bench->weights[model]);
        }
    }
    gram_rows_make(&all, &rows);
    coefficients[0] = coefficients[1] = coefficients[2] = 0.0;
    if (rows.problem.rows == 0) {
        return STATUS_OK;
    }
    enum status_code code = least_squares_solve(bench->solver, &rows.problem, &solved, error);
    for (int at = 0; at < width && code == STATUS_OK; at++) {
        coefficients[at] = solved.solution[at];
    }
    return code;
}

static double simple_predict(const struct law_point *point, enum overhead_form form, const double *coefficients)
{
    double columns[AFFINE_COUNT];
    columns_of(point, columns);
    return form == FORM_RULE || form == FORM_CONSTANT
               ? coefficients[0] * columns[1]
               : coefficients[0] * columns[0] + coefficients[1] * columns[1] + coefficients[2] * columns[2];
}

static void errors_set(const struct simple_bench *bench, enum overhead_form form, int model, const double *coefficients)
{
    for (int place = 0; place < bench->law->points->count; place++) {
        if ((model < 0 || bench->law->model_of_point[place] == model) && is_used(bench, place)) {
            const struct law_point *point = &bench->law->points->all[place];
            double measured = (double)overhead_measured(point, bench->level);
            bench->law->errors[bench->level][form][place] =
                (simple_predict(point, form, coefficients) - measured) / measured;
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
    double coefficients[AFFINE_COUNT];
    enum status_code code = STATUS_OK;
    int count = bench->kind != NULL ? bench->kind->model_count : bench->law->model_count;
    for (int at = 0; at < count && code == STATUS_OK; at++) {
        int model = bench->kind != NULL ? bench->kind->models[at] : at;
        weights_set(bench, 1.0);
        bench->weights[model] = 0.0;
        code = coefficients_fit(bench, form, coefficients, error);
        if (code == STATUS_OK) {
            errors_set(bench, form, model, coefficients);
        }
    }
    return code;
}

static enum status_code resample(const struct simple_bench *bench, enum overhead_form form,
                                 struct overhead_simple *simple, struct status *error)
{
    int count = bench->law->resample_count, model_count = bench->law->model_count;
    uint64_t state = bench->law->seed;
    double coefficients[AFFINE_COUNT];
    enum status_code code = STATUS_OK;
    double *drawn = calloc((size_t)(count + 1) * AFFINE_COUNT, sizeof *drawn);
    int *models = calloc((size_t)model_count + 1, sizeof *models);
    if (drawn == NULL || models == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the intervals of a law");
    }
    for (int model = 0; model < model_count && code == STATUS_OK; model++) {
        models[model] = model;
    }
    for (int i = 0; i < count && code == STATUS_OK; i++) {
        models_draw(&state, bench->weights, models, model_count);
        code = coefficients_fit(bench, form, coefficients, error);
        for (int at = 0; at < AFFINE_COUNT; at++) {
            drawn[(size_t)at * (size_t)count + (size_t)i] = coefficients[at];
        }
    }
    for (int at = 0; at < AFFINE_COUNT && code == STATUS_OK; at++) {
        simple->spread[at] = count > 0 ? interval_of(drawn + (size_t)at * (size_t)count, count)
                                       : (struct interval){simple->coefficients[at], simple->coefficients[at]};
    }
    free(drawn);
    free(models);
    return code;
}

static enum status_code form_make(struct simple_bench *bench, enum overhead_form form, struct status *error)
{
    struct overhead_simple *simple = &bench->law->simple[bench->level][form];
    enum status_code code = STATUS_OK;
    if (form == FORM_RULE) {
        simple->coefficients[0] = RULE_FACTOR;
        simple->spread[0] = (struct interval){RULE_FACTOR, RULE_FACTOR};
        errors_set(bench, form, -1, simple->coefficients);
        return STATUS_OK;
    }
    sums_make(bench, form);
    weights_set(bench, 1.0);
    code = coefficients_fit(bench, form, simple->coefficients, error);
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

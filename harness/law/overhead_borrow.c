/* Borrowed laws: which tensors a class of transformers keeps alive does not depend on the device, so that a kind with
 * too few models on one device is given the coefficients of the same kind on another. What a device's libraries take
 * beside them (a workspace of cuBLAS) is one figure for all kinds of a device and a program: the median over the other
 * models. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/law/overhead_law.h"
#include "harness/report/percentile.h"

/* A case of a group with a donor, and its law without its model. */
struct loan {
    const struct overhead_group *group;
    int place, model;
    double predicted, measured; /* without workspaces */
};

struct loans {
    struct overhead_law *law;
    const struct least_squares_solver *solver;
    struct loan *all;
    int count;
    double *values;
};

static const struct overhead_group *donor_of(const struct overhead_law *law, const struct overhead_group *group)
{
    for (int at = 0; at < law->kind_count && !group->counts; at++) {
        const struct overhead_group *other = &law->kinds[at];
        if (other->counts && strcmp(other->kind, group->kind) == 0 && strcmp(other->target, group->target) != 0) {
            return other;
        }
    }
    return NULL;
}

static enum status_code model_lend(struct loans *loans, const struct overhead_group *group, int model,
                                   struct status *error)
{
    struct overhead_fit fit;
    double rounded = 0.0;
    enum status_code code = overhead_group_fit(loans->law, loans->solver, group->donor, model, &fit, &rounded, error);
    for (int i = 0; i < group->point_count && code == STATUS_OK; i++) {
        const struct law_point *point = &loans->law->points->all[group->points[i]];
        enum overhead_moment moment = MOMENT_FEED;
        struct overhead_row row;
        overhead_row_make(point, PART_WHOLE, &row);
        overhead_row_value(&row, fit.coefficients, &moment);
        if (loans->law->model_of_point[group->points[i]] == model && overhead_fit_tells_moment(&fit, &row, moment)) {
            loans->all[loans->count++] =
                (struct loan){.group = group,
                              .place = group->points[i],
                              .model = model,
                              .predicted = overhead_predict(point, fit.coefficients, rounded, &moment),
                              .measured = (double)point->allocated_bytes};
        }
    }
    return code;
}

/* The median of what is beside the predictions on the device of a group, without a model (-1: with all); NaN: no case
 * is left. */
static double workspace_of(const struct loans *loans, const struct overhead_group *group, int without)
{
    int count = 0;
    for (int at = 0; at < loans->count; at++) {
        const struct loan *loan = &loans->all[at];
        if (strcmp(loan->group->target, group->target) == 0 && strcmp(loan->group->program, group->program) == 0 &&
            loan->model != without) {
            loans->values[count++] = loan->measured - loan->predicted;
        }
    }
    return count > 0 ? values_median(loans->values, count) : NAN;
}

static bool group_judge(const struct loans *loans, struct overhead_group *group)
{
    double *errors = calloc((size_t)group->point_count + 1, sizeof *errors);
    int count = 0;
    group->workspace_bytes = workspace_of(loans, group, -1);
    for (int at = 0; errors != NULL && at < loans->count; at++) {
        const struct loan *loan = &loans->all[at];
        if (loan->group == group) {
            double predicted = loan->predicted + workspace_of(loans, group, loan->model);
            errors[count] = (predicted - loan->measured) / loan->measured;
            loans->law->borrowed[loan->place] = errors[count++];
        }
    }
    if (errors != NULL) {
        group->borrowed = error_summary_make(errors, count, loans->values);
    }
    free(errors);
    return errors != NULL;
}

bool overhead_loan_fits(const struct overhead_group *group)
{
    return group->donor != NULL && group->borrowed.count > 0 && group->borrowed.median <= 0.05;
}

enum status_code overhead_borrowed_summary(const struct overhead_law *law, const struct overhead_group *of,
                                           struct error_summary *summary, struct status *error)
{
    size_t room = (size_t)law->points->count + 1;
    double *errors = calloc(2 * room, sizeof *errors);
    int count = 0;
    if (errors == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
    }
    for (int at = 0; at < law->points->count; at++) {
        const struct overhead_group *group = &law->kinds[law->kind_of_point[at]];
        if (overhead_loan_fits(group) && strcmp(group->target, of->target) == 0 &&
            strcmp(group->program, of->program) == 0) {
            errors[count++] = law->borrowed[at];
        }
    }
    *summary = error_summary_make(errors, count, errors + room);
    free(errors);
    return STATUS_OK;
}

enum status_code overhead_borrow(struct overhead_law *law, const struct least_squares_solver *solver,
                                 struct status *error)
{
    size_t room = (size_t)law->points->count + 1;
    struct loans loans = {.law = law, .solver = solver};
    loans.all = calloc(room, sizeof *loans.all);
    loans.values = calloc(room, sizeof *loans.values);
    enum status_code code = STATUS_OK;
    bool fine = loans.all != NULL && loans.values != NULL;
    for (int at = 0; at < law->kind_count && fine && code == STATUS_OK; at++) {
        struct overhead_group *group = &law->kinds[at];
        group->donor = donor_of(law, group);
        for (int i = 0; i < group->model_count && group->donor != NULL && code == STATUS_OK; i++) {
            code = model_lend(&loans, group, group->models[i], error);
        }
    }
    for (int at = 0; at < law->kind_count && fine && code == STATUS_OK; at++) {
        fine = law->kinds[at].donor == NULL || group_judge(&loans, &law->kinds[at]);
    }
    free(loans.all);
    free(loans.values);
    return fine ? code : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
}

/* Least squares: scaling, the call, and what its pivots say. What is fitted is decided elsewhere. */
#include "harness/law/least_squares.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/library_symbol.h"

enum { COLUMN_MAJOR = 102 }; /* of lapacke.h */

/* The part of a column that is noise of a relation: above what LEAST_SQUARES_RANK_TOLERANCE lets pass. */
#define RELATION_NOISE 1e-5

enum status_code least_squares_open(struct least_squares_solver *solver, struct status *error)
{
    /* If OpenBLAS stands behind it: one thread, so that sums are added in one order on every machine. */
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    void *library = dlopen("liblapacke.so.3", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL) {
        return status_set(
            error, STATUS_UNAVAILABLE,
            "liblapacke.so.3 cannot be loaded (%s); install it, on Debian and Ubuntu with apt-get install "
            "liblapacke",
            dlerror());
    }
    struct least_squares_solver opened = {.library = library};
    if (!symbol_find(library, "LAPACKE_dgelsy", &opened.dgelsy)) {
        return status_set(error, STATUS_UNAVAILABLE,
                          "liblapacke.so.3 has no LAPACKE_dgelsy; install a complete build, on Debian and Ubuntu "
                          "liblapacke");
    }
    *solver = opened;
    return STATUS_OK;
}

/* The columns that are used, brought to length 1, and their lengths. */
struct scaled {
    int rows, count;
    int column[LEAST_SQUARES_COLUMNS_MAXIMUM]; /* of the problem */
    double length[LEAST_SQUARES_COLUMNS_MAXIMUM];
    double *design;   /* [count][rows]: by column */
    double *observed; /* [max(rows, count)] */
};

static void scaled_release(struct scaled *scaled)
{
    free(scaled->design);
    free(scaled->observed);
}

/* Not sqrt of a sum of squares: 2^40 bytes squared and added up keep all digits, 1e200 would not. */
static double column_length(const struct least_squares_problem *problem, int column)
{
    double length = 0.0;
    for (int row = 0; row < problem->rows; row++) {
        length = hypot(length, problem->design[(size_t)row * (size_t)problem->columns + (size_t)column]);
    }
    return length;
}

static enum status_code problem_check(const struct least_squares_problem *problem, struct status *error)
{
    if (problem->rows < 1 || problem->columns < 1 || problem->columns > LEAST_SQUARES_COLUMNS_MAXIMUM) {
        return status_set(error, STATUS_INVALID,
                          "a fit of %d rows and %d columns: there must be rows, and 1 to %d columns", problem->rows,
                          problem->columns, LEAST_SQUARES_COLUMNS_MAXIMUM);
    }
    size_t count = (size_t)problem->rows * (size_t)problem->columns;
    bool finite = true;
    for (size_t i = 0; i < count; i++) {
        finite = finite && isfinite(problem->design[i]);
    }
    for (int row = 0; row < problem->rows; row++) {
        finite = finite && isfinite(problem->observed[row]);
    }
    return finite ? STATUS_OK : status_set(error, STATUS_INVALID, "a fit has a figure that is not finite");
}

/* accepts: which columns are used at all; NULL: those that are not all zero. */
static enum status_code scaled_make(const struct least_squares_problem *problem, const bool *accepts,
                                    struct scaled *scaled, struct status *error)
{
    scaled->rows = problem->rows;
    size_t room = (size_t)(problem->rows > problem->columns ? problem->rows : problem->columns);
    scaled->design = calloc((size_t)problem->rows * (size_t)problem->columns, sizeof *scaled->design);
    scaled->observed = calloc(room, sizeof *scaled->observed);
    if (scaled->design == NULL || scaled->observed == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a fit");
    }
    for (int column = 0; column < problem->columns; column++) {
        double length = accepts == NULL || accepts[column] ? column_length(problem, column) : 0.0;
        if (length > 0.0) {
            double *out = scaled->design + (size_t)scaled->count * (size_t)problem->rows;
            for (int row = 0; row < problem->rows; row++) {
                out[row] = problem->design[(size_t)row * (size_t)problem->columns + (size_t)column] / length;
            }
            scaled->column[scaled->count] = column;
            scaled->length[scaled->count++] = length;
        }
    }
    memcpy(scaled->observed, problem->observed, (size_t)problem->rows * sizeof *problem->observed);
    return STATUS_OK;
}

/* Solves in place: observed begins with the solution. */
static enum status_code scaled_solve(const struct least_squares_solver *solver, struct scaled *scaled, int *pivots,
                                     int *rank, struct status *error)
{
    int room = scaled->rows > scaled->count ? scaled->rows : scaled->count;
    memset(pivots, 0, LEAST_SQUARES_COLUMNS_MAXIMUM * sizeof *pivots);
    *rank = 0;
    if (scaled->count == 0) {
        return STATUS_OK;
    }
    int info = solver->dgelsy(COLUMN_MAJOR, scaled->rows, scaled->count, 1, scaled->design, scaled->rows,
                              scaled->observed, room, pivots, LEAST_SQUARES_RANK_TOLERANCE, rank);
    return info == 0 ? STATUS_OK : status_set(error, STATUS_INTERNAL, "LAPACKE_dgelsy answered %d", info);
}

static double residual_square(const struct least_squares_problem *problem, const double *solution)
{
    double sum = 0.0;
    for (int row = 0; row < problem->rows; row++) {
        double rest = problem->observed[row];
        for (int column = 0; column < problem->columns; column++) {
            rest -= problem->design[(size_t)row * (size_t)problem->columns + (size_t)column] * solution[column];
        }
        sum += rest * rest;
    }
    return sum;
}

enum status_code least_squares_solve(const struct least_squares_solver *solver,
                                     const struct least_squares_problem *problem, struct least_squares *result,
                                     struct status *error)
{
    struct least_squares solved = {0};
    struct scaled scaled = {0};
    int pivots[LEAST_SQUARES_COLUMNS_MAXIMUM];
    enum status_code code = problem_check(problem, error);
    if (code == STATUS_OK) {
        code = scaled_make(problem, NULL, &scaled, error);
    }
    if (code == STATUS_OK) {
        code = scaled_solve(solver, &scaled, pivots, &solved.rank, error);
    }
    if (code == STATUS_OK) {
        for (int column = 0; column < problem->columns; column++) {
            solved.is_absent[column] = true;
        }
        for (int at = 0; at < scaled.count; at++) {
            int column = scaled.column[at];
            solved.is_absent[column] = false;
            solved.solution[column] = scaled.observed[at] / scaled.length[at];
            if (at >= solved.rank) {
                solved.is_dependent[scaled.column[pivots[at] - 1]] = true;
            }
        }
        solved.residual_square = residual_square(problem, solved.solution);
        *result = solved;
    }
    scaled_release(&scaled);
    return code;
}

enum status_code least_squares_relation(const struct least_squares_solver *solver,
                                        const struct least_squares_problem *problem, const struct least_squares *result,
                                        int column, double *relation, struct status *error)
{
    struct scaled scaled = {0};
    bool accepts[LEAST_SQUARES_COLUMNS_MAXIMUM] = {false};
    int pivots[LEAST_SQUARES_COLUMNS_MAXIMUM], rank = 0;
    for (int at = 0; at < problem->columns; at++) {
        accepts[at] = !result->is_absent[at] && !result->is_dependent[at];
        relation[at] = 0.0;
    }
    enum status_code code = scaled_make(problem, accepts, &scaled, error);
    if (code == STATUS_OK) {
        for (int row = 0; row < problem->rows; row++) {
            scaled.observed[row] = problem->design[(size_t)row * (size_t)problem->columns + (size_t)column];
        }
        code = scaled_solve(solver, &scaled, pivots, &rank, error);
    }
    double noise = RELATION_NOISE * column_length(problem, column);
    for (int at = 0; at < scaled.count && code == STATUS_OK; at++) {
        relation[scaled.column[at]] = fabs(scaled.observed[at]) > noise ? scaled.observed[at] / scaled.length[at] : 0.0;
    }
    scaled_release(&scaled);
    return code;
}

enum status_code least_squares_relations(const struct least_squares_solver *solver,
                                         const struct least_squares_problem *problem,
                                         const struct least_squares *result, bool *is_related, double *relations,
                                         struct status *error)
{
    enum status_code code = STATUS_OK;
    size_t columns = (size_t)problem->columns;
    memset(relations, 0, columns * columns * sizeof *relations);
    for (size_t column = 0; column < columns; column++) {
        is_related[column] = result->is_dependent[column];
    }
    for (size_t column = 0; column < columns && code == STATUS_OK; column++) {
        double *relation = relations + column * columns;
        if (result->is_dependent[column]) {
            code = least_squares_relation(solver, problem, result, (int)column, relation, error);
        }
        for (size_t other = 0; other < columns && code == STATUS_OK; other++) {
            is_related[other] = is_related[other] || relation[other] != 0.0;
        }
    }
    return code;
}

bool least_squares_follows(int columns, const bool *is_observed, const double *relations, const double *row)
{
    for (int column = 0; column < columns; column++) {
        const double *relation = relations + (size_t)column * (size_t)columns;
        double rest = row[column], size = fabs(row[column]);
        bool is_dependent = false;
        if (!is_observed[column] && row[column] != 0.0) {
            return false;
        }
        /* Adding 1 to this column's solution and taking relation from the others changes no row that was observed. */
        for (int other = 0; other < columns; other++) {
            is_dependent = is_dependent || relation[other] != 0.0;
            rest -= relation[other] * row[other];
            size += fabs(relation[other] * row[other]);
        }
        if (is_dependent && fabs(rest) > RELATION_NOISE * size) {
            return false;
        }
    }
    return true;
}

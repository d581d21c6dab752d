/* Least squares: the coefficients that come nearest to what was observed, and which columns say the same.
 *
 * The one door to LAPACK (LAPACKE_dgelsy: a QR factorisation with column pivoting). It is opened on demand with a
 * prototype of our own, so that no process that measures ever loads a matrix library for it. In double; columns are
 * brought to length 1 first, so that bytes and gigabytes have the same say in what counts as dependent.
 *
 * Worked: columns (1, 1, 1) and (0, 1, 2) with 1, 3, 5 observed give 1 and 2. Columns (1, 1, 1) and (2, 2, 2) with 5,
 * 5, 5 have rank 1: the second is 2 times the first, and of all solutions 1 and 2 is the one whose part of each column,
 * brought to length 1, is the smallest. */
#ifndef ASSAY_LAW_LEAST_SQUARES_H
#define ASSAY_LAW_LEAST_SQUARES_H

#include <stdbool.h>

#include "harness/base/arena.h"
#include "harness/base/status.h"

/* Columns of length 1 that are nearer than this to a sum of others are dependent. Real columns of different lengths are
 * a thousand times as far apart; bytes that a double has rounded are a million times nearer. */
#define LEAST_SQUARES_RANK_TOLERANCE 1e-7

enum { LEAST_SQUARES_COLUMNS_MAXIMUM = 64 };

struct least_squares_solver {
    void *library;
    int (*dgelsy)(int order, int m, int n, int nrhs, double *a, int lda, double *b, int ldb, int *jpvt, double rcond,
                  int *rank);
};

struct least_squares_problem {
    int rows, columns;
    const double *design;   /* [rows][columns] */
    const double *observed; /* [rows] */
};

struct least_squares {
    int rank;                                         /* of the columns that are not all zero */
    double solution[LEAST_SQUARES_COLUMNS_MAXIMUM];   /* 0 of a column that is all zero */
    bool is_absent[LEAST_SQUARES_COLUMNS_MAXIMUM];    /* all zero: nothing was observed of it */
    bool is_dependent[LEAST_SQUARES_COLUMNS_MAXIMUM]; /* a sum of columns that are neither absent nor dependent */
    double residual_square;                           /* sum of (observed - design x solution)² */
};

/* STATUS_UNAVAILABLE with the remedy if LAPACKE is not installed. A solver needs no closing: the library stays mapped,
 * because it cannot be unloaded safely. */
enum status_code least_squares_open(struct least_squares_solver *solver, struct status *error);

/* STATUS_INVALID: no rows, no columns or too many, a figure that is not finite. STATUS_OUT_OF_MEMORY. */
enum status_code least_squares_solve(const struct least_squares_solver *solver,
                                     const struct least_squares_problem *problem, struct least_squares *result,
                                     struct status *error);

/* What a dependent column is of the independent ones: relation[columns], 0 for absent and dependent ones, and for those
 * whose part of it is noise. The errors of least_squares_solve. */
enum status_code least_squares_relation(const struct least_squares_solver *solver,
                                        const struct least_squares_problem *problem, const struct least_squares *result,
                                        int column, double *relation, struct status *error);

/* The relations of all dependent columns, and which columns are members of one: the solution of none of these is known,
 * whichever of them is called dependent. is_related: [columns]; relations: [columns][columns], 0 for columns that are
 * not dependent. */
enum status_code least_squares_relations(const struct least_squares_solver *solver,
                                         const struct least_squares_problem *problem,
                                         const struct least_squares *result, bool *is_related, double *relations,
                                         struct status *error);

/* Whether row x solution is the same for every solution that fits equally well: the row has nothing of a column that
 * was not observed, and keeps the relations. Worked: with columns (1, 1, 1) and (2, 2, 2) the row (3, 6) follows, and
 * (1, 0) does not. is_observed: [columns]. */
bool least_squares_follows(int columns, const bool *is_observed, const double *relations, const double *row);

#endif

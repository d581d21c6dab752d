/* Least squares with coefficients that are not negative: a convex problem, whose least is found exactly, and which of
 * its coefficients the rows tell.
 *
 * Rows are kept as the sums of products of their columns, so that problems that share rows (a model is left out) share
 * their sums. The active set of Lawson and Hanson (Solving Least Squares Problems, 1974, chapter 23) ends where the
 * conditions of Karush, Kuhn and Tucker hold: no column that is used pulls, none that is not used would lessen the
 * error. In a convex problem that is the least of all.
 *
 * Columns are brought to length 1 first. The condition number is the largest over the smallest singular value of the
 * columns that some row has. A coefficient is identified if its uncertainty grows at most LEAST_SQUARES_CONDITION_MOST
 * times by the other columns (the root of its variance inflation factor; Belsley, Kuh and Welsch, Regression
 * Diagnostics, 1980, take 30 of a condition number for strong dependence).
 *
 * Worked: columns (1, 1, 1) and (0, 1, 2) with 1, 3, 5 observed give 1 and 2. With 5, 3, 1 observed the second would be
 * -2, which may not be: the first alone gives 3, and 0 for the second. Columns (1, 1, 1) and (2, 2, 2) are identified
 * by nothing. */
#ifndef ASSAY_LAW_LEAST_SQUARES_H
#define ASSAY_LAW_LEAST_SQUARES_H

#include <stdbool.h>

enum { LEAST_SQUARES_COLUMNS_MAXIMUM = 16 };

#define LEAST_SQUARES_CONDITION_MOST 30.0

/* The last column is what was observed. All zero with a number of columns is a problem without rows. */
struct least_squares {
    int columns;
    double products[LEAST_SQUARES_COLUMNS_MAXIMUM + 1][LEAST_SQUARES_COLUMNS_MAXIMUM + 1];
};

struct least_squares_solution {
    double values[LEAST_SQUARES_COLUMNS_MAXIMUM]; /* 0 of a column that no row has */
    bool is_seen[LEAST_SQUARES_COLUMNS_MAXIMUM];  /* some row has it */
    bool is_identified[LEAST_SQUARES_COLUMNS_MAXIMUM];
    double condition;       /* 1 and more; INFINITY: columns are sums of others; 1 if no row has any */
    double residual_square; /* sum of (observed - row x values)² */
};

void least_squares_row_add(struct least_squares *problem, const double *row, double observed);
void least_squares_add(struct least_squares *problem, const struct least_squares *other);
void least_squares_solve(const struct least_squares *problem, struct least_squares_solution *solution);

/* How far values are from the conditions of the least: 0 at the least itself, as a share of the length of what was
 * observed; a negative value is INFINITY away. */
double least_squares_gap(const struct least_squares *problem, const double *values);

#endif

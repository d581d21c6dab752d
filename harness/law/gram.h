/* Gram: the sums of products of the columns of a least-squares problem, so that many rows become as few as there are
 * columns. Problems that share rows (a model is left out, models are drawn) share their sums.
 *
 * Sums are kept in long double. In it the squares of bytes keep so many digits that what LAPACK finds in them is
 * what it finds in all rows, to the tenth digit. Columns that are nearer to a sum of others than 3e-9 of their length
 * count as such a sum, which is far below LEAST_SQUARES_RANK_TOLERANCE.
 *
 * Worked: rows (1, 0 | 1), (1, 1 | 3), (1, 2 | 5) have the sums 3, 3, 5 and 9, 13, 35 of their products; two rows whose
 * products have the same sums give 1 and 2, as the three do. */
#ifndef ASSAY_LAW_GRAM_H
#define ASSAY_LAW_GRAM_H

#include "harness/law/least_squares.h"

enum { GRAM_COLUMNS_MAXIMUM = 16 };

/* Columns 0 to columns - 1 are the design, column `columns` is what was observed. */
struct gram {
    int columns;
    long double sums[GRAM_COLUMNS_MAXIMUM + 1][GRAM_COLUMNS_MAXIMUM + 1]; /* [i][j] for i <= j */
};

struct gram gram_empty(int columns);

/* Rows that are 0 but at `count` columns, which ascend. values: of each row those of the columns, and what was
 * observed: [rows][count + 1]. */
void gram_rows_add(struct gram *gram, const int *columns, int count, const double *values, int rows);

/* Adds other so many times. */
void gram_add(struct gram *gram, const struct gram *other, double times);

/* Rows with the same sums: rows of a problem of at most columns + 1. */
struct gram_rows {
    struct least_squares_problem problem;
    double design[(GRAM_COLUMNS_MAXIMUM + 1) * GRAM_COLUMNS_MAXIMUM];
    double observed[GRAM_COLUMNS_MAXIMUM + 1];
};

/* *rows stays where it is while its problem is used. Sums of nothing make no row. */
void gram_rows_make(const struct gram *gram, struct gram_rows *rows);

#endif

/* Gram: sums, and a Cholesky factor with pivoting of them. What is fitted is decided elsewhere. */
#include "harness/law/gram.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The square of a distance, of columns of length 1, below which one is a sum of others: noise of long double. 1e-17
 * where that has 64 digits. */
#define DEPENDENT_SQUARE (100.0L * LDBL_EPSILON)

struct gram gram_empty(int columns)
{
    return (struct gram){.columns = columns};
}

void gram_rows_add(struct gram *gram, const int *columns, int count, const double *values, int rows)
{
    for (int i = 0; i <= count; i++) {
        int left = i < count ? columns[i] : gram->columns;
        for (int j = i; j <= count; j++) {
            const double *at = values;
            long double sum = 0.0L;
            for (int row = 0; row < rows; row++, at += count + 1) {
                sum += (long double)at[i] * at[j];
            }
            gram->sums[left][j < count ? columns[j] : gram->columns] += sum;
        }
    }
}

void gram_add(struct gram *gram, const struct gram *other, double times)
{
    for (int i = 0; i <= gram->columns; i++) {
        for (int j = i; j <= gram->columns; j++) {
            gram->sums[i][j] += times * other->sums[i][j];
        }
    }
}

/* The sums of columns of length 1, which become a factor row by row, and the lengths. */
struct factor {
    int count;
    long double sums[GRAM_COLUMNS_MAXIMUM + 1][GRAM_COLUMNS_MAXIMUM + 1];
    long double length[GRAM_COLUMNS_MAXIMUM + 1];
};

static void factor_begin(const struct gram *gram, struct factor *factor)
{
    factor->count = gram->columns + 1;
    for (int i = 0; i < factor->count; i++) {
        factor->length[i] = sqrtl(gram->sums[i][i]);
    }
    for (int i = 0; i < factor->count; i++) {
        for (int j = i; j < factor->count; j++) {
            long double lengths = factor->length[i] * factor->length[j];
            factor->sums[i][j] = factor->sums[j][i] = lengths > 0.0L ? gram->sums[i][j] / lengths : 0.0L;
        }
    }
}

/* The column whose rest is the longest; -1: none is longer than noise. */
static int pivot_find(const struct factor *factor)
{
    int pivot = -1;
    for (int i = 0; i < factor->count; i++) {
        if (factor->sums[i][i] > DEPENDENT_SQUARE && (pivot < 0 || factor->sums[i][i] > factor->sums[pivot][pivot])) {
            pivot = i;
        }
    }
    return pivot;
}

/* Takes one row out of the sums. */
static void row_take(struct factor *factor, int pivot, long double row[GRAM_COLUMNS_MAXIMUM + 1])
{
    long double length = sqrtl(factor->sums[pivot][pivot]);
    for (int j = 0; j < factor->count; j++) {
        row[j] = factor->sums[pivot][j] / length;
    }
    for (int i = 0; i < factor->count; i++) {
        for (int j = 0; j < factor->count; j++) {
            factor->sums[i][j] -= row[i] * row[j];
        }
    }
    for (int j = 0; j < factor->count; j++) { /* exactly nothing is left of this column */
        factor->sums[pivot][j] = factor->sums[j][pivot] = 0.0L;
    }
}

void gram_rows_make(const struct gram *gram, struct gram_rows *rows)
{
    struct factor factor;
    long double row[GRAM_COLUMNS_MAXIMUM + 1];
    int count = 0, columns = gram->columns;
    memset(rows->design, 0, sizeof rows->design);
    memset(rows->observed, 0, sizeof rows->observed);
    factor_begin(gram, &factor);
    for (int pivot; count <= columns && (pivot = pivot_find(&factor)) >= 0; count++) {
        row_take(&factor, pivot, row);
        for (int j = 0; j < columns; j++) {
            rows->design[count * columns + j] = (double)(row[j] * factor.length[j]);
        }
        rows->observed[count] = (double)(row[columns] * factor.length[columns]);
    }
    rows->problem = (struct least_squares_problem){
        .rows = count, .columns = columns, .design = rows->design, .observed = rows->observed};
}

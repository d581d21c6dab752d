/* Sums of products stand for all rows: the same solution, the same rank, whoever left a model out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "harness/law/gram.h"

static struct least_squares_solver solver;

static int solver_open(void **state)
{
    struct status error = {0};
    (void)state;
    return least_squares_open(&solver, &error) != STATUS_OK;
}

enum { ROWS = 3000, COLUMNS = 6 };

/* Bytes of very different sizes; the last column is 4 times the one before it, but for a share of its own. */
static double value_at(int row, int column, double own)
{
    static const double sizes[] = {1e6, 3e9, 4e7, 2e3, 5e5};
    int64_t mixed = (int64_t)(row + 1) * (7919 + 104729 * column) % 10007;
    return column == COLUMNS - 1 ? 4.0 * value_at(row, COLUMNS - 2, 0.0) + own * (double)(row * 31 % 17)
                                 : sizes[column] * (1.0 + (double)mixed / 997.0);
}

static double observed_at(int row)
{
    return 3.0 * value_at(row, 0, 0.0) + 0.5 * value_at(row, 1, 0.0) - 2.0 * value_at(row, 4, 0.0) +
           1e5 * (double)(row * 13 % 29);
}

/* Rows by a stride, and by their sums in two parts of which the second counts so many times. */
static void solve_both_ways(double own, int times, struct least_squares *all, struct least_squares *few)
{
    static double design[2 * ROWS * COLUMNS], observed[2 * ROWS], values[ROWS * (COLUMNS + 1)];
    static const int columns[] = {0, 1, 2, 3, 4, 5};
    struct gram part[2] = {gram_empty(COLUMNS), gram_empty(COLUMNS)}, sums = gram_empty(COLUMNS);
    struct gram_rows rows;
    int count = 0;
    for (int row = 0; row < ROWS; row++) {
        for (int again = 0; again < (row % 3 == 0 ? times : 1); again++, count++) {
            for (int column = 0; column < COLUMNS; column++) {
                design[count * COLUMNS + column] = value_at(row, column, own);
            }
            observed[count] = observed_at(row);
        }
        for (int column = 0; column < COLUMNS; column++) {
            values[column] = value_at(row, column, own);
        }
        values[COLUMNS] = observed_at(row);
        gram_rows_add(&part[row % 3 == 0], columns, COLUMNS, values, 1);
    }
    gram_add(&sums, &part[0], 1.0);
    gram_add(&sums, &part[1], times);
    gram_rows_make(&sums, &rows);
    assert_true(rows.problem.rows <= COLUMNS + 1);
    const struct least_squares_problem problem = {
        .rows = count, .columns = COLUMNS, .design = design, .observed = observed};
    assert_int_equal(least_squares_solve(&solver, &problem, all, NULL), STATUS_OK);
    assert_int_equal(least_squares_solve(&solver, &rows.problem, few, NULL), STATUS_OK);
}

static void sums_have_the_solution_of_their_rows(void **state)
{
    static const int times[] = {0, 1, 2};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct least_squares all, few;
        solve_both_ways(1e4, times[i], &all, &few);
        assert_int_equal(all.rank, COLUMNS);
        assert_int_equal(few.rank, COLUMNS);
        for (int column = 0; column < COLUMNS; column++) {
            double off = fabs(all.solution[column] - few.solution[column]) / fabs(all.solution[column]);
            if (off > 1e-9) {
                fail_msg("column %d: %.17g by all rows, %.17g by their sums", column, all.solution[column],
                         few.solution[column]);
            }
        }
        assert_true(fabs(all.residual_square - few.residual_square) < 1e-9 * all.residual_square);
    }
}

/* A column that is 4 times another is told, with the same solution of least norm. */
static void a_dependent_column_is_told(void **state)
{
    (void)state;
    struct least_squares all, few;
    solve_both_ways(0.0, 1, &all, &few);
    assert_int_equal(all.rank, COLUMNS - 1);
    assert_int_equal(few.rank, COLUMNS - 1);
    for (int column = 0; column < COLUMNS; column++) {
        assert_true(fabs(all.solution[column] - few.solution[column]) <= 1e-9 * fabs(all.solution[column]));
    }
}

/* The worked number of gram.h. */
static void a_worked_number(void **state)
{
    static const int columns[] = {0, 1};
    static const double values[] = {1, 0, 1, 1, 1, 3, 1, 2, 5};
    (void)state;
    struct gram sums = gram_empty(2);
    struct gram_rows rows;
    struct least_squares solved;
    gram_rows_add(&sums, columns, 2, values, 3);
    assert_true(sums.sums[0][0] == 3.0L && sums.sums[0][1] == 3.0L && sums.sums[1][1] == 5.0L);
    assert_true(sums.sums[0][2] == 9.0L && sums.sums[1][2] == 13.0L && sums.sums[2][2] == 35.0L);
    gram_rows_make(&sums, &rows);
    assert_int_equal(rows.problem.rows, 2);
    assert_int_equal(least_squares_solve(&solver, &rows.problem, &solved, NULL), STATUS_OK);
    assert_true(fabs(solved.solution[0] - 1.0) < 1e-12 && fabs(solved.solution[1] - 2.0) < 1e-12);
}

/* Nothing was seen of a column: it is exactly 0 in all rows, and absent. */
static void what_is_absent_stays_absent(void **state)
{
    static const int columns[] = {0, 2};
    static const double values[] = {1, 5, 6, 2, 7, 9};
    (void)state;
    struct gram sums = gram_empty(3);
    struct gram_rows rows;
    struct least_squares solved;
    gram_rows_make(&sums, &rows);
    assert_int_equal(rows.problem.rows, 0);
    gram_rows_add(&sums, columns, 2, values, 2);
    gram_rows_make(&sums, &rows);
    assert_int_equal(least_squares_solve(&solver, &rows.problem, &solved, NULL), STATUS_OK);
    assert_true(solved.is_absent[1] && !solved.is_absent[0] && !solved.is_absent[2]);
    assert_true(solved.solution[1] == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_have_the_solution_of_their_rows),
        cmocka_unit_test(a_dependent_column_is_told),
        cmocka_unit_test(a_worked_number),
        cmocka_unit_test(what_is_absent_stays_absent),
    };
    return cmocka_run_group_tests(tests, solver_open, NULL);
}

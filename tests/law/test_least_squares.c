/* Least squares without negative coefficients: held against scipy (peers/law/least_squares.json), against every active
 * set, and against random places; and what is said of columns that say the same. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "harness/law/least_squares.h"

enum { FILE_BYTES_MAXIMUM = 1 << 20 };

static double next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) / 9007199254740992.0;
}

static double number_at(const struct json *array, size_t at)
{
    const struct json *value = json_at(array, at);
    return json_kind(value) == JSON_KIND_INTEGER ? (double)json_integer_or(value, 0) : json_real_or(value, NAN);
}

static struct least_squares problem_of(const struct json *row)
{
    const struct json *design = json_get(row, "design"), *observed = json_get(row, "observed");
    struct least_squares problem = {.columns = (int)json_integer_or(json_get(row, "columns"), 0)};
    for (size_t i = 0; i < json_count(observed); i++) {
        double values[LEAST_SQUARES_COLUMNS_MAXIMUM];
        for (int j = 0; j < problem.columns; j++) {
            values[j] = number_at(design, i * (size_t)problem.columns + (size_t)j);
        }
        least_squares_row_add(&problem, values, number_at(observed, i));
    }
    return problem;
}

static double error_of(const struct least_squares *problem, const double *values)
{
    double sum = problem->products[problem->columns][problem->columns];
    for (int i = 0; i < problem->columns; i++) {
        sum -= 2.0 * values[i] * problem->products[i][problem->columns];
        for (int j = 0; j < problem->columns; j++) {
            sum += values[i] * values[j] * problem->products[i][j];
        }
    }
    return sum;
}

static void solutions_are_scipys(void **state)
{
    (void)state;
    struct json *document = NULL;
    assert_int_equal(json_parse_file("peers/law/least_squares.json", FILE_BYTES_MAXIMUM, &document, NULL), STATUS_OK);
    const struct json *problems = json_get(document, "problems");
    assert_true(json_count(problems) >= 10);
    for (size_t at = 0; at < json_count(problems); at++) {
        const struct json *row = json_at(problems, at), *theirs = json_get(row, "solution");
        struct least_squares problem = problem_of(row);
        struct least_squares_solution ours;
        double length = sqrt(problem.products[problem.columns][problem.columns]);
        least_squares_solve(&problem, &ours);
        for (int i = 0; i < problem.columns; i++) { /* in the length that the column has in the sum */
            double off = (ours.values[i] - number_at(theirs, (size_t)i)) * sqrt(problem.products[i][i]);
            if (!(fabs(off) <= 1e-7 * length)) {
                fail_msg("%s: coefficient %d is %.12g, scipy's is %.12g", json_string_or(json_get(row, "name"), ""), i,
                         ours.values[i], number_at(theirs, (size_t)i));
            }
            assert_int_equal(ours.is_seen[i], problem.products[i][i] > 0.0);
        }
        assert_true(fabs(ours.condition / json_real_or(json_get(row, "condition"), NAN) - 1.0) < 1e-6);
        assert_true(least_squares_gap(&problem, ours.values) < 1e-8);
    }
    json_release(document);
}

/* Convex: whichever columns are used, none of which may be negative, and wherever one begins, it is not less. */
static void nothing_is_better_than_the_solution(void **state)
{
    enum { COLUMNS = 5, ROWS = 12, PROBLEMS = 200, PLACES = 200 };
    uint64_t seed = 1;
    int bound = 0;
    (void)state;
    for (int at = 0; at < PROBLEMS; at++) {
        struct least_squares problem = {.columns = COLUMNS};
        struct least_squares_solution ours, other;
        double row[COLUMNS], place[COLUMNS];
        for (int i = 0; i < ROWS; i++) {
            for (int j = 0; j < COLUMNS; j++) {
                row[j] = next_random(&seed);
            }
            least_squares_row_add(&problem, row, 3.0 * next_random(&seed) - 0.5);
        }
        least_squares_solve(&problem, &ours);
        double least = error_of(&problem, ours.values);
        assert_true(least_squares_gap(&problem, ours.values) < 1e-8);
        for (unsigned set = 0; set < 1U << COLUMNS; set++) {
            struct least_squares part = problem;
            for (int i = 0; i < COLUMNS; i++) { /* columns out of the set are none */
                for (int j = 0; j <= COLUMNS && !(set & 1U << i); j++) {
                    part.products[i][j] = part.products[j][i] = 0.0;
                }
            }
            least_squares_solve(&part, &other);
            assert_true(error_of(&problem, other.values) >= least * (1.0 - 1e-9));
        }
        for (int i = 0; i < PLACES; i++) {
            for (int j = 0; j < COLUMNS; j++) {
                place[j] = fabs(ours.values[j] + (i % 2 ? 0.01 : 2.0) * (next_random(&seed) - 0.5));
            }
            assert_true(error_of(&problem, place) >= least);
            assert_true(least_squares_gap(&problem, place) > 1e-6);
        }
        for (int j = 0; j < COLUMNS; j++) {
            assert_true(ours.values[j] >= 0.0);
            bound += ours.values[j] == 0.0;
        }
    }
    assert_true(bound > 100); /* many would have been negative */
}

static void columns_that_say_the_same_are_not_identified(void **state)
{
    static const struct {
        double apart; /* of the third column from the sum of the others */
        bool is_identified;
    } rows[] = {{0.0, false}, {1e-4, false}, {1.0, true}};
    (void)state;
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++) {
        struct least_squares problem = {.columns = 4};
        struct least_squares_solution solution;
        for (int i = 0; i < 6; i++) {
            double first = 1.0 + i % 3, second = 1.0 + i % 2;
            const double row[] = {first, second, first + second + rows[at].apart * (i / 3), i == 4 ? 9.0 : 0.0};
            least_squares_row_add(&problem, row, 2.0 * first + second + row[3]);
        }
        least_squares_solve(&problem, &solution);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(solution.is_identified[i], rows[at].is_identified);
        }
        assert_true(solution.is_identified[3]);
        assert_int_equal(isinf(solution.condition), rows[at].apart == 0.0);
        assert_true(solution.residual_square < 1e-9);
    }
}

/* The same law in bytes and in gigabytes. */
static void units_change_nothing(void **state)
{
    struct least_squares bytes = {.columns = 2}, giga = {.columns = 2};
    struct least_squares_solution first, second;
    (void)state;
    for (int i = 1; i < 6; i++) {
        const double row[] = {1e9 * i, 3.0 + i % 3}, other[] = {i, 3.0 + i % 3};
        least_squares_row_add(&bytes, row, 2e9 * i + 7.0);
        least_squares_row_add(&giga, other, 2e9 * i + 7.0);
    }
    least_squares_solve(&bytes, &first);
    least_squares_solve(&giga, &second);
    assert_true(fabs(first.values[0] * 1e9 / second.values[0] - 1.0) < 1e-9);
    assert_true(fabs(first.condition - second.condition) < 1e-6);
}

static void without_rows_there_is_nothing(void **state)
{
    const struct least_squares problem = {.columns = 3};
    struct least_squares_solution solution;
    (void)state;
    least_squares_solve(&problem, &solution);
    for (int i = 0; i < 3; i++) {
        assert_true(solution.values[i] == 0.0);
        assert_false(solution.is_seen[i] || solution.is_identified[i]);
    }
    assert_true(solution.condition == 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solutions_are_scipys),
        cmocka_unit_test(nothing_is_better_than_the_solution),
        cmocka_unit_test(columns_that_say_the_same_are_not_identified),
        cmocka_unit_test(units_change_nothing),
        cmocka_unit_test(without_rows_there_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

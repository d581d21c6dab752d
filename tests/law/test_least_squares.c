/* Least squares held against numpy and scipy (peers/law/least_squares.json), and what is said of dependent columns. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "harness/law/least_squares.h"

enum { FILE_BYTES_MAXIMUM = 1 << 20 };

static struct least_squares_solver solver;

static int solver_open(void **state)
{
    (void)state;
    struct status error = {0};
    if (least_squares_open(&solver, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return 0;
}

static double *numbers_new(const struct json *array, size_t *count)
{
    *count = json_count(array);
    double *numbers = calloc(*count + 1, sizeof *numbers);
    assert_non_null(numbers);
    for (size_t i = 0; i < *count; i++) {
        numbers[i] = json_real_or(json_at(array, i), NAN);
    }
    return numbers;
}

static void is_near(double ours, double theirs, double scale, const char *name)
{
    if (!(fabs(ours - theirs) <= 1e-9 * fmax(scale, fabs(theirs)))) {
        fail_msg("%s: %.17g, and numpy has %.17g", name, ours, theirs);
    }
}

static void problem_check(const struct json *row)
{
    const char *name = json_string_or(json_get(row, "name"), "");
    size_t design_count = 0, observed_count = 0, solution_count = 0;
    double *design = numbers_new(json_get(row, "design"), &design_count);
    double *observed = numbers_new(json_get(row, "observed"), &observed_count);
    double *solution = numbers_new(json_get(row, "solution"), &solution_count);
    struct least_squares_problem problem = {.rows = (int)json_integer_or(json_get(row, "rows"), 0),
                                            .columns = (int)json_integer_or(json_get(row, "columns"), 0),
                                            .design = design,
                                            .observed = observed};
    assert_int_equal(design_count, problem.rows * problem.columns);
    struct least_squares result;
    struct status error = {0};
    if (least_squares_solve(&solver, &problem, &result, &error) != STATUS_OK) {
        fail_msg("%s: %s", name, error.text);
    }
    assert_int_equal(result.rank, json_integer_or(json_get(row, "rank"), -1));
    for (size_t i = 0; i < solution_count; i++) {
        is_near(result.solution[i], solution[i], 0.0, name);
    }
    double observed_square = 0.0;
    for (size_t i = 0; i < observed_count; i++) {
        observed_square += observed[i] * observed[i];
    }
    is_near(result.residual_square, json_real_or(json_get(row, "residual_square"), NAN), observed_square, name);
    free(design);
    free(observed);
    free(solution);
}

static void solutions_are_numpys(void **state)
{
    (void)state;
    struct json *document = NULL;
    struct status error = {0};
    assert_int_equal(json_parse_file("peers/law/least_squares.json", FILE_BYTES_MAXIMUM, &document, &error), STATUS_OK);
    const struct json *problems = json_get(document, "problems");
    assert_int_equal(json_count(problems), 9);
    for (size_t i = 0; i < json_count(problems); i++) {
        problem_check(json_at(problems, i));
    }
    json_release(document);
}

/* The third column is the first and three times the second. */
static void a_dependent_column_is_told_with_its_relation(void **state)
{
    (void)state;
    static const double design[] = {1, 0, 1, 0, 1, 3, 2, 1, 5, 4, 7, 25};
    static const double observed[] = {1, 2, 3, 4};
    const struct least_squares_problem problem = {.rows = 4, .columns = 3, .design = design, .observed = observed};
    struct least_squares result;
    assert_int_equal(least_squares_solve(&solver, &problem, &result, NULL), STATUS_OK);
    assert_int_equal(result.rank, 2);
    int dependent = -1, dependent_count = 0;
    for (int column = 0; column < 3; column++) {
        assert_false(result.is_absent[column]);
        dependent_count += result.is_dependent[column];
        dependent = result.is_dependent[column] ? column : dependent;
    }
    assert_int_equal(dependent_count, 1);
    double relation[3], sum;
    assert_int_equal(least_squares_relation(&solver, &problem, &result, dependent, relation, NULL), STATUS_OK);
    for (int row = 0; row < 4; row++) {
        sum = 0.0;
        for (int column = 0; column < 3; column++) {
            sum += relation[column] * design[3 * row + column];
        }
        is_near(sum, design[3 * row + dependent], 0.0, "the relation");
    }
    assert_true(relation[dependent] == 0.0);
}

/* Columns 0 and 2 are one another's double; column 1 is apart, column 3 was never seen. */
static void members_of_a_relation_and_rows_that_keep_it_are_known(void **state)
{
    (void)state;
    static const double design[] = {1, 0, 2, 0, 2, 1, 4, 0, 3, 5, 6, 0};
    static const double observed[] = {1, 2, 3};
    static const struct {
        double row[4];
        bool follows;
    } rows[] = {{{1, 0, 2, 0}, true},  {{4, 9, 8, 0}, true},  {{0, 7, 0, 0}, true},
                {{1, 0, 0, 0}, false}, {{0, 1, 2, 0}, false}, {{1, 0, 2, 1}, false}};
    const struct least_squares_problem problem = {.rows = 3, .columns = 4, .design = design, .observed = observed};
    struct least_squares result;
    bool is_related[4], is_observed[4];
    double relations[16];
    assert_int_equal(least_squares_solve(&solver, &problem, &result, NULL), STATUS_OK);
    assert_int_equal(least_squares_relations(&solver, &problem, &result, is_related, relations, NULL), STATUS_OK);
    assert_true(is_related[0] && !is_related[1] && is_related[2] && !is_related[3]);
    for (int column = 0; column < 4; column++) {
        is_observed[column] = !result.is_absent[column];
    }
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++) {
        assert_true(least_squares_follows(4, is_observed, relations, rows[at].row) == rows[at].follows);
    }
}

/* 0.1 + 0.2 is no 0.3: a column that differs by rounding alone must not count as another. */
static void rounding_makes_no_rank(void **state)
{
    (void)state;
    double design[20];
    double observed[10];
    for (int row = 0; row < 10; row++) {
        design[2 * row] = 1e12 + row * 7.0 / 3.0e-3;
        design[2 * row + 1] = design[2 * row] * 0.1 + design[2 * row] * 0.2;
        observed[row] = row;
    }
    const struct least_squares_problem problem = {.rows = 10, .columns = 2, .design = design, .observed = observed};
    struct least_squares result;
    assert_int_equal(least_squares_solve(&solver, &problem, &result, NULL), STATUS_OK);
    assert_int_equal(result.rank, 1);
}

static void a_column_of_zeros_is_absent_and_not_dependent(void **state)
{
    (void)state;
    static const double design[] = {1, 0, 2, 0, 3, 0};
    static const double observed[] = {2, 4, 6};
    const struct least_squares_problem problem = {.rows = 3, .columns = 2, .design = design, .observed = observed};
    struct least_squares result;
    assert_int_equal(least_squares_solve(&solver, &problem, &result, NULL), STATUS_OK);
    assert_true(result.is_absent[1]);
    assert_false(result.is_dependent[1]);
    assert_true(result.solution[1] == 0.0);
    is_near(result.solution[0], 2.0, 0.0, "a slope");
}

static void what_is_no_fit_is_refused(void **state)
{
    (void)state;
    static const double design[] = {1, NAN, 2, INFINITY};
    static const double fine[] = {1, 2};
    struct least_squares result;
    struct status error = {0};
    struct least_squares_problem problem = {.rows = 0, .columns = 1, .design = fine, .observed = fine};
    assert_int_equal(least_squares_solve(&solver, &problem, &result, &error), STATUS_INVALID);
    assert_string_equal(error.text, "a fit of 0 rows and 1 columns: there must be rows, and 1 to 64 columns");
    problem = (struct least_squares_problem){.rows = 2, .columns = 65, .design = fine, .observed = fine};
    assert_int_equal(least_squares_solve(&solver, &problem, &result, &error), STATUS_INVALID);
    problem = (struct least_squares_problem){.rows = 2, .columns = 2, .design = design, .observed = fine};
    assert_int_equal(least_squares_solve(&solver, &problem, &result, &error), STATUS_INVALID);
    assert_string_equal(error.text, "a fit has a figure that is not finite");
    problem = (struct least_squares_problem){.rows = 2, .columns = 1, .design = fine, .observed = design};
    assert_int_equal(least_squares_solve(&solver, &problem, &result, &error), STATUS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solutions_are_numpys),
        cmocka_unit_test(a_dependent_column_is_told_with_its_relation),
        cmocka_unit_test(members_of_a_relation_and_rows_that_keep_it_are_known),
        cmocka_unit_test(rounding_makes_no_rank),
        cmocka_unit_test(a_column_of_zeros_is_absent_and_not_dependent),
        cmocka_unit_test(what_is_no_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, solver_open, NULL);
}

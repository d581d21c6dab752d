/* Least squares: the active set, the eigenvalues behind the condition number, and the proof. */
#include "harness/law/least_squares.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { COLUMNS = LEAST_SQUARES_COLUMNS_MAXIMUM, ROUNDS_MAXIMUM = 1000, SWEEPS_MAXIMUM = 60 };

/* A column that is nearer than the root of this to a sum of the used ones is such a sum. */
#define PIVOT_LEAST 1e-12

/* What a column may still pull, as a share of what was observed: rounding. */
#define PULL_LEAST 1e-10

/* The problem with columns of length 1, those that no row has left out. */
struct scaled {
    int count;
    int column[COLUMNS];
    double length[COLUMNS];
    double products[COLUMNS][COLUMNS], observed[COLUMNS];
    double observed_length;
};

void least_squares_row_add(struct least_squares *problem, const double *row, double observed)
{
    for (int i = 0; i <= problem->columns; i++) {
        double left = i < problem->columns ? row[i] : observed;
        for (int j = 0; j <= problem->columns; j++) {
            problem->products[i][j] += left * (j < problem->columns ? row[j] : observed);
        }
    }
}

void least_squares_add(struct least_squares *problem, const struct least_squares *other)
{
    for (int i = 0; i <= problem->columns; i++) {
        for (int j = 0; j <= problem->columns; j++) {
            problem->products[i][j] += other->products[i][j];
        }
    }
}

static void scale(const struct least_squares *problem, struct scaled *scaled)
{
    int last = problem->columns;
    memset(scaled, 0, sizeof *scaled);
    scaled->observed_length = sqrt(problem->products[last][last]);
    for (int i = 0; i < last; i++) {
        if (problem->products[i][i] > 0.0) {
            scaled->column[scaled->count] = i;
            scaled->length[scaled->count++] = sqrt(problem->products[i][i]);
        }
    }
    for (int i = 0; i < scaled->count; i++) {
        const double *row = problem->products[scaled->column[i]];
        for (int j = 0; j < scaled->count; j++) {
            scaled->products[i][j] = row[scaled->column[j]] / (scaled->length[i] * scaled->length[j]);
        }
        scaled->observed[i] = row[last] / scaled->length[i];
    }
}

/* ---- the active set ---- */

struct active_set {
    int count;
    int members[COLUMNS];
    bool is_used[COLUMNS], is_refused[COLUMNS]; /* refused: a sum of the used ones */
    double values[COLUMNS];
};

/* How much more of a column would lessen the error. */
static double pull(const struct scaled *scaled, const double *values, int column)
{
    double sum = scaled->observed[column];
    for (int i = 0; i < scaled->count; i++) {
        sum -= scaled->products[column][i] * values[i];
    }
    return sum;
}

/* The least over the members alone, without regard to signs, by Cholesky's factor. False: the last member is a sum of
 * the others. */
static bool members_solve(const struct scaled *scaled, const struct active_set *set, double *solved)
{
    double factor[COLUMNS][COLUMNS];
    double found[COLUMNS];
    for (int i = 0; i < set->count; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = scaled->products[set->members[i]][set->members[j]];
            for (int k = 0; k < j; k++) {
                sum -= factor[i][k] * factor[j][k];
            }
            if (i == j && sum < PIVOT_LEAST) {
                return false;
            }
            factor[i][j] = i == j ? sqrt(sum) : sum / factor[j][j];
        }
        found[i] = scaled->observed[set->members[i]];
        for (int k = 0; k < i; k++) {
            found[i] -= factor[i][k] * found[k];
        }
        found[i] /= factor[i][i];
    }
    for (int i = set->count - 1; i >= 0; i--) {
        for (int k = i + 1; k < set->count; k++) {
            found[i] -= factor[k][i] * found[k];
        }
        found[i] /= factor[i][i];
        solved[set->members[i]] = found[i];
    }
    return true;
}

static void member_remove(struct active_set *set, int at)
{
    set->is_used[set->members[at]] = false;
    set->values[set->members[at]] = 0.0;
    set->count--;
    memmove(&set->members[at], &set->members[at + 1], (size_t)(set->count - at) * sizeof set->members[0]);
}

/* From the values so far towards those of the members, until the first would be negative, which leaves. */
static void members_settle(const struct scaled *scaled, struct active_set *set)
{
    double solved[COLUMNS];
    for (bool is_settled = false; !is_settled && set->count > 0;) {
        double step = 1.0;
        int leaves = -1;
        if (!members_solve(scaled, set, solved)) {
            return; /* cannot be: fewer members of an independent set are independent */
        }
        for (int at = 0; at < set->count; at++) {
            int column = set->members[at];
            double share = solved[column] <= 0.0 ? set->values[column] / (set->values[column] - solved[column]) : 1.0;
            if (solved[column] <= 0.0 && share <= step) {
                step = share;
                leaves = at;
            }
        }
        for (int at = 0; at < set->count; at++) {
            int column = set->members[at];
            set->values[column] += step * (solved[column] - set->values[column]);
        }
        is_settled = leaves < 0;
        if (leaves >= 0) {
            member_remove(set, leaves);
        }
    }
}

/* The column that pulls most and may be used; -1: none pulls, which is the least. */
static int next_column(const struct scaled *scaled, const struct active_set *set)
{
    double most = PULL_LEAST * scaled->observed_length;
    int found = -1;
    for (int column = 0; column < scaled->count; column++) {
        double pulls = pull(scaled, set->values, column);
        if (!set->is_used[column] && !set->is_refused[column] && pulls > most) {
            most = pulls;
            found = column;
        }
    }
    return found;
}

static void active_set_find(const struct scaled *scaled, struct active_set *set)
{
    double solved[COLUMNS];
    int column;
    memset(set, 0, sizeof *set);
    for (int round = 0; round < ROUNDS_MAXIMUM && (column = next_column(scaled, set)) >= 0; round++) {
        set->members[set->count++] = column;
        set->is_used[column] = true;
        if (members_solve(scaled, set, solved) && solved[column] > 0.0) {
            members_settle(scaled, set);
            memset(set->is_refused, 0, sizeof set->is_refused);
        } else {
            member_remove(set, set->count - 1);
            set->is_refused[column] = true;
        }
    }
}

/* ---- what the rows tell ---- */

/* Turns columns p and q of a symmetric matrix so that their product is 0 (Jacobi); vectors turn with them. */
static void turn(double matrix[COLUMNS][COLUMNS], double vectors[COLUMNS][COLUMNS], int count, int p, int q)
{
    double theta = 0.5 * (matrix[q][q] - matrix[p][p]) / matrix[p][q];
    double tangent = copysign(1.0, theta) / (fabs(theta) + sqrt(theta * theta + 1.0));
    double cosine = 1.0 / sqrt(tangent * tangent + 1.0), sine = tangent * cosine;
    for (int i = 0; i < count; i++) {
        double at_p = matrix[i][p], at_q = matrix[i][q];
        matrix[i][p] = cosine * at_p - sine * at_q;
        matrix[i][q] = sine * at_p + cosine * at_q;
    }
    for (int i = 0; i < count; i++) {
        double at_p = matrix[p][i], at_q = matrix[q][i], of_p = vectors[i][p], of_q = vectors[i][q];
        matrix[p][i] = cosine * at_p - sine * at_q;
        matrix[q][i] = sine * at_p + cosine * at_q;
        vectors[i][p] = cosine * of_p - sine * of_q;
        vectors[i][q] = sine * of_p + cosine * of_q;
    }
}

static void identify(const struct scaled *scaled, struct least_squares_solution *solution)
{
    double matrix[COLUMNS][COLUMNS], vectors[COLUMNS][COLUMNS] = {{0.0}};
    double least = INFINITY, most = 0.0;
    int count = scaled->count;
    memcpy(matrix, scaled->products, sizeof matrix);
    for (int i = 0; i < count; i++) {
        vectors[i][i] = 1.0;
    }
    for (int sweep = 0; sweep < SWEEPS_MAXIMUM; sweep++) {
        for (int p = 0; p < count; p++) {
            for (int q = p + 1; q < count; q++) {
                if (fabs(matrix[p][q]) > DBL_EPSILON * DBL_EPSILON) {
                    turn(matrix, vectors, count, p, q);
                }
            }
        }
    }
    for (int i = 0; i < count; i++) {
        matrix[i][i] = matrix[i][i] > PIVOT_LEAST ? matrix[i][i] : 0.0;
        least = fmin(least, matrix[i][i]);
        most = fmax(most, matrix[i][i]);
    }
    solution->condition = count > 0 ? sqrt(most / least) : 1.0;
    for (int i = 0; i < count; i++) {
        double inflation = 0.0;
        for (int k = 0; k < count; k++) {
            bool has_part = fabs(vectors[i][k]) > sqrt(PIVOT_LEAST);
            inflation += has_part ? vectors[i][k] * vectors[i][k] / matrix[k][k] : 0.0;
        }
        solution->is_identified[scaled->column[i]] = sqrt(inflation) <= LEAST_SQUARES_CONDITION_MOST;
    }
}

static double residual_square(const struct least_squares *problem, const double *values)
{
    int last = problem->columns;
    double sum = problem->products[last][last];
    for (int i = 0; i < last; i++) {
        sum -= 2.0 * values[i] * problem->products[i][last];
        for (int j = 0; j < last; j++) {
            sum += values[i] * values[j] * problem->products[i][j];
        }
    }
    return fmax(sum, 0.0);
}

void least_squares_solve(const struct least_squares *problem, struct least_squares_solution *solution)
{
    struct scaled scaled;
    struct active_set set;
    memset(solution, 0, sizeof *solution);
    scale(problem, &scaled);
    active_set_find(&scaled, &set);
    for (int i = 0; i < scaled.count; i++) {
        solution->is_seen[scaled.column[i]] = true;
        solution->values[scaled.column[i]] = set.values[i] / scaled.length[i];
    }
    identify(&scaled, solution);
    solution->residual_square = residual_square(problem, solution->values);
}

double least_squares_gap(const struct least_squares *problem, const double *values)
{
    struct scaled scaled;
    double lengths[COLUMNS], gap = 0.0;
    scale(problem, &scaled);
    for (int i = 0; i < scaled.count; i++) {
        lengths[i] = values[scaled.column[i]] * scaled.length[i];
        gap = lengths[i] < 0.0 ? INFINITY : gap;
    }
    for (int i = 0; i < scaled.count && scaled.observed_length > 0.0; i++) {
        double pulls = pull(&scaled, lengths, i);
        gap = fmax(gap, (lengths[i] > 0.0 ? fabs(pulls) : pulls) / scaled.observed_length);
    }
    return gap;
}

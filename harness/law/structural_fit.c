/* The structural form of one kind of model: a convex fit for each reading of the moments, and the best of them. */
#include <math.h>
#include <stdlib.h>

#include "harness/law/overhead_law.h"
#include "harness/report/percentile.h"
#include "harness/tape/target.h"

double overhead_workspace_bytes(const char *target)
{
    const struct target *found = NULL;
    return target_find(target, &found, NULL) == STATUS_OK
               ? (double)(found->product_workspace_bytes + found->biased_linear_workspace_bytes)
               : 0.0;
}

static int64_t requested_of(const struct law_point *point)
{
    return point->pass_bytes > point->decode_bytes ? point->pass_bytes : point->decode_bytes;
}

/* A stage, or a whole case if its stages are not known apart. Relative to its peak. */
static void part_add(const struct law_point *point, enum overhead_part part, int64_t peak_bytes, const double *reading,
                     struct least_squares *problem)
{
    struct overhead_row row;
    enum overhead_moment moment = MOMENT_FEED;
    overhead_row_make(point, part, &row);
    overhead_row_value(&row, reading, &moment);
    for (int term = 0; term < TERM_COUNT; term++) {
        row.bytes[moment][term] /= (double)peak_bytes;
    }
    least_squares_row_add(problem, row.bytes[moment], (double)(peak_bytes - point->weights_bytes) / (double)peak_bytes);
}

/* Requested bytes where they are known, because what the allocator rounds up is no tensor's. */
static void point_add(const struct law_point *point, const double *reading, struct least_squares *problem)
{
    if (point->pass_bytes > 0) {
        part_add(point, PART_PASS, point->pass_bytes, reading, problem);
    }
    if (point->decode_bytes > 0) {
        part_add(point, PART_DECODE, point->decode_bytes, reading, problem);
    }
    if (point->pass_bytes <= 0 && point->decode_bytes <= 0) {
        part_add(point, PART_WHOLE, point->allocated_bytes, reading, problem);
    }
}

static double rounding_of(const struct law_points *points, const struct law_kind *kind, const int *models, int without,
                          double *room)
{
    int count = 0;
    for (int at = 0; at < kind->case_count; at++) {
        const struct law_point *point = &points->all[kind->points[at]];
        if (models[kind->points[at]] != without && requested_of(point) > 0) {
            room[count++] = (double)(point->allocated_bytes - requested_of(point));
        }
    }
    return count > 0 ? values_median(room, count) : 0.0;
}

enum status_code structural_fit_make(const struct law_points *points, const struct law_kind *kind, const int *models,
                                     int without, struct structural_fit *fit, struct status *error)
{
    const double *reading;
    double *room = calloc((size_t)kind->case_count + 1, sizeof *room);
    if (room == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
    }
    for (int index = 0; (reading = overhead_reading(index)) != NULL; index++) {
        struct least_squares problem = {.columns = TERM_COUNT};
        struct least_squares_solution solution;
        for (int at = 0; at < kind->case_count; at++) {
            if (models[kind->points[at]] != without) {
                point_add(&points->all[kind->points[at]], reading, &problem);
            }
        }
        least_squares_solve(&problem, &solution);
        if (index == 0 || solution.residual_square < fit->solution.residual_square) {
            fit->solution = solution;
        }
    }
    for (int term = 0; term < TERM_COUNT; term++) {
        fit->coefficients[term] = fit->solution.values[term];
    }
    fit->rounding_bytes = rounding_of(points, kind, models, without, room);
    free(room);
    return STATUS_OK;
}

double structural_predict(const struct law_point *point, const struct structural_fit *fit,
                          const struct structural_fit *whole)
{
    struct overhead_row row;
    enum overhead_moment moment = MOMENT_FEED;
    overhead_row_make(point, PART_WHOLE, &row);
    double beside = overhead_row_value(&row, fit->coefficients, &moment);
    for (int term = 0; term < TERM_COUNT; term++) {
        bool is_lost = whole->solution.is_identified[term] && !fit->solution.is_identified[term];
        if (row.bytes[moment][term] > 0.0 && (is_lost || !fit->solution.is_seen[term])) {
            return NAN;
        }
    }
    return (double)point->weights_bytes + beside + fit->rounding_bytes + overhead_workspace_bytes(point->target);
}

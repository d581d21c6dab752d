/* Overhead fit: turns of giving rows to moments and of fitting them. */
#include "harness/law/overhead_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAXIMUM = 40 };

/* Numbers of a token that classes of transformers keep alive, roughly: where turns begin. */
static const double starts[][TERM_COUNT] = {
#define START(feed_width, attention_width)                                                                             \
    {                                                                                                                  \
        [TERM_LOGIT_VOCAB] = 1.0, [TERM_LOGIT_HIDDEN] = 1.0, [TERM_FEED_HIDDEN] = 4.0, [TERM_FEED_WIDTH] = feed_width, \
        [TERM_FEED_SCORES] = 1.0, [TERM_ATTENTION_WIDTH] = attention_width, [TERM_ATTENTION_SCORES] = 2.0,             \
        [TERM_ATTENTION_FLOAT] = 1.0, [TERM_CACHE] = 1.0, [TERM_DECODE_LAYER] = 0.5, [TERM_DECODE_REPEAT] = 1.0,       \
        [TERM_DECODE_VOCAB] = 2.0, [TERM_IMAGE] = 1.0, [TERM_CONSTANT] = 0.1                                           \
    }
    START(2.0, 2.0), START(3.0, 2.0), START(4.0, 2.0), START(2.0, 4.0), START(3.0, 4.0), START(4.0, 4.0),
#undef START
};

enum { START_COUNT = sizeof starts / sizeof starts[0] };

/* The rows that count, as one least-squares problem; the same room for every round. */
struct turn {
    const struct fit_row *rows;
    int count;
    const double *weights;
    enum overhead_moment *moments; /* [count] */
    enum overhead_moment *best;    /* of the best round */
    double *design;                /* [count][TERM_COUNT] */
    double *observed;
};

static double weight_of(const struct turn *turn, int at)
{
    return turn->weights == NULL ? 1.0 : turn->weights[turn->rows[at].model];
}

/* Gives each row to its highest moment; whether one has changed. */
static bool moments_give(struct turn *turn, const double *coefficients, bool is_first)
{
    bool changed = is_first;
    for (int at = 0; at < turn->count; at++) {
        enum overhead_moment moment = MOMENT_FEED;
        overhead_row_value(&turn->rows[at].row, coefficients, &moment);
        changed = changed || moment != turn->moments[at];
        turn->moments[at] = moment;
    }
    return changed;
}

static int problem_fill(struct turn *turn)
{
    int used = 0;
    for (int at = 0; at < turn->count; at++) {
        const struct fit_row *row = &turn->rows[at];
        double scale = sqrt(weight_of(turn, at)) / row->peak_bytes;
        if (scale > 0.0) {
            for (int term = 0; term < TERM_COUNT; term++) {
                turn->design[(size_t)used * TERM_COUNT + (size_t)term] =
                    row->row.bytes[turn->moments[at]][term] * scale;
            }
            turn->observed[used++] = row->beside_bytes * scale;
        }
    }
    return used;
}

static double square_of(const struct turn *turn, const double *coefficients)
{
    double sum = 0.0;
    for (int at = 0; at < turn->count; at++) {
        const struct fit_row *row = &turn->rows[at];
        enum overhead_moment moment;
        double off = (overhead_row_value(&row->row, coefficients, &moment) - row->beside_bytes) / row->peak_bytes;
        sum += weight_of(turn, at) * off * off;
    }
    return sum;
}

static enum status_code relations_find(const struct least_squares_solver *solver,
                                       const struct least_squares_problem *problem, const struct least_squares *solved,
                                       struct overhead_fit *fit, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (int term = 0; term < TERM_COUNT && code == STATUS_OK; term++) {
        fit->is_dependent[term] = solved->is_dependent[term];
        if (solved->is_dependent[term]) {
            code = least_squares_relation(solver, problem, solved, term, fit->relation[term], error);
        }
    }
    return code;
}

/* Rows may go to and fro between moments for ever, so that the best of all rounds is kept, with its moments. */
static void best_keep(struct turn *turn, const struct overhead_fit *fit, struct overhead_fit *best)
{
    if (best->round_count == 0 || fit->relative_square < best->relative_square) {
        *best = *fit;
        memcpy(turn->best, turn->moments, (size_t)turn->count * sizeof *turn->best);
    }
}

/* One fit of the rows with the moments that they have. */
static enum status_code round_make(const struct least_squares_solver *solver, struct turn *turn,
                                   struct overhead_fit *fit, struct least_squares *solved, struct status *error)
{
    struct least_squares_problem problem = {
        .rows = problem_fill(turn), .columns = TERM_COUNT, .design = turn->design, .observed = turn->observed};
    enum status_code code = least_squares_solve(solver, &problem, solved, error);
    for (int term = 0; term < TERM_COUNT && code == STATUS_OK; term++) {
        fit->is_seen[term] = !solved->is_absent[term];
        fit->coefficients[term] = fit->is_seen[term] ? solved->solution[term] : fit->coefficients[term];
    }
    fit->round_count++;
    fit->relative_square = code == STATUS_OK ? square_of(turn, fit->coefficients) : 0.0;
    return code;
}

/* What is told of the best round: its relations, and its rows by moment. */
static enum status_code best_finish(const struct least_squares_solver *solver, struct turn *turn, bool with_relations,
                                    struct overhead_fit *fit, struct status *error)
{
    struct overhead_fit again = *fit;
    struct least_squares solved = {0};
    memcpy(turn->moments, turn->best, (size_t)turn->count * sizeof *turn->moments);
    enum status_code code = with_relations ? round_make(solver, turn, &again, &solved, error) : STATUS_OK;
    if (code == STATUS_OK && with_relations) {
        const struct least_squares_problem problem = {
            .rows = problem_fill(turn), .columns = TERM_COUNT, .design = turn->design, .observed = turn->observed};
        code = relations_find(solver, &problem, &solved, fit, error);
    }
    for (int at = 0; at < turn->count && code == STATUS_OK; at++) {
        fit->moment_rows[turn->moments[at]] += weight_of(turn, at) > 0.0;
    }
    return code;
}

/* Turns from one start. */
static enum status_code turns_take(const struct least_squares_solver *solver, struct turn *turn, const double *start,
                                   bool with_relations, struct overhead_fit *fit, struct status *error)
{
    struct least_squares solved = {0};
    struct overhead_fit now = {0};
    enum status_code code = STATUS_OK;
    *fit = (struct overhead_fit){0};
    memcpy(now.coefficients, start, sizeof now.coefficients);
    while (code == STATUS_OK && !now.settled && now.round_count < ROUNDS_MAXIMUM) {
        now.settled = !moments_give(turn, now.coefficients, now.round_count == 0);
        if (!now.settled) {
            code = round_make(solver, turn, &now, &solved, error);
            best_keep(turn, &now, fit);
        }
    }
    fit->settled = now.settled;
    return code == STATUS_OK ? best_finish(solver, turn, with_relations, fit, error) : code;
}

enum status_code overhead_fit_make(const struct least_squares_solver *solver, const struct fit_row *rows, int count,
                                   const double *weights, const double *start, bool with_relations,
                                   struct overhead_fit *fit, struct status *error)
{
    size_t room = count > 0 ? (size_t)count : 1;
    struct turn turn = {.rows = rows, .count = count, .weights = weights};
    turn.moments = calloc(room, sizeof *turn.moments);
    turn.best = calloc(room, sizeof *turn.best);
    turn.design = calloc(room * TERM_COUNT, sizeof *turn.design);
    turn.observed = calloc(room, sizeof *turn.observed);
    struct overhead_fit *tried = malloc(sizeof *tried);
    enum status_code code = STATUS_OK;
    if (turn.moments == NULL || turn.best == NULL || turn.design == NULL || turn.observed == NULL || tried == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a fit");
    }
    for (int at = 0; at < (start != NULL ? 1 : START_COUNT) && code == STATUS_OK; at++) {
        code = turns_take(solver, &turn, start != NULL ? start : starts[at], with_relations, tried, error);
        if (code == STATUS_OK && (at == 0 || tried->relative_square < fit->relative_square)) {
            *fit = *tried;
        }
    }
    free(tried);
    free(turn.moments);
    free(turn.best);
    free(turn.design);
    free(turn.observed);
    return code;
}

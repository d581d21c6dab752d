/* Overhead fit: turns of giving rows to moments and of fitting them. */
#include "harness/law/overhead_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/law/gram.h"

enum { ROUNDS_MAXIMUM = 40 };

_Static_assert((int)TERM_COUNT <= (int)GRAM_COLUMNS_MAXIMUM, "a gram has a column for each term");

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

/* ---- rows ---- */

/* A row of the rows that are ready: its moments' terms stand one after the other in the values. */
struct packed_row {
    unsigned has; /* a bit for each moment */
    size_t first; /* of its values */
    double beside_bytes, peak_bytes;
};

/* Rows of one model that stand together, and the sums of their products with the moments that they had when these were
 * made. */
struct block {
    int first, count, model;
    bool has_sums;
    struct gram sums;
};

struct fit_rows {
    int count, block_count;
    struct packed_row *rows;
    double *values;
    double *scaled; /* room for the rows of one moment: its terms, and what they add up to */
    struct block *blocks;
    unsigned char *room;                           /* of the four below, each [count] */
    unsigned char *moments, *next, *best, *summed; /* of this round, the next, the best, and of the sums */
};

static size_t values_count(const struct fit_row *rows, int count)
{
    size_t values = 0;
    for (int at = 0; at < count; at++) {
        for (int moment = 0; moment < MOMENT_COUNT; moment++) {
            values += rows[at].row.has[moment] ? (size_t)overhead_moment_terms((enum overhead_moment)moment)->count : 0;
        }
    }
    return values;
}

static size_t row_pack(struct fit_rows *ready, const struct fit_row *row, struct packed_row *packed, size_t used)
{
    *packed = (struct packed_row){.first = used, .beside_bytes = row->beside_bytes, .peak_bytes = row->peak_bytes};
    for (int moment = 0; moment < MOMENT_COUNT; moment++) {
        const struct moment_terms *terms = overhead_moment_terms((enum overhead_moment)moment);
        packed->has |= row->row.has[moment] ? 1u << moment : 0u;
        for (int at = 0; at < terms->count && row->row.has[moment]; at++) {
            ready->values[used++] = row->row.bytes[moment][terms->terms[at]];
        }
    }
    return used;
}

static void rows_pack(struct fit_rows *ready, const struct fit_row *rows, int count)
{
    size_t used = 0;
    ready->count = count;
    for (int at = 0; at < count; at++) {
        used = row_pack(ready, &rows[at], &ready->rows[at], used);
        if (at == 0 || rows[at].model != rows[at - 1].model) {
            ready->blocks[ready->block_count++] = (struct block){.first = at, .model = rows[at].model};
        }
        ready->blocks[ready->block_count - 1].count++;
    }
}

static int blocks_count(const struct fit_row *rows, int count)
{
    int blocks = 0;
    for (int at = 0; at < count; at++) {
        blocks += at == 0 || rows[at].model != rows[at - 1].model;
    }
    return blocks;
}

void fit_rows_close(struct fit_rows *ready)
{
    if (ready != NULL) {
        free(ready->rows);
        free(ready->values);
        free(ready->scaled);
        free(ready->blocks);
        free(ready->room);
        free(ready);
    }
}

enum status_code fit_rows_open(const struct fit_row *rows, int count, struct fit_rows **ready, struct status *error)
{
    struct fit_rows *made = calloc(1, sizeof *made);
    size_t room = count > 0 ? (size_t)count : 1;
    if (made != NULL) {
        made->rows = calloc(room, sizeof *made->rows);
        made->values = calloc(values_count(rows, count) + 1, sizeof *made->values);
        made->scaled = calloc(room * (MOMENT_TERMS_MAXIMUM + 1), sizeof *made->scaled);
        made->blocks = calloc((size_t)blocks_count(rows, count) + 1, sizeof *made->blocks);
        made->room = calloc(4 * room, sizeof *made->room);
    }
    if (made == NULL || made->rows == NULL || made->values == NULL || made->scaled == NULL || made->blocks == NULL ||
        made->room == NULL) {
        fit_rows_close(made);
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a fit");
    }
    made->moments = made->room;
    made->next = made->room + room;
    made->best = made->room + 2 * room;
    made->summed = made->room + 3 * room;
    rows_pack(made, rows, count);
    *ready = made;
    return STATUS_OK;
}

/* ---- turns ---- */

/* The rows that count in one fit. */
struct turn {
    struct fit_rows *rows;
    const double *weights;
};

static double weight_of(const struct turn *turn, const struct block *block)
{
    return turn->weights == NULL ? 1.0 : turn->weights[block->model];
}

/* The highest moment of a row by coefficients; returns its bytes, as overhead_row_value does. */
static double packed_value(const struct fit_rows *rows, const struct packed_row *row, const double *coefficients,
                           unsigned char *moment)
{
    const double *values = rows->values + row->first;
    double highest = 0.0;
    bool found = false;
    for (int at = 0; at < MOMENT_COUNT; at++) {
        if ((row->has >> at & 1u) == 0) {
            continue;
        }
        const struct moment_terms *terms = overhead_moment_terms((enum overhead_moment)at);
        double sum = 0.0;
        for (int term = 0; term < terms->count; term++) {
            sum += coefficients[terms->terms[term]] * values[term];
        }
        values += terms->count;
        if (!found || sum > highest) {
            highest = sum;
            *moment = (unsigned char)at;
            found = true;
        }
    }
    return highest;
}

/* Gives each row its highest moment for the next round. Returns the sum of squares of relative errors, and whether a
 * row has another moment than in this round. */
static double moments_give(struct turn *turn, const double *coefficients, bool *changed)
{
    struct fit_rows *rows = turn->rows;
    double sum = 0.0;
    *changed = false;
    for (int index = 0; index < rows->block_count; index++) {
        const struct block *block = &rows->blocks[index];
        double weight = weight_of(turn, block);
        for (int at = block->first; at < block->first + block->count && weight > 0.0; at++) {
            const struct packed_row *row = &rows->rows[at];
            double off = (packed_value(rows, row, coefficients, &rows->next[at]) - row->beside_bytes) / row->peak_bytes;
            sum += weight * off * off;
            *changed = *changed || rows->next[at] != rows->moments[at];
        }
    }
    return sum;
}

static void moments_advance(struct fit_rows *rows)
{
    unsigned char *moments = rows->moments;
    rows->moments = rows->next;
    rows->next = moments;
}

/* Adds the rows of a block that have a moment. */
static void moment_sum(struct fit_rows *rows, const struct block *block, int moment, struct gram *sums)
{
    const struct moment_terms *terms = overhead_moment_terms((enum overhead_moment)moment);
    double *scaled = rows->scaled;
    int count = 0;
    for (int at = block->first; at < block->first + block->count; at++) {
        const struct packed_row *row = &rows->rows[at];
        if (rows->moments[at] == moment) {
            const double *values = rows->values + row->first;
            for (int before = 0; before < moment; before++) {
                values +=
                    (row->has >> before & 1u) != 0 ? overhead_moment_terms((enum overhead_moment)before)->count : 0;
            }
            for (int term = 0; term < terms->count; term++) {
                *scaled++ = values[term] / row->peak_bytes;
            }
            *scaled++ = row->beside_bytes / row->peak_bytes;
            count++;
        }
    }
    gram_rows_add(sums, terms->terms, terms->count, rows->scaled, count);
}

/* The sums of a block with the moments of this round, which most blocks had in the last one too. */
static const struct gram *block_sums(struct fit_rows *rows, struct block *block)
{
    size_t count = (size_t)block->count;
    if (!block->has_sums || memcmp(rows->summed + block->first, rows->moments + block->first, count) != 0) {
        block->sums = gram_empty(TERM_COUNT);
        for (int moment = 0; moment < MOMENT_COUNT; moment++) {
            moment_sum(rows, block, moment, &block->sums);
        }
        memcpy(rows->summed + block->first, rows->moments + block->first, count);
        block->has_sums = true;
    }
    return &block->sums;
}

static void problem_make(struct turn *turn, struct gram_rows *problem)
{
    struct gram all = gram_empty(TERM_COUNT);
    for (int index = 0; index < turn->rows->block_count; index++) {
        struct block *block = &turn->rows->blocks[index];
        double weight = weight_of(turn, block);
        if (weight > 0.0) {
            gram_add(&all, block_sums(turn->rows, block), weight);
        }
    }
    gram_rows_make(&all, problem);
}

/* Rows may go to and fro between moments for ever, so that the best of all rounds is kept, with its moments. */
static void best_keep(struct turn *turn, const struct overhead_fit *fit, struct overhead_fit *best)
{
    if (best->round_count == 0 || fit->relative_square < best->relative_square) {
        *best = *fit;
        memcpy(turn->rows->best, turn->rows->moments, (size_t)turn->rows->count);
    }
}

/* One fit of the rows with the moments that they have. Of solutions that fit equally well the one of the least norm. */
static enum status_code rows_solve(const struct least_squares_solver *solver, struct turn *turn,
                                   struct overhead_fit *fit, struct gram_rows *problem, struct least_squares *solved,
                                   struct status *error)
{
    problem_make(turn, problem);
    enum status_code code = least_squares_solve(solver, &problem->problem, solved, error);
    for (int term = 0; term < TERM_COUNT && code == STATUS_OK; term++) {
        fit->is_seen[term] = !solved->is_absent[term];
        fit->is_deficient = (term > 0 && fit->is_deficient) || solved->is_dependent[term];
    }
    return code;
}

/* A round. What the rows do not tell stays where it was: the smallest change is taken of coefficients that fit equally
 * well. The least of them could lie far away, and give rows of other models to a moment that is not theirs. */
static enum status_code round_make(const struct least_squares_solver *solver, struct turn *turn,
                                   struct overhead_fit *fit, struct gram_rows *problem, struct least_squares *solved,
                                   struct status *error)
{
    double begin[TERM_COUNT] = {0};
    enum status_code code = rows_solve(solver, turn, fit, problem, solved, error);
    if (code == STATUS_OK && fit->is_deficient) {
        memcpy(begin, fit->coefficients, sizeof begin);
        for (int row = 0; row < problem->problem.rows; row++) {
            for (int term = 0; term < TERM_COUNT; term++) {
                problem->observed[row] -= problem->design[row * TERM_COUNT + term] * begin[term];
            }
        }
        code = least_squares_solve(solver, &problem->problem, solved, error);
    }
    for (int term = 0; term < TERM_COUNT && code == STATUS_OK; term++) {
        fit->coefficients[term] = fit->is_seen[term] ? begin[term] + solved->solution[term] : fit->coefficients[term];
    }
    fit->round_count++;
    return code;
}

/* How many models have rows of each term. */
static void models_count(struct turn *turn, struct overhead_fit *fit)
{
    for (int index = 0; index < turn->rows->block_count; index++) {
        struct block *block = &turn->rows->blocks[index];
        const struct gram *sums = weight_of(turn, block) > 0.0 ? block_sums(turn->rows, block) : NULL;
        for (int term = 0; term < TERM_COUNT && sums != NULL; term++) {
            fit->model_counts[term] += sums->sums[term][term] > 0.0L;
        }
    }
}

/* What is told of the best round: its relations, its models and its rows by moment. Of coefficients that cannot be told
 * apart those of the least norm are shown, wherever the turns began. */
static enum status_code best_finish(const struct least_squares_solver *solver, struct turn *turn, bool with_counts,
                                    struct overhead_fit *fit, struct status *error)
{
    struct overhead_fit again = *fit;
    struct least_squares solved = {0};
    struct gram_rows problem;
    struct fit_rows *rows = turn->rows;
    enum status_code code = STATUS_OK;
    memcpy(rows->moments, rows->best, (size_t)rows->count);
    if (fit->is_deficient) {
        code = rows_solve(solver, turn, &again, &problem, &solved, error);
        code = code == STATUS_OK ? least_squares_relations(solver, &problem.problem, &solved, fit->is_dependent,
                                                           &fit->relation[0][0], error)
                                 : code;
    }
    for (int term = 0; term < TERM_COUNT && with_counts && code == STATUS_OK; term++) {
        bool is_least = fit->is_deficient && fit->is_seen[term];
        fit->coefficients[term] = is_least ? solved.solution[term] : fit->coefficients[term];
    }
    if (with_counts) {
        models_count(turn, fit);
    }
    for (int index = 0; index < rows->block_count && code == STATUS_OK; index++) {
        const struct block *block = &rows->blocks[index];
        for (int at = block->first; at < block->first + block->count && weight_of(turn, block) > 0.0; at++) {
            fit->moment_rows[rows->moments[at]]++;
        }
    }
    return code;
}

/* Moments are few, and so are the coefficients that a round can come to: those that differ by rounding are the same. */
static bool coefficients_equal(const double *left, const double *right)
{
    bool equal = true;
    for (int term = 0; term < TERM_COUNT && equal; term++) {
        equal = fabs(left[term] - right[term]) <= 1e-11 * fabs(left[term]);
    }
    return equal;
}

/* Whether a round has come to coefficients that an earlier one had: what follows is what followed then, for ever. */
static bool rounds_repeat(double (*seen)[TERM_COUNT], const struct overhead_fit *fit)
{
    int last = fit->round_count - 1;
    memcpy(seen[last], fit->coefficients, sizeof seen[last]);
    for (int round = 0; round < last; round++) {
        if (coefficients_equal(seen[round], seen[last])) {
            return true;
        }
    }
    return false;
}

/* Turns from one start. */
static enum status_code turns_take(const struct least_squares_solver *solver, struct turn *turn, const double *start,
                                   bool with_counts, struct overhead_fit *fit, struct status *error)
{
    struct least_squares solved = {0};
    struct gram_rows problem;
    struct overhead_fit now = {0};
    enum status_code code = STATUS_OK;
    double seen[ROUNDS_MAXIMUM][TERM_COUNT];
    bool changed, repeats = false;
    *fit = (struct overhead_fit){0};
    memcpy(now.coefficients, start, sizeof now.coefficients);
    moments_give(turn, now.coefficients, &changed);
    while (code == STATUS_OK && !now.settled && !repeats && now.round_count < ROUNDS_MAXIMUM) {
        moments_advance(turn->rows);
        code = round_make(solver, turn, &now, &problem, &solved, error);
        now.relative_square = code == STATUS_OK ? moments_give(turn, now.coefficients, &changed) : 0.0;
        best_keep(turn, &now, fit);
        now.settled = !changed && now.round_count < ROUNDS_MAXIMUM;
        repeats = code == STATUS_OK && rounds_repeat(seen, &now);
    }
    fit->settled = now.settled;
    return code == STATUS_OK ? best_finish(solver, turn, with_counts, fit, error) : code;
}

enum status_code overhead_fit_make(const struct least_squares_solver *solver, struct fit_rows *rows,
                                   const double *weights, const double *start, bool with_counts,
                                   struct overhead_fit *fit, struct status *error)
{
    struct turn turn = {.rows = rows, .weights = weights};
    struct overhead_fit *tried = malloc(sizeof *tried);
    enum status_code code = STATUS_OK;
    if (tried == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a fit");
    }
    for (int at = 0; at < (start != NULL ? 1 : START_COUNT) && code == STATUS_OK; at++) {
        code = turns_take(solver, &turn, start != NULL ? start : starts[at], with_counts, tried, error);
        if (code == STATUS_OK && (at == 0 || tried->relative_square < fit->relative_square)) {
            *fit = *tried;
        }
    }
    free(tried);
    return code;
}

bool overhead_fit_tells(const struct overhead_fit *fit, int term)
{
    return fit->is_seen[term] && !fit->is_dependent[term];
}

bool overhead_fit_tells_moment(const struct overhead_fit *fit, const struct overhead_row *row,
                               enum overhead_moment moment)
{
    return least_squares_follows(TERM_COUNT, fit->is_seen, &fit->relation[0][0], row->bytes[moment]);
}

/* Overhead fit: the coefficients of the structural law for cases of one kind.
 *
 * A maximum of sums is fitted by turns: every row is given to the moment that is highest by the coefficients so far,
 * then one fit of relative errors is made, until no row changes its moment (Magnani and Boyd, Convex
 * piecewise-linear fitting, 2009). That ends in a place that depends on where it began, so that it begins at each of a
 * fixed list of coefficients, and the fit with the smallest error is taken. The same points give the same fit. */
#ifndef ASSAY_LAW_OVERHEAD_FIT_H
#define ASSAY_LAW_OVERHEAD_FIT_H

#include "harness/law/least_squares.h"
#include "harness/law/overhead_terms.h"

struct fit_row {
    struct overhead_row row;
    double beside_bytes; /* measured peak less the weights: what the terms add up to */
    double peak_bytes;   /* measured, of its part: errors are relative to it */
    int model;           /* number of its model */
};

/* Rows made ready for many fits with other weights: packed, and their sums kept from one to the next. */
struct fit_rows;

/* rows may go away. STATUS_OUT_OF_MEMORY. The caller closes *ready. */
enum status_code fit_rows_open(const struct fit_row *rows, int count, struct fit_rows **ready, struct status *error);
void fit_rows_close(struct fit_rows *ready); /* NULL is accepted */

struct overhead_fit {
    double coefficients[TERM_COUNT];
    bool is_seen[TERM_COUNT];                /* some row of a moment that has it was the highest */
    bool is_dependent[TERM_COUNT];           /* it cannot be told apart from others: a member of a relation */
    double relation[TERM_COUNT][TERM_COUNT]; /* of one member of each relation: what of the others it is */
    bool is_deficient;                       /* there are relations */
    int model_counts[TERM_COUNT];            /* models with a row whose highest moment has it */
    int moment_rows[MOMENT_COUNT];           /* rows by their highest moment */
    double relative_square;                  /* sum of squares of relative errors */
    int round_count;
    bool settled; /* no row changed its moment in the last round */
};

/* weights: how often each model counts, by number; NULL: each once. start: coefficients to begin at; NULL: the list.
 * with_counts: also model_counts. STATUS_INVALID: no row counts. */
enum status_code overhead_fit_make(const struct least_squares_solver *solver, struct fit_rows *rows,
                                   const double *weights, const double *start, bool with_counts,
                                   struct overhead_fit *fit, struct status *error);

/* Whether the rows of a fit tell the coefficient of a term: it was seen, and is a member of no relation. */
bool overhead_fit_tells(const struct overhead_fit *fit, int term);

/* Whether the rows of a fit tell the sum of a moment of another row: of each term or, of terms that cannot be told
 * apart, of what they are together there. */
bool overhead_fit_tells_moment(const struct overhead_fit *fit, const struct overhead_row *row,
                               enum overhead_moment moment);

#endif

/* Overhead law: what inference takes beside the weights, in three forms of growing detail, fitted to replay and tested
 * on measurements of GPUs.
 *
 * Points of a host are what replay says to the byte, or nearly: a law that is fitted to them compresses replay, so that
 * people can print it. What it is worth on GPUs is another question: every point of a GPU is a test, and none is
 * fitted. Errors are (predicted - measured) / measured, of allocated bytes; for a GPU a form adds the workspaces of
 * its class (harness/tape/target.h).
 *
 * All fits are of relative errors, by least_squares.h, without negative coefficients. One resampling: each model is
 * left out in turn. It gives a coefficient its interval and the points of replay their errors. */
#ifndef ASSAY_LAW_OVERHEAD_LAW_H
#define ASSAY_LAW_OVERHEAD_LAW_H

#include "harness/law/law_points.h"
#include "harness/law/least_squares.h"
#include "harness/law/overhead_terms.h"

/* X(NAME, key, words). The first is not fitted. */
#define OVERHEAD_FORM_TABLE(X)                                                                                         \
    X(RULE, "rule", "1.2 x weights")                                                                                   \
    X(CONSTANT, "constant", "c x weights")                                                                             \
    X(AFFINE, "affine", "m MiB + w x weights + h x N H e")                                                             \
    X(STRUCTURAL, "structural", "weights + the highest moment, by kind")

enum overhead_form {
#define OVERHEAD_FORM_ENUM(name, key, words) FORM_##name,
    OVERHEAD_FORM_TABLE(OVERHEAD_FORM_ENUM)
#undef OVERHEAD_FORM_ENUM
        FORM_COUNT
};

/* The terms of AFFINE; CONSTANT has the second. */
const struct overhead_term_words *overhead_affine_words(int term);

const char *overhead_form_key(enum overhead_form form);
const char *overhead_form_words(enum overhead_form form);

enum { AFFINE_COUNT = 3, MODELS_MINIMUM = 3, SIMPLE_FORM_COUNT = 2, P90_CASES_MINIMUM = 10 };

/* The least and the most of the fits that leave a model out. Not known if one of them does not identify it. */
struct interval {
    double low, high;
    bool is_known;
};

struct error_summary {
    int count;
    double median, p90,
        worst;    /* of |error|; NaN of none; p90 of fewer than P90_CASES_MINIMUM, of which it says nothing */
    double under; /* share that was predicted too small */
};

/* A fitted coefficient of any form. */
struct overhead_coefficient {
    double value; /* that predictions take, also if it is not identified */
    bool is_seen, is_identified;
    struct interval interval;
};

/* A kind of model with MODELS_MINIMUM models and more. */
struct law_kind {
    const char *kind;
    int model_count, case_count;
    struct overhead_coefficient terms[TERM_COUNT];
    double condition;
    double rounding_bytes;           /* median of allocated less requested bytes */
    struct error_summary left_out;   /* of replay's points, each model left out */
    struct error_summary tested;     /* on GPUs */
    struct law_point low, high;      /* of each number the least and the most; texts NULL */
    int64_t tokens_low, tokens_high; /* law_point_tokens */
    int *points;                     /* places in the points */
};

/* CONSTANT and AFFINE: one fit over all kinds. N as in overhead_terms.h; of CONSTANT the weights alone. */
struct overhead_simple {
    struct overhead_coefficient terms[AFFINE_COUNT];
    double condition;
};

/* The measurements of one program in one operand; of all, both NULL. */
struct overhead_test {
    const char *source, *program;
    int case_count, untold_count; /* untold: of kinds without a law, or of moments that no case of replay tells */
    struct error_summary errors[FORM_COUNT];
};

struct overhead_law {
    struct arena arena;
    const struct law_points *points;
    int model_count, case_count; /* that it was fitted to */
    int unfit_count;             /* points of replay of kinds with too few models */
    struct law_kind *kinds;      /* by name */
    int kind_count;
    struct overhead_simple simple[SIMPLE_FORM_COUNT];
    struct error_summary left_out[FORM_COUNT]; /* of replay's points */
    int untold_count;                          /* of those, without an error of the structural form */
    struct overhead_test *tests;               /* in the order in which they were read */
    int test_count;
    struct overhead_test all;   /* each measurement once */
    double *errors[FORM_COUNT]; /* by point; NaN: not known, or not fitted */
};

/* Fits and tests. points must outlive *law. STATUS_INVALID: no kind has MODELS_MINIMUM models of replay, with what
 * there is. The caller releases *law. */
enum status_code overhead_law_make(const struct law_points *points, struct overhead_law **law, struct status *error);
void overhead_law_release(struct overhead_law *law); /* NULL is accepted */

/* Workspaces of libraries of a class of devices; 0 of one that has none, or is not known. */
double overhead_workspace_bytes(const char *target);

/* "fitted to replay (3170 cases of 138 models of 20 kinds), tested on 166 real measurements of GPUs: ..." */
void overhead_claim_append(struct text *text, const struct overhead_law *law);

/* ---- inside harness/law ---- */

struct error_summary error_summary_make(const double *errors, int count, double *room);

/* The tests and their errors, and those of replay. room: for twice as many figures as points. */
enum status_code overhead_tests_make(struct overhead_law *law, double *room, struct status *error);

/* The structural form of kind->points, with every model but one (-1: with all). models: by point its number. */
struct structural_fit {
    struct least_squares_solution solution;
    double coefficients[TERM_COUNT];
    double rounding_bytes;
};
enum status_code structural_fit_make(const struct law_points *points, const struct law_kind *kind, const int *models,
                                     int without, struct structural_fit *fit, struct status *error);

/* Its prediction of allocated bytes on the class of the point; NaN: its points lack a term of the highest moment, or do
 * not identify one that the fit to all of them (which may be the same) identifies. */
double structural_predict(const struct law_point *point, const struct structural_fit *fit,
                          const struct structural_fit *whole);

#endif

/* Overhead law: what inference takes beside the weights, in several forms of growing detail, each judged on models that
 * it was not fitted to.
 *
 * Levels: allocated bytes (without the context) and the footprint (with it: device or process). Forms are compared over
 * the same points. Errors are (predicted - measured) / measured, each of a model all of whose cases were left out. */
#ifndef ASSAY_LAW_OVERHEAD_LAW_H
#define ASSAY_LAW_OVERHEAD_LAW_H

#include "harness/law/law_points.h"
#include "harness/law/overhead_fit.h"

/* X(NAME, key, words). */
#define OVERHEAD_FORM_TABLE(X)                                                                                         \
    X(RULE, "rule", "1.2 x weights")                                                                                   \
    X(CONSTANT, "constant", "c x weights, fitted")                                                                     \
    X(AFFINE, "affine", "a + b x weights + c x tokens x hidden x bytes, fitted")                                       \
    X(AFFINE_KIND, "affine-kind", "the same, fitted for each kind of model")                                           \
    X(STRUCTURAL, "structural", "weights + the highest of the tape's moments")                                         \
    X(REPLAYED, "replayed", "a context + the segments that replay has")

enum overhead_form {
#define OVERHEAD_FORM_ENUM(name, key, words) FORM_##name,
    OVERHEAD_FORM_TABLE(OVERHEAD_FORM_ENUM)
#undef OVERHEAD_FORM_ENUM
        FORM_COUNT
};

const char *overhead_form_key(enum overhead_form form);
const char *overhead_form_words(enum overhead_form form);

enum overhead_level { OVERHEAD_ALLOCATED, OVERHEAD_FOOTPRINT, OVERHEAD_LEVEL_COUNT };

const char *overhead_level_name(enum overhead_level level); /* "allocated", "footprint" */

enum { AFFINE_COUNT = 3, MODELS_MINIMUM = 3, RESAMPLES_MAXIMUM = 10000, P99_CASES_MINIMUM = 100 };

/* Two ends of 95 of 100 resamples that tell the coefficient. Not known if fewer than half of them do, or if fewer than
 * MODELS_MINIMUM models do: what then differs between resamples is not what the coefficient is uncertain by. */
struct interval {
    double low, high;
    bool is_known;
};

struct error_summary {
    int count;
    double bias;                    /* median of signed errors */
    double median, p90, p99, worst; /* of |error|; p99 NaN below P99_CASES_MINIMUM: it were the worst by another name */
    double under;                   /* share that was predicted too small */
};

/* Cases of one type of model, on one class of device, measured by one program: what has coefficients of its own. */
struct overhead_group {
    const char *kind, *target, *program;
    int *points; /* places in the points */
    int point_count;
    int *models; /* numbers of its models */
    int model_count;
    bool has_terms; /* of the moments; without them nothing is fitted, and its segments are replayed alone */
    bool counts;    /* it has terms, and MODELS_MINIMUM models */
    struct overhead_fit fit;
    struct interval spread[TERM_COUNT];
    int told_resamples[TERM_COUNT]; /* of the law's resamples those that tell a coefficient */
    double allocator_bytes;         /* median of allocated minus requested bytes */
    double context[2];              /* footprint = context[0] + context[1] x allocated, of its device and program */
    struct error_summary errors[OVERHEAD_LEVEL_COUNT]; /* of the structural form */
    struct error_summary replayed;                     /* of the replayed form, with the context */
    struct law_point low, high;                        /* of each number the least and the most; texts NULL */
    /* Of a kind that does not count: the same kind on another class of device, whose coefficients it borrows, and what
     * is beside them on its own device: workspaces of libraries. NULL: there is none. */
    const struct overhead_group *donor;
    double workspace_bytes;
    struct error_summary borrowed; /* of the donor's law without the model, and the workspaces of other models */
};

/* footprint = bytes + the segments that replay has, of one class of device, program and mode: replay knows which
 * segments the allocator has and keeps, which no sum of tensors does, and needs no coefficient of a kind. */
struct overhead_context {
    const char *target, *program, *mode;
    int case_count, model_count;
    double bytes; /* the median of footprint less replayed segments */
    struct interval spread;
    struct error_summary errors; /* of models that were left out; count 0: there is one alone */
};

/* Cases by what the allocator holds beside the tensors of the peak, as a share of the footprint: the errors of the
 * structural form with the context. */
struct overhead_held {
    double low, high; /* low <= share < high */
    struct error_summary errors;
};

enum { HELD_COUNT = 5 };

struct overhead_simple {
    double coefficients[AFFINE_COUNT]; /* of FORM_RULE and FORM_CONSTANT one: times the weights */
    bool is_told[AFFINE_COUNT];        /* false: the cases do not tell it apart from the others */
    struct interval spread[AFFINE_COUNT];
};

struct overhead_law {
    struct arena arena;
    const struct law_points *points;
    uint64_t seed;
    int resample_count;
    int model_count; /* of all points */
    int *model_of_point;
    int *cluster_of_model; /* models of equal sizes, whatever their kind, are one cluster */
    int cluster_count;
    struct overhead_group *kinds; /* by name */
    int kind_count, counted_kind_count, counted_point_count, counted_model_count, counted_cluster_count;
    int *kind_of_point;
    struct overhead_simple simple[OVERHEAD_LEVEL_COUNT][FORM_COUNT]; /* of RULE, CONSTANT and AFFINE */
    double *errors[OVERHEAD_LEVEL_COUNT][FORM_COUNT]; /* by point; NaN: not known, or its kind does not count */
    double *borrowed;                                 /* errors of borrowed laws, by point; NaN: none */
    double *replayed; /* errors of the replayed form, by point, whether its kind counts or not; NaN: not known */
    struct overhead_context *contexts; /* by device, program and mode */
    int context_count;
    int untold_count;     /* points of kinds that count without an error: only their own model tells a coefficient */
    int unreplayed_count; /* points with a footprint for which no replay is known */
    struct error_summary summary[OVERHEAD_LEVEL_COUNT][FORM_COUNT];
    /* Errors of allocated peaks relative to what is beside the weights (peak - weights), over the same cases but those
     * that have nothing beside them. */
    struct error_summary beside[FORM_COUNT];
};

struct overhead_law_request {
    uint64_t seed;
    int resample_count; /* 0: no intervals */
};

/* Fits all forms. points must outlive *law. STATUS_INVALID: no kind has three models, with what there is.
 * STATUS_UNAVAILABLE: no LAPACK. The caller releases *law. */
enum status_code overhead_law_make(const struct law_points *points, const struct overhead_law_request *request,
                                   struct overhead_law **law, struct status *error);
void overhead_law_release(struct overhead_law *law); /* NULL is accepted */

/* From the least to the most of what the cases have that a law is fitted to; texts NULL. */
struct overhead_range {
    struct law_point low, high;
    int64_t tokens_low, tokens_high; /* law_point_tokens */
};

struct overhead_range overhead_range_of(const struct overhead_law *law);

/* "tokens 16 to 2048, weights 2.00 MiB to 1.50 GiB, layers 2 to 12, hidden size 384 to 1024"; gap: what parts
 * weights and layers, " " or the begin of a line. */
void overhead_range_append(struct text *text, const struct overhead_range *range, const char *gap);

/* Whether the cases tell each coefficient of a simple form. */
bool overhead_simple_is_told(const struct overhead_simple *simple, enum overhead_form form);

/* The structural prediction of allocated bytes by the coefficients of a kind. */
double overhead_predict(const struct law_point *point, const double coefficients[TERM_COUNT], double allocator_bytes,
                        enum overhead_moment *moment);

/* Shares below 2, 5, 10, 20 % and above, over the cases whose kind counts and whose replay is known. */
enum status_code overhead_held_make(const struct overhead_law *law, struct overhead_held held[HELD_COUNT],
                                    struct status *error);

/* The goal that errors are held against: the median and the p99 of their size. */
#define OVERHEAD_GOAL_MEDIAN 0.02
#define OVERHEAD_GOAL_P99    0.05

bool overhead_goal_is_met(const struct error_summary *summary); /* without a p99 the worst; false of none */

/* The measured bytes of a level; POINT_BYTES_UNKNOWN. */
int64_t overhead_measured(const struct law_point *point, enum overhead_level level);

/* ---- inside harness/law ---- */

struct error_summary error_summary_make(const double *errors, int count, double *room);

/* The simple forms of a level, their errors and their intervals. */
enum status_code overhead_simple_make(struct overhead_law *law, const struct least_squares_solver *solver,
                                      enum overhead_level level, struct status *error);

/* The structural form: kinds, their fits, errors and intervals. */
enum status_code overhead_structural_make(struct overhead_law *law, const struct least_squares_solver *solver,
                                          struct status *error);

/* The fit of a group without a model (its number), and what the allocator rounds up there. */
enum status_code overhead_group_fit(struct overhead_law *law, const struct least_squares_solver *solver,
                                    const struct overhead_group *group, int without, struct overhead_fit *fit,
                                    double *rounded_bytes, struct status *error);

/* Whether what a group has borrowed fits there: an error of 5 % at most in the median. Programs of other releases keep
 * other tensors alive. */
bool overhead_loan_fits(const struct overhead_group *group);

/* Errors of all borrowed laws that fit, of a device and a program. */
enum status_code overhead_borrowed_summary(const struct overhead_law *law, const struct overhead_group *of,
                                           struct error_summary *summary, struct status *error);

/* Gives groups that do not count their donors. After overhead_structural_make. */
enum status_code overhead_borrow(struct overhead_law *law, const struct least_squares_solver *solver,
                                 struct status *error);

/* The contexts, and the errors of FORM_REPLAYED. After the kinds are known. */
enum status_code overhead_contexts_make(struct overhead_law *law, struct status *error);

/* Numbers that follow from a seed alone (splitmix64): weights[i] is how often model i was drawn among count draws of
 * count models. */
void models_draw(uint64_t *state, double *weights, const int *models, int count);

/* Draws of models of several kinds: of the clusters that they are in, with all models of a cluster at once, because
 * models of equal sizes tell the same twice. */
struct cluster_draw {
    const struct overhead_law *law;
    const int *models; /* of the caller */
    int model_count, count;
    int *clusters;   /* [count] */
    double *weights; /* by number of the cluster */
};

/* models must outlive *draw. False if memory ran out. The caller closes *draw in either case. */
bool cluster_draw_open(const struct overhead_law *law, const int *models, int model_count, struct cluster_draw *draw);
void cluster_draw_close(struct cluster_draw *draw);
void cluster_draw_next(const struct cluster_draw *draw, uint64_t *state, double *weights); /* by number of the model */

/* The ends between which 95 of 100 values lie, of as many as there are resamples that tell a coefficient; values are
 * sorted. model_count: models that tell it. */
struct interval interval_of(double *values, int count, int resample_count, int model_count);

#endif

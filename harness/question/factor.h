/* Factor: what cases of inference take of a device, as a multiple of their weights: what stands in place of "1.2 x the
 * weights" (EleutherAI's Transformer Math 101, which accelerate's documentation repeats).
 *
 * Worked: weights of 498 MB and a device that shows 2.03 GiB, 1.87 to 2.25, make 4.38 (4.04 to 4.86). */
#ifndef ASSAY_QUESTION_FACTOR_H
#define ASSAY_QUESTION_FACTOR_H

#include "harness/estimate/estimate.h"
#include "harness/question/bounds.h"
#include "harness/report/page_format.h"

/* The factor of the rule, and from which part of it on more than is needed is a waste (harness/report/weights_rule.h).
 */
#define FACTOR_RULE  1.2
#define FACTOR_WASTE 1.1

/* Cases whose likely factors are further apart than that are not told to share one. */
#define FACTOR_SPREAD 2.0

struct factor_case {
    const char *name;         /* its id without the model; borrowed */
    int64_t weights_bytes;    /* parameters and buffers after loading, as they are stored */
    int64_t allocated_bytes;  /* peak of the tensors and workspaces */
    bool has_device;          /* the class is a GPU */
    struct byte_range device; /* as nvidia-smi shows it: segments, libraries and context; without a GPU the segments */
    enum { FACTOR_FITS, FACTOR_DEPENDS, FACTOR_TOO_LARGE } fit; /* of the memory of a GPU that is named */
};

/* By replay, which must answer. STATUS_INVALID: it has no peaks, with its reason. */
enum status_code factor_case_find(const struct estimate_input *input, const struct bounds_device *device,
                                  struct factor_case *one, struct status *error);

double factor_of(const struct factor_case *one, int64_t bytes); /* bytes over the weights */

/* Of a grid: the least factor, in hundredths, that is enough for every case at the upper end of its range. */
struct factor_advice {
    double factor;        /* to be used */
    double likely;        /* the highest of the likely ones */
    double lowest;        /* the lowest of the likely ones */
    int64_t beside_bytes; /* most bytes beside the weights, at the upper end */
    const struct factor_case *decides;
    int too_little, wasteful; /* cases for which the rule is that, by the likely figures */
};

struct factor_advice factor_advise(const struct factor_case *cases, int count);

/* "too little", "wasteful" or "close": what the rule is for a case. */
const char *factor_rule_word(const struct factor_case *one);

const char *factor_fit_word(const struct factor_case *one); /* "yes", "depends", "no" */

/* What a page is of. All is borrowed. */
struct factor_grid {
    const char *model, *device; /* "NVIDIA H200", "sm_90" */
    const char *program;        /* a line that names the loop; "" if there is none */
    bool is_gpu;                /* a GPU is named, so that cases may be too large for it */
    const struct factor_case *cases;
    int count;
    struct json *cases_json; /* an array; further members of each case are set by the caller */
};

/* {"weights_bytes", ..., "factor": {...}}; false: no memory. */
bool factor_case_set(const struct factor_case *one, bool is_gpu, struct json *object);

extern const struct page_kind factor_page; /* its subject is a factor_grid */

#endif

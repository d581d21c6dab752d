/* Prediction: what every estimator says about one workload. */
#ifndef ASSAY_RUN_PREDICTION_H
#define ASSAY_RUN_PREDICTION_H

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/estimate/estimate.h"

/* What replay says of a case, without its other figures. */
struct prediction_peak {
    bool is_known;
    int64_t allocated_bytes; /* 0 if it is not known */
    bool is_refused;         /* it does not fit the bound: an answer, and not a prediction that is missing */
};

struct prediction {
    struct prediction_peak peak;
    /* Why a figure is missing: the reason of the first estimator that failed, or of a peak that is neither known nor
     * refused. STATUS_OK: nothing is. */
    struct status failure;
    /* Of a case that looks for its batch: how the search will go, {"policy", "start", "end", "found", "predicted",
     * "tries": [{"batch", "predicted_runs", "next"}]} as in a record; the other figures are those of the batch that it
     * ends with. NULL: none is looked for, or it cannot be said. Owned: prediction_release. */
    struct json *search;
};

void prediction_release(struct prediction *prediction); /* all zero is accepted */

/* An object with one member for each estimator that applies, in the order of the table; null for one that failed.
 * STATUS_OUT_OF_MEMORY. The caller releases *estimates. */
enum status_code prediction_json(const struct estimate_input *input, struct json **estimates, struct status *error);

/* The same, and what a line about the case needs. estimates may be NULL: the estimators are asked, and no object is
 * made. */
enum status_code prediction_make(const struct estimate_input *input, struct json **estimates,
                                 struct prediction *prediction, struct status *error);

/* By the estimators of harness/estimate, which know a model on one device. */
enum status_code prediction_by_estimators(const struct estimate_input *input, struct json **estimates,
                                          struct prediction *prediction, struct status *error);

#endif

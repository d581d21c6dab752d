/* Prediction: what every estimator says about one workload. */
#ifndef ASSAY_RUN_PREDICTION_H
#define ASSAY_RUN_PREDICTION_H

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/estimate/estimate.h"

/* An object with one member for each estimator that applies, in the order of the table; null for one that failed. Why
 * the first of these failed is put into *failure, whose code is STATUS_OK where none did; failure may be NULL.
 * STATUS_OUT_OF_MEMORY. The caller releases *estimates. */
enum status_code prediction_json(const struct estimate_input *input, struct json **estimates, struct status *failure,
                                 struct status *error);

#endif

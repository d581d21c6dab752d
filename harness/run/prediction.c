/* Prediction: the table of estimators, asked one by one. The rules stand in harness/estimate. */
#include "harness/run/prediction.h"

enum status_code prediction_json(const struct estimate_input *input, struct json **estimates, struct status *failure,
                                 struct status *error)
{
    struct status first = {0};
    struct json *object = json_object_new();
    bool made = object != NULL;
    const struct estimator *estimator = NULL;
    for (int i = 0; made && (estimator = estimator_at(i)) != NULL; i++) {
        struct estimate estimate;
        if (estimator_applies(estimator, input)) {
            struct status *why = first.code == STATUS_OK ? &first : NULL;
            bool known = estimate_compute(estimator, input, &estimate, why) == STATUS_OK;
            made = json_set(object, estimator->name, known ? estimate_to_json(&estimate) : json_null_new());
        }
    }
    if (!made) {
        json_release(object);
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the predictions of a case");
    }
    *estimates = object;
    if (failure != NULL) {
        *failure = first;
    }
    return STATUS_OK;
}

/* Prediction: by the kind of the case; of most the table of estimators, asked one by one. The rules stand in
 * harness/estimate. */
#include "harness/run/case_kind.h"

#include <string.h>

#include "harness/record/level.h"

/* why: of a peak that is neither known nor refused. */
static struct prediction_peak peak_read(const struct estimate *estimate, struct status *why)
{
    const struct estimate_quantity *peak = estimate_get(estimate, level_peak_key(LEVEL_ALLOCATED));
    const struct estimate_quantity *fits = estimate_get(estimate, "fits");
    struct prediction_peak result = {
        .is_known = peak != NULL && peak->known && peak->text == NULL,
        .is_refused = fits != NULL && fits->text != NULL && strcmp(fits->text, "no") == 0,
    };
    result.allocated_bytes = result.is_known ? peak->value : 0;
    if (!result.is_known && !result.is_refused) {
        status_set(why, STATUS_INVALID, "%s", estimate->note[0] != '\0' ? estimate->note : "replay does not say why");
    }
    return result;
}

enum status_code prediction_by_estimators(const struct estimate_input *input, struct json **estimates,
                                          struct prediction *prediction, struct status *error)
{
    struct prediction result = {0};
    struct status unsaid = {0};
    struct json *object = estimates != NULL ? json_object_new() : NULL;
    bool made = estimates == NULL || object != NULL;
    const struct estimator *estimator = NULL;
    for (int i = 0; made && (estimator = estimator_at(i)) != NULL; i++) {
        struct estimate estimate;
        struct status why = {0};
        if (!estimator_applies(estimator, input)) {
            continue;
        }
        bool known = estimate_compute(estimator, input, &estimate, &why) == STATUS_OK;
        if (!known && result.failure.code == STATUS_OK) {
            result.failure = why;
        }
        if (known && estimator == &estimator_replay) {
            result.peak = peak_read(&estimate, &unsaid);
        }
        made =
            object == NULL || json_set(object, estimator->name, known ? estimate_to_json(&estimate) : json_null_new());
    }
    if (!made) {
        json_release(object);
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the predictions of a case");
    }
    if (result.failure.code == STATUS_OK) {
        result.failure = unsaid;
    }
    if (estimates != NULL) {
        *estimates = object;
    }
    *prediction = result;
    return STATUS_OK;
}

enum status_code prediction_make(const struct estimate_input *input, struct json **estimates,
                                 struct prediction *prediction, struct status *error)
{
    return case_kind_of(input->workload)->predict(input, estimates, prediction, error);
}

void prediction_release(struct prediction *prediction)
{
    json_release(prediction->search);
    *prediction = (struct prediction){0};
}

enum status_code prediction_json(const struct estimate_input *input, struct json **estimates, struct status *error)
{
    struct prediction prediction = {0};
    enum status_code code = prediction_make(input, estimates, &prediction, error);
    prediction_release(&prediction);
    return code;
}

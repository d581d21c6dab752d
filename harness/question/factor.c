/* Factor: sums and their quotients; what a case takes is replay's affair. */
#include "harness/question/factor.h"

#include <math.h>
#include <stdlib.h>

#include "harness/record/level.h"
#include "harness/tape/gpu_table.h"

static enum status_code peaks_take(const struct estimate *estimate, struct factor_case *one, int64_t *segments_bytes,
                                   struct status *error)
{
    const struct estimate_quantity *load = estimate_get(estimate, "stages.load." LEVEL_KEY(requested));
    const struct estimate_quantity *allocated = estimate_get(estimate, level_peak_key(LEVEL_ALLOCATED));
    const struct estimate_quantity *reserved = estimate_get(estimate, level_peak_key(LEVEL_RESERVED));
    if (load == NULL || allocated == NULL || reserved == NULL || !load->known || !allocated->known ||
        !reserved->known || load->value <= 0) {
        return status_set(error, STATUS_INVALID, "replay has no peaks of this case: %s",
                          estimate->note[0] != '\0' ? estimate->note : "its weights are not known");
    }
    one->weights_bytes = load->value;
    one->allocated_bytes = allocated->value;
    *segments_bytes = reserved->value;
    return STATUS_OK;
}

enum status_code factor_case_find(const struct estimate_input *input, const struct bounds_device *device,
                                  struct factor_case *one, struct status *error)
{
    const struct estimator *replay = estimator_find("replay");
    struct estimate *estimate = malloc(sizeof *estimate);
    struct bounds bounds;
    int64_t segments_bytes = 0;
    enum status_code code = STATUS_OK;
    if (estimate == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for an estimate");
    }
    code = estimate_compute(replay, input, estimate, error);
    code = code == STATUS_OK ? peaks_take(estimate, one, &segments_bytes, error) : code;
    if (code == STATUS_OK) {
        struct json *figures = estimate_to_json(estimate);
        one->has_device = bounds_find(figures, device, input->config, input->workload, &bounds);
        one->device =
            one->has_device ? bounds.device : (struct byte_range){segments_bytes, segments_bytes, segments_bytes};
        one->fit = FACTOR_FITS;
        if (one->has_device && device->gpu != NULL) {
            int64_t memory_bytes = gpu_memory_bytes(device->gpu);
            one->fit = bounds.nvml.low_bytes > memory_bytes    ? FACTOR_TOO_LARGE
                       : bounds.nvml.high_bytes > memory_bytes ? FACTOR_DEPENDS
                                                               : FACTOR_FITS;
        }
        json_release(figures);
    }
    free(estimate);
    return code;
}

double factor_of(const struct factor_case *one, int64_t bytes)
{
    return (double)bytes / (double)one->weights_bytes;
}

static bool is_too_little(const struct factor_case *one)
{
    return factor_of(one, one->device.likely_bytes) > FACTOR_RULE;
}

static bool is_wasteful(const struct factor_case *one)
{
    return FACTOR_RULE > FACTOR_WASTE * factor_of(one, one->device.likely_bytes);
}

const char *factor_rule_word(const struct factor_case *one)
{
    return is_too_little(one) ? "too little" : is_wasteful(one) ? "wasteful" : "close";
}

const char *factor_fit_word(const struct factor_case *one)
{
    return one->fit == FACTOR_FITS ? "yes" : one->fit == FACTOR_DEPENDS ? "depends" : "no";
}

struct factor_advice factor_advise(const struct factor_case *cases, int count)
{
    struct factor_advice advice = {.lowest = INFINITY};
    for (int at = 0; at < count; at++) {
        const struct factor_case *one = &cases[at];
        double likely = factor_of(one, one->device.likely_bytes), high = factor_of(one, one->device.high_bytes);
        int64_t beside_bytes = one->device.high_bytes - one->weights_bytes;
        advice.decides = high > advice.factor ? one : advice.decides;
        advice.factor = fmax(advice.factor, high);
        advice.likely = fmax(advice.likely, likely);
        advice.lowest = fmin(advice.lowest, likely);
        advice.beside_bytes = beside_bytes > advice.beside_bytes ? beside_bytes : advice.beside_bytes;
        advice.too_little += is_too_little(one);
        advice.wasteful += is_wasteful(one);
    }
    advice.factor = ceil(100.0 * advice.factor) / 100.0;
    return advice;
}

/* Fit: one or two trials and their margins. No words for people: those are the command's. */
#include "harness/question/fit.h"

const char *fit_verdict_name(enum fit_verdict verdict)
{
    static const char *const names[] = {[FIT_NO] = "no", [FIT_YES] = "yes", [FIT_UNDECIDED] = "depends"};
    return names[verdict];
}

bool fit_gives_back(const struct fit *fit)
{
    const struct trial *trial = fit->verdict == FIT_YES ? &fit->trial : &fit->least;
    return trial->fits && trial->bounded.reserved_bytes_peak < trial->unbounded.reserved_bytes_peak;
}

/* If the tensors alone do not fit: what they lack, whatever the allocator does. Else what was missing when a segment
 * was refused. */
static int64_t needed_bytes(const struct trial *trial, struct fit *fit)
{
    int64_t tensors_bytes = trial->unbounded.requested_bytes_peak;
    int64_t segment_bytes = trial->segment_bytes > trial->wanted_bytes ? trial->segment_bytes : trial->wanted_bytes;
    int64_t refused_bytes = trial->held_bytes + segment_bytes;
    int64_t bytes = tensors_bytes > refused_bytes ? tensors_bytes : refused_bytes;
    fit->missing_is_exact = bytes == trial->unbounded.reserved_bytes_peak;
    fit->missing_is_least = bytes == tensors_bytes;
    return bytes;
}

int64_t fit_certain_bytes(const struct replay_result *result)
{
    return result->requested_bytes_peak - result->categories_at_peak[CATEGORY_WORKSPACE];
}

/* The least of so many bytes, but not less than the tensors. */
static int64_t least_bytes(const struct fit *fit, const struct trial *trial, int64_t bytes)
{
    int64_t least = doubt_least(fit->doubt, bytes), certain = fit_certain_bytes(&trial->unbounded);
    return least > certain || certain > bytes ? least : certain;
}

static void margins_note(struct fit *fit)
{
    int64_t low_rest_bytes = fit->memory_bytes - fit->overhead.high_bytes;
    int64_t high_rest_bytes = fit->memory_bytes - fit->overhead.low_bytes;
    const struct trial *fitting = fit->verdict == FIT_YES ? &fit->trial : &fit->least;
    const struct replay_result *result = &fitting->bounded;
    if (fit->verdict != FIT_YES) {
        int64_t bytes = needed_bytes(&fit->trial, fit);
        fit->margin_low_bytes = low_rest_bytes - doubt_most(fit->doubt, bytes);
        fit->margin_high_bytes = high_rest_bytes - least_bytes(fit, &fit->trial, bytes);
    } else {
        fit->margin_low_bytes = low_rest_bytes - doubt_most(fit->doubt, result->reserved_bytes_peak);
    }
    if (fit->verdict != FIT_NO) {
        fit->margin_high_bytes = high_rest_bytes - least_bytes(fit, fitting, result->reserved_bytes_peak);
    }
    if (fit_gives_back(fit)) {
        fit->left_low_bytes = low_rest_bytes - doubt_most(fit->doubt, result->allocated_bytes_peak);
        fit->left_high_bytes = high_rest_bytes - least_bytes(fit, fitting, result->allocated_bytes_peak);
    }
}

/* The predicted bytes that may become so many: rest / (1 + more), or rest / (1 - less). */
static int64_t predicted_bytes(int64_t rest_bytes, int permille)
{
    int64_t quotient = rest_bytes / permille, rest = rest_bytes % permille;
    int64_t bytes = quotient <= INT64_MAX / 1000 - 1 ? quotient * 1000 + rest * 1000 / permille : INT64_MAX;
    return bytes > 0 ? bytes : 1;
}

int64_t fit_sure_bytes(const struct fit_device *device)
{
    return predicted_bytes(overhead_rest(device->memory_bytes, device->overhead.high_bytes),
                           1000 + device->doubt.more_permille);
}

int64_t fit_possible_bytes(const struct fit_device *device)
{
    return predicted_bytes(overhead_rest(device->memory_bytes, device->overhead.low_bytes),
                           1000 - device->doubt.less_permille);
}

bool fit_is_open(const struct fit_device *device)
{
    return device->overhead.low_bytes != device->overhead.high_bytes || device->doubt.less_permille > 0 ||
           device->doubt.more_permille > 0;
}

/* The trial with the least of both, after that with the most was refused. Sizes of tensors are not in doubt. */
static enum status_code least_try(const struct estimate_input *input, const struct fit_device *device,
                                  struct fit *found, bool *fits, struct status *error)
{
    int64_t rest_bytes = overhead_rest(device->memory_bytes, device->overhead.low_bytes);
    enum status_code code = STATUS_OK;
    found->least = found->trial;
    if (fit_is_open(device)) {
        code = trial_run(input, fit_possible_bytes(device), &found->least, error);
    }
    *fits = code == STATUS_OK && found->least.fits && fit_certain_bytes(&found->least.unbounded) <= rest_bytes;
    return code;
}

/* What a refusal says is told of the predicted segments themselves, if they are refused too. */
static enum status_code refusal_take(const struct estimate_input *input, struct fit *found, struct status *error)
{
    const struct overhead *overhead = &found->overhead;
    bool doubted = found->doubt.less_permille > 0 || found->doubt.more_permille > 0;
    int64_t taken_bytes = found->verdict == FIT_NO ? overhead->low_bytes : overhead->high_bytes;
    struct trial plain;
    if (!doubted) {
        return STATUS_OK;
    }
    enum status_code code = trial_run(input, overhead_rest(found->memory_bytes, taken_bytes), &plain, error);
    if (code == STATUS_OK && !plain.fits) {
        found->trial = plain;
        found->least = found->verdict == FIT_NO ? plain : found->least;
    }
    return code;
}

enum status_code fit_find(const struct estimate_input *input, const struct fit_device *device, struct fit *fit,
                          struct status *error)
{
    struct fit found = {
        .memory_bytes = device->memory_bytes, .overhead = device->overhead, .doubt = device->doubt, .verdict = FIT_YES};
    bool least_fits = false;
    enum status_code code = trial_run(input, fit_sure_bytes(device), &found.trial, error);
    if (code == STATUS_OK && !found.trial.fits) {
        code = least_try(input, device, &found, &least_fits, error);
        found.verdict = least_fits ? FIT_UNDECIDED : FIT_NO;
        found.trial = found.least.fits ? found.trial : found.least;
        found.least = least_fits ? found.least : found.trial;
    }
    if (code == STATUS_OK) {
        margins_note(&found);
        code = found.verdict != FIT_YES ? refusal_take(input, &found, error) : code;
    }
    if (code == STATUS_OK) {
        *fit = found;
    }
    return code;
}

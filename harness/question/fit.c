/* Fit: one or two trials and their margins. No words for people: those are the command's. */
#include "harness/question/fit.h"

const char *fit_verdict_name(enum fit_verdict verdict)
{
    static const char *const names[] = {[FIT_NO] = "no", [FIT_YES] = "yes", [FIT_UNDECIDED] = "undecided"};
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

static void margins_note(struct fit *fit)
{
    int64_t low_rest_bytes = fit->memory_bytes - fit->overhead.high_bytes;
    int64_t high_rest_bytes = fit->memory_bytes - fit->overhead.low_bytes;
    const struct trial *fitting = fit->verdict == FIT_YES ? &fit->trial : &fit->least;
    const struct replay_result *result = &fitting->bounded;
    if (fit->verdict != FIT_YES) {
        int64_t bytes = needed_bytes(&fit->trial, fit);
        fit->margin_low_bytes = low_rest_bytes - bytes;
        fit->margin_high_bytes = high_rest_bytes - bytes;
    } else {
        fit->margin_low_bytes = low_rest_bytes - result->reserved_bytes_peak;
    }
    if (fit->verdict != FIT_NO) {
        fit->margin_high_bytes = high_rest_bytes - result->reserved_bytes_peak;
    }
    if (fit_gives_back(fit)) {
        fit->left_low_bytes = low_rest_bytes - result->allocated_bytes_peak;
        fit->left_high_bytes = high_rest_bytes - result->allocated_bytes_peak;
    }
}

enum status_code fit_find(const struct estimate_input *input, int64_t memory_bytes, const struct overhead *overhead,
                          struct fit *fit, struct status *error)
{
    struct fit found = {.memory_bytes = memory_bytes, .overhead = *overhead, .verdict = FIT_YES};
    bool is_range = overhead->low_bytes != overhead->high_bytes;
    enum status_code code = trial_run(input, overhead_rest(memory_bytes, overhead->high_bytes), &found.trial, error);
    if (code == STATUS_OK && !found.trial.fits) {
        found.least = found.trial;
        code =
            is_range ? trial_run(input, overhead_rest(memory_bytes, overhead->low_bytes), &found.least, error) : code;
        found.verdict = found.least.fits ? FIT_UNDECIDED : FIT_NO;
        found.trial = found.least.fits ? found.trial : found.least;
    }
    if (code == STATUS_OK) {
        margins_note(&found);
        *fit = found;
    }
    return code;
}

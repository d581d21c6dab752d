/* Fit: one or two trials and their margins. No words for people: those are the command's. */
#include "harness/question/fit.h"

const char *fit_verdict_name(enum fit_verdict verdict)
{
    static const char *const names[] = {[FIT_NO] = "no", [FIT_YES] = "yes", [FIT_UNDECIDED] = "undecided"};
    return names[verdict];
}

static void margins_note(struct fit *fit)
{
    const struct replay_result *result = fit->trial.fits ? &fit->trial.bounded : &fit->trial.unbounded;
    fit->margin_low_bytes = fit->memory_bytes - fit->overhead.high_bytes - result->reserved_bytes_peak;
    fit->margin_high_bytes = fit->memory_bytes - fit->overhead.low_bytes - result->reserved_bytes_peak;
}

enum status_code fit_find(const struct estimate_input *input, int64_t memory_bytes, const struct overhead *overhead,
                          struct fit *fit, struct status *error)
{
    struct fit found = {.memory_bytes = memory_bytes, .overhead = *overhead, .verdict = FIT_YES};
    bool is_range = overhead->low_bytes != overhead->high_bytes;
    enum status_code code = trial_run(input, overhead_rest(memory_bytes, overhead->high_bytes), &found.trial, error);
    if (code == STATUS_OK && !found.trial.fits) {
        struct trial least = found.trial;
        code = is_range ? trial_run(input, overhead_rest(memory_bytes, overhead->low_bytes), &least, error) : code;
        found.verdict = least.fits ? FIT_UNDECIDED : FIT_NO;
        found.trial = least.fits ? found.trial : least;
    }
    if (code == STATUS_OK) {
        margins_note(&found);
        *fit = found;
    }
    return code;
}

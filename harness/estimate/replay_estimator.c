/* Replay: the tape of the workload, walked on the meta device. The prediction that knows lifetimes and the allocator.
 *
 * Quantities are those of a measurement, so that each is held against its own kind. Worked number: loading
 * bert-base-cased in float32 requests 433,249,280 bytes and is handed 433,773,568 (413.18 and 413.68 MiB).
 *
 * With the constants of a device: process_bytes and device_bytes = reserved_bytes_peak + growth of the mode;
 * footprint_bytes = that + the context. The medians of the constants are used.
 *
 * With a bound, segments beyond it are refused, so that the allocator gives back what it only caches and asks again;
 * what still does not fit has no peaks, and a note. */
#include <stdio.h>

#include "harness/base/size.h"
#include "harness/device/meta.h"
#include "harness/estimate/replay_quantities.h"
#include "harness/record/quantity.h"
#include "models/config/family.h"
#include "models/workload/workload_tape.h"

static bool replay_applies(const struct estimate_input *input)
{
    (void)input;
    return true;
}

static void stage_add(struct estimate *estimate, enum stage stage, const struct replay_stage *figures)
{
    for (int i = 0; i < LEVEL_COUNTED_COUNT; i++) {
        enum level level = (enum level)i;
        char name[ESTIMATE_NAME_BYTES];
        snprintf(name, sizeof name, "stages.%s.%s", stage_name(stage), level_key(level));
        estimate_add(estimate, name, figures->levels[level].bytes);
        snprintf(name, sizeof name, "stages.%s.%s", stage_name(stage), level_peak_key(level));
        estimate_add(estimate, name, figures->levels[level].bytes_peak);
    }
}

/* Of all passes, where the first one has peaks of its own: it tries cuDNN's engines. */
static void search_add(struct estimate *estimate, const struct replay_result *result)
{
    for (int level = 0; level < LEVEL_COUNTED_COUNT && result->searches; level++) {
        char name[ESTIMATE_NAME_BYTES];
        snprintf(name, sizeof name, "search.%s", level_peak_key((enum level)level));
        estimate_add(estimate, name, result->peaks_ever[level]);
    }
}

static void causes_add(struct estimate *estimate, const struct replay_causes *causes)
{
    estimate_add(estimate, "causes.load.rounding_bytes", causes->rounding_bytes);
    estimate_add(estimate, "causes.load.unsplit_remainder_bytes", causes->unsplit_remainder_bytes);
    estimate_add(estimate, "causes.load.unsplit_remainder_count", causes->unsplit_remainder_count);
    estimate_add(estimate, "causes.load.cached_bytes", causes->cached_bytes);
}

void estimate_add_replay(struct estimate *estimate, const struct replay_result *result)
{
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        estimate_add(estimate, level_peak_key((enum level)level), result->peaks[level]);
    }
    estimate_add_text(estimate, "peak_stage", stage_name(result->peak_stage));
    for (int stage = STAGE_LOAD; stage < STAGE_COUNT; stage++) {
        if (result->stages[stage].present) {
            stage_add(estimate, (enum stage)stage, &result->stages[stage]);
        }
    }
    for (int category = 0; category < CATEGORY_COUNT; category++) {
        char name[ESTIMATE_NAME_BYTES];
        snprintf(name, sizeof name, "categories_at_peak.%s", category_name((enum category)category));
        estimate_add(estimate, name, result->categories_at_peak[category]);
    }
    causes_add(estimate, &result->causes_at_load);
    search_add(estimate, result);
    estimate_add(estimate, "saved_for_backward_bytes", result->saved_for_backward_bytes);
    if (result->managed.tensor_count > 0) {
        estimate_add(estimate, "managed.bytes", result->managed.bytes);
        estimate_add(estimate, "managed.pages_bytes", result->managed.pages_bytes);
        estimate_add(estimate, "managed.tensor_count", result->managed.tensor_count);
    }
    if (result->attention_backend != NULL) {
        estimate_add_text(estimate, "attention_backend", result->attention_backend);
    }
}

/* Bytes that a class of devices adds to the segments; unknown if nobody measured it, or the sum is no size. */
static void beyond_add(struct estimate *estimate, enum quantity quantity, int64_t reserved_bytes,
                       const struct constants_spread *growth, const struct constants_spread *context)
{
    int64_t sum = 0;
    bool known = growth->known && (context == NULL || context->known) &&
                 size_add_signed(reserved_bytes, growth->median, &sum) &&
                 (context == NULL || size_add(sum, context->median, &sum));
    if (known) {
        estimate_add(estimate, quantity_name(quantity), sum);
    } else {
        estimate_add_unknown(estimate, quantity_name(quantity));
        estimate_note(estimate, true, "the constants of the device do not say what it takes besides in this mode");
    }
}

/* There is no list of operations to walk, and so nothing that the user could mend. */
static bool is_not_modelled(const struct estimate_input *input)
{
    return input->workload->mode != MODE_LOAD &&
           (input->config->family->forward == NULL || input->config->only_loads.cause != NULL);
}

void estimate_add_no_peaks(struct estimate *estimate)
{
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        estimate_add_unknown(estimate, level_peak_key((enum level)level));
    }
}

/* The case ends when the bound refuses a segment: no peak of it is one of the case. */
static void refusal_add(const struct replay_result *result, int64_t memory_bytes, struct estimate *estimate)
{
    char bound[SIZE_TEXT_BYTES], wanted[SIZE_TEXT_BYTES], held[SIZE_TEXT_BYTES];
    estimate_add_no_peaks(estimate);
    snprintf(estimate->note, sizeof estimate->note, "it does not fit %s: in %s, %s wants %s while %s are held",
             size_format(memory_bytes, bound), stage_name(result->oom_stage),
             result->oom_label != NULL ? result->oom_label : "a tensor", size_format(result->oom_wanted_bytes, wanted),
             size_format(result->oom_held_bytes, held));
}

static void nothing_add(const struct estimate_input *input, struct estimate *estimate)
{
    estimate_add_no_peaks(estimate);
    const char *cause = input->config->only_loads.cause;
    if (cause != NULL) {
        snprintf(estimate->note, sizeof estimate->note, "of this model only loading is modelled: %s", cause);
    } else {
        snprintf(estimate->note, sizeof estimate->note, "of %s models only loading is modelled",
                 input->config->family->name);
    }
}

/* The quantities of the driver and the kernel. A mode that did not calibrate has no growth, and so none of them. What
 * the driver manages is the device's, and no process's. */
static void readings_add(struct estimate *estimate, const struct constants *constants, enum mode mode,
                         int64_t reserved_bytes, int64_t managed_bytes)
{
    static const struct constants_levels nowhere = {0};
    const struct constants_levels *found = constants_growth_of(constants, mode_name(mode));
    const struct constants_levels *growth = found != NULL ? found : &nowhere;
    const struct constants_levels *context = &constants->context;
    bool process = growth->process.known && context->process.known; /* as it is measured: process before device */
    beyond_add(estimate, QUANTITY_PROCESS_BYTES, reserved_bytes, &growth->process, NULL);
    int64_t held_bytes = reserved_bytes + managed_bytes; /* both are of tensors that exist */
    beyond_add(estimate, QUANTITY_DEVICE_BYTES, held_bytes, &growth->device, NULL);
    beyond_add(estimate, QUANTITY_FOOTPRINT_BYTES, held_bytes, process ? &growth->process : &growth->device,
               process ? &context->process : &context->device);
}

/* Of storages nothing but sizes and lifetimes is asked here. */
static enum status_code tape_make(const struct estimate_input *input, const struct target *target, struct tape **tape,
                                  struct status *error)
{
    struct training_plan plan = training_plan_default(input->workload);
    plan.form = (struct tape_form){.repeats = true, .bare = true, .unplaced = true};
    return workload_tape_planned(input->config, input->skeleton, input->workload, target, &plan, tape, error);
}

static enum status_code replay_compute(const struct estimate_input *input, struct estimate *estimate,
                                       struct status *error)
{
    const struct target *target = NULL;
    struct tape *tape = NULL;
    struct device *device = NULL;
    struct replay_result result;
    bool refused = false;
    enum status_code code = target_find(input->target, &target, error);
    if (code == STATUS_OK && is_not_modelled(input)) {
        nothing_add(input, estimate);
        return STATUS_OK;
    }
    if (code == STATUS_OK) {
        code = tape_make(input, target, &tape, error);
    }
    if (code == STATUS_OK) {
        code = meta_open(input->memory_bytes, &device, error);
    }
    if (code == STATUS_OK) {
        struct tape_view view = tape_view(tape);
        struct status cause = {0}; /* of a refusal, which is an answer */
        code = replay_run(&view, device, NULL, &result, &cause);
        refused = code == STATUS_OUT_OF_MEMORY && input->memory_bytes > 0 && result.oom_wanted_bytes > 0;
        if (code != STATUS_OK && !refused) {
            status_copy(error, code, &cause);
        }
    }
    if (input->memory_bytes > 0 && (code == STATUS_OK || refused)) {
        estimate_add(estimate, "memory_bytes", input->memory_bytes);
        estimate_add_text(estimate, "fits", refused ? "no" : "yes");
    }
    if (refused) {
        refusal_add(&result, input->memory_bytes, estimate);
        code = STATUS_OK;
    } else if (code == STATUS_OK) {
        estimate_add_replay(estimate, &result);
        if (input->constants != NULL) {
            readings_add(estimate, input->constants, input->workload->mode, result.reserved_bytes_peak,
                         result.managed.bytes);
        }
    }
    device_close(device);
    tape_release(tape);
    return code;
}

const struct estimator estimator_replay = {
    .name = "replay",
    .what = "the tape of the workload through the caching allocator, without a device",
    .source = "this program: docs/NUMBERS.md, 4 to 9",
    .applies = replay_applies,
    .compute = replay_compute,
};

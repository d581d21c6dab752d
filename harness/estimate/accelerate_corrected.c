/* accelerate-corrected: accelerate's table without three of its faults. It counts the head that the case has;
 * booleans and integers at their real sizes (a boolean one byte, not an eighth), whatever the row; a tied weight
 * once. All else is its rule: other tensors are float32 bytes divided by 1, 2, 4 or 8, training is 4 times them in
 * float32 and 2 times in 16 bits, and integers are neither trained nor scaled. Left out, as by the original:
 * activations, scales of quantised weights, workspaces, allocator, context.
 *
 * Worked number: Llama-2-7b in float16 with its head: 2 * 6,738,415,616 + 512 / 2 = 13,476,831,488 bytes, where
 * accelerate says 13,214,687,488; bert-base-cased in float16: 2 * 108,310,272 + 8,192 = 216,628,736 (accelerate
 * 216,624,640). */
#include "harness/estimate/accelerate.h"
#include "harness/estimate/rule_terms.h"

static const int64_t divisors[ACCELERATE_DTYPE_COUNT] = {1, 2, 4, 8};

static bool is_floating(const struct skeleton_tensor *tensor)
{
    return dtype_is_floating(tensor->dtype);
}

/* context: the divisor. Rounded up to whole bytes. */
static int64_t tensor_bytes_of(const struct skeleton_tensor *tensor, const void *context)
{
    const int64_t *divisor = context;
    int64_t bytes = tensor->tied_to < 0 ? tensor->element_count * dtype_bytes(tensor->dtype) : 0;
    return is_floating(tensor) ? (bytes + *divisor - 1) / *divisor : bytes;
}

static int64_t integer_bytes_of(const struct skeleton *skeleton)
{
    int64_t bytes = 0;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        bytes += tensor->tied_to < 0 && !is_floating(tensor) ? tensor->element_count * dtype_bytes(tensor->dtype) : 0;
    }
    return bytes;
}

static bool corrected_applies(const struct estimate_input *input)
{
    return accelerate_has_case(input->workload);
}

static enum status_code corrected_compute(const struct estimate_input *input, struct estimate *estimate,
                                          struct status *error)
{
    const struct workload *workload = input->workload;
    bool trains = workload->mode == MODE_TRAIN;
    enum accelerate_dtype storage = trains ? ACCELERATE_FLOAT32 : accelerate_storage_of(workload->precision);
    struct accelerate_sizing sizing = {
        .skeleton = input->skeleton, .tensor_bytes = tensor_bytes_of, .context = &divisors[storage]};
    int64_t total = 0;
    int64_t largest = 0;
    enum status_code code = accelerate_measure(&sizing, &total, &largest, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (trains) {
        int64_t integers = integer_bytes_of(input->skeleton);
        bool whole = workload->precision == PRECISION_FLOAT32;
        estimate_add(estimate, "total_bytes", (total - integers) * (whole ? 4 : 2) + integers);
        return STATUS_OK;
    }
    estimate_add_or_unknown(estimate, "total_bytes", workload->mode != MODE_GENERATE, total);
    estimate_note(estimate, workload->mode == MODE_GENERATE, "accelerate has no rule for keys and values");
    estimate_add(estimate, "largest_layer_bytes", largest);
    return STATUS_OK;
}

const struct estimator estimator_accelerate_corrected = {
    .name = "accelerate-corrected",
    .what = "accelerate's table with the head, integers at their real sizes, tied weights once",
    .source = "this program: accelerate's rule and three corrections",
    .applies = corrected_applies,
    .compute = corrected_compute,
};

/* weights-1.2: the baseline that a rule for inference has to beat: a fifth on top of the weights, parameters times
 * the bytes of an element. The sentence behind it is EleutherAI's ("this overhead is <= 20%"). Left out: everything
 * else; keys and values of a generation are in the fifth or nowhere. int4 is half a byte, without scales.
 *
 * Worked number: Llama-2-7b with its head in float16: 2 * 6,738,415,616 * 1.2 = 16,172,197,478 bytes. */
#include "harness/estimate/rule_terms.h"

static bool fifth_applies(const struct estimate_input *input)
{
    return input->workload->mode == MODE_INFER || input->workload->mode == MODE_GENERATE;
}

static enum status_code fifth_compute(const struct estimate_input *input, struct estimate *estimate,
                                      struct status *error)
{
    (void)error;
    int64_t count = rule_parameter_count(input->skeleton);
    int bytes = rule_weight_bytes(input->workload->precision);
    int64_t weights = bytes > 0                                      ? count * bytes
                      : input->workload->precision == PRECISION_INT4 ? (count + 1) / 2
                                                                     : count;
    estimate_add(estimate, "weights_bytes", weights);
    estimate_add(estimate, "total_bytes", weights + weights / 5);
    return STATUS_OK;
}

const struct estimator estimator_weights_fifth = {
    .name = "weights-1.2",
    .what = "baseline: 1.2 x the weights",
    .source = "EleutherAI, Transformer Math 101: overhead <= 20 %",
    .applies = fifth_applies,
    .compute = fifth_compute,
};

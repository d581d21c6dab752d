/* llama-factory: the table "Hardware Requirement" of LLaMA-Factory's README, its last column, for x billions of
 * parameters:
 *
 *     full, mixed (amp)   18 x GB       full, pure_bf16   8 x GB      freeze or LoRA, 16 bits   2 x GB
 *     QLoRA 8 bits           x GB       4 bits          x / 2 GB      2 bits                  x / 4 GB
 *
 * so bytes per parameter of the model, adapters not counted. The columns with numbers round it up (7B in pure_bf16: 60
 * GB where 8 x is 56). Freezing and 2 bits are no cases here. Left out: batch, sequence and everything that depends on
 * them; float32, float16 throughout, fp8, inference: the table has no row for them.
 *
 * Worked number: Llama-2-7b with its head, LoRA in bfloat16: 2 * 6,738,415,616 = 13,476,831,232 bytes. */
#include "harness/estimate/rule_terms.h"

/* Bytes per parameter, doubled. 0: no row. */
static int doubled_bytes_of(const struct workload *workload)
{
    bool adapts = workload->lora_rank > 0;
    switch (workload->precision) {
    case PRECISION_AMP_FLOAT16:
    case PRECISION_AMP_BFLOAT16:
        return adapts ? 0 : 36;
    case PRECISION_BFLOAT16:
        return adapts ? 4 : 16;
    case PRECISION_FLOAT16:
        return adapts ? 4 : 0;
    case PRECISION_INT8:
        return adapts ? 2 : 0;
    case PRECISION_INT4:
        return adapts ? 1 : 0;
    default:
        return 0;
    }
}

static bool factory_applies(const struct estimate_input *input)
{
    return input->workload->mode == MODE_TRAIN && rule_optimizer_is_adam(input->workload->optimizer) &&
           rule_is_text_stack(input) && doubled_bytes_of(input->workload) > 0;
}

static enum status_code factory_compute(const struct estimate_input *input, struct estimate *estimate,
                                        struct status *error)
{
    (void)error;
    int64_t count = rule_parameter_count(input->skeleton);
    int doubled = doubled_bytes_of(input->workload);
    estimate_add(estimate, "total_bytes", doubled == 1 ? (count + 1) / 2 : count * (doubled / 2));
    return STATUS_OK;
}

const struct estimator estimator_llama_factory = {
    .name = "llama-factory",
    .what = "LLaMA-Factory's table of methods: 18, 8, 2, 1 or 1/2 bytes per parameter",
    .source = "hiyouga/LLaMA-Factory, README: Hardware Requirement",
    .applies = factory_applies,
    .compute = factory_compute,
};

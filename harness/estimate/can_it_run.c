/* can-it-run: the calculator "Can it run LLM" (Vokturz/can-it-run-llm), which multiplies accelerate's total of a dtype:
 *
 *     loading the total     inference 1.2 x the total     training with Adam 4 x the total (accelerate's rule
 *                                                         until 0.28)
 *     LoRA 1.2 x (the total + 16 / 8 * 4 bytes for each trained parameter)
 *
 * The parameters that LoRA trains are a share of the model's that its user sets (2 % by default); here they are
 * those of the adapters. Mixed precision is no choice of it: training under amp reads its row of 16 bits, as
 * accelerate's users do. Left out: the head and everything that accelerate leaves out; the cache of a generation,
 * for which it offers the same 1.2.
 *
 * Worked number: Llama-2-7b in float16: accelerate's total 13,214,687,488: inference 15,857,624,986, LoRA of rank 8 on
 * queries and values, 4,194,304 parameters: 1.2 * (13,214,687,488 + 33,554,432) = 15,897,890,304 bytes. */
#include "harness/estimate/accelerate.h"
#include "harness/estimate/rule_terms.h"

#include <math.h>

static bool can_it_run_applies(const struct estimate_input *input)
{
    const struct workload *workload = input->workload;
    return workload->precision != PRECISION_FP8 &&
           (workload->mode != MODE_TRAIN || rule_optimizer_is_adam(workload->optimizer));
}

static enum status_code can_it_run_compute(const struct estimate_input *input, struct estimate *estimate,
                                           struct status *error)
{
    const struct workload *workload = input->workload;
    const struct accelerate_options options = {.rule = ACCELERATE_RULE_0_23, .bare = input->bare};
    struct accelerate_sizes sizes;
    enum status_code code = accelerate_sizes_of(input->config, &options, &sizes, error);
    if (code != STATUS_OK) {
        return code;
    }
    bool trains = workload->mode == MODE_TRAIN;
    enum accelerate_dtype dtype =
        trains && rule_is_amp(workload->precision) ? ACCELERATE_FLOAT16 : accelerate_storage_of(workload->precision);
    struct accelerate_row row = accelerate_row_of(&sizes, dtype, options.rule);
    int64_t adapters = input->skeleton->parameter_count - rule_parameter_count(input->skeleton);
    double total = workload->mode == MODE_LOAD          ? row.total_bytes
                   : trains && workload->lora_rank == 0 ? row.training_bytes
                                                        : 1.2 * (row.total_bytes + 8.0 * (double)adapters);
    estimate_add(estimate, "weights_bytes", llround(row.total_bytes));
    estimate_add(estimate, "total_bytes", llround(total));
    return STATUS_OK;
}

const struct estimator estimator_can_it_run = {
    .name = "can-it-run",
    .what = "accelerate's total x 1.2 for inference, x 4 for Adam, and its sum for LoRA",
    .source = "Vokturz/can-it-run-llm",
    .applies = can_it_run_applies,
    .compute = can_it_run_compute,
};

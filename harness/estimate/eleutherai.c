/* eleutherai: the rules of EleutherAI's "Transformer Math 101".
 *
 * Inference: 1.2 times the weights. Training: weights + gradients + optimizer + activations:
 *
 *                 weights  gradients  AdamW  8-bit Adam  SGD with momentum
 *   mixed            2         4        12        6             8         its optimizer holds the float32 copy
 *   16 bits          2         2        12        6             8
 *   float32          4         4         8        2             4         the weights are float32 already: no copy
 *
 * Activations of 16 bits: s b h L (34 + 5 a s / h) bytes; with full recomputation 2 s b h L (s: seq, b: batch, h:
 * hidden, L: layers, a: heads). For float32 the text has no numbers; EleutherAI's own calculator writes the same terms
 * with the bytes of an element (rule_terms.h). None for convolutions; and the same ones for fused attention.
 *
 * Divided among N devices: ZeRO 1 optimizer / N, ZeRO 2 gradients / N too, ZeRO 3 weights / N too and the parameters
 * that are alive (DeepSpeed's default, at most 10^9 of them); with tensor and pipeline degrees TP and PP and ZeRO 1
 * weights / (PP TP) + optimizer / N + activations / TP + gradients / PP. For other combinations, and for FSDP, it has
 * no sum. Left out: temporaries, logits and loss, workspaces, allocator, context, communication.
 *
 * Worked number: gpt2 (124,439,808 parameters), mixed, batch 8, seq 512: 18 * 124,439,808 = 2,239,916,544 of states,
 * and 512 * 8 * 768 * 12 * 34 + 5 * 12 * 512^2 * 8 * 12 = 2,793,406,464 of activations: 5,033,323,008 bytes. */
#include "harness/base/size.h"
#include "harness/estimate/rule_terms.h"

enum { LIVE_PARAMETERS_MAXIMUM = 1000000000 }; /* stage3_max_live_parameters */

struct eleutherai_rule {
    int weights, gradients, adamw, adam_8bit, momentum; /* bytes per parameter */
};

static const struct eleutherai_rule eleutherai_mixed = {2, 4, 12, 6, 8};
static const struct eleutherai_rule eleutherai_16bit = {2, 2, 12, 6, 8};
static const struct eleutherai_rule eleutherai_int8 = {1, 0, 0, 0, 0};
static const struct eleutherai_rule eleutherai_float32 = {4, 4, 8, 2, 4};

/* Autocast keeps float32 weights, and so it loads and infers with those; mixed training is the rule for it. */
static const struct eleutherai_rule *rule_of(const struct workload *workload)
{
    if (rule_is_amp(workload->precision)) {
        return workload->mode == MODE_TRAIN ? &eleutherai_mixed : &eleutherai_float32;
    }
    return rule_is_16bit(workload->precision)      ? &eleutherai_16bit
           : workload->precision == PRECISION_INT8 ? &eleutherai_int8
                                                   : &eleutherai_float32;
}

static int optimizer_bytes_of(const struct eleutherai_rule *rule, enum optimizer optimizer)
{
    return optimizer == OPTIMIZER_SGD_MOMENTUM ? rule->momentum
           : optimizer == OPTIMIZER_ADAM_8BIT  ? rule->adam_8bit
                                               : rule->adamw;
}

static bool eleutherai_applies(const struct estimate_input *input)
{
    enum precision precision = input->workload->precision;
    bool adapts = input->workload->lora_rank > 0;
    bool alone = !parallel_divides(input->parallel) || (input->workload->mode == MODE_TRAIN && !input->parallel->fsdp);
    bool known = input->workload->mode != MODE_TRAIN || rule_optimizer_is_common(input->workload->optimizer);
    return known && precision != PRECISION_INT4 && precision != PRECISION_FP8 && !adapts &&
           alone; /* it has no bytes for them */
}

static bool activations_of(const struct estimate_input *input, int64_t *bytes)
{
    const struct config *config = input->config;
    const struct workload *workload = input->workload;
    struct rule_layer layer = {.seq = rule_sequence(input),
                               .batch = workload->batch,
                               .hidden = config->hidden,
                               .heads = config->heads,
                               .element_bytes = workload->precision == PRECISION_FLOAT32 ? 4 : 2,
                               .tensor = 1,
                               .scores = true,
                               .recomputed = workload->checkpointing};
    return rule_layer_activations(&layer, bytes) && size_multiply(*bytes, config->layers, bytes);
}

struct eleutherai_parts {
    int64_t weights, gradients, optimizer, activations, live;
    bool summed; /* the text has a sum for these degrees */
};

static void parts_divide(struct eleutherai_parts *parts, const struct parallel *parallel, int64_t weight_bytes)
{
    int64_t devices = parallel_device_count(parallel);
    bool alone = parallel->tensor * parallel->pipeline == 1;
    int64_t stage = parallel->zero;
    if (stage == 3 && devices > 1) {
        parts->live = parts->weights / weight_bytes;
        parts->live = (parts->live < LIVE_PARAMETERS_MAXIMUM ? parts->live : LIVE_PARAMETERS_MAXIMUM) * weight_bytes;
    }
    parts->optimizer /= stage >= 1 ? devices : 1;
    parts->gradients /= stage >= 2 ? devices : parallel->pipeline;
    parts->weights /= stage >= 3 ? devices : parallel->pipeline * parallel->tensor;
    parts->activations /= parallel->tensor;
    parts->summed = alone || stage == 1;
}

static enum status_code training_add(const struct estimate_input *input, const struct eleutherai_rule *rule,
                                     int64_t count, struct estimate *estimate, struct status *error)
{
    const struct workload *workload = input->workload;
    bool has_rule = rule_has_activations(input);
    struct eleutherai_parts parts = {.weights = count * rule->weights,
                                     .gradients = count * rule->gradients,
                                     .optimizer = count * optimizer_bytes_of(rule, workload->optimizer),
                                     .summed = true};
    if (has_rule && !activations_of(input, &parts.activations)) {
        return rule_overflow(error);
    }
    if (input->parallel != NULL) {
        parts_divide(&parts, input->parallel, rule->weights);
    }
    int64_t states = parts.weights + parts.gradients + parts.optimizer;
    int64_t total = 0;
    if (!size_add(states + parts.live, parts.activations, &total)) {
        return rule_overflow(error);
    }
    estimate_add(estimate, "weights_bytes", parts.weights);
    estimate_add(estimate, "gradients_bytes", parts.gradients);
    estimate_add(estimate, "optimizer_bytes", parts.optimizer);
    estimate_add(estimate, "states_bytes", states);
    if (parts.live > 0) {
        estimate_add(estimate, "live_parameters_bytes", parts.live);
    }
    estimate_add_or_unknown(estimate, "activations_bytes", has_rule, parts.activations);
    estimate_add_or_unknown(estimate, "total_bytes", has_rule && parts.summed, total);
    estimate_note(estimate, !has_rule, rule_activations_note);
    estimate_note(estimate, !parts.summed, "the text sums up devices of ZeRO stage 1, or with data alone");
    return STATUS_OK;
}

static enum status_code eleutherai_compute(const struct estimate_input *input, struct estimate *estimate,
                                           struct status *error)
{
    const struct workload *workload = input->workload;
    const struct eleutherai_rule *rule = rule_of(workload);
    int64_t count = input->skeleton->parameter_count; /* 32 times it fits 63 bits: skeleton.c has checked */
    int64_t weights = count * rule->weights;
    if (workload->mode == MODE_TRAIN) {
        return training_add(input, rule, count, estimate, error);
    }
    estimate_add(estimate, "weights_bytes", weights);
    estimate_add_or_unknown(estimate, "total_bytes", workload->mode != MODE_GENERATE,
                            workload->mode == MODE_LOAD ? weights : weights + weights / 5);
    estimate_note(estimate, workload->mode == MODE_GENERATE,
                  "its fifth is of a forward pass, and says nothing of keys and values");
    return STATUS_OK;
}

const struct estimator estimator_eleutherai = {
    .name = "eleutherai",
    .what = "Transformer Math 101: bytes per parameter, activations by the formula, inference 1.2 x weights",
    .source = "EleutherAI, Transformer Math 101 (2023)",
    .divides = true,
    .applies = eleutherai_applies,
    .compute = eleutherai_compute,
};

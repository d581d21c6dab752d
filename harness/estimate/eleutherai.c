/* eleutherai: the rules of EleutherAI's "Transformer Math 101", without parallelism.
 *
 * Inference: 1.2 times the weights. Training: weights + gradients + optimizer + activations:
 *
 *                 weights  gradients  AdamW  8-bit Adam  SGD with momentum
 *   mixed            2         4        12        6             8         its optimizer holds the float32 copy
 *   16 bits          2         2        12        6             8
 *   float32          4         4         8        2             4         the weights are float32 already: no copy
 *
 * Activations of 16 bits: s b h L (34 + 5 a s / h) bytes; with full recomputation 2 s b h L (s: seq, b: batch, h: hidden,
 * L: layers, a: heads). For float32 the text has no numbers; EleutherAI's own calculator (cookbook, calc_transformer_mem)
 * writes the same terms with the bytes e of an element, (16 e + 2) + (2 e + 1) a s / h: 66 and 9 for e = 4, and e s b h L
 * with full recomputation. None for convolutions; and the same ones for fused attention.
 *
 * Worked number: gpt2 (124,439,808 parameters), mixed, batch 8, seq 512: 18 * 124,439,808 = 2,239,916,544 of states, and
 * 512 * 8 * 768 * 12 * 34 + 5 * 12 * 512^2 * 8 * 12 = 2,793,406,464 of activations: 5,033,323,008 bytes. */
#include "harness/base/size.h"
#include "harness/estimate/estimate.h"
#include "models/family.h"

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
    switch (workload->precision) {
    case PRECISION_AMP_FLOAT16:
    case PRECISION_AMP_BFLOAT16:
        return workload->mode == MODE_TRAIN ? &eleutherai_mixed : &eleutherai_float32;
    case PRECISION_FLOAT16:
    case PRECISION_BFLOAT16:
        return &eleutherai_16bit;
    case PRECISION_INT8:
        return &eleutherai_int8;
    default:
        return &eleutherai_float32;
    }
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
    return precision != PRECISION_INT4 && precision != PRECISION_FP8 && !adapts; /* it has no bytes for them */
}

static bool activations_of(const struct estimate_input *input, int64_t *bytes)
{
    const struct config *config = input->config;
    const struct workload *workload = input->workload;
    int64_t seq = workload->seq;
    if (config->family->is_image && config->family->has_attention) {
        int64_t side = config->image / config->patch;
        seq = side * side + 1;
    }
    int64_t rows = 0; /* s b L */
    int64_t states = 0;
    int64_t scores = 0;
    int64_t element_bytes = workload->precision == PRECISION_FLOAT32 ? 4 : 2;
    bool fits = size_multiply(seq, workload->batch, &rows) && size_multiply(rows, config->layers, &rows) &&
                size_multiply(rows, config->hidden, &states) &&
                size_multiply(states, workload->checkpointing ? element_bytes : 16 * element_bytes + 2, &states);
    if (!workload->checkpointing) {
        fits = fits && size_multiply(rows, seq, &scores) && size_multiply(scores, config->heads, &scores) &&
               size_multiply(scores, 2 * element_bytes + 1, &scores);
    }
    return fits && size_add(states, scores, bytes);
}

static enum status_code eleutherai_compute(const struct estimate_input *input, struct estimate *estimate,
                                           struct status *error)
{
    const struct workload *workload = input->workload;
    const struct eleutherai_rule *rule = rule_of(workload);
    int64_t count = input->skeleton->parameter_count; /* 32 times it fits 63 bits: skeleton.c has checked */
    int64_t weights = count * rule->weights;
    estimate_add(estimate, "weights_bytes", weights);
    if (workload->mode == MODE_LOAD) {
        estimate_add(estimate, "total_bytes", weights);
        return STATUS_OK;
    }
    if (workload->mode == MODE_INFER) {
        estimate_add(estimate, "total_bytes", weights + weights / 5);
        return STATUS_OK;
    }
    if (workload->mode == MODE_GENERATE) { /* the fifth is of a forward pass; it says nothing of a cache that grows */
        estimate_add_unknown(estimate, "total_bytes");
        return STATUS_OK;
    }
    int64_t optimizer = count * optimizer_bytes_of(rule, workload->optimizer);
    int64_t states = weights + count * rule->gradients + optimizer;
    int64_t activations = 0;
    int64_t total = 0;
    estimate_add(estimate, "gradients_bytes", count * rule->gradients);
    estimate_add(estimate, "optimizer_bytes", optimizer);
    estimate_add(estimate, "states_bytes", states);
    if (!input->config->family->has_attention) {
        estimate_add_unknown(estimate, "activations_bytes");
        estimate_add_unknown(estimate, "total_bytes");
        return STATUS_OK;
    }
    if (!activations_of(input, &activations) || !size_add(states, activations, &total)) {
        return status_set(error, STATUS_OVERFLOW, "the activations do not fit 63 bits; write a smaller batch or seq");
    }
    estimate_add(estimate, "activations_bytes", activations);
    estimate_add(estimate, "total_bytes", total);
    return STATUS_OK;
}

const struct estimator estimator_eleutherai = {"eleutherai", "Transformer Math 101", eleutherai_applies,
                                               eleutherai_compute};

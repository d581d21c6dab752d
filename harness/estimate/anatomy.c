/* anatomy: the bytes per parameter of "Anatomy of model memory" (transformers' documentation) and the activation terms
 * that it names. It is a rule of thumb: where the text gives no number, the quantity is unknown.
 *
 *                 weights  gradients  Adam  8-bit Adam  SGD with momentum
 *   mixed            6         4        8        2             4          2 + 4: a 16-bit copy and a float32 one
 *   float32          4         4        8        2             4
 *   16 bits          2         -        -        -             -          the text does not describe training without
 *                                                                         a float32 copy
 *
 * Activations, in training: batch * seq * layers * hidden elements ("vary with batch size, sequence length, model depth
 * and hidden size") of 2 bytes in mixed precision, else 4; and where attention is not computed by a fused kernel, its
 * scores, batch * heads * seq^2 * layers elements ("the attention score matrices, which grow with the square of the
 * sequence length"). The text says what they are proportional to, not how many of them there are: the terms are taken
 * once. A lower bound. With checkpointing, and for convolutions, it has no term.
 *
 * Worked number: 4,000,000,000 parameters in mixed precision with Adam: 24 + 16 + 32 = 72 GB before activations, of the
 * 85 GB that the text gives for batch 16. */
#include "harness/base/size.h"
#include "harness/estimate/rule_terms.h"
#include "models/skeleton/quantization.h"

struct anatomy_rule {
    int weights, gradients, adam, adam_8bit, momentum; /* bytes per parameter; 0: no rule */
    int activation;                                    /* bytes per element */
};

static const struct anatomy_rule anatomy_mixed = {6, 4, 8, 2, 4, 2};
static const struct anatomy_rule anatomy_float32 = {4, 4, 8, 2, 4, 4};
static const struct anatomy_rule anatomy_16bit = {2, 0, 0, 0, 0, 2};

static const struct anatomy_rule *rule_of(enum precision precision)
{
    switch (precision) {
    case PRECISION_AMP_FLOAT16:
    case PRECISION_AMP_BFLOAT16:
        return &anatomy_mixed;
    case PRECISION_FLOAT16:
    case PRECISION_BFLOAT16:
        return &anatomy_16bit;
    default:
        return &anatomy_float32;
    }
}

static int optimizer_bytes_of(const struct anatomy_rule *rule, enum optimizer optimizer)
{
    return optimizer == OPTIMIZER_SGD_MOMENTUM ? rule->momentum
           : optimizer == OPTIMIZER_ADAM_8BIT  ? rule->adam_8bit
                                               : rule->adam;
}

static bool anatomy_applies(const struct estimate_input *input)
{
    enum quantized_form form;
    if (precision_is_quantized(input->workload->precision, &form)) {
        return false; /* it has no bytes for them */
    }
    bool trains_all = input->workload->lora_rank == 0;
    return input->workload->mode != MODE_TRAIN || (trains_all && rule_optimizer_is_common(input->workload->optimizer) &&
                                                   rule_of(input->workload->precision)->gradients > 0);
}

static bool activations_of(const struct estimate_input *input, int64_t element_bytes, int64_t *bytes)
{
    const struct config *config = input->config;
    int64_t batch = input->workload->batch;
    int64_t seq = rule_sequence(input);
    const int64_t states[] = {batch, seq, config->layers, config->hidden, element_bytes};
    const int64_t scores[] = {batch, config->heads, seq, seq, config->layers, element_bytes};
    int64_t score_bytes = 0;
    bool fits = rule_product(states, 5, bytes);
    if (input->workload->attention == ATTENTION_EAGER) {
        fits = fits && rule_product(scores, 6, &score_bytes) && size_add(*bytes, score_bytes, bytes);
    }
    return fits;
}

static enum status_code anatomy_compute(const struct estimate_input *input, struct estimate *estimate,
                                        struct status *error)
{
    const struct workload *workload = input->workload;
    const struct anatomy_rule *rule = rule_of(workload->precision);
    int64_t count = input->skeleton->parameter_count; /* 32 times it fits 63 bits: skeleton.c has checked */
    estimate_add(estimate, "weights_bytes", count * rule->weights);
    if (workload->mode == MODE_LOAD) {
        estimate_add(estimate, "total_bytes", count * rule->weights);
        return STATUS_OK;
    }
    if (workload->mode != MODE_TRAIN) {
        estimate_add_unknown(estimate, "activations_bytes");
        estimate_add_unknown(estimate, "total_bytes");
        estimate_note(estimate, true, "it has no rule for what a forward pass takes besides the weights");
        return STATUS_OK;
    }
    int64_t optimizer = count * optimizer_bytes_of(rule, workload->optimizer);
    int64_t states = count * (rule->weights + rule->gradients) + optimizer;
    int64_t activations = 0;
    int64_t total = 0;
    estimate_add(estimate, "gradients_bytes", count * rule->gradients);
    estimate_add(estimate, "optimizer_bytes", optimizer);
    estimate_add(estimate, "states_bytes", states);
    if (workload->checkpointing || !rule_has_activations(input)) {
        estimate_add_unknown(estimate, "activations_bytes");
        estimate_add_unknown(estimate, "total_bytes");
        estimate_note(estimate, workload->checkpointing, "it has no rule for blocks that are recomputed");
        estimate_note(estimate, true, rule_activations_note);
        return STATUS_OK;
    }
    if (!activations_of(input, rule->activation, &activations) || !size_add(states, activations, &total)) {
        return rule_overflow(error);
    }
    estimate_add(estimate, "activations_bytes", activations);
    estimate_add(estimate, "total_bytes", total);
    return STATUS_OK;
}

const struct estimator estimator_anatomy = {
    .name = "anatomy",
    .what = "bytes per parameter of transformers' memory anatomy, and activations as a lower bound",
    .source = "transformers documentation, model_memory_anatomy",
    .applies = anatomy_applies,
    .compute = anatomy_compute,
};

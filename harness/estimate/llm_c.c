/* llm.c: what train_gpt2.cu allocates for GPT-2, by its own tables: parameters and gradients of e bytes, m, v and
 * the float32 copy, which ZeRO 1 divides among the processes where it goes into them, activations (llm_c.h), inputs
 * and targets. bfloat16 and amp-bfloat16 are its default build, float16 and float32 its others; fused attention is
 * its build with cuDNN; checkpointing is recompute 2 (GELU and norms), its absence the default, 1. Left out: cuBLAS
 * workspaces and the context, 855 MiB of the 21,315 MiB of its published run. */
#include "harness/estimate/llm_c.h"

#include <string.h>

#include "harness/base/size.h"
#include "harness/estimate/rule_terms.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* B T times the sum of single_columns, and L B T times the sum of layer_columns. */
static bool rows_of(const struct llm_c_shape *shape, int64_t single_columns, int64_t layer_columns, int64_t *count)
{
    const int64_t singles[] = {shape->batch, shape->tokens, single_columns};
    const int64_t layers[] = {shape->batch, shape->tokens, shape->layers, layer_columns};
    int64_t single_count = 0;
    int64_t layer_count = 0;
    return rule_product(singles, 3, &single_count) && rule_product(layers, 4, &layer_count) &&
           size_add(single_count, layer_count, count);
}

bool llm_c_activation_bytes(const struct llm_c_shape *shape, int64_t *bytes)
{
    int64_t channels = shape->channels;
    int64_t scores = 0;
    int64_t elements = 0;
    int64_t statistics = 0;
    if (channels > INT32_MAX || !size_multiply(shape->heads, shape->tokens, &scores) || scores > INT64_MAX / 4) {
        return false;
    }
    int64_t output = larger(3 * channels, larger(scores, shape->vocabulary));
    int64_t single_columns = 7 * channels + output + (shape->recompute >= 1 ? 4 * channels : 0);
    int64_t layer_columns = (3 + 4 + 3) * channels + (shape->recompute >= 1 ? 0 : 4 * channels) +
                            (shape->recompute >= 2 ? 0 : 2 * channels) + (shape->cudnn ? 0 : scores);
    return rows_of(shape, single_columns, layer_columns, &elements) &&
           rows_of(shape, 3, 4 + (shape->cudnn ? shape->heads : 0), &statistics) &&
           size_multiply(elements, shape->element_bytes, &elements) && size_multiply(statistics, 4, &statistics) &&
           size_add(elements, statistics, bytes);
}

bool llm_c_cpu_activation_count(const struct llm_c_shape *shape, int64_t *count)
{
    int64_t scores = 0;
    return shape->channels <= INT32_MAX && size_multiply(shape->heads, shape->tokens, &scores) &&
           scores <= INT64_MAX / 4 &&
           rows_of(shape, 2 * shape->channels + 3 + 2 * shape->vocabulary, 18 * shape->channels + 4 + 2 * scores,
                   count);
}

static bool llm_c_applies(const struct estimate_input *input)
{
    const struct workload *workload = input->workload;
    const struct config *config = input->config;
    const struct parallel *parallel = input->parallel;
    bool data_alone = parallel == NULL || (parallel->tensor * parallel->pipeline == 1 && parallel_stage(parallel) <= 1);
    return workload->mode == MODE_TRAIN && strcmp(config->model_type, "gpt2") == 0 && config->tied_head &&
           config->ffn == 4 * config->hidden && rule_weight_bytes(workload->precision) > 0 &&
           rule_optimizer_is_adam(workload->optimizer) && workload->lora_rank == 0 && data_alone;
}

/* Parameters with the padded vocabulary. */
static int64_t parameters_of(const struct estimate_input *input, int64_t vocabulary)
{
    const struct config *config = input->config;
    int64_t padding = (vocabulary - config->vocab) * config->hidden;
    int64_t layer = (12 * config->hidden + 13) * config->hidden;
    return (config->vocab + config->positions + 2) * config->hidden + config->layers * layer + padding;
}

static enum status_code llm_c_compute(const struct estimate_input *input, struct estimate *estimate,
                                      struct status *error)
{
    const struct workload *workload = input->workload;
    const struct config *config = input->config;
    struct llm_c_shape shape = {.batch = workload->batch,
                                .tokens = workload->seq,
                                .channels = config->hidden,
                                .layers = config->layers,
                                .heads = config->heads,
                                .element_bytes = workload->precision == PRECISION_FLOAT32 ? 4 : 2,
                                .cudnn = workload->attention != ATTENTION_EAGER,
                                .recompute = workload->checkpointing ? 2 : 1};
    int64_t activations = 0;
    int64_t inputs = 0;
    int64_t total = 0;
    if (!size_round_up(config->vocab, LLM_C_VOCABULARY_STEP, &shape.vocabulary) ||
        !llm_c_activation_bytes(&shape, &activations) || !size_multiply(workload->batch, workload->seq, &inputs) ||
        !size_multiply(inputs, 2 * 4, &inputs)) {
        return rule_overflow(error);
    }
    int64_t count = parameters_of(input, shape.vocabulary);
    bool divided = parallel_stage(input->parallel) == 1 && count % input->parallel->data == 0;
    int64_t state = 4 * (divided ? count / input->parallel->data : count);
    int64_t states = 2 * count * shape.element_bytes + 3 * state;
    if (!size_add(states, activations, &total) || !size_add(total, inputs + 4, &total)) {
        return rule_overflow(error);
    }
    estimate_add(estimate, "weights_bytes", count * shape.element_bytes);
    estimate_add(estimate, "gradients_bytes", count * shape.element_bytes);
    estimate_add(estimate, "optimizer_bytes", 2 * state);
    estimate_add(estimate, "master_weights_bytes", state);
    estimate_add(estimate, "activations_bytes", activations);
    estimate_add(estimate, "inputs_bytes", inputs + 4);
    estimate_add(estimate, "total_bytes", total);
    return STATUS_OK;
}

const struct estimator estimator_llm_c = {
    .name = "llm.c",
    .what = "what llm.c allocates for GPT-2 by its own tables",
    .source = "karpathy/llm.c f1e2ace, train_gpt2.cu",
    .divides = true,
    .applies = llm_c_applies,
    .compute = llm_c_compute,
};

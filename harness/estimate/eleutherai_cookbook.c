/* eleutherai-cookbook: EleutherAI's calculator as it stands (cookbook, calc/calc_transformer_mem.py), its faults
 * included.
 *
 * It is asked as its reader of Hugging Face configurations would ask: layers, heads, hidden size, feed-forward
 * factor (4 for GPT-2; 1 where the configuration has no intermediate_size, as OPT's and Falcon's) and vocabulary of
 * the model, sequence and batch of the case. Configurations with other names for layers or hidden size it reads as
 * its default, a model of 20B: to these it does not apply. It counts the parameters itself:
 *
 *     2 V h + s h + 8 h L + 2 h + 4 L h^2 + 2 L h f      embeddings always untied, positions as long as the sequence,
 *                                                        grouped heads and gates (a third matrix) not known to it
 *
 *     training: weights 2 (float32: 4), gradients 4, optimizer 12 (SGD with momentum: 8) bytes of each, and activations
 *         s b h L 34 + 5 a s^2 b L, with checkpointing s b h L 34 (the other term alone goes), always of 16-bit
 *         elements
 *     inference: weights, s b h 34 for one layer, and keys and values of s + n tokens: 2 h L (s + n) b
 *
 * The last is a fault of its own: keys and values are two, so a factor 2 is missing, and its option for grouped heads
 * (kv_size_ratio) does not reach this term; Llama-2-7b at 4,096 tokens has 2 GiB of them, not 1. A pass without
 * a cache is inference to it, with its default of one token more.
 *
 * Divided among N devices, TP and PP being the tensor and pipeline degrees: weights / (TP PP), ZeRO 3 / N too;
 * gradients ZeRO 2 / N; optimizer ZeRO 1 / N; buffers of ZeRO (5e8 elements, ZeRO 3 1e9 more) where N > 1;
 * activations / TP, as with the option --partition-activations of all its examples. Left out: temporaries, logits
 * and loss, allocator, context ("~5GiB in our experiments that we cannot explain").
 *
 * Worked number: 32 layers, h 4096, a 32, V 51,200, s 2048, batch 8, checkpointing, TP 2, N 128, ZeRO 1: parameters
 * 6,871,326,720; per device weights 6,871,326,720 (6.40 GiB), gradients 27,485,306,880, optimizer 644,186,880, buffers
 * 1,000,000,000, activations 36,507,222,016: 67.53 GiB, as it prints. */
#include <string.h>

#include "harness/base/size.h"
#include "harness/estimate/rule_terms.h"
#include "models/config/config_keys.h"

enum { ALLGATHER_BUCKET = 500000000, LIVE_PARAMETERS = 1000000000, LOW_BYTES = 2, GRADIENT_BYTES = 4 };

/* The feed-forward size as it reads it; 0 if it would read another model. It knows the names of GPT-2's file. */
static int64_t ffn_read(const struct config *config)
{
    const char *type = config->model_type;
    if (strcmp(type, "gpt2") == 0) {
        return 4 * config->hidden;
    }
    if (!config_file_has(type, "num_hidden_layers") || !config_file_has(type, "hidden_size")) {
        return 0;
    }
    return config_file_has(type, "intermediate_size") ? config->ffn : config->hidden;
}

static bool cookbook_applies(const struct estimate_input *input)
{
    const struct workload *workload = input->workload;
    bool fsdp = input->parallel != NULL && input->parallel->fsdp;
    bool trains = workload->mode == MODE_TRAIN && !fsdp &&
                  (rule_optimizer_is_adam(workload->optimizer) || workload->optimizer == OPTIMIZER_SGD_MOMENTUM);
    bool infers = (workload->mode == MODE_INFER || workload->mode == MODE_GENERATE) && workload->beams == 1 &&
                  workload->cache_dtype == CACHE_DTYPE_AUTO;
    return rule_is_text_stack(input) && rule_weight_bytes(workload->precision) > 0 && workload->lora_rank == 0 &&
           ffn_read(input->config) > 0 && (trains || infers);
}

static bool parameters_of(const struct estimate_input *input, int64_t *count)
{
    const struct config *config = input->config;
    const int64_t embedding[] = {2, config->vocab, config->hidden};
    const int64_t norms[] = {8, config->hidden, config->layers};
    const int64_t attention[] = {4, config->layers, config->hidden, config->hidden};
    const int64_t forward[] = {2, config->layers, config->hidden, ffn_read(config)};
    int64_t positions = 0;
    int64_t parts[4] = {0};
    int64_t sum = 0;
    bool fits = rule_product(embedding, 3, &parts[0]) && rule_product(norms, 3, &parts[1]) &&
                rule_product(attention, 4, &parts[2]) && rule_product(forward, 4, &parts[3]) &&
                size_multiply(input->workload->seq, config->hidden, &positions) &&
                size_add(positions, 2 * config->hidden, &sum);
    for (int i = 0; i < 4; i++) {
        fits = fits && size_add(sum, parts[i], &sum);
    }
    *count = sum;
    return fits && sum <= INT64_MAX / 32;
}

/* Of all layers in training, of one in inference. Of checkpointing it keeps what others keep without scores. */
static bool activations_of(const struct estimate_input *input, bool trains, int64_t *bytes)
{
    const struct workload *workload = input->workload;
    struct rule_layer layer = {.seq = workload->seq,
                               .batch = workload->batch,
                               .hidden = input->config->hidden,
                               .heads = input->config->heads,
                               .element_bytes = LOW_BYTES,
                               .tensor = 1,
                               .scores = trains && !workload->checkpointing};
    return rule_layer_activations(&layer, bytes) && size_multiply(*bytes, trains ? input->config->layers : 1, bytes);
}

static enum status_code inference_add(const struct estimate_input *input, int64_t weights, int64_t activations,
                                      struct estimate *estimate, struct status *error)
{
    const struct workload *workload = input->workload;
    int64_t tokens = workload->seq + (workload->mode == MODE_GENERATE ? workload->new_tokens : 1);
    const int64_t factors[] = {LOW_BYTES, input->config->hidden, input->config->layers, tokens, workload->batch};
    int64_t cache = 0;
    int64_t total = 0;
    if (!rule_product(factors, 5, &cache) || !size_add(weights, activations, &total) ||
        !size_add(total, cache, &total)) {
        return rule_overflow(error);
    }
    estimate_add(estimate, "weights_bytes", weights);
    estimate_add(estimate, "activations_bytes", activations);
    estimate_add(estimate, "kv_cache_bytes", cache);
    estimate_add(estimate, "total_bytes", total);
    return STATUS_OK;
}

static enum status_code training_add(const struct estimate_input *input, int64_t count, int64_t weights,
                                     int64_t activations, struct estimate *estimate, struct status *error)
{
    const struct parallel *parallel = input->parallel;
    int64_t devices = parallel != NULL ? parallel_device_count(parallel) : 1;
    int64_t stage = parallel != NULL ? parallel->zero : 0;
    int64_t gradients = count * GRADIENT_BYTES / (stage >= 2 ? devices : 1);
    int64_t optimizer =
        count * (input->workload->optimizer == OPTIMIZER_SGD_MOMENTUM ? 8 : 12) / (stage >= 1 ? devices : 1);
    int64_t buffer_count = (stage >= 1 ? ALLGATHER_BUCKET : 0) + (stage == 3 ? LIVE_PARAMETERS : 0);
    int64_t buffers =
        devices > 1 ? buffer_count * (input->workload->precision == PRECISION_FLOAT32 ? 4 : LOW_BYTES) : 0;
    int64_t total = 0;
    weights /= stage == 3 ? devices : 1;
    if (!size_add(weights + gradients + optimizer + buffers, activations, &total)) {
        return rule_overflow(error);
    }
    estimate_add(estimate, "weights_bytes", weights);
    estimate_add(estimate, "gradients_bytes", gradients);
    estimate_add(estimate, "optimizer_bytes", optimizer);
    estimate_add(estimate, "communication_bytes", buffers);
    estimate_add(estimate, "activations_bytes", activations);
    estimate_add(estimate, "total_bytes", total);
    return STATUS_OK;
}

static enum status_code cookbook_compute(const struct estimate_input *input, struct estimate *estimate,
                                         struct status *error)
{
    bool trains = input->workload->mode == MODE_TRAIN;
    int64_t count = 0;
    int64_t activations = 0;
    if (!parameters_of(input, &count) || !activations_of(input, trains, &activations)) {
        return rule_overflow(error);
    }
    int64_t weights = count * (input->workload->precision == PRECISION_FLOAT32 ? 4 : LOW_BYTES);
    if (input->parallel != NULL) {
        weights /= input->parallel->tensor * input->parallel->pipeline;
        activations /= input->parallel->tensor;
    }
    estimate_add(estimate, "parameter_count", count);
    return trains ? training_add(input, count, weights, activations, estimate, error)
                  : inference_add(input, weights, activations, estimate, error);
}

const struct estimator estimator_eleutherai_cookbook = {
    .name = "eleutherai-cookbook",
    .what = "EleutherAI's calculator as it stands: half the KV cache, parameters counted without gates and ties",
    .source = "EleutherAI/cookbook 827ee3b, calc/calc_transformer_mem.py",
    .divides = true,
    .applies = cookbook_applies,
    .compute = cookbook_compute,
};

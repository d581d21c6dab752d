/* hf-mem: what the tool hf-mem says of a checkpoint: the bytes of its tensors, and with --experimental the keys and
 * values of a generation, 2 * layers * tokens * key heads * head size * bytes of an element * batch.
 *
 * Its tensors are those of the headers, and keys and values of the type that the configuration names (float16 for
 * GGUF), in whatever precision the case runs. Where there is no file, they are those that one saved in the precision
 * of the case would have: parameters and persistent buffers, tied ones once, and keys and values of that type.
 * A cache in fp8 (--kv-cache-dtype) has a byte for each element, without scales; int4 and int2 it does not know.
 * Tokens are those of the prompt and all new ones (--max-model-len), in layers with a window too: where some layers
 * have one and some have none, 0.5.6 counts what engines reserve; of latent attention as if every head had keys and
 * values of hidden / heads. Beams it does not know. It reads num_key_value_heads alone, so that Falcon has as many
 * key heads as heads; a configuration without its names for layers and hidden size (GPT-2, GPT-Neo, BLOOM, T5) gives
 * it no keys and values: then there is no total. Of GGUF's IQ types it rounds bits per weight to two digits; here
 * their blocks are exact. Left out: models of windows alone, activations, workspaces, allocator, context; training.
 *
 * Worked number: Llama-3.1-8B in bfloat16, batch 1, 2,048 + 256 tokens: 2 * 8,030,261,248 = 16,060,522,496 and
 * 2 * 32 * 2,304 * 8 * 128 * 2 = 301,989,888 bytes. */
#include "harness/base/size.h"
#include "harness/checkpoint/checkpoint.h"
#include "harness/estimate/rule_terms.h"
#include "models/config/config_keys.h"

static bool hf_mem_applies(const struct estimate_input *input)
{
    const struct workload *workload = input->workload;
    bool has_bytes = input->checkpoint != NULL || rule_weight_bytes(workload->precision) > 0;
    return workload->mode != MODE_TRAIN && has_bytes && workload->beams == 1 &&
           (workload->cache_dtype == CACHE_DTYPE_AUTO || workload->cache_dtype == CACHE_DTYPE_FP8);
}

/* Of an element of keys and values. */
static int64_t cache_element_bytes(const struct estimate_input *input)
{
    if (input->workload->cache_dtype == CACHE_DTYPE_FP8) {
        return 1;
    }
    if (input->checkpoint == NULL) {
        return rule_weight_bytes(input->workload->precision);
    }
    return input->checkpoint->format == CHECKPOINT_GGUF ? 2 : dtype_bytes(input->config->dtype);
}

/* Latent attention has no head_dim in its configuration. */
static int64_t head_dim_read(const struct estimate_input *input)
{
    bool latent = rule_has_module(input->skeleton, "kv_a_proj_with_mqa");
    return latent ? input->config->hidden / input->config->heads : input->config->head_dim;
}

static bool weights_of(const struct estimate_input *input, int64_t *bytes)
{
    int64_t element_bytes = rule_weight_bytes(input->workload->precision);
    int64_t sum = 0;
    bool fits = true;
    if (input->checkpoint != NULL) {
        *bytes = input->checkpoint->stored_bytes;
        return true;
    }
    for (int i = 0; i < input->skeleton->tensor_count && fits; i++) {
        const struct skeleton_tensor *tensor = &input->skeleton->tensors[i];
        bool saved = tensor->tied_to < 0 && tensor->persistent;
        int64_t each = tensor->rounds_with_model ? element_bytes : dtype_bytes(tensor->dtype);
        fits = size_add(sum, saved ? tensor->element_count * each : 0, &sum);
    }
    *bytes = sum;
    return fits;
}

static enum status_code hf_mem_compute(const struct estimate_input *input, struct estimate *estimate,
                                       struct status *error)
{
    const struct workload *workload = input->workload;
    const struct config *config = input->config;
    int64_t weights = 0;
    int64_t cache = 0;
    int64_t total = 0;
    bool generates = workload->mode == MODE_GENERATE;
    bool from_gguf = input->checkpoint != NULL && input->checkpoint->format == CHECKPOINT_GGUF;
    /* It takes the number of key heads from num_key_value_heads, and else that of all heads. */
    bool groups = from_gguf || config_file_has(config->model_type, "num_key_value_heads");
    bool named = from_gguf || (config_file_has(config->model_type, "num_hidden_layers") &&
                               config_file_has(config->model_type, "hidden_size"));
    const int64_t factors[] = {2,
                               config->layers,
                               workload->seq + workload->new_tokens,
                               groups ? config->kv_heads : config->heads,
                               head_dim_read(input),
                               cache_element_bytes(input),
                               workload->batch};
    if (!weights_of(input, &weights) || (generates && !rule_product(factors, 7, &cache)) ||
        !size_add(weights, cache, &total)) {
        return status_set(error, STATUS_OVERFLOW, "keys and values do not fit 63 bits; write a smaller batch or seq");
    }
    estimate_add(estimate, "weights_bytes", weights);
    if (generates) {
        estimate_add_or_unknown(estimate, "kv_cache_bytes", named, cache);
    }
    estimate_add_or_unknown(estimate, "total_bytes", !generates || named, total);
    estimate_note(estimate, generates && !named, "it looks for keys that a config.json of this type does not have");
    return STATUS_OK;
}

const struct estimator estimator_hf_mem = {
    .name = "hf-mem",
    .what = "bytes of a checkpoint's tensors, and keys and values of a generation",
    .source = "alvarobartt/hf-mem 0.5.6",
    .applies = hf_mem_applies,
    .compute = hf_mem_compute,
};

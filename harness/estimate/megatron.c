/* megatron: what Megatron-LM reports as its theoretical memory (megatron/training/theoretical_memory_usage.py).
 *
 * It counts parameters itself, biases and learned positions left out, the vocabulary padded to a multiple of 128 TP
 * (h: hidden, f: feed-forward, a, k: heads and key heads of d elements, n: 1 of an RMS norm, 2 of a layer norm, g: 3/2
 * with a gate, else 1):
 *
 *     layer 2 h a d (1 + k / a) + 2 h f g + 2 h n     last norm n h     embedding V h, again for a head
 *                                                                       that is not tied
 *
 * Most loaded device: layers / PP, one embedding, the head where PP is 1; norms whole, the rest / TP. Each parameter
 * takes 18 bytes (2 + 4 gradient + 4 copy + 8 Adam), or 6 + 12 / DP with the distributed optimizer, which ZeRO
 * stands for.
 *
 * Activations, with sequence parallelism and selective recomputation, of the first stage (s: seq, b: batch, L: layers):
 *
 *     (L s b h (18 + 4 f / h) + 8 s b PP + s b h PP) min(1, micro-batches / PP) + [PP = 1] 4 s b h (1 + V / h),
 *     all / TP
 *
 * That is what fused attention keeps. Where scores are stored, 5 a s^2 b L / TP more; with checkpointing, 2 s b h
 * for each layer in the place of the first term: both from the paper behind it (arXiv 2205.05198, table 2), since
 * its code has neither. activations_no_sequence_parallel_bytes is the second function of that file, which it prints
 * where sequence parallelism or selective recomputation are off: L s b h (10 + 24 / TP) + 8 s b PP + s b h PP,
 * discounted likewise, and 2 (s b V / TP + s b h) where PP is 1, all times 1.05.
 *
 * Left out: biases, positions, temporaries, allocator, context, communication; ZeRO 2 and 3, FSDP, experts, latent
 * attention, interleaved schedules.
 *
 * Worked number: gpt2, batch 8, seq 512, one device: V 50,304: 12 (4 * 768^2 + 8 * 768^2 + 4 * 768) + 1,536 + 50,304
 * * 768 = 123,606,528 parameters, 2,224,917,504 bytes; activations 1,283,457,024 + 32,768 + 3,145,728 + 12,582,912 +
 * 824,180,736 = 2,123,399,168; together 4,348,316,672. */
#include <string.h>

#include "harness/base/size.h"
#include "harness/estimate/rule_terms.h"

enum { VOCABULARY_STEP = 128 }; /* make_vocab_size_divisible_by */

struct megatron {
    const struct config *config;
    const struct workload *workload;
    struct parallel parallel;
    int64_t vocabulary; /* padded */
    int64_t norm;       /* n */
    bool gated, untied;
};

static bool megatron_applies(const struct estimate_input *input)
{
    const struct workload *workload = input->workload;
    bool divides = parallel_stage(input->parallel) <= 1 && (input->parallel == NULL || input->parallel->expert == 1);
    return workload->mode == MODE_TRAIN && rule_is_text_stack(input) &&
           (rule_is_amp(workload->precision) || rule_is_16bit(workload->precision)) &&
           rule_optimizer_is_adam(workload->optimizer) && workload->lora_rank == 0 && divides;
}

static bool norms_are_rms(const struct skeleton *skeleton)
{
    for (int i = 0; i < skeleton->module_count; i++) {
        if (strstr(skeleton->modules[i].class_name, "RMSNorm") != NULL) {
            return true;
        }
    }
    return false;
}

static bool megatron_read(const struct estimate_input *input, struct megatron *megatron)
{
    *megatron = (struct megatron){
        .config = input->config,
        .workload = input->workload,
        .parallel = input->parallel != NULL ? *input->parallel : parallel_single(),
        .norm = norms_are_rms(input->skeleton) ? 1 : 2,
        .gated = rule_has_module(input->skeleton, "gate_proj") || rule_has_module(input->skeleton, "gate_up_proj"),
        .untied = !input->config->tied_head,
    };
    return size_round_up(input->config->vocab, VOCABULARY_STEP * megatron->parallel.tensor, &megatron->vocabulary);
}

/* Of the most loaded device. */
static bool parameters_of(const struct megatron *megatron, int64_t *count)
{
    const struct config *config = megatron->config;
    const struct parallel *parallel = &megatron->parallel;
    const int64_t attention[] = {2 * config->hidden, config->heads + config->kv_heads, config->head_dim};
    const int64_t forward[] = {megatron->gated ? 3 : 2, config->hidden, config->ffn};
    const int64_t norms[] = {2 * config->layers + 1, config->hidden, megatron->norm};
    int64_t divided = 0;
    int64_t forward_count = 0;
    int64_t norm_count = 0;
    int64_t embedding = 0;
    bool fits = rule_product(attention, 3, &divided) && rule_product(forward, 3, &forward_count) &&
                rule_product(norms, 3, &norm_count) && size_add(divided, forward_count, &divided) &&
                size_multiply(divided, config->layers / parallel->pipeline, &divided) &&
                size_multiply(config->hidden, megatron->vocabulary, &embedding) &&
                size_multiply(embedding, megatron->untied && parallel->pipeline == 1 ? 2 : 1, &embedding) &&
                size_add(divided, embedding, &divided) &&
                size_add(divided / parallel->tensor, norm_count / parallel->pipeline, count);
    return fits && *count <= INT64_MAX / 32;
}

/* What micro-batches of a pipeline wait: the first stage holds as many as there are stages, or fewer where there are
 * not so many. */
static int64_t in_flight(const struct megatron *megatron, int64_t bytes)
{
    int64_t stages = megatron->parallel.pipeline;
    int64_t batches = megatron->workload->accumulate;
    return batches < stages ? bytes / stages * batches + bytes % stages * batches / stages : bytes;
}

/* Tokens of a micro-batch, and these times the hidden size. */
static bool elements_of(const struct megatron *megatron, int64_t *tokens, int64_t *elements)
{
    return size_multiply(megatron->workload->seq, megatron->workload->batch, tokens) &&
           size_multiply(*tokens, megatron->config->hidden, elements);
}

/* 8 s b PP + s b h PP. */
static bool embedding_of(const struct megatron *megatron, int64_t tokens, int64_t elements, int64_t *bytes)
{
    int64_t each = 0;
    return size_multiply(tokens, 8, &each) && size_add(each, elements, &each) &&
           size_multiply(each, megatron->parallel.pipeline, bytes);
}

/* compute_activation_memory, and the two cases that it lacks. */
static bool activations_of(const struct megatron *megatron, int64_t *bytes)
{
    const struct config *config = megatron->config;
    const struct workload *workload = megatron->workload;
    int64_t tokens = 0;
    int64_t elements = 0;
    int64_t layers = 0;
    int64_t wide = 0;
    int64_t scores = 0;
    int64_t inputs = 0;
    int64_t outputs = 0;
    bool stored = workload->attention == ATTENTION_EAGER && !workload->checkpointing;
    const int64_t squares[] = {5, config->heads, workload->seq, workload->seq, workload->batch, config->layers};
    bool fits = elements_of(megatron, &tokens, &elements) &&
                size_multiply(elements, workload->checkpointing ? 2 : 18, &layers) &&
                size_multiply(tokens, workload->checkpointing ? 0 : 4 * config->ffn, &wide) &&
                size_add(layers, wide, &layers) && size_multiply(layers, config->layers, &layers) &&
                (!stored || rule_product(squares, 6, &scores)) && size_add(layers, scores, &layers) &&
                embedding_of(megatron, tokens, elements, &inputs) && size_add(layers, inputs, &layers);
    layers = in_flight(megatron, layers);
    if (fits && megatron->parallel.pipeline == 1) {
        fits = size_add(config->hidden, megatron->vocabulary, &outputs) && size_multiply(outputs, tokens, &outputs) &&
               size_multiply(outputs, 4, &outputs) && size_add(layers, outputs, &layers);
    }
    *bytes = layers / megatron->parallel.tensor;
    return fits;
}

/* compute_activation_memory_without_sp. */
static bool whole_activations_of(const struct megatron *megatron, int64_t *bytes)
{
    const struct config *config = megatron->config;
    int64_t tensor = megatron->parallel.tensor;
    int64_t tokens = 0;
    int64_t elements = 0;
    int64_t states = 0;
    int64_t room = 0;
    int64_t sum = 0;
    int64_t inputs = 0;
    int64_t logits = 0;
    bool fits = elements_of(megatron, &tokens, &elements) && size_multiply(elements, config->layers, &states) &&
                size_multiply(states, 34, &room) && embedding_of(megatron, tokens, elements, &inputs);
    fits = fits && size_add(10 * states + 24 * states / tensor, inputs, &sum);
    sum = in_flight(megatron, sum);
    if (fits && megatron->parallel.pipeline == 1) {
        fits = size_multiply(tokens, megatron->vocabulary, &logits) && size_add(logits / tensor, elements, &logits) &&
               size_multiply(logits, 2, &logits) && size_add(sum, logits, &sum);
    }
    fits = fits && size_multiply(sum, 21, &sum);
    *bytes = sum / 20;
    return fits;
}

static enum status_code megatron_compute(const struct estimate_input *input, struct estimate *estimate,
                                         struct status *error)
{
    struct megatron megatron;
    int64_t count = 0;
    int64_t activations = 0;
    int64_t whole = 0;
    int64_t total = 0;
    if (!megatron_read(input, &megatron) || !parameters_of(&megatron, &count) ||
        !activations_of(&megatron, &activations) || !whole_activations_of(&megatron, &whole)) {
        return rule_overflow(error);
    }
    int64_t states =
        parallel_stage(input->parallel) >= 1 ? 6 * count + 12 * count / megatron.parallel.data : 18 * count;
    if (!size_add(states, activations, &total)) {
        return rule_overflow(error);
    }
    estimate_add(estimate, "parameter_count", count);
    estimate_add(estimate, "states_bytes", states);
    estimate_add(estimate, "activations_bytes", activations);
    estimate_add(estimate, "activations_no_sequence_parallel_bytes", whole);
    estimate_add(estimate, "total_bytes", total);
    return STATUS_OK;
}

const struct estimator estimator_megatron = {
    .name = "megatron",
    .what = "Megatron-LM's theoretical memory: 18 or 6 + 12 / DP bytes per parameter, and its activations",
    .source = "NVIDIA/Megatron-LM d98e8a6, training/theoretical_memory_usage.py",
    .divides = true,
    .applies = megatron_applies,
    .compute = megatron_compute,
};

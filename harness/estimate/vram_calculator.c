/* vram-calculator: Alexander Smirnov's "GPU VRAM Calculator" and the text that explains it, of a text model that is
 * run or trained on one GPU.
 *
 *     parameters   4 bytes, or 2 for inference in 16 bits; 6 for mixed training, which keeps both
 *     gradients    4, and 4 for each moment of the optimizer, whatever the precision
 *     activations  of each layer, b s (e (6 h + 2 h g / a + 2 f) + 2 h) + (2 e + 1) b a s^2, where e is 2 in 16 bits,
 *                  else 4 (h: hidden, f: feed-forward, a: heads, g: key heads): Korthikanti's terms with grouped heads
 *                  and one feed-forward matrix in, one out. All layers if it trains, else one
 *     outputs      4 b s V of logits in float32, twice if it trains: their probabilities
 *     CUDA         1000 MiB
 *
 * Its user types the number of parameters; the presets count buffers too (gpt2: 0.137e9, with the masks that GPT-2 had
 * as buffers then), and so do we. It has no choice for 16-bit training, quantised weights, adapters, recomputation or a
 * generation. What it calls the total of a GPU is footprint_bytes here; total_bytes is that without CUDA's share,
 * because a total is held against tensors.
 *
 * Worked number: gpt2, mixed, batch 8, seq 512, AdamW: 18 * 124,439,808 = 2,239,916,544 of states, 2,793,406,464 of
 * activations and 8 * 8 * 512 * 50,257 = 1,646,821,376 of outputs: 6,680,144,384 bytes, with CUDA 7,728,720,384. */
#include "harness/estimate/vram_calculator.h"

#include <string.h>

#include "harness/base/size.h"
#include "harness/estimate/rule_terms.h"

static const int64_t KERNELS_BYTES = INT64_C(1000) << 20;

static bool layer_activations(const struct vram_setup *setup, int64_t *bytes)
{
    int64_t element_bytes = setup->halves ? 2 : 4;
    int64_t tokens = 0, wide = 0, keys = 0, scores = 0;
    const int64_t square[] = {setup->batch, setup->heads, setup->seq, setup->seq, 2 * element_bytes + 1};
    bool fits = size_multiply(setup->batch, setup->seq, &tokens) && size_multiply(setup->hidden, 6, &wide) &&
                size_multiply(setup->hidden, setup->kv_heads, &keys) &&
                size_add(wide, 2 * (keys / setup->heads), &wide) && size_add(wide, setup->ffn, &wide) &&
                size_add(wide, setup->ffn, &wide) && size_multiply(wide, element_bytes, &wide) &&
                size_add(wide, 2 * setup->hidden, &wide) && size_multiply(tokens, wide, bytes) &&
                rule_product(square, 5, &scores);
    return fits && size_add(*bytes, scores, bytes);
}

bool vram_needs_of(const struct vram_setup *setup, struct vram_needs *needs)
{
    int64_t weight_bytes = !setup->halves ? 4 : setup->trains ? 6 : 2;
    int64_t states_each = setup->trains ? 4 : 0;
    const int64_t outputs[] = {setup->batch, setup->seq, setup->vocab, setup->trains ? 8 : 4};
    struct vram_needs made = {.kernels_bytes = KERNELS_BYTES};
    bool fits = size_multiply(setup->parameter_count, weight_bytes, &made.weights_bytes) &&
                size_multiply(setup->parameter_count, states_each, &made.gradients_bytes) &&
                size_multiply(made.gradients_bytes, setup->moments, &made.optimizer_bytes) &&
                layer_activations(setup, &made.activations_bytes) &&
                size_multiply(made.activations_bytes, setup->trains ? setup->layers : 1, &made.activations_bytes) &&
                rule_product(outputs, 4, &made.outputs_bytes);
    if (fits) {
        *needs = made;
    }
    return fits;
}

static bool vram_calculator_applies(const struct estimate_input *input)
{
    const struct workload *workload = input->workload;
    bool trains = workload->mode == MODE_TRAIN;
    bool known_precision = workload->precision == PRECISION_FLOAT32 ||
                           (trains ? rule_is_amp(workload->precision) : rule_is_16bit(workload->precision));
    bool known_optimizer =
        !trains || rule_optimizer_is_adam(workload->optimizer) || workload->optimizer == OPTIMIZER_SGD_MOMENTUM;
    return (trains || workload->mode == MODE_INFER) && known_precision && known_optimizer &&
           rule_is_text_stack(input) && workload->lora_rank == 0 && !workload->checkpointing;
}

static int64_t buffer_elements(const struct skeleton *skeleton)
{
    int64_t count = 0;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        count += skeleton->tensors[i].is_buffer ? skeleton->tensors[i].element_count : 0;
    }
    return count;
}

static bool needs_sum(const struct vram_needs *needs, int64_t *total)
{
    return size_add(needs->weights_bytes, needs->gradients_bytes, total) &&
           size_add(*total, needs->optimizer_bytes, total) && size_add(*total, needs->activations_bytes, total) &&
           size_add(*total, needs->outputs_bytes, total);
}

static enum status_code vram_calculator_compute(const struct estimate_input *input, struct estimate *estimate,
                                                struct status *error)
{
    const struct config *config = input->config;
    const struct workload *workload = input->workload;
    bool trains = workload->mode == MODE_TRAIN;
    struct vram_setup setup = {.hidden = config->hidden,
                               .heads = config->heads,
                               .kv_heads = config->kv_heads,
                               .ffn = config->ffn,
                               .layers = config->layers,
                               .vocab = config->vocab,
                               .batch = workload->batch,
                               .seq = workload->seq,
                               .trains = trains,
                               .halves = workload->precision != PRECISION_FLOAT32,
                               .moments = workload->optimizer == OPTIMIZER_SGD_MOMENTUM ? 1 : 2};
    struct vram_needs needs;
    int64_t total = 0, footprint = 0;
    if (!size_add(rule_parameter_count(input->skeleton), buffer_elements(input->skeleton), &setup.parameter_count) ||
        !vram_needs_of(&setup, &needs) || !needs_sum(&needs, &total) ||
        !size_add(total, needs.kernels_bytes, &footprint)) {
        return rule_overflow(error);
    }
    estimate_add(estimate, "weights_bytes", needs.weights_bytes);
    if (trains) {
        estimate_add(estimate, "gradients_bytes", needs.gradients_bytes);
        estimate_add(estimate, "optimizer_bytes", needs.optimizer_bytes);
    }
    estimate_add(estimate, "activations_bytes", needs.activations_bytes);
    estimate_add(estimate, "outputs_bytes", needs.outputs_bytes);
    estimate_add(estimate, "total_bytes", total);
    if (input->target == NULL || strcmp(input->target, "host") != 0) {
        estimate_add(estimate, "footprint_bytes", footprint);
    }
    return STATUS_OK;
}

const struct estimator estimator_vram_calculator = {
    .name = "vram-calculator",
    .what = "parameters, states, activations of every layer with stored scores, float32 outputs, and 1000 MiB of CUDA",
    .source = "furiousteabag/vram-calculator ea7ab04, vram.asmirnov.xyz",
    .applies = vram_calculator_applies,
    .compute = vram_calculator_compute,
};

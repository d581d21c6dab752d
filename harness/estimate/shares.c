/* shares: what one rank holds of a model that is divided among devices, tensor by tensor of the skeleton; the rank that
 * holds most. Alone on one device weights, gradients and optimizer are those of the replay, to the byte.
 *
 * Tensor and expert degrees: tensor_split.h. Pipeline: stage k of P has layers k L / P to (k + 1) L / P; the first
 * also what stands before them, the last what follows, and its own copy of a tied embedding. Data-parallel ranks
 * divide what is left:
 *
 *     ZeRO 1, 2    one flat buffer of all trained elements, padded to a multiple of 2 N: optimizer / N; ZeRO 2:
 *                  gradients / N
 *     ZeRO 3       every tensor apart, padded to a multiple of N: weights, gradients and optimizer / N
 *     FSDP2        every tensor along dimension 0: the first rank has ceil(rows / N) rows of each
 *
 * and for ZeRO 3 and FSDP the largest layer (a block that is never split, or a leaf) is whole for a moment, in
 * training with its gradient: gathered_bytes. Weights and states have the dtypes of the case, as PyTorch keeps them;
 * float32 copies that DeepSpeed or Megatron add are in their own rules.
 *
 * Activations: rule_terms.h, of 16-bit or float32 elements, for the layers of the stage, times the micro-batches
 * that wait there: min(accumulate, P - k), one forward one backward. Without gradients those of llm_analysis.h, the
 * logits on the last stage. Keys and values of a generation: 2 layers tokens rows heads of a rank, in layers with a
 * window at most its tokens, quantised ones as quantized_states.h has them. A generation's total is that of the prefill
 * (its activations beside a cache of the prompt) or of the last token (its own beside the whole cache), whichever is
 * more. Left out: logits and loss of training, temporaries, workspaces, buckets of communication, allocator, context;
 * sequence and context parallelism.
 *
 * Worked number: gpt2 in float32, 8 ranks, FSDP2, AdamW fused: of wte [50257, 768] the first rank has 6,283 rows, of
 * all tensors 15,555,648 elements: 62,222,592 bytes of weights, as many of gradients, 124,445,184 + 4 * 148 of
 * optimizer. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/estimate/accelerate.h"
#include "harness/estimate/llm_analysis.h"
#include "harness/estimate/rule_terms.h"
#include "harness/estimate/tensor_split.h"
#include "harness/tape/quantized_states.h"
#include "models/config/family.h"
#include "models/forward/quantized_cache.h"
#include "models/workload/workload_tape.h"

enum { BEFORE_LAYERS = -1, AFTER_LAYERS = -2, FLAT_ALIGNMENT = 2 /* nccl_start_alignment_factor of DeepSpeed */ };

struct shares {
    const struct estimate_input *input;
    struct parallel parallel;
    int64_t element_bytes; /* of what follows the precision of the case */
    int *layers;           /* of each module: its layer, or BEFORE_LAYERS, AFTER_LAYERS */
    struct stage_share *stages;
};

/* One pipeline stage; bytes of a rank of it. */
struct stage_share {
    int64_t weights, buffers, gradients, optimizer, activations, cache;
    int64_t passing;        /* activations and cache at the moment of a case without gradients that has most of both */
    int64_t flat_counts[2]; /* trained elements that the ranks divide as one buffer: dense ones, experts */
    int64_t flat_element_bytes;
};

static int64_t divided_up(int64_t count, int64_t ways)
{
    return count / ways + (count % ways > 0 ? 1 : 0);
}

/* Data-parallel ranks that hold the same tensor: experts are already dealt out among some of them. */
static int64_t replicas_of(const struct shares *shares, bool is_expert)
{
    return is_expert ? shares->parallel.data / shares->parallel.expert : shares->parallel.data;
}

/* Elements of the tensor on the rank, if the ranks divide it tensor by tensor. */
static int64_t sharded_count(const struct shares *shares, const struct tensor_share *share)
{
    int64_t ways = parallel_stage(&shares->parallel) == 3 ? replicas_of(shares, share->is_expert) : 1;
    if (!shares->parallel.fsdp) {
        return divided_up(share->element_count, ways);
    }
    return share->element_count / share->row_count * divided_up(share->row_count, ways);
}

static bool is_trained(const struct workload *workload, const struct skeleton_tensor *tensor)
{
    return workload->mode == MODE_TRAIN && !tensor->is_buffer && (workload->lora_rank == 0 || tensor->is_adapter);
}

/* Of the optimizer, for so many elements that it sees as one tensor. */
static int64_t optimizer_bytes_of(enum optimizer optimizer, int64_t count, int64_t element_bytes)
{
    bool fused = optimizer == OPTIMIZER_ADAM_FUSED || optimizer == OPTIMIZER_ADAMW_FUSED;
    return optimizer == OPTIMIZER_SGD            ? 0
           : optimizer == OPTIMIZER_SGD_MOMENTUM ? count * element_bytes
                                                 : 2 * count * element_bytes + (fused ? 4 : 0);
}

static int stage_of(const struct shares *shares, const struct skeleton_tensor *tensor)
{
    int layer = shares->layers[tensor->module];
    int64_t stages = shares->parallel.pipeline;
    return stages == 1              ? 0
           : layer == AFTER_LAYERS  ? (int)stages - 1
           : layer == BEFORE_LAYERS ? 0
                                    : (int)(layer * stages / shares->input->config->layers);
}

/* A tied tensor is the other one, unless that is on another stage. */
static bool is_held(const struct shares *shares, const struct skeleton_tensor *tensor)
{
    const struct skeleton_tensor *tensors = shares->input->skeleton->tensors;
    return tensor->tied_to < 0 || stage_of(shares, tensor) != stage_of(shares, &tensors[tensor->tied_to]);
}

static int64_t element_bytes_of(const struct shares *shares, const struct skeleton_tensor *tensor)
{
    return tensor->rounds_with_model ? shares->element_bytes : dtype_bytes(tensor->dtype);
}

static void tensor_add(struct shares *shares, int index)
{
    const struct skeleton_tensor *tensor = &shares->input->skeleton->tensors[index];
    const struct workload *workload = shares->input->workload;
    struct stage_share *stage = &shares->stages[stage_of(shares, tensor)];
    struct tensor_share share = tensor_share_of(shares->input->skeleton, index, &shares->parallel);
    int64_t element_bytes = element_bytes_of(shares, tensor);
    if (share.element_count == 0 || !is_held(shares, tensor)) {
        return;
    }
    if (tensor->is_buffer) {
        stage->buffers += share.element_count * element_bytes;
        return;
    }
    int64_t count = sharded_count(shares, &share);
    stage->weights += count * element_bytes;
    if (is_trained(workload, tensor)) {
        stage->gradients += count * element_bytes;
        stage->optimizer += optimizer_bytes_of(workload->optimizer, count, element_bytes);
        stage->flat_counts[share.is_expert ? 1 : 0] += share.element_count;
        stage->flat_element_bytes = element_bytes;
    }
}

/* ZeRO 1 and 2: what the ranks divide as one buffer takes the place of what was counted tensor by tensor. */
static void flat_divide(const struct shares *shares, struct stage_share *stage)
{
    int64_t zero = shares->parallel.zero;
    if ((zero != 1 && zero != 2) || shares->parallel.data == 1) {
        return;
    }
    stage->optimizer = 0;
    stage->gradients = zero == 2 ? 0 : stage->gradients;
    for (int i = 0; i < 2; i++) {
        int64_t ways = replicas_of(shares, i == 1);
        int64_t count = FLAT_ALIGNMENT * divided_up(stage->flat_counts[i], FLAT_ALIGNMENT * ways);
        if (stage->flat_counts[i] > 0) {
            stage->optimizer +=
                optimizer_bytes_of(shares->input->workload->optimizer, count, stage->flat_element_bytes);
            stage->gradients += zero == 2 ? count * stage->flat_element_bytes : 0;
        }
    }
}

/* Notes for each module the number of its layer, an element of the outermost list of modules. False if the lists are
 * not one stack of the layers of the configuration. */
static bool layers_assign(const struct skeleton *skeleton, int *layers)
{
    int count = 0;
    for (int i = 0; i < skeleton->module_count; i++) {
        int parent = skeleton->modules[i].parent;
        bool in_layer = parent >= 0 && layers[parent] >= 0;
        bool is_layer = !in_layer && parent >= 0 && strcmp(skeleton->modules[parent].class_name, "ModuleList") == 0;
        layers[i] = in_layer ? layers[parent] : is_layer ? count++ : count > 0 ? AFTER_LAYERS : BEFORE_LAYERS;
    }
    return count == skeleton->config->layers;
}

/* Why there is no rule for keys and values; NULL: there is. */
static const char *cache_unruled(const struct estimate_input *input)
{
    return input->config->decoder_layers > 0
               ? "it has no rule for keys and values of what an encoder read, beside those of the decoder"
           : rule_has_module(input->skeleton, "kv_a_proj_with_mqa")
               ? "it has no rule for keys and values that are kept as one latent row"
               : NULL;
}

/* Training: what is kept of the layers of a stage, and as often as micro-batches wait there. */
static bool activations_add(const struct shares *shares, int stage)
{
    const struct estimate_input *input = shares->input;
    const struct workload *workload = input->workload;
    int64_t waiting = shares->parallel.pipeline - stage;
    struct rule_layer layer = {.seq = rule_sequence(input),
                               .batch = workload->batch,
                               .hidden = input->config->hidden,
                               .heads = input->config->heads,
                               .element_bytes = workload->precision == PRECISION_FLOAT32 ? 4 : 2,
                               .tensor = shares->parallel.tensor,
                               .scores = workload->attention == ATTENTION_EAGER,
                               .recomputed = workload->checkpointing};
    int64_t bytes = 0;
    waiting = waiting < workload->accumulate ? waiting : workload->accumulate;
    return rule_layer_activations(&layer, &bytes) &&
           size_multiply(bytes, input->config->layers / shares->parallel.pipeline, &bytes) &&
           size_multiply(bytes, shares->parallel.pipeline > 1 ? waiting : 1, &shares->stages[stage].activations);
}

/* Tokens that the layers of a stage keep of so many, summed: in a layer with a window no more than it sees. */
static int64_t tokens_kept(const struct shares *shares, int stage, int64_t tokens)
{
    const struct config *config = shares->input->config;
    int64_t window = config->sliding_window > 0 && config->sliding_window < tokens ? config->sliding_window : tokens;
    int64_t layer_count = config->layers / shares->parallel.pipeline;
    int64_t sum = 0;
    for (int64_t layer = stage * layer_count; layer < (stage + 1) * layer_count; layer++) {
        sum += config_layer_slides(config, layer) ? window : tokens;
    }
    return sum;
}

/* Elements of the keys of one layer and token on a rank. */
static bool key_elements(const struct shares *shares, int64_t *elements)
{
    const struct config *config = shares->input->config;
    int64_t tensor = shares->parallel.tensor, heads = config_cached_heads(config);
    const int64_t factors[] = {shares->input->workload->batch, shares->input->workload->beams,
                               heads < tensor ? 1 : heads / tensor, config->head_dim};
    return rule_product(factors, 4, elements);
}

/* Of keys and values as they are. Autocast makes them in 16 bits; rotary positions in float32 widen both. */
static int64_t key_bytes(const struct shares *shares)
{
    bool widens = shares->input->config->rotary_dim > 0;
    return rule_is_amp(shares->input->workload->precision) && !widens ? 2 : shares->element_bytes;
}

/* Keys and values after so many tokens, prompt included: what is quantised, and what waits to be. */
static bool quantized_cache_bytes(const struct shares *shares, int64_t tokens, int64_t *bytes)
{
    const struct workload *workload = shares->input->workload;
    enum states_form form = cache_states_form(workload->cache_dtype);
    int64_t waiting = form == STATES_FLOAT8 ? 0 : (tokens - workload->seq) % CACHE_RESIDUAL_TOKENS;
    int64_t each = 0, quantized = 0, stored = 0, residual = 0;
    return key_elements(shares, &each) && size_multiply(each, tokens - waiting, &quantized) &&
           states_stored_bytes(form, quantized, shares->element_bytes, &stored) &&
           size_multiply(each, waiting * shares->element_bytes, &residual) && size_add(stored, residual, &stored) &&
           size_multiply(stored, 2 * (shares->input->config->layers / shares->parallel.pipeline), bytes);
}

static bool cache_bytes(const struct shares *shares, int stage, int64_t tokens, int64_t *bytes)
{
    int64_t each = 0;
    if (shares->input->workload->cache_dtype != CACHE_DTYPE_AUTO) {
        return quantized_cache_bytes(shares, tokens, bytes);
    }
    return key_elements(shares, &each) &&
           size_multiply(each, 2 * tokens_kept(shares, stage, tokens) * key_bytes(shares), bytes);
}

/* A pass of so many tokens on a stage. */
static bool pass_activations(const struct shares *shares, int stage, int64_t tokens, int64_t *bytes)
{
    const struct workload *workload = shares->input->workload;
    const struct config *config = shares->input->config;
    bool is_last = stage == shares->parallel.pipeline - 1;
    bool has_logits = is_last && workload_head(workload) == HEAD_LM && !config->family->is_image;
    struct inference_pass pass = {.tokens = tokens,
                                  .rows = workload->batch * workload->beams,
                                  .hidden = config->hidden,
                                  .heads = config->heads,
                                  .ffn = config->ffn,
                                  .vocab = has_logits ? config->vocab : 0,
                                  .logit_rows = workload->logits == LOGITS_LAST ? 1 : tokens,
                                  .element_bytes = workload->precision == PRECISION_FLOAT32 ? 4 : 2,
                                  .tensor = shares->parallel.tensor,
                                  .scores = workload->attention == ATTENTION_EAGER};
    return llm_analysis_activations(&pass, bytes);
}

/* Inference and generation: the pass over the prompt, and the one over the last token that is read. */
static bool passes_add(const struct shares *shares, int stage)
{
    const struct workload *workload = shares->input->workload;
    struct stage_share *share = &shares->stages[stage];
    int64_t prompt = 0, last = 0, tokens = rule_sequence(shares->input);
    if (!pass_activations(shares, stage, tokens, &share->activations)) {
        return false;
    }
    share->passing = share->activations;
    if (workload->mode != MODE_GENERATE) {
        return true;
    }
    bool fits = cache_bytes(shares, stage, tokens, &prompt) &&
                cache_bytes(shares, stage, tokens + workload->new_tokens - 1, &share->cache) &&
                pass_activations(shares, stage, 1, &last) && size_add(prompt, share->activations, &prompt) &&
                size_add(share->cache, last, &last);
    share->passing = prompt > last ? prompt : last;
    return fits;
}

static bool stages_fill(struct shares *shares)
{
    const struct workload *workload = shares->input->workload;
    bool fits = true;
    for (int i = 0; i < shares->input->skeleton->tensor_count; i++) {
        tensor_add(shares, i);
    }
    for (int stage = 0; stage < shares->parallel.pipeline && fits; stage++) {
        flat_divide(shares, &shares->stages[stage]);
        if (workload->mode == MODE_TRAIN && rule_has_activations(shares->input)) {
            fits = activations_add(shares, stage);
        }
        if (workload->mode == MODE_INFER || workload->mode == MODE_GENERATE) {
            fits = fits && passes_add(shares, stage);
        }
    }
    return fits;
}

static int64_t states_of(const struct stage_share *stage)
{
    return stage->weights + stage->buffers + stage->gradients + stage->optimizer;
}

/* The stage that holds most; of several the first. False if a sum does not fit. */
static bool worst_of(const struct shares *shares, int *worst, int64_t *bytes)
{
    bool fits = true;
    *bytes = -1;
    for (int stage = 0; stage < shares->parallel.pipeline && fits; stage++) {
        const struct stage_share *one = &shares->stages[stage];
        int64_t sum = 0;
        int64_t beside = shares->input->workload->mode == MODE_TRAIN ? one->activations : one->passing;
        fits = size_add(beside, states_of(one), &sum);
        *worst = sum > *bytes ? stage : *worst;
        *bytes = sum > *bytes ? sum : *bytes;
    }
    return fits;
}

static int64_t whole_bytes_of(const struct skeleton_tensor *tensor, const void *context)
{
    const struct shares *shares = context;
    const struct skeleton *skeleton = shares->input->skeleton;
    struct tensor_share share = tensor_share_of(skeleton, (int)(tensor - skeleton->tensors), &shares->parallel);
    return tensor->tied_to >= 0 || tensor->is_buffer ? 0 : share.element_count * element_bytes_of(shares, tensor);
}

/* The largest layer that ZeRO 3 and FSDP make whole for a moment. */
static enum status_code gathered_of(const struct shares *shares, int64_t *bytes, struct status *error)
{
    const struct workload *workload = shares->input->workload;
    struct accelerate_sizing sizing = {
        .skeleton = shares->input->skeleton, .tensor_bytes = whole_bytes_of, .context = shares};
    int64_t total = 0;
    int64_t largest = 0;
    *bytes = 0;
    if (parallel_stage(&shares->parallel) < 3 || shares->parallel.data == 1) {
        return STATUS_OK;
    }
    enum status_code code = accelerate_measure(&sizing, &total, &largest, error);
    *bytes = largest * (workload->mode == MODE_TRAIN && workload->lora_rank == 0 ? 2 : 1);
    return code;
}

static enum status_code shares_add(const struct shares *shares, struct estimate *estimate, struct status *error)
{
    const struct workload *workload = shares->input->workload;
    bool trains = workload->mode == MODE_TRAIN;
    bool has_rule = workload->mode == MODE_LOAD || rule_has_activations(shares->input);
    const char *unruled = cache_unruled(shares->input);
    int worst = 0;
    int64_t total = 0;
    int64_t gathered = 0;
    enum status_code code = gathered_of(shares, &gathered, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (!worst_of(shares, &worst, &total) || !size_add(total, gathered, &total)) {
        return rule_overflow(error);
    }
    const struct stage_share *stage = &shares->stages[worst];
    estimate_add(estimate, "weights_bytes", stage->weights);
    estimate_add(estimate, "buffers_bytes", stage->buffers);
    if (trains) {
        estimate_add(estimate, "gradients_bytes", stage->gradients);
        estimate_add(estimate, "optimizer_bytes", stage->optimizer);
    }
    estimate_add(estimate, "states_bytes", states_of(stage));
    estimate_add(estimate, "gathered_bytes", gathered);
    if (workload->mode == MODE_GENERATE) {
        estimate_add_or_unknown(estimate, "kv_cache_bytes", unruled == NULL, stage->cache);
    }
    if (workload->mode != MODE_LOAD) {
        estimate_add_or_unknown(estimate, "activations_bytes", has_rule, stage->activations);
    }
    if (shares->parallel.pipeline > 1) {
        estimate_add_text(estimate, "stage",
                          worst == 0                               ? "first"
                          : worst == shares->parallel.pipeline - 1 ? "last"
                                                                   : "between");
    }
    estimate_add_or_unknown(estimate, "total_bytes", has_rule, total);
    estimate_note(estimate, !has_rule, rule_activations_note);
    estimate_note(estimate, workload->mode == MODE_GENERATE && unruled != NULL, unruled);
    return STATUS_OK;
}

static bool shares_applies(const struct estimate_input *input)
{
    const struct workload *workload = input->workload;
    return rule_weight_bytes(workload->precision) > 0 && input->parallel != NULL &&
           (workload->mode != MODE_TRAIN || rule_optimizer_is_adam(workload->optimizer) ||
            workload->optimizer == OPTIMIZER_SGD_MOMENTUM || workload->optimizer == OPTIMIZER_SGD);
}

static enum status_code shares_compute(const struct estimate_input *input, struct estimate *estimate,
                                       struct status *error)
{
    struct shares shares = {
        .input = input, .parallel = *input->parallel, .element_bytes = rule_weight_bytes(input->workload->precision)};
    shares.layers = calloc((size_t)input->skeleton->module_count, sizeof *shares.layers);
    shares.stages = calloc((size_t)shares.parallel.pipeline, sizeof *shares.stages);
    enum status_code code = STATUS_OK;
    if (shares.layers == NULL || shares.stages == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "no host memory for the shares of %lld stages",
                          (long long)shares.parallel.pipeline);
    } else if (!layers_assign(input->skeleton, shares.layers) && shares.parallel.pipeline > 1) {
        code = status_set(error, STATUS_INVALID,
                          "%s is not one stack of %lld layers, so there is no rule for its pipeline stages; leave "
                          "--pipeline-parallel out",
                          input->config->name, (long long)input->config->layers);
    } else if (shares.parallel.expert > 1 && !rule_has_module(input->skeleton, "experts")) {
        code = status_set(error, STATUS_INVALID, "%s has no experts to divide; leave --expert-parallel out",
                          input->config->name);
    } else {
        code = stages_fill(&shares) ? shares_add(&shares, estimate, error) : rule_overflow(error);
    }
    free(shares.layers);
    free(shares.stages);
    return code;
}

const struct estimator estimator_shares = {
    .name = "shares",
    .what = "what a rank holds of a divided model: states by tensor, activations by formula, no temporaries",
    .source = "this program: Megatron's, DeepSpeed's and PyTorch's ways to divide",
    .divides = true,
    .applies = shares_applies,
    .compute = shares_compute,
};

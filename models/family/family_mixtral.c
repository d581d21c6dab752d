/* Mixtral, and Qwen's mixtures of experts (Qwen1.5 and Qwen2, Qwen3): Llama's layers with experts for their
 * feed-forward network. Two rows, because PEFT adapts Mixtral alone where nothing is named.
 *
 * Skeleton of the bare model, or ...ForCausalLM (transformers 5.23). The three differ by the names of their classes,
 * the order of their modules and: Qwen2 has biases and a gated shared expert, Qwen3 normalises queries and keys. A
 * worked number stands in experts.h. */
#include "models/family/family_table.h"

#include <stdio.h>
#include <string.h>

#include "models/config/config_part.h"
#include "models/forward/decoder.h"
#include "models/forward/experts.h"
#include "models/forward/forward_experts.h"
#include "models/forward/module_visit.h"
#include "models/forward/rotary.h"
#include "models/skeleton/skeleton_builder.h"

/* -- the configuration */

struct mixture_type {
    const char *model_type;
    int64_t vocab, hidden, layers, heads, kv_heads, ffn, positions; /* defaults of the class */
    int64_t experts, active, expert_ffn, shared_ffn;                /* shared_ffn 0: no shared expert */
    const char *model, *head, *layer, *attention, *mlp, *norm, *rotary, *block, *router, *expert_list;
};

static const struct mixture_type types[] = {
    {"mixtral",
     32000,
     4096,
     32,
     32,
     8,
     14336,
     131072,
     8,
     2,
     0,
     0,
     "MixtralModel",
     "MixtralForCausalLM",
     "MixtralDecoderLayer",
     "MixtralAttention",
     NULL,
     "MixtralRMSNorm",
     "MixtralRotaryEmbedding",
     "MixtralSparseMoeBlock",
     "MixtralTopKRouter",
     "MixtralExperts"},
    {"qwen2_moe",
     151936,
     2048,
     24,
     16,
     16,
     5632,
     32768,
     60,
     4,
     1408,
     5632,
     "Qwen2MoeModel",
     "Qwen2MoeForCausalLM",
     "Qwen2MoeDecoderLayer",
     "Qwen2MoeAttention",
     "Qwen2MoeMLP",
     "Qwen2MoeRMSNorm",
     "Qwen2MoeRotaryEmbedding",
     "Qwen2MoeSparseMoeBlock",
     "Qwen2MoeTopKRouter",
     "Qwen2MoeExperts"},
    {"qwen3_moe",
     151936,
     2048,
     24,
     32,
     4,
     6144,
     32768,
     128,
     8,
     768,
     0,
     "Qwen3MoeModel",
     "Qwen3MoeForCausalLM",
     "Qwen3MoeDecoderLayer",
     "Qwen3MoeAttention",
     "Qwen3MoeMLP",
     "Qwen3MoeRMSNorm",
     "Qwen3MoeRotaryEmbedding",
     "Qwen3MoeSparseMoeBlock",
     "Qwen3MoeTopKRouter",
     "Qwen3MoeExperts"},
};

static const struct mixture_type *mixture_type_of(const struct config *config)
{
    size_t i = sizeof types / sizeof types[0] - 1;
    while (i > 0 && strcmp(config->model_type, types[i].model_type) != 0) {
        i--;
    }
    return &types[i];
}

static void read_sizes(struct field_reader *reader, const struct mixture_type *own, struct config *config)
{
    bool mixtral = own == &types[0];
    const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), own->vocab, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"hidden_size", NULL, CONFIG_OFFSET(hidden), own->hidden, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_hidden_layers", NULL, CONFIG_OFFSET(layers), own->layers, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"num_attention_heads", NULL, CONFIG_OFFSET(heads), own->heads, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_key_value_heads", NULL, CONFIG_OFFSET(kv_heads), own->kv_heads, mixtral ? 0 : FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
        {"intermediate_size", NULL, CONFIG_OFFSET(ffn), own->ffn, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"max_position_embeddings", NULL, CONFIG_OFFSET(positions), own->positions, FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
        {"head_dim", NULL, CONFIG_OFFSET(head_dim), 0, mixtral ? 0 : FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {mixtral ? "num_local_experts" : "num_experts", NULL, CONFIG_OFFSET(experts), own->experts, FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
        {"num_experts_per_tok", NULL, CONFIG_OFFSET(active_experts), own->active, FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
        {"moe_intermediate_size", NULL, CONFIG_OFFSET(expert_ffn), own->expert_ffn, FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
        {"shared_expert_intermediate_size", NULL, CONFIG_OFFSET(shared_ffn), own->shared_ffn, FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
    };
    size_t count = sizeof integers / sizeof integers[0];
    count -= mixtral ? 2 : own->shared_ffn > 0 ? 0 : 1; /* Mixtral's experts have intermediate_size */
    field_integers(reader, integers, count, config);
    config->expert_ffn = mixtral ? config->ffn : config->expert_ffn;
}

/* router_aux_loss_coef and output_router_logits: with them the real model keeps the router's logits of every layer. */
static void mixture_read(struct field_reader *reader, struct config *config)
{
    const struct mixture_type *own = mixture_type_of(config);
    bool mixtral = own == &types[0];
    read_sizes(reader, own, config);
    if (config->head_dim == 0) {
        config_heads_check(reader, "num_attention_heads", config);
    }
    config->kv_heads = config->kv_heads > 0 ? config->kv_heads : config->heads;
    if (config->head_dim == 0 && reader->code == STATUS_OK) {
        config->head_dim = config->hidden / config->heads;
    }
    config_grouped_check(reader, config);
    config->rotary_dim = config->head_dim;
    config->expert_step = 1;
    if (!mixtral) {
        experts_read_layers(reader, config);
    }
    experts_check(reader, "num_experts_per_tok", config);
    config_activation(reader, "hidden_act", ACTIVATION_SILU, config);
    config_rope(reader, config);
    config_pad_token(reader, -1, config);
    config_refuse_true(reader, "output_router_logits");
    config->attention_dropout = field_real(reader, "attention_dropout", 0, 0.999, 0);
    config->norm_epsilon = field_real(reader, "rms_norm_eps", 0, 1, mixtral ? 1e-5 : 1e-6);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", false);
    config->normalizes_routing = mixtral || field_boolean(reader, "norm_topk_prob", false);
    config->head_norms = own == &types[2];
    config->attention_bias = own == &types[1] ? field_boolean(reader, "qkv_bias", true)
                                              : own == &types[2] && field_boolean(reader, "attention_bias", false);
    config->attention_output_bias = own == &types[2] && config->attention_bias;
    if (mixtral) {
        config->sliding_window = field_integer(reader, "sliding_window", 1, CONFIG_COUNT_MAXIMUM, 0);
        for (int64_t i = 0; i < config->layers && config->sliding_window > 0; i++) {
            config_layer_slide(config, i);
        }
        if (field_real(reader, "router_jitter_noise", 0, 1, 0) > 0) {
            field_fault(reader, "router_jitter_noise", "noise is not modelled; set it to 0");
        }
    } else {
        config_refuse_true(reader, "use_sliding_window");
        config->masks_windows = own == &types[1];
    }
}

/* -- the skeleton */

static void skeleton_attention(struct skeleton_builder *builder, int layer, const struct mixture_type *own)
{
    const struct config *config = builder->config;
    int64_t queries = config->heads * config->head_dim; /* config_grouped_check has seen that it fits */
    int64_t keys = config->kv_heads * config->head_dim;
    int attention = builder_module(builder, layer, "self_attn", own->attention);
    builder_linear(builder, attention, "q_proj", queries, config->hidden, config->attention_bias);
    builder_linear(builder, attention, "k_proj", keys, config->hidden, config->attention_bias);
    builder_linear(builder, attention, "v_proj", keys, config->hidden, config->attention_bias);
    builder_linear(builder, attention, "o_proj", config->hidden, queries, config->attention_output_bias);
    if (config->head_norms) {
        builder_rms_norm(builder, attention, "q_norm", own->norm, config->head_dim);
        builder_rms_norm(builder, attention, "k_norm", own->norm, config->head_dim);
    }
}

static void skeleton_experts(struct skeleton_builder *builder, int layer, const struct mixture_type *own)
{
    const struct config *config = builder->config;
    int mlp = builder_module(builder, layer, "mlp", own->block);
    if (own == &types[2]) {
        experts_list(builder, mlp, own->expert_list);
        experts_router_list(builder, mlp, own->router);
        return;
    }
    experts_router_list(builder, mlp, own->router);
    experts_list(builder, mlp, own->expert_list);
    if (config->shared_ffn > 0) {
        experts_dense_list(builder, mlp, "shared_expert", own->mlp, config->shared_ffn, false);
        builder_linear(builder, mlp, "shared_expert_gate", 1, config->hidden, false);
    }
}

static void skeleton_layer(struct skeleton_builder *builder, int parent, int64_t number, const struct mixture_type *own)
{
    const struct config *config = builder->config;
    int layer = builder_element(builder, parent, number, own->layer);
    builder_keep_whole(builder, layer);
    skeleton_attention(builder, layer, own);
    if (experts_in_layer(config, number)) {
        skeleton_experts(builder, layer, own);
    } else {
        experts_dense_list(builder, layer, "mlp", own->mlp, config->ffn, false);
    }
    builder_rms_norm(builder, layer, "input_layernorm", own->norm, config->hidden);
    builder_rms_norm(builder, layer, "post_attention_layernorm", own->norm, config->hidden);
}

static void mixture_skeleton(struct skeleton_builder *builder, enum head head)
{
    const struct config *config = builder->config;
    const struct mixture_type *own = mixture_type_of(config);
    bool lm = head == HEAD_LM;
    int root = lm ? builder_module(builder, -1, "", own->head) : -1;
    int model = builder_module(builder, root, lm ? "model" : "", own->model);
    int words = builder_embedding(builder, model, "embed_tokens", config->vocab, config->hidden);
    int layers = builder_module(builder, model, "layers", "ModuleList");
    for (int64_t i = 0; i < config->layers; i++) {
        skeleton_layer(builder, layers, i, own);
    }
    builder_rms_norm(builder, model, "norm", own->norm, config->hidden);
    builder_module(builder, model, "rotary_emb", own->rotary);
    rotary_buffers(builder, "", config->rotary_dim, config->rope_theta);
    if (lm) {
        int weight = builder_linear(builder, root, "lm_head", config->vocab, config->hidden, false);
        builder_tie(builder, config->tied_head ? weight : -1, words);
    }
}

/* -- the forward pass */

/* The router: the weights of the experts that each token uses, [N, active]; the logits stay with the open frame, as the
 * name `_`. */
static struct value *route(const struct forward_layer *layer, struct value *rows, struct value **ids)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    bool mixtral = mixture_type_of(f->config) == &types[0];
    struct module_visit visit = layer_enter(layer, "mlp.gate");
    rows = module_argument(f, visit, rows);
    struct value *logits = tape_linear(tape, rows, forward_tensor(f, "%s.mlp.gate.weight", layer->prefix), NULL);
    struct value *scores = mixtral ? tape_cast(tape, logits, DTYPE_FLOAT32) : NULL; /* .float(), else dtype= */
    struct value *probabilities = tape_softmax(tape, mixtral ? scores : logits, true);
    tape_drop(tape, scores);
    struct value *weights = tape_top_k(tape, probabilities, f->config->active_experts, ids);
    if (f->config->normalizes_routing) {
        struct value *sum = tape_sum(tape, weights, -1, true);
        value_rebind(tape, &weights, tape_divide_(tape, weights, sum));
        tape_drop(tape, sum);
    }
    if (!mixtral) {
        value_rebind(tape, &weights, tape_cast(tape, weights, value_dtype(logits)));
    }
    tape_drop(tape, probabilities);
    struct value *const results[] = {logits, weights, *ids};
    module_leave_all(f, visit, results, 3);
    return weights;
}

/* sigmoid(shared_expert_gate) * shared_expert, which was made before the others were chosen. */
static struct value *with_shared(const struct forward_layer *layer, struct value *rows, struct value *shared,
                                 struct value *chosen)
{
    struct tape *tape = layer->forward->tape;
    int frame = tape_frame_open(tape);
    struct value *gate = layer_linear(layer, "mlp.shared_expert_gate", rows);
    value_rebind(tape, &gate, tape_sigmoid(tape, gate));
    struct value *gated = tape_multiply(tape, shared, gate); /* the right one's gradient comes first */
    tape_drop(tape, gate);
    tape_drop(tape, shared);
    return tape_frame_close(tape, frame, tape_add(tape, chosen, gated));
}

static struct value *mixture(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    struct module_visit visit = layer_enter(layer, "mlp");
    hidden = module_argument(f, visit, hidden);
    int frame = tape_frame_open(tape);
    int64_t size[] = {value_size(hidden, 0), value_size(hidden, 1), f->config->hidden};
    int64_t flat[] = {size[0] * size[1], size[2]};
    struct value *rows = tape_reshape(tape, hidden, 2, flat);
    struct value *shared = f->config->shared_ffn > 0 ? experts_dense_run(layer, "mlp.shared_expert", rows) : NULL;
    struct value *ids;
    struct value *weights = route(layer, rows, &ids);
    struct value *made = experts_run(layer, rows, weights, ids);
    if (shared != NULL) {
        value_rebind(tape, &made, with_shared(layer, rows, shared, made));
    }
    return module_leave(f, visit, tape_frame_close(tape, frame, tape_reshape(tape, made, 3, size)));
}

static struct value *mixture_layer(struct tape *tape, const void *context, struct value *input)
{
    const struct forward_layer *layer = context;
    bool sparse = experts_in_layer(layer->forward->config, layer->index);
    int frame = tape_frame_open(tape);
    struct value *hidden = layer_rms_norm(layer, "input_layernorm", input);
    struct value *attended = decoder_attention(layer, hidden);
    tape_drop(tape, hidden);
    hidden = tape_add(tape, input, attended);
    tape_drop(tape, attended);
    struct value *residual = hidden;
    hidden = layer_rms_norm(layer, "post_attention_layernorm", residual);
    value_rebind(tape, &hidden, sparse ? mixture(layer, hidden) : decoder_gated_feed_forward(layer, hidden));
    value_rebind(tape, &hidden, tape_add(tape, residual, hidden));
    return tape_frame_close(tape, frame, hidden);
}

static struct value *mixture_model(const struct forward *f, const char *root)
{
    int frame = tape_frame_open(f->tape);
    char path[64];
    snprintf(path, sizeof path, "%sembed_tokens", root);
    struct value *hidden = forward_words(f, path, f->config->pad_token);
    /* Over a static cache generate() makes the masks, and only those that a layer reads. */
    bool by_generate = f->cache != NULL && f->cache->kind == CACHE_STATIC;
    enum decoder_masks masks = f->config->masks_windows && !by_generate ? DECODER_MASKS_BOTH : DECODER_MASKS_ONE;
    struct decoder_tables tables = decoder_tables_make(f, masks, hidden);
    decoder_rotary_make(f, &tables, DECODER_KINDS_ALL, root, "rotary_emb.inv_freq", hidden);
    hidden = decoder_layers(f, mixture_layer, &tables, root, hidden);
    snprintf(path, sizeof path, "%snorm", root);
    return tape_frame_close(f->tape, frame, forward_rms_norm(f, path, hidden));
}

static struct value *mixture_forward(const struct forward *f)
{
    return decoder_forward(f, mixture_model, "model.");
}

static const char *const mixtral_types[] = {"mixtral", NULL};
static const char *const qwen_types[] = {"qwen2_moe", "qwen3_moe", NULL};
static const char *const lora_targets[] = {"q_proj", "v_proj", NULL};

const struct family family_mixtral = {
    .name = "mixtral",
    .model_types = mixtral_types,
    .has_attention = true,
    .generates = true,
    .lora_targets = lora_targets,
    .read = mixture_read,
    .skeleton = mixture_skeleton,
    .forward = mixture_forward,
};

const struct family family_qwen_moe = {
    .name = "qwen_moe",
    .model_types = qwen_types,
    .has_attention = true,
    .generates = true,
    .read = mixture_read,
    .skeleton = mixture_skeleton,
    .forward = mixture_forward,
};

/* Mixtral, and Qwen's mixtures of experts (Qwen1.5 and Qwen2, Qwen3): Llama's layers with experts for their
 * feed-forward network. Two rows, because PEFT adapts Mixtral alone if nothing is named.
 *
 * Skeleton of the bare model, or ...ForCausalLM (transformers 5.23). The three differ by the names of their classes,
 * the order of their modules and: Qwen2 has biases and a gated shared expert, Qwen3 normalises queries and keys. A
 * worked number stands in experts.h. */
#include "models/family/family_table.h"

#include "models/config/config_part.h"
#include "models/forward/decoder.h"
#include "models/forward/decoder_skeleton.h"
#include "models/forward/experts.h"
#include "models/forward/forward_experts.h"
#include "models/forward/module_visit.h"
#include "models/skeleton/skeleton_builder.h"

struct mixture_type {
    struct decoder_type decoder;
    int64_t experts, active, expert_ffn, shared_ffn; /* defaults of the class; shared_ffn 0: no shared expert */
    const char *block, *router, *expert_list;        /* names of classes */
    const char *experts_key;
    double norm_epsilon;
    bool every_layer;        /* all layers have experts, of intermediate_size, and may have a sliding window */
    bool casts_scores;       /* .float() of the router's logits; else softmax takes the type */
    bool normalizes_routing; /* whatever the file says */
    bool experts_come_first; /* the router is registered behind them */
    bool head_norms;         /* queries and keys of a head are normalised */
    bool makes_window_masks; /* though no layer has a window */
    const char *biases;      /* the key of biases of projections; NULL: there are none */
    bool biases_by_default, biases_output;
};

static const struct mixture_type types[] = {
    {.decoder = {.model_type = "mixtral",
                 .classes = DECODER_CLASSES("Mixtral"),
                 .sizes = {.vocab = 32000,
                           .hidden = 4096,
                           .layers = 32,
                           .heads = 32,
                           .kv_heads = 8,
                           .ffn = 14336,
                           .positions = 131072}},
     .experts = 8,
     .active = 2,
     .block = "MixtralSparseMoeBlock",
     .router = "MixtralTopKRouter",
     .expert_list = "MixtralExperts",
     .experts_key = "num_local_experts",
     .norm_epsilon = 1e-5,
     .every_layer = true,
     .casts_scores = true,
     .normalizes_routing = true},
    {.decoder = {.model_type = "qwen2_moe",
                 .classes = DECODER_CLASSES("Qwen2Moe"),
                 .sizes = {.vocab = 151936,
                           .hidden = 2048,
                           .layers = 24,
                           .heads = 16,
                           .kv_heads = 16,
                           .ffn = 5632,
                           .positions = 32768,
                           .kv_heads_null = FIELD_NULL_REFUSED,
                           .head_dim_null = FIELD_NULL_REFUSED}},
     .experts = 60,
     .active = 4,
     .expert_ffn = 1408,
     .shared_ffn = 5632,
     .block = "Qwen2MoeSparseMoeBlock",
     .router = "Qwen2MoeTopKRouter",
     .expert_list = "Qwen2MoeExperts",
     .experts_key = "num_experts",
     .norm_epsilon = 1e-6,
     .makes_window_masks = true,
     .biases = "qkv_bias",
     .biases_by_default = true},
    {.decoder = {.model_type = "qwen3_moe",
                 .classes = DECODER_CLASSES("Qwen3Moe"),
                 .heads = decoder_heads_llama,
                 .sizes = {.vocab = 151936,
                           .hidden = 2048,
                           .layers = 24,
                           .heads = 32,
                           .kv_heads = 4,
                           .ffn = 6144,
                           .positions = 32768,
                           .kv_heads_null = FIELD_NULL_REFUSED,
                           .head_dim_null = FIELD_NULL_REFUSED}},
     .experts = 128,
     .active = 8,
     .expert_ffn = 768,
     .block = "Qwen3MoeSparseMoeBlock",
     .router = "Qwen3MoeTopKRouter",
     .expert_list = "Qwen3MoeExperts",
     .experts_key = "num_experts",
     .norm_epsilon = 1e-6,
     .experts_come_first = true,
     .head_norms = true,
     .biases = "attention_bias",
     .biases_output = true},
};

static const struct mixture_type *mixture_type_of(const struct config *config)
{
    return (const struct mixture_type *)decoder_type_of(config);
}

/* -- the configuration */

static void read_experts(struct field_reader *reader, const struct mixture_type *own, struct config *config)
{
    const struct integer_field integers[] = {
        {own->experts_key, NULL, CONFIG_OFFSET(experts), own->experts, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_experts_per_tok", NULL, CONFIG_OFFSET(active_experts), own->active, FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
        {"moe_intermediate_size", NULL, CONFIG_OFFSET(expert_ffn), own->expert_ffn, FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
        {"shared_expert_intermediate_size", NULL, CONFIG_OFFSET(shared_ffn), own->shared_ffn, FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
    };
    size_t count = sizeof integers / sizeof integers[0];
    count -= own->expert_ffn == 0 ? 2 : own->shared_ffn > 0 ? 0 : 1; /* Mixtral's experts have intermediate_size */
    field_integers(reader, integers, count, config);
    config->expert_ffn = own->expert_ffn == 0 ? config->ffn : config->expert_ffn;
}

/* router_aux_loss_coef and output_router_logits: with them the real model keeps the router's logits of every layer. */
static void mixture_read(struct field_reader *reader, struct config *config)
{
    const struct mixture_type *own = mixture_type_of(config);
    decoder_read_sizes(reader, config);
    read_experts(reader, own, config);
    decoder_read_heads(reader, config);
    config->rotary_dim = config->head_dim;
    config->expert_step = 1;
    if (!own->every_layer) {
        experts_read_layers(reader, config);
    }
    experts_check(reader, "num_experts_per_tok", config);
    config_activation(reader, "hidden_act", ACTIVATION_SILU, config);
    config_rope(reader, config);
    config_pad_token(reader, -1, config);
    config_refuse_true(reader, "output_router_logits");
    config->attention_dropout = field_real(reader, "attention_dropout", 0, 0.999, 0);
    config->norm_epsilon = field_real(reader, "rms_norm_eps", 0, 1, own->norm_epsilon);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", false);
    config->normalizes_routing = own->normalizes_routing || field_boolean(reader, "norm_topk_prob", false);
    config->head_norms = own->head_norms;
    config->attention_bias = own->biases != NULL && field_boolean(reader, own->biases, own->biases_by_default);
    config->attention_output_bias = own->biases_output && config->attention_bias;
    if (own->every_layer) {
        config->sliding_window = field_integer(reader, "sliding_window", 1, CONFIG_COUNT_MAXIMUM, 0);
        for (int64_t i = 0; i < config->layers && config->sliding_window > 0; i++) {
            config_layer_slide(config, i);
        }
        if (field_real(reader, "router_jitter_noise", 0, 1, 0) > 0) {
            field_fault(reader, "router_jitter_noise", "noise is not modelled; set it to 0");
        }
    } else {
        config_refuse_true(reader, "use_sliding_window");
        config->masks_windows = own->makes_window_masks;
    }
}

/* -- the skeleton */

static void skeleton_experts(struct skeleton_builder *builder, int layer, const struct mixture_type *own)
{
    const struct config *config = builder->config;
    int mlp = builder_module(builder, layer, "mlp", own->block);
    if (own->experts_come_first) {
        experts_list(builder, mlp, own->expert_list);
        experts_router_list(builder, mlp, own->router);
        return;
    }
    experts_router_list(builder, mlp, own->router);
    experts_list(builder, mlp, own->expert_list);
    if (config->shared_ffn > 0) {
        experts_dense_list(builder, mlp, "shared_expert", own->decoder.classes.mlp, config->shared_ffn, false);
        builder_linear(builder, mlp, "shared_expert_gate", 1, config->hidden, false);
    }
}

static void feed_list(struct skeleton_builder *builder, int layer, int64_t number, const struct decoder_type *type)
{
    if (experts_in_layer(builder->config, number)) {
        skeleton_experts(builder, layer, (const struct mixture_type *)type);
    } else {
        decoder_gated_list(builder, layer, number, type);
    }
}

static void layer_list(struct skeleton_builder *builder, int layers, int64_t number, const struct decoder_type *type)
{
    decoder_part_list *const parts[] = {decoder_attention_list, feed_list};
    decoder_layer_list(builder, layers, number, type, parts);
}

/* -- the forward pass */

/* The router: the weights of the experts that each token uses, [N, active]; the logits stay with the open frame, as the
 * name `_`. */
static struct value *route(const struct forward_layer *layer, struct value *rows, struct value **ids)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    bool casts = mixture_type_of(f->config)->casts_scores;
    struct module_visit visit = layer_enter(layer, "mlp.gate");
    rows = module_argument(f, visit, rows);
    struct value *logits = tape_linear(tape, rows, forward_tensor(f, "%s.mlp.gate.weight", layer->prefix), NULL);
    struct value *scores = casts ? tape_cast(tape, logits, DTYPE_FLOAT32) : NULL;
    struct value *probabilities = tape_softmax(tape, casts ? scores : logits, true);
    tape_drop(tape, scores);
    struct value *weights = tape_top_k(tape, probabilities, f->config->active_experts, ids);
    if (f->config->normalizes_routing) {
        struct value *sum = tape_sum(tape, weights, -1, true);
        value_rebind(tape, &weights, tape_divide_(tape, weights, sum));
        tape_drop(tape, sum);
    }
    if (!casts) {
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

static struct value *feed(const struct forward_layer *layer, struct value *hidden)
{
    bool sparse = experts_in_layer(layer->forward->config, layer->index);
    return (sparse ? mixture : decoder_gated_feed_forward)(layer, hidden);
}

static struct value *mixture_layer(struct tape *tape, const void *layer, struct value *input)
{
    (void)tape;
    return decoder_layer(layer, input, decoder_attention, feed);
}

/* Over a static cache generate() makes the masks, and only those that a layer reads. */
static enum decoder_masks mixture_masks(const struct forward *f)
{
    bool by_generate = f->cache != NULL && f->cache->kind == CACHE_STATIC;
    return f->config->masks_windows && !by_generate ? DECODER_MASKS_BOTH : DECODER_MASKS_ONE;
}

static const struct decoder mixtures = {
    .names = DECODER_NAMES_LLAMA,
    .types = DECODER_TYPES(types),
    .heads = decoder_heads_generic,
    .layer_list = layer_list,
    .layer = mixture_layer,
    .masks = mixture_masks,
};

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
    .has_head = decoder_has_head,
    .decoder = &mixtures,
    .skeleton = decoder_skeleton,
    .forward = decoder_forward,
};

const struct family family_qwen_moe = {
    .name = "qwen_moe",
    .model_types = qwen_types,
    .has_attention = true,
    .generates = true,
    .read = mixture_read,
    .has_head = decoder_has_head,
    .decoder = &mixtures,
    .skeleton = decoder_skeleton,
    .forward = decoder_forward,
};

/* DeepSeek-V2 and V3: keys and values of all heads from one latent row for each token (multi-head latent attention),
 * experts beside a shared one, feed-forward networks in the first layers.
 *
 * Skeleton of the bare model, or ...ForCausalLM (transformers 5.23). A head of the queries and keys has a part without
 * position (nope_dim) and one that positions turn (rotary_dim); a head of the values has value_dim. The module that
 * predicts further tokens (layer 61 of the published DeepSeek-V3) is not part of the real class either.
 *
 * Worked number: DeepSeek-V3's attention has 7168 * 1536 + 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 + 512 * 128 *
 * 256 + 128 * 128 * 7168 = 187,107,328 parameters a layer, its cache 512 + 64 numbers a token and layer. */
#include "models/family/family_table.h"

#include <inttypes.h>
#include <string.h>

#include "models/config/config_part.h"
#include "models/forward/decoder.h"
#include "models/forward/decoder_skeleton.h"
#include "models/forward/experts.h"
#include "models/forward/forward_experts.h"
#include "models/forward/grouped_routing.h"
#include "models/forward/latent_attention.h"
#include "models/forward/module_visit.h"
#include "models/skeleton/skeleton_builder.h"

struct deepseek_type {
    struct decoder_type decoder;
    int64_t experts, active, groups, active_groups, expert_ffn, shared, first_expert_layer; /* defaults of the class */
    double routing_scale;
    const char *block, *router, *expert_list; /* names of classes */
    bool routes_by_softmax; /* topk_method says whether by groups; else sigmoid, always by groups, with a correction */
    bool heads_divide;      /* heads must divide the hidden size */
    bool reads_mlp_bias;
    bool turns_complex; /* positions turn neighbours as complex numbers; else as rope_interleave says */
};

static const struct deepseek_type types[] = {
    {.decoder = {.model_type = "deepseek_v2",
                 .classes = DECODER_CLASSES("DeepseekV2"),
                 .heads = decoder_heads_sequence,
                 .sizes = {.vocab = 102400,
                           .hidden = 4096,
                           .layers = 32,
                           .heads = 32,
                           .ffn = 11008,
                           .positions = 2048,
                           .lacks_head_dim = true}},
     .experts = 64,
     .expert_ffn = 1407,
     .shared = 2,
     .routing_scale = 1.0,
     .routes_by_softmax = true,
     .heads_divide = true,
     .reads_mlp_bias = true,
     .turns_complex = true,
     .block = "DeepseekV2Moe",
     .router = "DeepseekV2TopkRouter",
     .expert_list = "DeepseekV2Experts"},
    {.decoder = {.model_type = "deepseek_v3",
                 .classes = DECODER_CLASSES("DeepseekV3"),
                 .sizes = {.vocab = 129280,
                           .hidden = 7168,
                           .layers = 61,
                           .heads = 128,
                           .kv_heads = 128,
                           .ffn = 18432,
                           .positions = 4096,
                           .lacks_head_dim = true}},
     .experts = 256,
     .active = 8,
     .groups = 8,
     .active_groups = 4,
     .expert_ffn = 2048,
     .shared = 1,
     .first_expert_layer = 3,
     .routing_scale = 2.5,
     .block = "DeepseekV3MoE",
     .router = "DeepseekV3TopkRouter",
     .expert_list = "DeepseekV3Experts"},
};

static const struct deepseek_type *deepseek_type_of(const struct config *config)
{
    return (const struct deepseek_type *)decoder_type_of(config);
}

/* -- the configuration */

static void read_sizes(struct field_reader *reader, const struct deepseek_type *own, struct config *config)
{
    const struct integer_field integers[] = {
        {"n_routed_experts", NULL, CONFIG_OFFSET(experts), own->experts, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_experts_per_tok", NULL, CONFIG_OFFSET(active_experts), own->active, 0, CONFIG_COUNT_MAXIMUM},
        {"moe_intermediate_size", NULL, CONFIG_OFFSET(expert_ffn), own->expert_ffn, FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
        {"n_group", NULL, CONFIG_OFFSET(expert_groups), own->groups, 0, CONFIG_COUNT_MAXIMUM},
        {"topk_group", NULL, CONFIG_OFFSET(active_groups), own->active_groups, 0, CONFIG_COUNT_MAXIMUM},
        {"kv_lora_rank", NULL, CONFIG_OFFSET(latent), 512, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"q_lora_rank", NULL, CONFIG_OFFSET(query_latent), 1536, 0, CONFIG_COUNT_MAXIMUM},
        {"qk_nope_head_dim", NULL, CONFIG_OFFSET(nope_dim), 128, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"qk_rope_head_dim", NULL, CONFIG_OFFSET(rotary_dim), 64, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"v_head_dim", NULL, CONFIG_OFFSET(value_dim), 128, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
    };
    decoder_read_sizes(reader, config);
    field_integers(reader, integers, sizeof integers / sizeof integers[0], config);
}

/* null is off. */
static bool read_switch(struct field_reader *reader, const char *key, bool fallback)
{
    const struct json *value = field_member(reader, key);
    return value != NULL && json_kind(value) == JSON_KIND_NULL ? false : field_boolean(reader, key, fallback);
}

/* How a token's experts are found, of a model that has a layer with experts. */
static void read_groups(struct field_reader *reader, bool softmax, struct config *config)
{
    const char *method = softmax ? field_string(reader, "topk_method") : NULL;
    bool grouped = !softmax || (method != NULL && strcmp(method, "group_limited_greedy") == 0);
    if (softmax && !grouped && method != NULL && strcmp(method, "greedy") != 0) {
        field_fault(reader, "topk_method", "'%.80s' is not known; known are greedy, group_limited_greedy", method);
    }
    if (config->active_experts == 0) {
        config->only_loads = (struct config_stillness){
            .cause = "its configuration has no num_experts_per_tok, so that its class cannot choose experts",
            .remedy = "add to its config.json how many experts a token uses"};
    }
    if (grouped && (config->expert_groups == 0 || config->active_groups == 0)) {
        field_fault(reader, "n_group", "n_group or topk_group is missing; write both, or another topk_method");
    }
    config->expert_groups = grouped ? config->expert_groups : 0;
    experts_check(reader, "num_experts_per_tok", config);
    if (!softmax && reader->code == STATUS_OK && config->experts < 2 * config->expert_groups) {
        field_fault(reader, "n_group", "a group has fewer than 2 experts; its score is the sum of the best 2");
    }
}

static void read_routing(struct field_reader *reader, const struct deepseek_type *own, struct config *config)
{
    config->first_expert_layer =
        field_integer(reader, "first_k_dense_replace", 0, CONFIG_COUNT_MAXIMUM, own->first_expert_layer);
    config->expert_step = 1;
    if (config->first_expert_layer < config->layers) {
        read_groups(reader, own->routes_by_softmax, config);
    }
    config->normalizes_routing = !own->routes_by_softmax && read_switch(reader, "norm_topk_prob", true);
    config->routing_scale = field_real(reader, "routed_scaling_factor", 0, 1e9, own->routing_scale);
    int64_t shared = field_integer(reader, "n_shared_experts", 1, CONFIG_COUNT_MAXIMUM, own->shared);
    if (reader->code == STATUS_OK && shared > CONFIG_COUNT_MAXIMUM / config->expert_ffn) {
        field_fault(reader, "n_shared_experts",
                    "%" PRId64 " experts of %" PRId64 " are too large; write smaller numbers", shared,
                    config->expert_ffn);
    } else if (reader->code == STATUS_OK) {
        config->shared_ffn = shared * config->expert_ffn;
    }
}

static void check_heads(struct field_reader *reader, struct config *config)
{
    if (reader->code != STATUS_OK) {
        return;
    }
    int64_t widest =
        config->nope_dim + (config->rotary_dim > config->value_dim ? config->rotary_dim : config->value_dim);
    if (config->rotary_dim % 2 != 0) {
        field_fault(reader, "qk_rope_head_dim", "%" PRId64 " is odd; rotary embeddings need an even size",
                    config->rotary_dim);
    } else if (config->heads > CONFIG_COUNT_MAXIMUM / widest) {
        field_fault(reader, "num_attention_heads",
                    "%" PRId64 " heads of %" PRId64 " are too large; write smaller numbers", config->heads, widest);
    } else if (config->kv_heads != config->heads) {
        field_fault(reader, "num_key_value_heads",
                    "%" PRId64 " is not the number of attention heads, %" PRId64 ", which all have keys of their own; "
                    "write the same number",
                    config->kv_heads, config->heads);
    }
}

static void deepseek_read(struct field_reader *reader, struct config *config)
{
    const struct deepseek_type *own = deepseek_type_of(config);
    read_sizes(reader, own, config);
    config->kv_heads = config->kv_heads > 0 ? config->kv_heads : config->heads;
    if (own->heads_divide) {
        config_heads_check(reader, "num_attention_heads", config);
    }
    check_heads(reader, config);
    config->head_dim = config->nope_dim + config->rotary_dim;
    read_routing(reader, own, config);
    config_activation(reader, "hidden_act", ACTIVATION_SILU, config);
    config_rope(reader, config);
    config_pad_token(reader, -1, config);
    config_refuse_true(reader, "output_router_logits");
    config->attention_dropout = field_real(reader, "attention_dropout", 0, 0.999, 0);
    config->norm_epsilon = field_real(reader, "rms_norm_eps", 0, 1, 1e-6);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", false);
    config->attention_bias = field_boolean(reader, "attention_bias", false);
    config->attention_output_bias = config->attention_bias;
    config->mlp_bias = own->reads_mlp_bias && field_boolean(reader, "mlp_bias", false);
    config->rope_complex = own->turns_complex;
    config->rope_interleaved = own->turns_complex || read_switch(reader, "rope_interleave", true);
}

/* -- the skeleton */

static void attention_list(struct skeleton_builder *builder, int layer, int64_t number, const struct decoder_type *type)
{
    (void)number;
    const struct config *config = builder->config;
    int64_t queries = config->heads * config->head_dim; /* check_heads has seen that these fit */
    int attention = builder_module(builder, layer, "self_attn", type->classes.attention);
    if (config->query_latent == 0) {
        builder_linear(builder, attention, "q_proj", queries, config->hidden, false);
    } else {
        builder_linear(builder, attention, "q_a_proj", config->query_latent, config->hidden, config->attention_bias);
        builder_rms_norm(builder, attention, "q_a_layernorm", type->classes.norm, config->query_latent);
        builder_linear(builder, attention, "q_b_proj", queries, config->query_latent, false);
    }
    builder_linear(builder, attention, "kv_a_proj_with_mqa", config->latent + config->rotary_dim, config->hidden,
                   config->attention_bias);
    builder_rms_norm(builder, attention, "kv_a_layernorm", type->classes.norm, config->latent);
    builder_linear(builder, attention, "kv_b_proj", config->heads * (config->nope_dim + config->value_dim),
                   config->latent, false);
    builder_linear(builder, attention, "o_proj", config->hidden, config->heads * config->value_dim,
                   config->attention_output_bias);
}

static void skeleton_experts(struct skeleton_builder *builder, int layer, const struct deepseek_type *own)
{
    /* A buffer of the router, which the real class never casts. */
    static const struct buffer_kind correction = {.dtype = DTYPE_FLOAT32, .persistent = true, .keeps_dtype = true};
    const struct config *config = builder->config;
    int mlp = builder_module(builder, layer, "mlp", own->block);
    experts_list(builder, mlp, own->expert_list);
    experts_router_list(builder, mlp, own->router);
    if (!own->routes_by_softmax) {
        builder_buffer(builder, "e_score_correction_bias", &correction, 1, &config->experts);
    }
    experts_dense_list(builder, mlp, "shared_experts", own->decoder.classes.mlp, config->shared_ffn, config->mlp_bias);
}

static void feed_list(struct skeleton_builder *builder, int layer, int64_t number, const struct decoder_type *type)
{
    if (experts_in_layer(builder->config, number)) {
        skeleton_experts(builder, layer, (const struct deepseek_type *)type);
    } else {
        decoder_gated_list(builder, layer, number, type);
    }
}

static void layer_list(struct skeleton_builder *builder, int layers, int64_t number, const struct decoder_type *type)
{
    decoder_part_list *const parts[] = {attention_list, feed_list};
    decoder_layer_list(builder, layers, number, type, parts);
}

/* -- the forward pass */

static struct value *mixture(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    bool softmax = deepseek_type_of(f->config)->routes_by_softmax;
    struct module_visit visit = layer_enter(layer, "mlp");
    hidden = module_argument(f, visit, hidden);
    int frame = tape_frame_open(tape);
    int64_t size[] = {value_size(hidden, 0), value_size(hidden, 1), f->config->hidden};
    int64_t flat[] = {size[0] * size[1], size[2]};
    struct value *ids = NULL;
    struct value *weights = (softmax ? routing_softmax : routing_sigmoid)(layer, hidden, &ids);
    struct value *rows = tape_reshape(tape, hidden, 2, flat); /* another view than the router's: gradients come apart */
    struct value *made = tape_reshape(tape, experts_run(layer, rows, weights, ids), 3, size);
    struct value *shared = experts_dense_run(layer, "mlp.shared_experts", hidden);
    return module_leave(f, visit, tape_frame_close(tape, frame, tape_add(tape, made, shared)));
}

static struct value *feed(const struct forward_layer *layer, struct value *hidden)
{
    bool sparse = experts_in_layer(layer->forward->config, layer->index);
    return (sparse ? mixture : decoder_gated_feed_forward)(layer, hidden);
}

static struct value *deepseek_layer(struct tape *tape, const void *layer, struct value *input)
{
    (void)tape;
    return decoder_layer(layer, input, latent_attention, feed);
}

static const struct decoder deepseek = {
    .names = DECODER_NAMES_LLAMA,
    .types = DECODER_TYPES(types),
    .heads = decoder_heads_classes,
    .layer_list = layer_list,
    .layer = deepseek_layer,
    .turn = latent_tables_make,
};

static const char *const model_types[] = {"deepseek_v2", "deepseek_v3", NULL};

const struct family family_deepseek = {
    .name = "deepseek",
    .model_types = model_types,
    .has_attention = true,
    .generates = true,
    .read = deepseek_read,
    .has_head = decoder_has_head,
    .decoder = &deepseek,
    .skeleton = decoder_skeleton,
    .forward = decoder_forward,
};

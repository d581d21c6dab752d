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
#include <stdio.h>
#include <string.h>

#include "models/config/config_part.h"
#include "models/forward/decoder.h"
#include "models/forward/experts.h"
#include "models/forward/forward_experts.h"
#include "models/forward/grouped_routing.h"
#include "models/forward/latent_attention.h"
#include "models/forward/module_visit.h"
#include "models/forward/rotary.h"
#include "models/skeleton/skeleton_builder.h"

/* -- the configuration */

struct deepseek_type {
    const char *model_type;
    int64_t vocab, hidden, layers, heads, ffn, positions, experts, active, groups, active_groups, expert_ffn, shared;
    int64_t first_expert_layer;
    double routing_scale;
    const char *model, *head, *layer, *attention, *mlp, *norm, *rotary, *block, *router, *expert_list;
};

static const struct deepseek_type types[] = {
    {"deepseek_v2",
     102400,
     4096,
     32,
     32,
     11008,
     2048,
     64,
     0,
     0,
     0,
     1407,
     2,
     0,
     1.0,
     "DeepseekV2Model",
     "DeepseekV2ForCausalLM",
     "DeepseekV2DecoderLayer",
     "DeepseekV2Attention",
     "DeepseekV2MLP",
     "DeepseekV2RMSNorm",
     "DeepseekV2RotaryEmbedding",
     "DeepseekV2Moe",
     "DeepseekV2TopkRouter",
     "DeepseekV2Experts"},
    {"deepseek_v3",
     129280,
     7168,
     61,
     128,
     18432,
     4096,
     256,
     8,
     8,
     4,
     2048,
     1,
     3,
     2.5,
     "DeepseekV3Model",
     "DeepseekV3ForCausalLM",
     "DeepseekV3DecoderLayer",
     "DeepseekV3Attention",
     "DeepseekV3MLP",
     "DeepseekV3RMSNorm",
     "DeepseekV3RotaryEmbedding",
     "DeepseekV3MoE",
     "DeepseekV3TopkRouter",
     "DeepseekV3Experts"},
};

static const struct deepseek_type *deepseek_type_of(const struct config *config)
{
    return &types[strcmp(config->model_type, "deepseek_v3") == 0];
}

static void read_sizes(struct field_reader *reader, const struct deepseek_type *own, struct config *config)
{
    bool v2 = own == &types[0];
    const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), own->vocab, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"hidden_size", NULL, CONFIG_OFFSET(hidden), own->hidden, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_hidden_layers", NULL, CONFIG_OFFSET(layers), own->layers, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"num_attention_heads", NULL, CONFIG_OFFSET(heads), own->heads, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_key_value_heads", NULL, CONFIG_OFFSET(kv_heads), v2 ? 0 : 128, 0, CONFIG_COUNT_MAXIMUM},
        {"intermediate_size", NULL, CONFIG_OFFSET(ffn), own->ffn, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"max_position_embeddings", NULL, CONFIG_OFFSET(positions), own->positions, FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
        {"n_routed_experts", NULL, CONFIG_OFFSET(experts), own->experts, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_experts_per_tok", NULL, CONFIG_OFFSET(active_experts), own->active, FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
        {"moe_intermediate_size", NULL, CONFIG_OFFSET(expert_ffn), own->expert_ffn, FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
        {"n_group", NULL, CONFIG_OFFSET(expert_groups), own->groups, v2 ? 0 : FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"topk_group", NULL, CONFIG_OFFSET(active_groups), own->active_groups, v2 ? 0 : FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
        {"kv_lora_rank", NULL, CONFIG_OFFSET(latent), 512, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"q_lora_rank", NULL, CONFIG_OFFSET(query_latent), 1536, 0, CONFIG_COUNT_MAXIMUM},
        {"qk_nope_head_dim", NULL, CONFIG_OFFSET(nope_dim), 128, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"qk_rope_head_dim", NULL, CONFIG_OFFSET(rotary_dim), 64, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"v_head_dim", NULL, CONFIG_OFFSET(value_dim), 128, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
    };
    field_integers(reader, integers, sizeof integers / sizeof integers[0], config);
}

static void read_routing(struct field_reader *reader, const struct deepseek_type *own, struct config *config)
{
    bool v2 = own == &types[0];
    const char *method = v2 ? field_string(reader, "topk_method") : NULL;
    bool grouped = !v2 || (method != NULL && strcmp(method, "group_limited_greedy") == 0);
    if (v2 && !grouped && method != NULL && strcmp(method, "greedy") != 0) {
        field_fault(reader, "topk_method", "'%.80s' is not known; known are greedy, group_limited_greedy", method);
    }
    if (config->active_experts == 0) {
        field_fault(reader, "num_experts_per_tok", "it is missing; write how many experts a token uses");
    }
    if (grouped && (config->expert_groups == 0 || config->active_groups == 0)) {
        field_fault(reader, "n_group", "n_group or topk_group is missing; write both, or another topk_method");
    }
    config->expert_groups = grouped ? config->expert_groups : 0;
    experts_check(reader, "num_experts_per_tok", config);
    if (!v2 && reader->code == STATUS_OK && config->experts < 2 * config->expert_groups) {
        field_fault(reader, "n_group", "a group has fewer than 2 experts; its score is the sum of the best 2");
    }
    config->normalizes_routing = !v2 && field_boolean(reader, "norm_topk_prob", true);
    config->routing_scale = field_real(reader, "routed_scaling_factor", 0, 1e9, own->routing_scale);
    config->first_expert_layer =
        field_integer(reader, "first_k_dense_replace", 0, CONFIG_COUNT_MAXIMUM, own->first_expert_layer);
    config->expert_step = 1;
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
    bool v2 = own == &types[0];
    read_sizes(reader, own, config);
    config->kv_heads = config->kv_heads > 0 ? config->kv_heads : config->heads;
    if (v2) {
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
    config->mlp_bias = v2 && field_boolean(reader, "mlp_bias", false);
    config->rope_interleaved = v2 || field_boolean(reader, "rope_interleave", true);
}

/* -- the skeleton */

static void skeleton_attention(struct skeleton_builder *builder, int layer, const struct deepseek_type *own)
{
    const struct config *config = builder->config;
    int64_t queries = config->heads * config->head_dim; /* check_heads has seen that these fit */
    int attention = builder_module(builder, layer, "self_attn", own->attention);
    if (config->query_latent == 0) {
        builder_linear(builder, attention, "q_proj", queries, config->hidden, false);
    } else {
        builder_linear(builder, attention, "q_a_proj", config->query_latent, config->hidden, config->attention_bias);
        builder_rms_norm(builder, attention, "q_a_layernorm", own->norm, config->query_latent);
        builder_linear(builder, attention, "q_b_proj", queries, config->query_latent, false);
    }
    builder_linear(builder, attention, "kv_a_proj_with_mqa", config->latent + config->rotary_dim, config->hidden,
                   config->attention_bias);
    builder_rms_norm(builder, attention, "kv_a_layernorm", own->norm, config->latent);
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
    if (own == &types[1]) {
        builder_buffer(builder, "e_score_correction_bias", &correction, 1, &config->experts);
    }
    experts_dense_list(builder, mlp, "shared_experts", own->mlp, config->shared_ffn, config->mlp_bias);
}

static void deepseek_skeleton(struct skeleton_builder *builder, enum head head)
{
    const struct config *config = builder->config;
    const struct deepseek_type *own = deepseek_type_of(config);
    bool lm = head == HEAD_LM;
    int root = lm ? builder_module(builder, -1, "", own->head) : -1;
    int model = builder_module(builder, root, lm ? "model" : "", own->model);
    int words = builder_embedding(builder, model, "embed_tokens", config->vocab, config->hidden);
    int layers = builder_module(builder, model, "layers", "ModuleList");
    for (int64_t i = 0; i < config->layers; i++) {
        int layer = builder_element(builder, layers, i, own->layer);
        builder_keep_whole(builder, layer);
        skeleton_attention(builder, layer, own);
        if (experts_in_layer(config, i)) {
            skeleton_experts(builder, layer, own);
        } else {
            experts_dense_list(builder, layer, "mlp", own->mlp, config->ffn, config->mlp_bias);
        }
        builder_rms_norm(builder, layer, "input_layernorm", own->norm, config->hidden);
        builder_rms_norm(builder, layer, "post_attention_layernorm", own->norm, config->hidden);
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

static struct value *mixture(const struct forward_layer *layer, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    bool v2 = deepseek_type_of(f->config) == &types[0];
    struct module_visit visit = layer_enter(layer, "mlp");
    hidden = module_argument(f, visit, hidden);
    int frame = tape_frame_open(tape);
    int64_t size[] = {value_size(hidden, 0), value_size(hidden, 1), f->config->hidden};
    int64_t flat[] = {size[0] * size[1], size[2]};
    struct value *ids = NULL;
    struct value *weights = (v2 ? routing_softmax : routing_sigmoid)(layer, hidden, &ids);
    struct value *rows = tape_reshape(tape, hidden, 2, flat); /* another view than the router's: gradients come apart */
    struct value *made = tape_reshape(tape, experts_run(layer, rows, weights, ids), 3, size);
    struct value *shared = experts_dense_run(layer, "mlp.shared_experts", hidden);
    return module_leave(f, visit, tape_frame_close(tape, frame, tape_add(tape, made, shared)));
}

static struct value *deepseek_layer(struct tape *tape, const void *context, struct value *input)
{
    const struct forward_layer *layer = context;
    bool sparse = experts_in_layer(layer->forward->config, layer->index);
    int frame = tape_frame_open(tape);
    struct value *hidden = layer_rms_norm(layer, "input_layernorm", input);
    struct value *attended = latent_attention(layer, hidden);
    tape_drop(tape, hidden);
    struct value *residual = tape_add(tape, input, attended);
    tape_drop(tape, attended);
    hidden = layer_rms_norm(layer, "post_attention_layernorm", residual);
    value_rebind(tape, &hidden, sparse ? mixture(layer, hidden) : decoder_gated_feed_forward(layer, hidden));
    value_rebind(tape, &hidden, tape_add(tape, residual, hidden));
    return tape_frame_close(tape, frame, hidden);
}

static struct value *deepseek_model(const struct forward *f, const char *root)
{
    int frame = tape_frame_open(f->tape);
    char path[64];
    snprintf(path, sizeof path, "%sembed_tokens", root);
    struct value *hidden = forward_words(f, path, f->config->pad_token);
    struct decoder_tables tables = decoder_tables_make(f, DECODER_MASKS_ONE, hidden);
    latent_tables_make(f, deepseek_type_of(f->config) == &types[0], &tables, root, hidden);
    hidden = decoder_layers(f, deepseek_layer, &tables, root, hidden);
    snprintf(path, sizeof path, "%snorm", root);
    return tape_frame_close(f->tape, frame, forward_rms_norm(f, path, hidden));
}

static struct value *deepseek_forward(const struct forward *f)
{
    return decoder_forward(f, deepseek_model, "model.");
}

static const char *const model_types[] = {"deepseek_v2", "deepseek_v3", NULL};

const struct family family_deepseek = {
    .name = "deepseek",
    .model_types = model_types,
    .has_attention = true,
    .generates = true,
    .read = deepseek_read,
    .skeleton = deepseek_skeleton,
    .forward = deepseek_forward,
};

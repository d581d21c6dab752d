/* Gemma 1, 2 and 3 (the text models): RMSNorm of 1 + weight, a scaled embedding, GELU gates, a size of heads of its
 * own. Gemma 2 and 3 normalise before and after attention and feed-forward, and give a sliding window to some layers;
 * Gemma 2 caps scores and logits; Gemma 3 normalises queries and keys, and its layers with a window turn by a table of
 * their own. Not here: Gemma 3 that reads images (model_type gemma3).
 *
 * Worked number: gemma-2b has 256000 * 2048 + 18 * (2 * 2048 * 2048 + 2 * 2048 * 256 + 3 * 2048 * 16384 + 2 * 2048) +
 * 2048 = 2,506,172,416 parameters; its tied head adds none. Buffers: a scale and 2 * 128 float32: 1,028 bytes. */
#include "models/family/family_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/config/config_part.h"
#include "models/forward/decoder.h"
#include "models/forward/rotary.h"

/* -- what the versions have by default, and what they are called */

struct gemma_version {
    const char *model_type;
    int number;
    int64_t vocab, hidden, layers, ffn, heads, kv_heads, positions;
    const char *model, *head, *layer, *attention, *mlp, *norm, *rotary, *words;
};

static const struct gemma_version versions[] = {
    {"gemma", 1, 256000, 3072, 28, 24576, 16, 16, 8192, "GemmaModel", "GemmaForCausalLM", "GemmaDecoderLayer",
     "GemmaAttention", "GemmaMLP", "GemmaRMSNorm", "GemmaRotaryEmbedding", "GemmaTextScaledWordEmbedding"},
    {"gemma2", 2, 256000, 2304, 26, 9216, 8, 4, 8192, "Gemma2Model", "Gemma2ForCausalLM", "Gemma2DecoderLayer",
     "Gemma2Attention", "Gemma2MLP", "Gemma2RMSNorm", "Gemma2RotaryEmbedding", "Gemma2TextScaledWordEmbedding"},
    {"gemma3_text", 3, 262208, 2304, 26, 9216, 8, 4, 131072, "Gemma3TextModel", "Gemma3ForCausalLM",
     "Gemma3DecoderLayer", "Gemma3Attention", "Gemma3MLP", "Gemma3RMSNorm", "Gemma3RotaryEmbedding",
     "Gemma3TextScaledWordEmbedding"},
};

static const struct gemma_version *gemma_version_of(const struct config *config)
{
    int count = sizeof versions / sizeof versions[0];
    for (int i = 1; i < count; i++) {
        if (strcmp(config->model_type, versions[i].model_type) == 0) {
            return &versions[i];
        }
    }
    return &versions[0];
}

/* -- the configuration */

/* Gemma 2: every other layer from the first on. Gemma 3: all but each sixth, or as sliding_window_pattern says. */
static void gemma_read_window(struct field_reader *reader, struct config *config, int version)
{
    int64_t pattern = version == 2 ? 2 : field_integer(reader, "sliding_window_pattern", 1, CONFIG_LAYERS_MAXIMUM, 6);
    if (!config_layer_types(reader, config)) {
        for (int64_t i = 0; i < config->layers; i++) {
            if ((i + 1) % pattern != 0) {
                config_layer_slide(config, i);
            }
        }
    }
    config_window(config, field_integer(reader, "sliding_window", 1, CONFIG_COUNT_MAXIMUM, 4096));
}

/* A soft cap; null is none. */
static double gemma_read_cap(struct field_reader *reader, const char *key, double fallback)
{
    const struct json *value = field_member(reader, key);
    if (value != NULL && json_kind(value) == JSON_KIND_NULL) {
        return 0;
    }
    return field_real(reader, key, 1e-3, 1e9, fallback);
}

static void gemma_read_activation(struct field_reader *reader, struct config *config, int version)
{
    const char *key = version == 1 ? "hidden_act" : "hidden_activation";
    config_activation(reader, key, ACTIVATION_GELU_TANH, config);
    if (version == 1 && config->activation == ACTIVATION_GELU) {
        activation_set(ACTIVATION_GELU_TANH, config); /* what the first files say and the class corrects */
    }
}

/* Gemma 3's tables: of layers with a window, and of the others. */
static void gemma_read_rope(struct field_reader *reader, struct config *config, int version)
{
    config_rope(reader, config);
    if (version < 3) {
        return;
    }
    const struct json *parameters = field_member(reader, "rope_parameters");
    struct field_reader full = *reader, local = *reader;
    if (json_kind(parameters) == JSON_KIND_OBJECT) {
        full.object = json_get(parameters, "full_attention");
        full.parent = "/rope_parameters/full_attention";
        local.object = json_get(parameters, "sliding_attention");
        local.parent = "/rope_parameters/sliding_attention";
    }
    bool nested = json_kind(parameters) == JSON_KIND_OBJECT;
    config->rope_theta = field_real(&full, "rope_theta", 1, 1e12, 1e6);
    config->rope_local_theta = field_real(&local, nested ? "rope_theta" : "rope_local_base_freq", 1, 1e12, 1e4);
    reader->code = reader->code != STATUS_OK ? reader->code : full.code != STATUS_OK ? full.code : local.code;
}

static void gemma_read(struct field_reader *reader, struct config *config)
{
    const struct gemma_version *own = gemma_version_of(config);
    const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), own->vocab, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"hidden_size", NULL, CONFIG_OFFSET(hidden), own->hidden, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_hidden_layers", NULL, CONFIG_OFFSET(layers), own->layers, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"num_attention_heads", NULL, CONFIG_OFFSET(heads), own->heads, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_key_value_heads", NULL, CONFIG_OFFSET(kv_heads), own->kv_heads, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"intermediate_size", NULL, CONFIG_OFFSET(ffn), own->ffn, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"max_position_embeddings", NULL, CONFIG_OFFSET(positions), own->positions, FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
        {"head_dim", NULL, CONFIG_OFFSET(head_dim), 256, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
    };
    field_integers(reader, integers, sizeof integers / sizeof integers[0], config);
    config_grouped_check(reader, config);
    config->rotary_dim = config->head_dim;
    gemma_read_activation(reader, config, own->number);
    gemma_read_rope(reader, config, own->number);
    config_pad_token(reader, 0, config);
    config->attention_dropout = field_real(reader, "attention_dropout", 0, 0.999, 0);
    config->norm_epsilon = field_real(reader, "rms_norm_eps", 0, 1, 1e-6);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", true);
    config->attention_bias = config->attention_output_bias = field_boolean(reader, "attention_bias", false);
    if (json_kind(field_member(reader, "use_bidirectional_attention")) != JSON_KIND_NULL) {
        config_refuse_true(reader, "use_bidirectional_attention");
    }
    if (own->number > 1) {
        config_heads_check(reader, "num_attention_heads", config);
        int64_t scalar = field_integer(reader, "query_pre_attn_scalar", 1, CONFIG_COUNT_MAXIMUM, 256);
        config->attention_scale = pow((double)scalar, -0.5);
        config->score_cap = own->number == 2 ? gemma_read_cap(reader, "attn_logit_softcapping", 50) : 0;
        config->logit_cap = gemma_read_cap(reader, "final_logit_softcapping", own->number == 2 ? 30 : 0);
        gemma_read_window(reader, config, own->number);
    }
    config->head_norms = own->number == 3;
}

/* -- the skeleton: weights of norms start at 0, because 1 is added to them */

static void skeleton_norm(struct skeleton_builder *builder, int parent, const char *name, int64_t size)
{
    builder_module(builder, parent, name, gemma_version_of(builder->config)->norm);
    builder_vector(builder, "weight", (struct initial){0}, size);
}

static void skeleton_attention(struct skeleton_builder *builder, int layer, const struct gemma_version *own)
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
        skeleton_norm(builder, attention, "q_norm", config->head_dim);
        skeleton_norm(builder, attention, "k_norm", config->head_dim);
    }
}

static void skeleton_layer(struct skeleton_builder *builder, int parent, int64_t number,
                           const struct gemma_version *own)
{
    const struct config *config = builder->config;
    int layer = builder_element(builder, parent, number, own->layer);
    builder_keep_whole(builder, layer);
    skeleton_attention(builder, layer, own);
    int mlp = builder_module(builder, layer, "mlp", own->mlp);
    builder_linear(builder, mlp, "gate_proj", config->ffn, config->hidden, false);
    builder_linear(builder, mlp, "up_proj", config->ffn, config->hidden, false);
    builder_linear(builder, mlp, "down_proj", config->hidden, config->ffn, false);
    builder_activation(builder, mlp, "act_fn");
    skeleton_norm(builder, layer, "input_layernorm", config->hidden);
    skeleton_norm(builder, layer, "post_attention_layernorm", config->hidden);
    if (own->number > 1) {
        skeleton_norm(builder, layer, "pre_feedforward_layernorm", config->hidden);
        skeleton_norm(builder, layer, "post_feedforward_layernorm", config->hidden);
    }
}

static int skeleton_words(struct skeleton_builder *builder, int model, const struct gemma_version *own)
{
    const struct config *config = builder->config;
    const struct buffer_kind scale = {
        .dtype = DTYPE_FLOAT32, .initial = INITIAL_CONSTANT, .constant = sqrt((double)config->hidden)};
    builder_module(builder, model, "embed_tokens", own->words);
    struct initial initial = {.deviation = config->initializer_range};
    int words = builder_matrix(builder, "weight", initial, config->vocab, config->hidden);
    builder_buffer(builder, "embed_scale", &scale, 0, NULL);
    return words;
}

static void skeleton_rotary(struct skeleton_builder *builder, int model, const struct gemma_version *own)
{
    const struct config *config = builder->config;
    builder_module(builder, model, "rotary_emb", own->rotary);
    if (own->number < 3) {
        rotary_buffers(builder, "", config->rotary_dim, config->rope_theta);
        return;
    }
    if (decoder_has_layers(config, false)) {
        rotary_buffers(builder, "full_attention_", config->rotary_dim, config->rope_theta);
    }
    if (decoder_has_layers(config, true)) {
        rotary_buffers(builder, "sliding_attention_", config->rotary_dim, config->rope_local_theta);
    }
}

static void gemma_skeleton(struct skeleton_builder *builder, enum head head)
{
    const struct config *config = builder->config;
    const struct gemma_version *own = gemma_version_of(config);
    int root = head == HEAD_LM ? builder_module(builder, -1, "", own->head) : -1;
    int model = builder_module(builder, root, head == HEAD_LM ? "model" : "", own->model);
    int words = skeleton_words(builder, model, own);
    int layers = builder_module(builder, model, "layers", "ModuleList");
    for (int64_t i = 0; i < config->layers; i++) {
        skeleton_layer(builder, layers, i, own);
    }
    skeleton_norm(builder, model, "norm", config->hidden);
    skeleton_rotary(builder, model, own);
    if (head == HEAD_LM) {
        int weight = builder_linear(builder, root, "lm_head", config->vocab, config->hidden, false);
        builder_tie(builder, config->tied_head ? weight : -1, words);
    }
}

/* -- the forward pass */

/* GemmaAttention; eager weights stay with the open frame. Queries and keys are normalised when all three are there. */
static struct value *attention(const struct forward_layer *layer, struct value *hidden)
{
    const struct config *config = layer->forward->config;
    struct tape *tape = layer->forward->tape;
    struct value *q = decoder_heads(layer, "self_attn.q_proj", hidden, config->heads);
    struct value *k = decoder_heads(layer, "self_attn.k_proj", hidden, config->kv_heads);
    struct value *v = decoder_heads(layer, "self_attn.v_proj", hidden, config->kv_heads);
    if (config->head_norms) {
        value_rebind(tape, &q, layer_rms_norm_shifted(layer, "self_attn.q_norm", q));
        value_rebind(tape, &k, layer_rms_norm_shifted(layer, "self_attn.k_norm", k));
    }
    struct value *turned_q = rotary_turn(layer, q);
    struct value *turned_k = rotary_turn(layer, k);
    value_rebind(tape, &q, turned_q);
    value_rebind(tape, &k, turned_k);
    return decoder_attend(layer, "self_attn.o_proj", false, q, k, v);
}

static struct value *gemma_layer(struct tape *tape, const void *context, struct value *input)
{
    const struct forward_layer *layer = context;
    bool after = layer->forward->config->attention_scale > 0; /* Gemma 2 and 3: norms behind what they add */
    int frame = tape_frame_open(tape);
    struct value *hidden = layer_rms_norm_shifted(layer, "input_layernorm", input);
    value_rebind(tape, &hidden, attention(layer, hidden));
    if (after) {
        value_rebind(tape, &hidden, layer_rms_norm_shifted(layer, "post_attention_layernorm", hidden));
    }
    value_rebind(tape, &hidden, tape_add(tape, input, hidden));
    struct value *residual = hidden;
    hidden = layer_rms_norm_shifted(layer, after ? "pre_feedforward_layernorm" : "post_attention_layernorm", residual);
    value_rebind(tape, &hidden, decoder_gated_feed_forward(layer, hidden));
    if (after) {
        value_rebind(tape, &hidden, layer_rms_norm_shifted(layer, "post_feedforward_layernorm", hidden));
    }
    value_rebind(tape, &hidden, tape_add(tape, residual, hidden));
    return tape_frame_close(tape, frame, hidden);
}

static void tables_turn(const struct forward *f, struct decoder_tables *tables, const char *root, struct value *hidden)
{
    if (!f->config->head_norms) {
        decoder_rotary_make(f, tables, DECODER_KINDS_ALL, root, "rotary_emb.inv_freq", hidden);
        return;
    }
    if (decoder_has_layers(f->config, false)) {
        decoder_rotary_make(f, tables, DECODER_KINDS_FULL, root, "rotary_emb.full_attention_inv_freq", hidden);
    }
    if (decoder_has_layers(f->config, true)) {
        decoder_rotary_make(f, tables, DECODER_KINDS_WINDOWED, root, "rotary_emb.sliding_attention_inv_freq", hidden);
    }
}

static struct value *decoder(const struct forward *f, const char *root)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    char path[64];
    snprintf(path, sizeof path, "%sembed_tokens", root);
    struct value *hidden = forward_words(f, path, f->config->pad_token);
    bool windows = f->config->attention_scale > 0;
    struct decoder_tables tables = decoder_tables_make(f, windows ? DECODER_MASKS_BOTH : DECODER_MASKS_ONE, hidden);
    tables_turn(f, &tables, root, hidden);
    hidden = decoder_layers(f, gemma_layer, &tables, root, hidden);
    snprintf(path, sizeof path, "%snorm", root);
    return tape_frame_close(tape, frame, forward_rms_norm_shifted(f, path, hidden));
}

static struct value *gemma_forward(const struct forward *f)
{
    return decoder_forward(f, decoder, "model.");
}

static const char *const model_types[] = {"gemma", "gemma2", "gemma3_text", NULL};
static const char *const lora_targets[] = {"q_proj", "v_proj", NULL};

const struct family family_gemma = {
    .name = "gemma",
    .model_types = model_types,
    .has_attention = true,
    .generates = true,
    .lora_targets = lora_targets,
    .read = gemma_read,
    .skeleton = gemma_skeleton,
    .forward = gemma_forward,
};

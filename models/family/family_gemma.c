/* Gemma 1, 2 and 3 (the text models): RMSNorm of 1 + weight, a scaled embedding, GELU gates, a size of heads of its
 * own. Gemma 2 and 3 normalise before and after attention and feed-forward, and give a sliding window to some layers;
 * Gemma 2 caps scores and logits; Gemma 3 normalises queries and keys, and its layers with a window turn by a table of
 * their own. Not here: Gemma 3 that reads images (model_type gemma3).
 *
 * Worked number: gemma-2b has 256000 * 2048 + 18 * (2 * 2048 * 2048 + 2 * 2048 * 256 + 3 * 2048 * 16384 + 2 * 2048) +
 * 2048 = 2,506,172,416 parameters; its tied head adds none. Buffers: a scale and 2 * 128 float32: 1,028 bytes. */
#include "models/family/family_table.h"

#include <math.h>

#include "models/config/config_part.h"
#include "models/forward/decoder.h"
#include "models/forward/decoder_skeleton.h"
#include "models/forward/rotary.h"

/* -- what the versions have by default, and what they are called */

struct gemma_type {
    struct decoder_type decoder;
    int version;
};

#define GEMMA_CLASSES(prefix, model_class)                                                                             \
    {                                                                                                                  \
        .model = model_class, .head = prefix "ForCausalLM", .layer = prefix "DecoderLayer",                            \
        .attention = prefix "Attention", .mlp = prefix "MLP", .norm = prefix "RMSNorm",                                \
        .rotary = prefix "RotaryEmbedding", .words = prefix "TextScaledWordEmbedding",                                 \
    }

static const struct gemma_type types[] = {
    {.decoder = {.model_type = "gemma",
                 .classes = GEMMA_CLASSES("Gemma", "GemmaModel"),
                 .sizes = {.vocab = 256000,
                           .hidden = 3072,
                           .layers = 28,
                           .heads = 16,
                           .kv_heads = 16,
                           .ffn = 24576,
                           .positions = 8192,
                           .head_dim = 256,
                           .kv_heads_null = FIELD_NULL_REFUSED,
                           .head_dim_null = FIELD_NULL_REFUSED}},
     .version = 1},
    {.decoder = {.model_type = "gemma2",
                 .classes = GEMMA_CLASSES("Gemma2", "Gemma2Model"),
                 .sizes = {.vocab = 256000,
                           .hidden = 2304,
                           .layers = 26,
                           .heads = 8,
                           .kv_heads = 4,
                           .ffn = 9216,
                           .positions = 8192,
                           .head_dim = 256,
                           .kv_heads_null = FIELD_NULL_REFUSED,
                           .head_dim_null = FIELD_NULL_REFUSED}},
     .version = 2},
    {.decoder = {.model_type = "gemma3_text",
                 .classes = GEMMA_CLASSES("Gemma3", "Gemma3TextModel"),
                 .heads = decoder_heads_sequence,
                 .sizes = {.vocab = 262208,
                           .hidden = 2304,
                           .layers = 26,
                           .heads = 8,
                           .kv_heads = 4,
                           .ffn = 9216,
                           .positions = 131072,
                           .head_dim = 256,
                           .kv_heads_null = FIELD_NULL_REFUSED,
                           .head_dim_null = FIELD_NULL_REFUSED}},
     .version = 3},
};

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
    int version = ((const struct gemma_type *)decoder_type_of(config))->version;
    decoder_read_sizes(reader, config);
    config_grouped_check(reader, config);
    config->rotary_dim = config->head_dim;
    gemma_read_activation(reader, config, version);
    gemma_read_rope(reader, config, version);
    config_pad_token(reader, 0, config);
    config->attention_dropout = field_real(reader, "attention_dropout", 0, 0.999, 0);
    config->norm_epsilon = field_real(reader, "rms_norm_eps", 0, 1, 1e-6);
    config->tied_head = field_boolean(reader, "tie_word_embeddings", true);
    config->attention_bias = config->attention_output_bias = field_boolean(reader, "attention_bias", false);
    if (json_kind(field_member(reader, "use_bidirectional_attention")) != JSON_KIND_NULL) {
        config_refuse_true(reader, "use_bidirectional_attention");
    }
    if (version > 1) {
        config_heads_check(reader, "num_attention_heads", config);
        int64_t scalar = field_integer(reader, "query_pre_attn_scalar", 1, CONFIG_COUNT_MAXIMUM, 256);
        config->attention_scale = pow((double)scalar, -0.5);
        config->score_cap = version == 2 ? gemma_read_cap(reader, "attn_logit_softcapping", 50) : 0;
        config->logit_cap = gemma_read_cap(reader, "final_logit_softcapping", version == 2 ? 30 : 0);
        gemma_read_window(reader, config, version);
    }
    config->lacks_fused_attention = version == 2; /* _supports_sdpa is false, also where nothing is capped */
    config->head_norms = version == 3;
    config->norms_behind = version > 1;
    config->shifted_norms = true;
}

/* -- the skeleton */

static void scale_list(struct skeleton_builder *builder, int model)
{
    (void)model;
    const struct buffer_kind scale = {
        .dtype = DTYPE_FLOAT32, .initial = INITIAL_CONSTANT, .constant = sqrt((double)builder->config->hidden)};
    builder_buffer(builder, "embed_scale", &scale, 0, NULL);
}

static void layer_list(struct skeleton_builder *builder, int layers, int64_t number, const struct decoder_type *type)
{
    decoder_part_list *const parts[] = {decoder_attention_list, decoder_gated_list};
    decoder_layer_list(builder, layers, number, type, parts);
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
        value_rebind(tape, &q, layer_rms_norm(layer, "self_attn.q_norm", q));
        value_rebind(tape, &k, layer_rms_norm(layer, "self_attn.k_norm", k));
    }
    struct value *turned_q = rotary_turn(layer, q);
    struct value *turned_k = rotary_turn(layer, k);
    value_rebind(tape, &q, turned_q);
    value_rebind(tape, &k, turned_k);
    return decoder_attend(layer, "self_attn.o_proj", false, q, k, v);
}

static struct value *gemma_layer(struct tape *tape, const void *layer, struct value *input)
{
    (void)tape;
    return decoder_layer(layer, input, attention, decoder_gated_feed_forward);
}

static enum decoder_masks gemma_masks(const struct forward *f)
{
    return f->config->norms_behind ? DECODER_MASKS_BOTH : DECODER_MASKS_ONE; /* Gemma 1 has no windows */
}

static const struct decoder gemma = {
    .names = DECODER_NAMES_LLAMA,
    .types = DECODER_TYPES(types),
    .heads = decoder_heads_classes,
    .after_words = scale_list,
    .layer_list = layer_list,
    .layer = gemma_layer,
    .masks = gemma_masks,
};

static const char *const model_types[] = {"gemma", "gemma2", "gemma3_text", NULL};
static const char *const lora_targets[] = {"q_proj", "v_proj", NULL};

const struct family family_gemma = {
    .name = "gemma",
    .model_types = model_types,
    .has_attention = true,
    .generates = true,
    .lora_targets = lora_targets,
    .read = gemma_read,
    .has_head = decoder_has_head,
    .decoder = &gemma,
    .skeleton = decoder_skeleton,
    .forward = decoder_forward,
};
